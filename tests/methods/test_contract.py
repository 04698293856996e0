"""What all methods share: the estimator contract, determinism, units, bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from bckm import Constraints, verify
from bckm.methods import BCLS, BKM, CKM, CKSC, COP, HKC, KM, METHODS, COPFailure, MethodFailure

pytestmark = pytest.mark.sampled(2)

CLASSES = [KM, HKC, COP, BKM, CKM, CKSC, BCLS]
KNOW_LINKS = [COP, CKM, CKSC]


# no check is expected to fail
@pytest.mark.full
@parametrize_with_checks([cls() for cls in CLASSES])
def test_scikit_learn_check(estimator, check):
    check(estimator)


def blobs(n=90, k=3, d=5, seed=0, spread=1.0):
    return make_blobs(n, d, centers=k, cluster_std=spread, random_state=seed)


def make(cls, k=3, **parameters):
    if "n_init" in cls(k).get_params():
        parameters.setdefault("n_init", 2)
    return cls(k, random_state=0, **parameters)


def test_names_of_the_paper():
    assert {m.__name__ for m in METHODS.values()} == {cls.__name__ for cls in CLASSES}
    assert METHODS["HKM"] is HKC
    assert METHODS["BCLR"] is BCLS
    assert METHODS["COP-KM"] is COP


@pytest.mark.parametrize("cls", CLASSES)
def test_attributes_describe_the_labels(cls):
    X, _ = blobs()
    model = make(cls).fit(X, must_link=[(0, 1)], cannot_link=[(0, 2)])
    assert model.labels_.dtype == np.int32
    means = np.array([X[model.labels_ == i].mean(axis=0) for i in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means)
    assert model.inertia_ == pytest.approx(np.square(X - means[model.labels_]).sum())
    assert model.cluster_sizes_.tolist() == np.bincount(model.labels_, minlength=3).tolist()
    assert hasattr(model, "violations_") == cls.knows_links
    assert hasattr(model, "n_iter_") == (cls is not HKC)


@pytest.mark.parametrize("cls", CLASSES)
def test_same_seed_same_labels(cls):
    X, _ = blobs(spread=6.0)
    links = {"must_link": [(0, 1), (4, 5)], "cannot_link": [(0, 2)]}
    first = make(cls).fit(X, **links)
    again = clone(first).fit(X, **links)
    np.testing.assert_array_equal(first.labels_, again.labels_)
    assert first.inertia_ == again.inertia_
    generator = make(cls).set_params(random_state=np.random.default_rng(3)).fit(X)
    same = make(cls).set_params(random_state=np.random.default_rng(3)).fit(X)
    np.testing.assert_array_equal(generator.labels_, same.labels_)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e6])
def test_unit_of_the_data_does_not_matter(cls, unit):
    X, _ = blobs(spread=3.0, seed=1)
    links = {"must_link": [(0, 1), (4, 5)], "cannot_link": [(0, 2), (7, 8)]}
    here, there = make(cls).fit(X, **links), make(cls).fit(X * unit, **links)
    np.testing.assert_array_equal(here.labels_, there.labels_)
    assert there.inertia_ == pytest.approx(here.inertia_ * unit**2, rel=1e-9)


@pytest.mark.parametrize("cls", CLASSES)
def test_order_of_features_does_not_matter(cls):
    X, _ = blobs(spread=3.0, seed=2)
    links = {"must_link": [(0, 1), (4, 5)], "cannot_link": [(0, 2), (7, 8)]}
    here, there = make(cls).fit(X, **links), make(cls).fit(X[:, [3, 0, 4, 1, 2]], **links)
    assert adjusted_rand_score(here.labels_, there.labels_) == 1


@pytest.mark.parametrize("cls", CLASSES)
def test_offset_does_not_matter(cls):
    X, _ = blobs(spread=3.0, seed=3)
    here, there = make(cls).fit(X), make(cls).fit(X + 1e6)
    assert adjusted_rand_score(here.labels_, there.labels_) == 1


@pytest.mark.parametrize("cls", [KM, HKC, BKM, BCLS])
def test_methods_without_links_ignore_them(cls):
    X, _ = blobs(spread=6.0)
    with_links = make(cls).fit(X, must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
    np.testing.assert_array_equal(with_links.labels_, make(cls).fit(X).labels_)


@pytest.mark.parametrize("cls", KNOW_LINKS)
def test_violations_are_those_of_the_checker(cls):
    X, _ = blobs(n=40, spread=6.0)
    asked = Constraints([(0, 1), (1, 2)], [(0, 3), (5, 6, 7)], size_min=0)
    model = make(cls).fit(X, must_link=asked.must_link, cannot_link=asked.cannot_link)
    found = [str(v) for v in verify(model.labels_, 3, asked)]
    assert [str(v) for v in model.violations_ if "empty" not in str(v)] == found


@pytest.mark.parametrize("cls", KNOW_LINKS)
@pytest.mark.parametrize(
    ("links", "word"),
    [
        ({"must_link": [(0, 90)]}, "numbered 0 to 89"),
        ({"cannot_link": [(1, 1)]}, "from itself"),
        ({"must_link": [(0, -1)]}, "of at least 0"),
    ],
)
def test_bad_links_are_refused(cls, links, word):
    with pytest.raises(ValueError, match=word):
        make(cls).fit(blobs()[0], **links)


@pytest.mark.parametrize(
    ("cls", "parameter", "value"),
    [
        *((cls, "n_clusters", 91) for cls in CLASSES),
        *((cls, "n_clusters", 0) for cls in CLASSES),
        *((cls, "max_iter", 0) for cls in CLASSES if cls is not HKC),
        *((cls, "n_init", 1.5) for cls in CLASSES if cls is not HKC),
        *((cls, "init", "k-meanz") for cls in (COP, BKM, CKM)),
        *((cls, "init", np.zeros((2, 5))) for cls in (COP, BKM, CKM)),
        (HKC, "linkage", "wrd"),
        (COP, "order", "sorted"),
        (CKM, "size_min", [1, 2]),
        (CKM, "size_min", 1.5),
        (CKSC, "scale", "global"),
        (CKSC, "n_neighbors", 0),
        (CKSC, "n_eigenvectors", 0),
        (BCLS, "gamma", 0),
        (BCLS, "lam", -1),
        (BCLS, "mu", 0.0),
        (BCLS, "rho", 1.0),
        (BCLS, "tol", -1.0),
        (KM, "tol", -1.0),
    ],
)
def test_bad_parameters_are_refused_in_fit(cls, parameter, value):
    model = make(cls).set_params(**{parameter: value})
    with pytest.raises(ValueError, match=parameter):
        model.fit(blobs()[0])


@pytest.mark.parametrize("cls", CLASSES)
def test_one_cluster_and_as_many_as_samples(cls):
    X, _ = blobs(n=6, k=2)
    assert make(cls, 1).fit(X).cluster_sizes_.tolist() == [6]
    if cls is not BCLS:  # it promises nothing about sizes
        assert make(cls, 6).fit(X).cluster_sizes_.tolist() == [1] * 6


@pytest.mark.parametrize("cls", CLASSES)
def test_one_sample(cls):
    assert make(cls, 1).fit([[2.0, 3.0]] * 2).inertia_ == 0
    if cls is not HKC:  # scikit-learn's needs two
        model = make(cls, 1).fit([[2.0, 3.0]])
        assert model.cluster_centers_.tolist() == [[2.0, 3.0]]


@pytest.mark.parametrize("cls", [COP, BKM, CKM, BCLS])
def test_equal_samples(cls):
    """More clusters than distinct samples: sizes where they are promised, no warnings."""
    X = np.repeat([[0.0, 1.0], [2.0, 5.0]], 10, axis=0)
    model = make(cls, 4).fit(X)
    assert model.cluster_sizes_.sum() == 20
    if cls is BKM:
        assert model.cluster_sizes_.tolist() == [5] * 4
    if cls is CKM:
        assert model.cluster_sizes_.min() >= 1


def test_cksc_with_many_equal_samples():
    X = np.repeat([[0.0, 1.0], [2.0, 5.0]], 20, axis=0)
    model = make(CKSC, 2).fit(X)
    assert model.inertia_ == 0
    assert np.isfinite(model.kernel_).all()


@pytest.mark.parametrize("cls", CLASSES)
def test_moderate_data(cls):
    X, y = blobs(n=600, k=10, d=200, seed=5)
    must_link = [np.flatnonzero(y == c)[:8] for c in range(10)]
    cannot_link = [tuple(link[t] for link in must_link) for t in range(8)]
    model = make(cls, 10).fit(X, must_link=must_link, cannot_link=cannot_link)
    assert adjusted_rand_score(y, model.labels_) > (0.6 if cls is CKSC else 0.8)


@pytest.mark.parametrize("seed", range(3))
def test_km_is_that_of_scikit_learn(seed):
    X, _ = blobs(spread=6.0, seed=seed)
    theirs = KMeans(4, n_init=10, max_iter=100, random_state=seed).fit(X)
    ours = KM(4, random_state=seed).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-3)
    assert ours.inertia_ <= theirs.inertia_ * (1 + 1e-12)


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single"])
def test_hkc_is_that_of_scikit_learn(linkage):
    X, _ = blobs(spread=6.0)
    theirs = AgglomerativeClustering(4, linkage=linkage).fit(X)
    np.testing.assert_array_equal(HKC(4, linkage=linkage).fit(X).labels_, theirs.labels_)


def test_failures_travel_between_processes():
    with pytest.raises(MethodFailure) as caught:
        COP(2).fit([[0.0], [1.0], [2.0]], cannot_link=[{0, 1, 2}])
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, COPFailure)
    assert (str(again), again.sample) == (str(caught.value), 2)
