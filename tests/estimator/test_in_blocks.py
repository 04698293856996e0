"""`ConstrainedKMeans` with data that are read in blocks."""

import pickle

import numpy as np
import pytest

import bckm
from bckm import ArrayRows, ConstrainedKMeans, ParquetRows, UnsupportedError
from bckm.blocks import sources
from bckm.blocks.labels import Labels

N, K, D = 400, 4, 3


@pytest.fixture(name="X", scope="module")
def blobs():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(N, D)) + 3 * rng.integers(0, 3, (N, 1))).astype(np.float32)


def model(**settings):
    asked = {"size_min": N // K, "size_max": N // K, "random_state": 0, "max_iter": 3}
    return ConstrainedKMeans(K, **(asked | settings))


@pytest.fixture(name="path")
def in_parquet(X, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"x{j}": X[:, j] for j in range(D)}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=150)
    pq.write_table(pa.table(dict(reversed(columns.items()))), tmp_path / "other.parquet")
    return tmp_path / "x.parquet"


def test_fit_and_predict_agree(X, path):
    fitted = model().fit(path)
    labels = np.asarray(fitted.labels_)
    assert isinstance(fitted.labels_, Labels)
    assert np.bincount(labels).tolist() == K * [N // K]
    assert fitted.n_features_in_ == D
    assert fitted.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    rule = fitted.result_.labelling
    elsewhere = np.ones(N, bool)
    elsewhere[rule.index] = False  # at a border
    for data in (path, str(path), ParquetRows(path)):
        predicted = fitted.predict(data)
        assert isinstance(predicted, Labels)
        np.testing.assert_array_equal(np.asarray(predicted)[elsewhere], labels[elsewhere])
    with pytest.warns(UserWarning, match="feature names"):
        predicted = fitted.predict(X)
    assert predicted.dtype == np.int32
    np.testing.assert_array_equal(predicted[elsewhere], labels[elsewhere])
    np.testing.assert_array_equal(np.asarray(model().fit_predict(path)), labels)
    with pytest.raises(ValueError, match="other columns"):
        fitted.predict(path.with_name("other.parquet"))


def test_large_arrays_give_arrays(X, path, monkeypatch):
    expected = model().fit(path)
    monkeypatch.setattr(sources, "LARGE", X.size - 1)
    fitted = model().fit(X)
    assert fitted.result_.labelling is not None
    assert isinstance(fitted.labels_, np.ndarray)
    assert fitted.labels_.dtype == np.int32
    np.testing.assert_array_equal(fitted.labels_, np.asarray(expected.labels_))
    assert fitted.predict(X).dtype == np.int32
    assert not hasattr(fitted, "feature_names_in_")
    linked = model().fit(X, must_link=[(0, 1)])  # in memory
    assert linked.labels_[0] == linked.labels_[1]


def test_arrays_on_disk(X, path, tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(tmp_path / "x.zarr", shape=X.shape, chunks=(100, D), dtype="f4")
    array[:] = X
    fitted = model().fit(array)
    expected = np.asarray(model().fit(path).labels_)
    np.testing.assert_array_equal(np.asarray(fitted.labels_), expected)
    assert isinstance(fitted.predict(array), Labels)
    linked = model().fit(array, must_link=[(0, 1)])  # it is not large: in memory
    assert linked.labels_[0] == linked.labels_[1]


def test_models_of_memory_predict_files_and_the_other_way_round(X, path):
    in_memory = model().fit(X)
    np.testing.assert_array_equal(np.asarray(in_memory.predict(path)), in_memory.predict(X))
    assert in_memory.score(path) == pytest.approx(in_memory.score(X), rel=1e-12)
    assigned = np.asarray(in_memory.assign(path))
    np.testing.assert_array_equal(np.bincount(assigned), np.bincount(in_memory.assign(X)))


def test_what_needs_memory_is_refused(X, path):
    fitted = model().fit(path)
    with pytest.raises(UnsupportedError, match="fit into memory"):
        fitted.transform(path)
    with pytest.raises(UnsupportedError, match="sample_weight"):
        fitted.score(path, sample_weight=np.ones(N))
    with pytest.raises(UnsupportedError, match="rules other than"):
        model().fit(path, must_link=[(0, 1)])
    with pytest.raises(UnsupportedError, match="sample_weight"):
        model().fit(path, sample_weight=np.ones(N))
    with pytest.raises(ValueError, match="3 features"):
        ConstrainedKMeans(2).fit(X[:, :2]).predict(path)
    with pytest.raises(UnsupportedError, match="metric 'cosine'"):
        ConstrainedKMeans(2, metric="cosine").fit(X).predict(ArrayRows(X))


def test_models_are_pickled_and_saved(path, tmp_path):
    fitted = model().fit(path)
    labels = np.asarray(fitted.labels_)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(np.asarray(again.labels_), labels)
    np.testing.assert_array_equal(np.asarray(again.predict(path)), np.asarray(fitted.predict(path)))
    for thing in (fitted, fitted.result_):
        bckm.save(thing, tmp_path / "kept.bckm")
        kept = bckm.load(tmp_path / "kept.bckm")
        found = kept.labels_ if thing is fitted else kept.labels
        np.testing.assert_array_equal(found, labels)  # a file of its own, without that of the data
