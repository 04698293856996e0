"""Sparse arrays that lead out of themselves: a sentence, never a crash."""

import numpy as np
import pytest
import scipy.sparse as sp

import bckm

X = np.arange(1.0, 25.0).reshape(8, 3)


def csr(change, kind=sp.csr_array):
    """A sparse array, changed after SciPy has looked at it."""
    array = kind(X)
    change(array)
    return array


def put(name, at, value):
    def change(array):
        getattr(array, name)[at] = value

    return change


def become(name, value):
    return lambda array: setattr(array, name, value(getattr(array, name)))


def coordinate(value):
    def change(array):
        array.coords = (array.coords[0], np.full_like(array.coords[1], value))

    return change


def listed(row, columns, values):
    def change(array):
        array.rows[row], array.data[row] = columns, values

    return change


MALFORMED = {
    "column beyond": csr(put("indices", 0, 3)),
    "column far beyond": csr(put("indices", 4, 2**30)),
    "column negative": csr(put("indices", 2, -1)),
    "indptr beyond": csr(put("indptr", -1, 10**6)),
    "indptr falls": csr(put("indptr", 3, 1)),
    "indptr negative": csr(put("indptr", 1, -5)),
    "indptr late": csr(put("indptr", 0, 1)),
    "indptr short": csr(become("indptr", lambda old: old[:-1])),
    "indices short": csr(become("indices", lambda old: old[:-1])),
    "data short": csr(become("data", lambda old: old[:-1])),
    "float indices": csr(become("indices", lambda old: old.astype(float))),
    "two dimensions": csr(become("indices", lambda old: old.reshape(2, -1))),
    "matrix": csr(put("indices", 0, 77), sp.csr_matrix),
    "csc": csr(put("indices", 0, 8), sp.csc_array),
    "csc indptr": csr(put("indptr", 1, 99), sp.csc_array),
    "bsr": csr(put("indices", 0, 40), sp.bsr_array),
    "coo": csr(coordinate(3), sp.coo_array),
    "coo negative": csr(coordinate(-2), sp.coo_array),
    "lil": csr(listed(0, [0, 9], [1.0, 2.0]), sp.lil_array),
    "lil uneven": csr(listed(0, [0, 1], [1.0]), sp.lil_array),
    "dia": csr(become("offsets", lambda old: old[:-1]), sp.dia_array),
}
every = pytest.mark.parametrize("name", MALFORMED)


@every
def test_data_are_refused(name):
    bad = MALFORMED[name]
    model = bckm.ConstrainedKMeans(2, random_state=0).fit(X)
    for call in (
        lambda: bckm.kmeans(bad, 2),
        lambda: bckm.kmeans(bad, 2, metric="cosine"),
        lambda: bckm.assign_to(bad, X[:2]),
        lambda: bckm.check(bad, 2),
        lambda: bckm.ConstrainedKMeans(2).fit(bad),
        lambda: model.predict(bad),
        lambda: model.transform(bad),
        lambda: model.assign(bad),
    ):
        with pytest.raises(ValueError, match=r"X is a malformed sparse array: .* Rebuild it"):
            call()


@every
def test_centers_and_coefficients_are_refused(name):
    bad = MALFORMED[name]
    with pytest.raises(ValueError, match="centers is a malformed sparse array"):
        bckm.assign_to(X, bad)
    with pytest.raises(ValueError, match="init is a malformed sparse array"):
        bckm.kmeans(np.tile(X, (2, 1)), 8, init=bad)
    with pytest.raises(ValueError, match="coefficients of 'load' is a malformed sparse array"):
        bckm.LinearRows(bad, upper=1, name="load")


def test_what_is_wrong_is_told():
    told = "it has an entry in column 77 of 3, numbered from 0"
    with pytest.raises(ValueError, match=told):
        bckm.kmeans(MALFORMED["matrix"], 2)


@pytest.mark.parametrize("sure", [False, True])
def test_order_and_duplicates_are_put_right_whatever_the_array_says_of_itself(sure):
    data, indices = np.array([4.0, 1.0, 2.0, 3.0, 9.0, 9.5]), np.array([2, 0, 0, 1, 1, 1])
    indptr = np.array([0, 3, 4, 5, 6])
    messy = sp.csr_array((data, indices, indptr), (4, 3))
    before = [part.copy() for part in (messy.data, messy.indices, messy.indptr)]
    if sure:
        messy.has_sorted_indices = messy.has_canonical_format = True
    plain = np.array([[3.0, 0, 4], [0, 3, 0], [0, 9, 0], [0, 9.5, 0]])
    found, wanted = (bckm.kmeans(data, 2, random_state=0) for data in (messy, sp.csr_array(plain)))
    assert found.labels.tolist() == wanted.labels.tolist()
    assert found.inertia == wanted.inertia
    assert bckm.LinearRows(messy, upper=1).A.toarray().tolist() == plain.tolist()
    for part, old in zip((messy.data, messy.indices, messy.indptr), before, strict=True):
        assert np.array_equal(part, old)


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint64, bool])
def test_every_format_and_type_is_read(kind, dtype):
    values = (X % 5).astype(dtype)
    found = bckm.kmeans(sp.csr_array(values).asformat(kind), 2, random_state=0)
    wanted = bckm.kmeans(sp.csr_array(values.astype(float)), 2, random_state=0)
    assert found.labels.tolist() == wanted.labels.tolist()


def test_indices_of_other_widths():
    wide = csr(become("indices", lambda old: old.astype(np.int64)))
    odd = csr(become("indices", lambda old: old.astype(np.uint16)))
    wanted = bckm.kmeans(sp.csr_array(X), 2, random_state=0).labels.tolist()
    for array in (wide, odd):
        assert bckm.kmeans(array, 2, random_state=0).labels.tolist() == wanted
