"""Cosine and haversine: k-means on the sphere, centers in the terms of the data."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import haversine_distances

import bckm
from bckm import ConstrainedKMeans
from bckm.kernels import missing
from bckm.metric.embedding import Sample
from bckm.metric.named import METRICS
from bckm.metric.sphere import EARTH
from tests.property.test_invariance import permuted

N, K = 60, 4
RULES = {
    "nothing": bckm.Constraints(),
    "sizes": bckm.Constraints(size_min=13, size_max=17),
    "unequal": bckm.Constraints(size_min=[5, 10, 15, 20], size_max=[9, 14, 20, 30]),
    "links": bckm.Constraints([(0, 1, 2), (3, 4)], [(0, 3), (5, 6)], size_min=10, size_max=20),
}
every_rule = pytest.mark.parametrize("asked", RULES)


def rays(seed, n=N, d=5):
    """Samples along few directions, of very different lengths."""
    rng = np.random.default_rng(seed)
    ways = rng.normal(size=(K, d))[rng.integers(K, size=n)] + 0.3 * rng.normal(size=(n, d))
    return ways * 10.0 ** rng.uniform(-3, 3, (n, 1))


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def places(seed, n=N, middle=(48.0, 11.0), width=0.05):
    """Latitude and longitude of places in a square; a small town as it stands here."""
    rng = np.random.default_rng(seed)
    blobs = rng.random((K, 2))[rng.integers(K, size=n)] + 0.15 * rng.normal(size=(n, 2))
    return np.array(middle) + width * (blobs - 0.5)


def plane(X, latitude):
    """Kilometers east and north, as on a map."""
    return np.radians(X) * EARTH * np.array([1.0, np.cos(np.radians(latitude))])


def partition(labels):
    """Labels numbered in the order in which they appear."""
    first = {}
    return [first.setdefault(label, len(first)) for label in labels.tolist()]


# cosine ---------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@every_rule
@pytest.mark.parametrize("search", ["none", "auto", *([] if missing else ["local"])])
def test_cosine_is_euclidean_on_rows_of_length_one(asked, search):
    X = rays(0)
    options = {"search": search, "n_init": 3, "random_state": 0}
    found = bckm.kmeans(X, K, RULES[asked], metric="cosine", **options)
    plain = bckm.kmeans(unit(X), K, RULES[asked], **options)
    np.testing.assert_array_equal(found.labels, plain.labels)
    assert found.inertia == pytest.approx(plain.inertia, rel=1e-12)
    np.testing.assert_allclose(found.embedded, plain.centers, atol=1e-14)
    np.testing.assert_allclose(found.centers, unit(plain.centers), atol=1e-13)
    np.testing.assert_array_equal(plain.embedded, plain.centers)


@pytest.mark.sampled(2)
@every_rule
def test_cosine_ignores_lengths_of_rows(asked):
    X, rng = rays(1), np.random.default_rng(0)
    expected = bckm.kmeans(X, K, RULES[asked], metric="cosine", random_state=0)
    powers = 2.0 ** rng.integers(-40, 40, (N, 1))
    exact = bckm.kmeans(X * powers, K, RULES[asked], metric="cosine", random_state=0)
    np.testing.assert_array_equal(exact.labels, expected.labels)
    assert exact.inertia == expected.inertia  # a power of two changes no digit
    factors = 10.0 ** rng.uniform(-5, 5, (N, 1))
    found = bckm.kmeans(X * factors, K, RULES[asked], metric="cosine", random_state=0)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.inertia == pytest.approx(expected.inertia, rel=1e-9)


@pytest.mark.parametrize("scale", [5e-324 * 2**60, 1e-200, 1e145])
def test_cosine_of_very_small_and_very_large_numbers(scale):
    X = np.array([[3.0, 4.0], [4.0, 3.0], [-5.0, 1.0], [-5.0, 2.0]])
    expected = METRICS["cosine"].embedded(X)
    for data in (X * scale, sp.csr_array(X * scale)):
        found = METRICS["cosine"].embedded(data)
        found = found.toarray() if sp.issparse(found) else found
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@every_rule
def test_cosine_of_sparse_data(asked):
    rng = np.random.default_rng(2)
    dense = rays(2, d=8) * (rng.random((N, 8)) < 0.6)
    dense[:, 0] += 0.01 * np.abs(dense).max(axis=1) + 1e-9  # no row is zero
    options = {"metric": "cosine", "search": "none", "n_init": 2, "random_state": 0}
    expected = bckm.kmeans(dense, K, RULES[asked], **options)
    for kind in (sp.csr_array, sp.csc_matrix):
        found = bckm.kmeans(kind(dense), K, RULES[asked], **options)
        np.testing.assert_array_equal(found.labels, expected.labels)
        assert found.inertia == pytest.approx(expected.inertia, rel=1e-9)
        np.testing.assert_allclose(found.centers, expected.centers, atol=1e-12)
        moved = bckm.assign_to(kind(dense), expected.centers, metric="cosine")
        again = bckm.assign_to(dense, expected.centers, metric="cosine")
        np.testing.assert_array_equal(moved.labels, again.labels)


def test_cosine_leaves_sparse_data_sparse_and_unchanged():
    X = sp.random_array((500, 10_000_000), density=1e-6, rng=np.random.default_rng(0)).tocsr()
    X = X[np.diff(X.indptr) > 0]
    before = X.data.copy()
    found = METRICS["cosine"].embedded(X)
    assert found.nnz == X.nnz
    np.testing.assert_array_equal(X.data, before)
    np.testing.assert_allclose(found.multiply(found).sum(axis=1), 1.0)


# places --------------------------------------------------------------------------------------


def arc(one, other):
    """Great-circle distance in km, by the haversine formula."""
    (a, b), (c, d) = np.radians(one), np.radians(other)
    half = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    return 2 * EARTH * np.arcsin(np.sqrt(half))


def test_radians_are_degrees_on_a_sphere_of_radius_1():
    X = DATA["latlon"]
    degrees = bckm.kmeans(X, K, metric="latlon", random_state=0)
    radians = bckm.kmeans(np.radians(X), K, metric="haversine", random_state=0)
    assert radians.labels.tolist() == degrees.labels.tolist()
    assert radians.inertia * EARTH**2 == pytest.approx(degrees.inertia, rel=1e-9)
    np.testing.assert_allclose(np.degrees(radians.centers), degrees.centers, atol=1e-9)
    chord = 2 * np.sin(haversine_distances(np.radians(X[:2]))[0, 1] / 2)
    points = METRICS["haversine"].embedded(np.radians(X[:2]))
    assert np.linalg.norm(points[0] - points[1]) == pytest.approx(chord, rel=1e-9)
    poles = np.radians([[90.0, 0.0], [-90.0, 360.0]]).astype(np.float32)  # a touch beyond
    assert bckm.kmeans(poles, 2, metric="haversine").inertia < 1e-12
    with pytest.raises(
        ValueError, match=r"latitude 48.*±1\.5708.*in radians.*metric='latlon' takes"
    ):
        bckm.kmeans([[48.0, 11.0], [1.0, 1.0]], 1, metric="haversine")


def test_chords_of_arcs():
    rng = np.random.default_rng(0)
    X = np.stack([rng.uniform(-90, 90, 40), rng.uniform(-360, 360, 40)], axis=1)
    points = METRICS["latlon"].embedded(X)
    for p, q in rng.integers(40, size=(100, 2)):
        chord = 2 * EARTH * np.sin(arc(X[p], X[q]) / 2 / EARTH)
        assert np.linalg.norm(points[p] - points[q]) == pytest.approx(chord, abs=1e-8)
    # 1,000 km: the docstring says 0.1 %
    north = METRICS["latlon"].embedded([[0.0, 0.0], [np.degrees(1000 / EARTH), 0.0]])
    assert 1 - np.linalg.norm(north[1] - north[0]) / 1000 == pytest.approx(1e-3, rel=0.1)


@pytest.mark.sampled(4)
@every_rule
@pytest.mark.parametrize("latitude", [0.0, 48.0, -70.0])
def test_a_small_town_is_flat(asked, latitude):
    X = places(0, middle=(latitude, 11.0))
    seeds, flat_seeds = X[:K], plane(X[:K], latitude)  # drawn ones would be others in space
    found = bckm.kmeans(X, K, RULES[asked], init=seeds, metric="latlon")
    flat = bckm.kmeans(plane(X, latitude), K, RULES[asked], init=flat_seeds)
    np.testing.assert_array_equal(found.labels, flat.labels)
    assert bckm.verify(found.labels, K, RULES[asked]) == []
    assert found.inertia == pytest.approx(flat.inertia, rel=1e-3)
    means = np.stack([X[found.labels == i].mean(axis=0) for i in range(K)])
    np.testing.assert_allclose(found.centers, means, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found.embedded, axis=1), EARTH, rtol=1e-6)
    assert (np.linalg.norm(found.embedded, axis=1) < EARTH).all()


def test_longitude_wraps():
    X = [[0.0, 179.9], [0.1, -179.9], [0.0, 0.2], [0.1, -0.1], [0.2, 180.1], [0.2, 359.9]]
    found = bckm.kmeans(X, 2, metric="latlon", random_state=0)
    assert partition(found.labels) == [0, 0, 1, 1, 0, 1]
    east = found.centers[found.labels[0]]
    assert abs(abs(east[1]) - 180) < 0.2
    model = ConstrainedKMeans(2, metric="latlon", random_state=0).fit(X)
    assert model.predict([[5.0, -175.0], [5.0, 175.0]]).tolist() == [model.labels_[0]] * 2


def test_the_pole_is_one_place():
    X = [[89.9, 0.0], [89.9, 90.0], [89.9, -90.0], [89.9, 180.0], [60.0, 0.0], [60.0, 1.0]]
    found = bckm.kmeans(X, 2, metric="latlon", random_state=0)
    assert partition(found.labels) == [0, 0, 0, 0, 1, 1]
    assert found.centers[found.labels[0], 0] == pytest.approx(90.0, abs=1e-9)


# both -----------------------------------------------------------------------------------------


DATA = {"euclidean": rays(3), "cosine": rays(3), "latlon": places(3, width=40.0)}
every_metric = pytest.mark.parametrize("metric", DATA)


@pytest.mark.sampled(4)
@every_rule
@every_metric
def test_rows_permuted(metric, asked):
    X, order = DATA[metric], np.random.default_rng(1).permutation(N)
    init = X[[3, 14, 15, 26]]
    expected = bckm.kmeans(X, K, RULES[asked], init=init, metric=metric)
    moved = permuted(RULES[asked], order)
    found = bckm.kmeans(X[order], K, moved, init=init, metric=metric)
    np.testing.assert_array_equal(found.labels, expected.labels[order])
    np.testing.assert_allclose(found.centers, expected.centers, atol=1e-9)


@every_metric
def test_given_centers_are_in_the_terms_of_the_data(metric):
    X, seeds = DATA[metric], DATA[metric][[0, 20, 40, 50]]
    found = bckm.kmeans(X, K, init=seeds, metric=metric, search="none", max_iter=1)
    space = METRICS[metric]
    points, at = space.embedded(X), space.embedded(seeds)
    nearest = np.square(points[:, None] - at).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(found.labels, nearest)
    fixed = bckm.assign_to(X, seeds, metric=metric)
    np.testing.assert_array_equal(fixed.labels, nearest)
    np.testing.assert_array_equal(fixed.centers, seeds)
    np.testing.assert_array_equal(fixed.embedded, at)
    assert fixed.inertia == pytest.approx(np.square(points - at[nearest]).sum())


def everywhere(seed):
    """Samples in all directions: means of wide and narrow clusters lie deep inside and not."""
    rng = np.random.default_rng(seed)
    ways = rng.normal(size=(N, 3))
    ways[: N // 3] = [1.0, 0.0, 0.0] + 0.1 * ways[: N // 3]
    latitude = np.degrees(np.arcsin(unit(ways)[:, 2]))
    longitude = np.degrees(np.arctan2(ways[:, 1], ways[:, 0]))
    return {
        "euclidean": ways,
        "cosine": ways,
        "latlon": np.stack([latitude, longitude], axis=1),
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("search", ["none", "auto"])
@pytest.mark.parametrize("sizes", [{}, {"size_min": 13, "size_max": 17}])
@pytest.mark.parametrize("data", [DATA, *map(everywhere, range(3))], ids=["rays", "a", "b", "c"])
@every_metric
def test_predict_agrees_with_fit(metric, data, sizes, search):
    X = data[metric]
    model = ConstrainedKMeans(K, metric=metric, search=search, tol=0, random_state=0, **sizes)
    model.fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.assign(X), model.labels_)
    away = model.transform(X)
    assert away.shape == (N, K)
    own = away[np.arange(N), model.labels_]
    assert np.square(own).sum() == pytest.approx(model.inertia_, rel=1e-9)
    assert model.score(X) == pytest.approx(-np.square(away).min(axis=1).sum(), rel=1e-9)
    assert model.cluster_centers_.shape == (K, X.shape[1])
    assert model.n_features_in_ == X.shape[1]


def test_predict_agrees_with_fit_for_sparse_cosine():
    X = sp.csr_array(np.abs(DATA["cosine"]))
    model = ConstrainedKMeans(K, metric="cosine", size_max=17, tol=0, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X * 7.0), model.labels_)
    np.testing.assert_array_equal(model.predict(X.toarray()), model.labels_)


def test_a_sparse_batch_as_it_comes():
    """Numbers in float32, entries stored twice: what `fit` would have read."""
    dense = np.round(np.abs(DATA["euclidean"][:, :3]), 1)
    model = ConstrainedKMeans(K, tol=0, search="none", random_state=0).fit(sp.csr_array(dense))
    once = sp.csr_array(dense)
    halves = np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr
    for X in (sp.csr_array(halves, once.shape), sp.csr_matrix(dense.astype(np.float32))):
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_allclose(model.transform(X), model.transform(dense), rtol=1e-5, atol=1e-3)
        assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-5)


def test_a_fitted_model_keeps_its_metric():
    X = DATA["cosine"]
    model = ConstrainedKMeans(K, metric="cosine", tol=0, random_state=0).fit(X)
    model.set_params(metric="euclidean")
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert clone(model).metric == "euclidean"


def test_frames_keep_their_names():
    frame = pd.DataFrame(DATA["latlon"], columns=["latitude", "longitude"])
    model = ConstrainedKMeans(K, metric="latlon", random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["latitude", "longitude"]
    again = bckm.kmeans(frame, K, metric="latlon", random_state=0)
    np.testing.assert_array_equal(again.labels, model.labels_)


@pytest.mark.full
@pytest.mark.parametrize("metric", ["cosine", "latlon"])
def test_certify(metric):
    X = DATA[metric][:30]
    result = bckm.kmeans(X, 3, metric=metric, n_init=10, random_state=0)
    certificate = bckm.certify(result, X)
    assert certificate.objective == result.inertia
    assert certificate.gap < 0.05


# means without a direction --------------------------------------------------------------------


def test_a_mean_in_the_middle_gets_the_direction_of_a_sample():
    for X in ([[1.0, 0.0], [-2.0, 0.0]], [[0.0, 3.0], [0.0, -1.0]]):
        found = bckm.kmeans(X, 1, metric="cosine")
        assert found.inertia == pytest.approx(2.0)
        np.testing.assert_allclose(found.embedded, 0.0, atol=1e-15)
        assert any(np.allclose(found.centers[0], row) for row in unit(np.array(X)))
        turned = bckm.kmeans(X[::-1], 1, metric="cosine")
        np.testing.assert_allclose(turned.centers, found.centers)
        sparse = bckm.kmeans(sp.csr_array(np.array(X)), 1, metric="cosine")
        assert np.linalg.norm(sparse.centers[0]) == pytest.approx(1.0)
    found = bckm.kmeans([[0.0, 10.0], [0.0, -170.0]], 1, metric="latlon")
    assert found.centers[0].tolist() in (pytest.approx([0.0, 10.0]), pytest.approx([0.0, -170.0]))
    together = bckm.Constraints(must_link=[(0, 1)])
    found = bckm.kmeans([[0.0, 10.0], [0.0, -170.0], [80, 0.0]], 2, together, metric="latlon")
    assert np.isfinite(found.centers).all()
    assert found.labels[0] == found.labels[1] != found.labels[2]


def test_the_middle_of_an_empty_cluster_gets_a_direction_too():
    space, nobody = METRICS["latlon"], np.array([1])
    centers = space.centers(np.zeros((1, 3)), nobody, Sample(None, np.ones((1, 3)), nobody, nobody))
    assert centers.tolist() == [[0.0, 0.0]]


# bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["manhattan", None, 2, ["cosine"]])
def test_unknown_metrics(bad):
    message = r"metric must be one of 'euclidean', 'cosine', 'latlon', 'haversine', 'learned'; got"
    for call in (
        lambda: bckm.kmeans([[0.0], [1.0]], 1, metric=bad),
        lambda: bckm.assign_to([[0.0], [1.0]], [[0.0]], metric=bad),
        lambda: ConstrainedKMeans(1, metric=bad).fit([[0.0], [1.0]]),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_cosine_of_nothing(kind):
    many = np.ones((40_000, 2))
    many[39_998] = 0.0
    message = r"row 39998 of X is all zeros.*drop such rows, or use metric='euclidean'"
    with pytest.raises(ValueError, match=message):
        bckm.kmeans(kind(many), 2, metric="cosine")
    with pytest.raises(ValueError, match="row 1 of init is all zeros"):
        bckm.kmeans(np.eye(3), 2, init=np.eye(3)[:2] * [[1.0], [0.0]], metric="cosine")
    with pytest.raises(ValueError, match="row 0 of centers is all zeros"):
        bckm.assign_to(np.eye(3), np.zeros((2, 3)), metric="cosine")
    model = ConstrainedKMeans(2, metric="cosine").fit(np.eye(3))
    with pytest.raises(ValueError, match="row 0 of X is all zeros"):
        model.predict(np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[10.0], [20.0]], "X has 1 features; .*latitude and longitude, in this order.*two col"),
        (np.ones((4, 3)), "X has 3 features"),
        (
            [[10.0, 0.0], [90.5, 0.0]],
            r"row 1 of X has latitude 90\.5.*±90.*metric='haversine' takes rad",
        ),
        ([[-120.0, 0.0], [10.0, 0.0]], "row 0 of X has latitude -120.*Swap the columns"),
        ([[10.0, 0.0], [0.0, -361.0]], "row 1 of X has longitude -361.*±360.*degrees"),
        ([[10.0, 0.0], [np.nan, 0.0]], "NaN or infinity, first at sample 1, feature 0"),
        (sp.csr_array(np.eye(2)), "X is sparse; .*toarray"),
    ],
)
def test_bad_places(X, message):
    with pytest.raises(ValueError, match=message):
        bckm.kmeans(X, 1, metric="latlon")


def test_bad_centers_of_places():
    X = DATA["latlon"]
    with pytest.raises(ValueError, match=r"init has shape \(4, 3\); expected \(4, 2\)"):
        bckm.kmeans(X, K, init=np.ones((K, 3)), metric="latlon")
    init = X[:K].copy()
    init[2, 0] = 100
    with pytest.raises(ValueError, match="row 2 of init has latitude 100"):
        bckm.kmeans(X, K, init=init, metric="latlon")
    with pytest.raises(ValueError, match="centers have 3 features, but X has 2"):
        bckm.assign_to(X, np.ones((K, 3)), metric="latlon")
