import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_samples

import bckm
from bckm.constraints.statements import Capacity, Quota
from bckm.study import views
from tests.support.studies import random_study, result_of, study_of

# ------------------------------------------------------------------ plane


@pytest.mark.parametrize("shape", [(60, 4), (9, 30)])
def test_main_components_are_those_of_sklearn(shape):
    study = random_study(*shape)
    found = views.plane(study)
    model = PCA(2, svd_solver="full").fit(study.X)
    other = model.transform(study.X)
    assert found.kind == "pca"
    np.testing.assert_allclose(np.abs(found.points), np.abs(other), atol=1e-9)
    np.testing.assert_allclose(found.explained, model.explained_variance_ratio_)
    share = model.explained_variance_ratio_[0]
    assert found.x_label == f"component 1 ({100 * share:.0f} %)"
    for i, center in enumerate(found.centers):
        np.testing.assert_allclose(center, found.points[study.result.labels == i].mean(0))


def test_components_of_very_many_features(monkeypatch):
    study = random_study(80, 40, sample_weight=np.arange(1.0, 81.0))
    exact = views.plane(study)
    monkeypatch.setattr("bckm.study.views._plane._EXACT", 10)
    found = views.plane(study)
    assert found.explained == pytest.approx(exact.explained, rel=1e-2)
    assert abs(np.corrcoef(found.points[:, 0], exact.points[:, 0])[0, 1]) > 0.99


def test_weights_in_the_plane_are_repetitions():
    study = random_study(30, 3)
    weight = np.random.default_rng(1).integers(1, 4, 30)
    again = np.repeat(np.arange(30), weight)
    heavy = study_of(study.X, study.result.labels, sample_weight=weight)
    long = study_of(study.X[again], study.result.labels[again])
    np.testing.assert_allclose(
        views.plane(heavy).points[again], views.plane(long).points, atol=1e-9
    )


def test_the_sign_of_a_component_follows_its_largest_loading():
    X = np.zeros((4, 3))
    X[:, 1] = [3.0, 2.0, 1.0, -6.0]
    for sign in (1, -1):
        found = views.plane(study_of(sign * X, [0, 0, 1, 1]))
        np.testing.assert_allclose(found.points[:, 0], sign * X[:, 1])


def test_far_from_the_origin_nothing_is_lost():
    near = random_study(50, 3)
    far = study_of(near.X + 1e6, near.result.labels)
    np.testing.assert_allclose(views.plane(far).points, views.plane(near).points, atol=1e-7)
    np.testing.assert_allclose(views.profile(far).z, views.profile(near).z, atol=1e-7)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1, 1e100])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_equal_points_are_no_picture_but_no_error(d, value):
    found = views.plane(study_of(np.full((7, d), value), [0, 0, 1, 1, 1, 1, 1]))
    assert np.isfinite(found.points).all()
    assert found.points.shape == (7, 2)
    assert found.aspect is None
    if d == 5:
        assert found.explained == (0.0, 0.0)
        assert not found.points.any()


@pytest.mark.parametrize(("n", "d", "k"), [(1, 3, 1), (2, 9, 2), (300, 5, 200), (1, 1, 1)])
def test_every_shape_has_all_views(n, d, k):
    study = random_study(n, d, k)
    found = views.plane(study)
    assert found.points.shape == (n, 2)
    assert found.centers.shape == (k, 2)
    assert views.profile(study).mean.shape == (k, d)
    assert views.silhouette(study).values.shape == (n,)
    assert len(views.palette(found.centers)) == k
    assert views.amounts(study)[0].values.sum() == n


def test_two_columns_stay_as_they_are():
    X = [[0.0, 100.0], [1.0, 300.0], [2.0, 250.0]]
    scaling = bckm.Scaling.of(X, "standard")
    result = bckm.kmeans(scaling.apply(X), 2, random_state=0)
    study = bckm.Study.of(result, X, scaling=scaling, feature_names=["age", "pay"])
    found = views.plane(study)
    assert (found.kind, found.x_label, found.y_label) == ("columns", "age", "pay")
    np.testing.assert_array_equal(found.points, X)
    np.testing.assert_allclose(found.centers, study.centers)
    # a standard deviation of either column is equally long
    assert found.aspect == pytest.approx(scaling.factor[0] / scaling.factor[1])
    assert views.plane(bckm.Study.of(result, X)).aspect is None  # 1 : 100 is no picture


def test_a_line_keeps_neighbors_apart():
    X = np.linspace(0, 1, 50)[:, None]
    found = views.plane(study_of(X, [0] * 25 + [1] * 25))
    assert (found.kind, found.y_label) == ("line", "")
    assert np.abs(np.diff(found.points[:, 1])).min() > 0.3
    assert np.abs(found.points[:, 1]).max() <= 0.5
    assert not found.centers[:, 1].any()


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["lat", "lon"], "map"),
        (["home_longitude", "Home Latitude"], "map"),
        (["Breitengrad", "Längengrad"], "map"),
        (["latex", "long"], "columns"),
        (["lat", "lateral"], "columns"),
    ],
)
def test_coordinates_are_known_by_name(names, kind):
    found = views.plane(study_of([[8.0, 50.0], [9.0, 51.0]], [0, 1], feature_names=names))
    assert found.kind == kind
    if kind == "map":
        assert "lat" in found.y_label.lower() or "Breite" in found.y_label
        assert found.aspect > 1


def test_names_of_coordinates_beyond_the_globe_mean_something_else():
    study = study_of([[8.0, 500.0], [120.0, 510.0]], [0, 1], feature_names=["lat", "lon"])
    assert views.plane(study).kind == "columns"


@pytest.mark.parametrize("turn", [0.0, 360.0])
def test_a_map_is_cut_at_the_widest_gap(turn):
    longitude = np.array([170.0, 179.0, 180.0, -179.0, -160.0])
    longitude = np.where(longitude < 0, longitude + turn, longitude)
    X = np.stack([np.linspace(-20, -15, 5), longitude], axis=1)
    found = views.plane(study_of(X, [0, 0, 1, 1, 1], metric="latlon"))
    np.testing.assert_allclose(found.points[:, 0], [170, 179, 180, 181, 200])
    assert found.points[:, 0].min() <= found.centers[:, 0].min()
    assert found.centers[:, 0].max() <= 200
    np.testing.assert_allclose(found.points[:, 1], X[:, 0])
    same = views.plane(study_of(np.radians(X), [0, 0, 1, 1, 1], metric="haversine"))
    np.testing.assert_allclose(same.points, found.points)
    np.testing.assert_allclose(same.centers, found.centers)
    assert same.aspect == pytest.approx(found.aspect)


def test_a_map_of_the_whole_world_begins_at_the_antimeridian():
    X = [[0.0, -170.0], [0.0, -60.0], [0.0, 50.0], [10.0, 160.0]]
    found = views.plane(study_of(X, [0, 0, 1, 1], metric="latlon"))
    np.testing.assert_allclose(sorted(found.points[:, 0]), [-60, 50, 160, 190])
    one = views.plane(study_of([[10.0, 20.0]], [0], metric="latlon"))
    np.testing.assert_allclose(one.points, [[20.0, 10.0]])
    np.testing.assert_allclose(one.centers, [[20.0, 10.0]])


@pytest.mark.parametrize("d", [1, 2, 4])
def test_cosine_shows_directions(d):
    X = np.abs(np.random.default_rng(0).normal(size=(20, d))) + 0.1
    labels = np.arange(20) % 2
    small = views.plane(study_of(X, labels, metric="cosine"))
    large = views.plane(study_of(X * np.arange(1, 21)[:, None], labels, metric="cosine"))
    np.testing.assert_allclose(small.points, large.points, atol=1e-9)
    if d > 1:
        means = [small.points[labels == i].mean(0) for i in (0, 1)]
        np.testing.assert_allclose(small.centers, means, atol=1e-9)


# ------------------------------------------------------------------ amounts


def test_amounts_name_every_bound():
    labels = [0, 0, 0, 1, 1, 2]
    kg = Capacity([1, 2, 3, 4, 5, 6], min=2, max=[9, 8, 7])
    sex = Quota(["f", "m", "f", "m", "f", None], share_min=0.2, count_max={"f": 2}, name="sex")
    rules = bckm.Constraints(size_min=1, size_max=[4, 2, 9], capacities={"kg": kg}, quotas=sex)
    rules &= bckm.Constraints(size_max=2, capacities={"kg": kg}).soft(price=1.0)
    found = {one.name: one for one in views.amounts(study_of(np.eye(6), labels, rules))}
    assert list(found) == [
        "size",
        "kg",
        "sex: f",
        "sex: number of f",
        "sex: m",
        "size (soft)",
        "kg (soft)",
    ]
    size = found["size"]
    assert size.values.tolist() == [3, 2, 1]
    assert size.lower.tolist() == [1, 1, 1]
    assert size.upper.tolist() == [4, 2, np.inf]  # nine of six samples bind nobody
    assert found["kg"].values.tolist() == [6, 9, 6]
    assert found["kg"].broken.tolist() == [False, True, False]
    assert found["sex: f"].values.tolist() == [2 / 3, 1 / 2, 0]
    assert found["sex: f"].kind == "share"
    assert found["sex: f"].broken.tolist() == [False, False, True]
    assert found["sex: number of f"].values.tolist() == [2, 1, 0]
    assert found["sex: number of f"].lower is None
    assert [one.soft for one in found.values()] == [False] * 5 + [True] * 2
    assert found["size (soft)"].broken.tolist() == [True, False, False]


def test_soft_sizes_come_first_where_there_are_no_hard_ones():
    rules = bckm.Constraints(size_max=1).soft(confidence=0.1)
    (only,) = views.amounts(study_of(np.eye(3), [0, 0, 1], rules))
    assert (only.name, only.soft, only.broken.tolist()) == ("size", True, [True, False])
    hard = bckm.Constraints(size_max=1).soft(price=np.inf)
    assert not views.amounts(study_of(np.eye(3), [0, 0, 1], hard))[0].soft
    none = bckm.Constraints(size_max=1).soft(price=0.0)
    assert not views.amounts(study_of(np.eye(3), [0, 0, 1], none))[0].bounded


def test_bounds_that_bind_nobody_are_none():
    (size,) = views.amounts(study_of(np.eye(3), [0, 0, 1], bckm.Constraints(size_min=0)))
    assert size.lower is None
    assert size.upper is None
    assert not size.broken.any()


def test_a_share_of_nothing_is_nothing():
    quota = Quota(["a", "b", "a"], share_min=0.1)
    rules = bckm.Constraints(size_min=0, quotas=quota)
    share = views.amounts(study_of(np.eye(3), [0, 0, 0], rules, k=2))[1]
    assert np.isnan(share.values[1])
    assert not share.broken.any()


def test_rounding_breaks_no_bound():
    kg = Capacity([0.1] * 10, max=1.0 - 1e-12)
    assert not views.amounts(
        study_of(np.eye(10), [0] * 10, bckm.Constraints(capacities={"kg": kg}))
    )[1].broken[0]


# ------------------------------------------------------------------ links, samples


def test_links_of_sets():
    rules = bckm.Constraints(must_link=[(0, 1, 2)], cannot_link=[(3, 4, 5)])
    found = views.links(study_of(np.eye(6), [0, 0, 1, 0, 1, 1], rules))
    assert {(one.a, one.b, one.kind, one.kept) for one in found} == {
        (0, 1, "together", True),
        (1, 2, "together", False),
        (3, 4, "apart", True),
        (3, 5, "apart", True),
        (4, 5, "apart", False),
    }
    assert [one.kept for one in found] == [False, False, True, True, True]
    assert found.left_out == 0


def test_prices_say_which_links_are_soft():
    links = bckm.Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(3, 4)])
    rules = links.soft(price=[1.0, np.inf, 0.0])
    found = views.links(study_of(np.eye(5), [0, 0, 0, 1, 1], rules))
    assert {(one.a, one.b, one.soft) for one in found} == {(0, 1, True), (1, 2, False)}


def test_many_links_are_chosen_broken_ones_first():
    n = 3000
    pairs = np.arange(n).reshape(-1, 2)
    labels = np.arange(n) // 2 % 7
    labels[2000:2010:2] += 1
    rules = bckm.Constraints(must_link=pairs, cannot_link=[tuple(range(0, 2800, 2))])
    found = views.links(study_of(np.arange(n)[:, None], labels, rules, k=8), most=100)
    whole = 1500 + 1400 * 1399 // 2
    assert len(found) == 100
    assert found.left_out == whole - 100
    assert not any(one.kept for one in found)
    kept = views.links(study_of(np.arange(n)[:, None], np.arange(n) // 2 % 7, rules), most=10)
    assert len(kept) == 10
    few = bckm.Constraints(must_link=pairs)
    spread = views.links(study_of(np.arange(n)[:, None], np.arange(n) // 2 % 7, few), most=10)
    assert [one.a for one in spread][::9] == [0, 2998]


def test_shown_keeps_links_and_small_clusters():
    n = 50_000
    labels = np.zeros(n, int)
    labels[100:105] = 1
    rules = bckm.Constraints(must_link=[(7, 49_999)])
    study = study_of(np.arange(n)[:, None], labels, rules)
    found = views.shown(study, 1000)
    assert 900 <= found.size <= 1100
    assert (np.diff(found) > 0).all()
    assert {7, 49_999, *range(100, 105)} <= set(found.tolist())
    np.testing.assert_array_equal(found, views.shown(study, 1000))
    assert np.abs(np.histogram(found, 10, (0, n))[0] - 100).max() < 40
    assert views.shown(study, n).size == n


# ------------------------------------------------------------------ course, profile, silhouette


def test_convergence_tells_what_is_proven():
    optimal, feasible = bckm.Status.OPTIMAL, bckm.Status.FEASIBLE
    steps = (
        bckm.Step(2, 1, 9.0, 11.0, 11.0, optimal, 5, 0.1),
        bckm.Step(2, 2, 7.0, 8.0, 7.5, feasible, 4, 0.2),
        bckm.Step(2, 3, 6.0, 6.5, -np.inf, feasible, 3, 0.3),
        bckm.Step(2, 4, 5.0, 5.0, 5.0, optimal, 2, 0.4, "moves"),
    )
    course = views.convergence(result_of(np.eye(2), np.array([0, 1]), 2, history=steps))
    assert course.iteration.tolist() == [1, 2, 3, 4]
    assert course.objective.tolist() == [9, 7, 6, 5]
    assert course.assigned.tolist() == [11, 8, 6.5, 5]
    np.testing.assert_array_equal(course.bound, [11, 7.5, np.nan, np.nan])
    assert course.optimal.tolist() == [True, False, False, False]
    assert course.kind == ("assign", "assign", "assign", "moves")
    assert course.seconds.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_profile_of_weighted_samples():
    X = np.array([[1.0, 7.0], [3.0, 7.0], [10.0, 7.0]])
    study = study_of(X, [0, 0, 1], k=3, sample_weight=[3.0, 1.0, 4.0])
    found = views.profile(study)
    np.testing.assert_allclose(found.mean[:2], [[1.5, 7.0], [10.0, 7.0]])
    assert np.isnan(found.mean[2]).all()
    overall = np.average(X[:, 0], weights=[3, 1, 4])
    spread = np.sqrt(np.average((X[:, 0] - overall) ** 2, weights=[3, 1, 4]))
    np.testing.assert_allclose(found.overall, [overall, 7.0])
    np.testing.assert_allclose(found.spread, [spread, 0.0])
    np.testing.assert_allclose(found.z[:2, 0], (np.array([1.5, 10.0]) - overall) / spread)
    assert found.z[:2, 1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "latlon"])
def test_silhouettes_are_those_of_sklearn(metric):
    rng = np.random.default_rng(0)
    X = np.stack([rng.uniform(1, 80, 60), rng.uniform(-170, 170, 60)], axis=1)
    labels = rng.integers(4, size=60)
    labels[0], labels[labels == 3] = 3, 2
    labels[0] = 3  # alone
    study = study_of(X, labels, metric=metric)
    points = bckm.metric.named.read_metric(metric).embedded(X) if metric != "euclidean" else X
    np.testing.assert_allclose(
        views.silhouette(study).values, silhouette_samples(points, labels), atol=1e-12
    )


def test_silhouettes_of_many_samples_are_of_some():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (3000, 2)), rng.normal(5, 1, (1000, 2))]
    study = study_of(X, [0] * 3000 + [1] * 1000)
    whole, some = views.silhouette(study), views.silhouette(study, most=400)
    assert (whole.sampled, some.sampled) == (False, True)
    assert some.values.mean() == pytest.approx(whole.values.mean(), abs=0.03)
    np.testing.assert_array_equal(some.labels, study.result.labels[some.samples])


# ------------------------------------------------------------------ styles and text


def luminance(color):
    value = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("color", [*views.COLORS, views.WRONG])
def test_every_color_is_seen_on_white(color):
    assert 1.05 / (luminance(color) + 0.05) >= 3


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [7, 50, 200])
def test_neighbors_have_other_colors(k, seed):
    places = np.random.default_rng(seed).uniform(size=(k, 2)) * [1, 1000]
    styles = views.palette(places)
    scaled = places / np.ptp(places, axis=0)
    square = ((scaled[:, None] - scaled[None]) ** 2).sum(2)
    np.fill_diagonal(square, np.inf)
    for i in range(k):
        for j in np.argsort(square[i])[:2]:
            assert styles[i] != styles[j]
        assert styles[i].color != styles[int(square[i].argmin())].color
    if k == 50:
        assert len(set(styles)) >= 40


# what people see who lack one kind of cones, of linear red, green and blue (Machado and others,
# 2009, doi:10.1109/TVCG.2009.113)
SEEN = {
    "all": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(colors, seen):
    """Colors in CIE Lab, where the distance is about the difference that is seen."""
    value = np.array([[int(c[at : at + 2], 16) for at in (1, 3, 5)] for c in colors]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(seen).T, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = linear @ np.array(to_xyz).T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize("colors", [views.COLORS, views.DARK_COLORS])
@pytest.mark.parametrize("seen", SEEN)
def test_styles_are_told_apart_by_color_or_by_marker(colors, seen):
    styles = views.palette(np.zeros((24, 2)))
    assert len(set(styles)) == 24
    place = lab(colors, SEEN[seen])
    far = np.sqrt(((place[:, None] - place[None]) ** 2).sum(2))
    same = np.array([[a.marker == b.marker for a in styles] for b in styles])
    np.fill_diagonal(same, False)
    assert far[same].min() > 11
    if seen == "all":
        np.fill_diagonal(far, np.inf)
        assert far.min() > 8


def test_the_page_has_the_same_colors_and_markers():
    script = Path(bckm.__file__).parent / "app/static/map/colors.js"
    source = script.read_text(encoding="utf-8")
    found = re.findall(r"#[0-9a-f]{6}", source)
    assert found[:48] == [*views.COLORS, *views.DARK_COLORS]
    assert "SHAPES[(hue + round) % 8]" in source


@pytest.mark.parametrize(
    ("names", "unit"),
    [
        (["x_km", "y_km"], "km"),
        (["North (m)", "East (m)"], "m"),
        (["pos_x_miles", "pos_y_mi"], "mi"),
        (["x", "y"], ""),
        (["x_km", "y_m"], ""),
        (["height_cm", "width_cm"], ""),
    ],
)
def test_the_unit_of_places_is_told_by_their_columns(names, unit):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 9, (30, 2))
    study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0, n_init=1), X, feature_names=names)
    found = views.plane(study)
    assert (found.unit, found.length) == (unit, 1.0 if unit else 0.0)


def test_a_map_has_a_scale_where_it_is_the_same_everywhere():
    rng = np.random.default_rng(0)
    for low, high, known in ((48.0, 49.0, True), (-1.0, 2.0, True), (35.0, 70.0, False)):
        X = np.stack([rng.uniform(low, high, 40), rng.uniform(0, 3, 40)], axis=1)
        found = views.plane(
            bckm.Study.of(bckm.kmeans(X, 2, metric="latlon", random_state=0, n_init=1), X)
        )
        assert (found.unit == "km") == known
        if known:
            middle = (X[:, 0].min() + X[:, 0].max()) / 2
            assert found.length == pytest.approx(111.195 * np.cos(np.radians(middle)), rel=1e-4)


def test_few_clusters_take_colors_in_order():
    for k in (1, 2, 8, 24):
        styles = views.palette(np.zeros((k, 2)))
        assert [one.color for one in styles] == list(views.COLORS[:k])
        assert [one.marker for one in styles[:8]] == list(views.MARKERS[:k])
    assert views.palette(np.empty((0, 2))) == []
    assert len(views.palette([[np.nan, np.nan], [1.0, 2.0]])) == 2


def test_matching_finds_the_same_clusters():
    rng = np.random.default_rng(0)
    labels = rng.integers(9, size=300)
    other = rng.permutation(9)
    noisy = other[labels]
    noisy[::10] = 0
    np.testing.assert_array_equal(views.matched(labels, noisy, 9), other)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kg", "kg"),
        (" a\n\tb\r\n c ", "a b c"),
        ("a\x00b\x1bc\u202ed\u200ee\ud800f", "abcdef"),
        ("x" * 50, "x" * 39 + "…"),
        ("e\u0301", "é"),
        ("z" + "\u0335" * 50, "z\u0335\u0335"),
        (12, "12"),
        ("", ""),
    ],
)
def test_clean(text, shown):
    assert views.clean(text) == shown
