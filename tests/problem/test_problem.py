"""`Problem`: the same objective on items as on samples, in any order and at any place."""

import os
import tracemalloc
import weakref

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bckm import Capacity, Constraints, LinearRows, kmeans
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem


def direct_inertia(X, weight, labels, centers):
    """Sum over samples, one by one."""
    return sum(
        w * float(((x - centers[i]) ** 2).sum()) for x, w, i in zip(X, weight, labels, strict=True)
    )


def direct_means(X, weight, labels, k):
    return np.array(
        [np.average(X[labels == i], axis=0, weights=weight[labels == i]) for i in range(k)]
    )


def drawn(seed, n=30, d=2, shift=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * scale + shift
    weight = rng.uniform(0.5, 3, n)
    together = [tuple(rng.choice(n, 3, replace=False).tolist()) for _ in range(4)]
    apart = [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(6)]
    return rng, X, weight, Constraints(together, apart, size_max=n - 1)


def permuted(constraints, order):
    """Constraints of ``X[order]`` that ask the same as these ask of X."""
    at = np.argsort(order)

    def move(links):
        return [tuple(at[list(link)].tolist()) for link in links]

    return Constraints(
        move(constraints.must_link), move(constraints.cannot_link), size_max=constraints.size_max
    )


# -- the objective ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_cost_of_an_item_is_that_of_its_samples_less_their_scatter(seed, shift, scale):
    rng, X, weight, asked = drawn(seed, shift=shift * scale, scale=scale)
    problem = Problem.build(X, 3, asked, weight)
    centers = rng.normal(size=(3, 2)) * scale + shift * scale
    cost = problem.cost(problem.centers_in(centers)) * problem.x_scale**2 * problem.weight_scale
    item = problem.structure.item
    expected, scatter = np.zeros_like(cost), 0.0
    for j in range(problem.structure.n_items):
        mine = item == j
        mean = np.average(X[mine], axis=0, weights=weight[mine])
        within = sum(
            w * ((x - mean) ** 2).sum() for x, w in zip(X[mine], weight[mine], strict=True)
        )
        for i in range(3):
            total = sum(
                w * ((x - centers[i]) ** 2).sum()
                for x, w in zip(X[mine], weight[mine], strict=True)
            )
            expected[j, i] = total - within
        scatter += within
    assert cost == pytest.approx(expected, rel=1e-7, abs=1e-9 * scale**2)
    assert problem.scatter * problem.scale == pytest.approx(scatter, rel=1e-9)
    assert problem.mass.sum() * problem.weight_scale == pytest.approx(weight.sum())


@pytest.mark.parametrize("seed", range(5))
def test_inertia_equals_the_sum_over_samples(seed):
    rng, X, weight, asked = drawn(seed)
    problem = Problem.build(X, 3, asked, weight)
    labels = rng.integers(0, 3, problem.structure.n_items)
    centers = rng.normal(size=(3, 2))
    found = problem.objective(problem.within(labels, problem.centers_in(centers)))
    of_samples = problem.structure.expand(labels)
    assert found == pytest.approx(direct_inertia(X, weight, of_samples, centers), rel=1e-12)
    cost = problem.cost(problem.centers_in(centers))
    assert problem.within(labels, problem.centers_in(centers)) == pytest.approx(
        cost[np.arange(labels.size), labels].sum(), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
def test_means_are_weighted_means_of_samples(seed):
    rng, X, weight, asked = drawn(seed)
    problem = Problem.build(X, 3, asked, weight)
    labels = np.concatenate([[0, 1, 2], rng.integers(0, 3, problem.structure.n_items - 3)])
    means = problem.centers_out(problem.means(labels, np.full((3, 2), np.nan)))
    of_samples = problem.structure.expand(labels)
    assert means == pytest.approx(direct_means(X, weight, of_samples, 3), rel=1e-12)


def test_an_empty_cluster_keeps_its_center():
    problem = Problem.build([[0.0], [2.0], [4.0]], 3)
    fallback = np.array([[7.0], [8.0], [9.0]])
    means = problem.means(np.array([0, 0, 2]), fallback)
    assert means[1] == 8.0
    assert problem.centers_out(means)[[0, 2]].ravel() == pytest.approx([1.0, 4.0])
    assert fallback.tolist() == [[7.0], [8.0], [9.0]], "the fallback is not written to"


def test_centers_go_in_and_out():
    _, X, _, _ = drawn(0, shift=50.0, scale=7.0)
    problem = Problem.build(X, 3)
    centers = np.array([[1.0, 2.0], [300.0, -4.0], [0.0, 0.0]])
    assert problem.centers_out(problem.centers_in(centers)) == pytest.approx(centers, rel=1e-13)
    item = problem.structure.item
    assert problem.centers_out(problem.points)[item] == pytest.approx(X, rel=1e-13)


def test_points_are_of_order_one():
    for scale in (1e-140, 1e-9, 1.0, 1e9, 1e140):
        _, X, _, _ = drawn(0, scale=scale)
        problem = Problem.build(X, 3)
        assert 1 <= np.abs(problem.points).max() < 2
        assert np.frexp(problem.x_scale)[0] == 0.5, "a power of two: dividing by it loses no digit"
    assert Problem.build(np.full((4, 2), 3.7), 2).points.tolist() == [[0.0, 0.0]] * 4


# -- weights ----------------------------------------------------------------------------------


def test_weightless_samples_count_but_do_not_pull():
    X = np.array([[0.0], [10.0], [4.0], [6.0], [100.0]])
    weight = np.array([1.0, 3.0, 0.0, 0.0, 1.0])
    problem = Problem.build(X, 2, Constraints([(0, 1), (2, 3)]), weight)
    item, points = problem.structure.item, problem.centers_out(problem.points).ravel()
    assert points[item[0]] == pytest.approx(7.5), "weighted mean"
    assert points[item[2]] == pytest.approx(5.0), "without weight: plain mean"
    assert (problem.mass * problem.weight_scale)[item].tolist() == [4.0, 4.0, 0.0, 0.0, 1.0]
    assert problem.structure.count[item].tolist() == [2, 2, 2, 2, 1]
    assert problem.scatter * problem.scale == pytest.approx(7.5**2 + 3 * 2.5**2)
    cost = problem.cost(problem.points)
    assert cost[item[2]].max() < 1e-9 * cost.max(), "just enough to lead it to the nearest center"


def test_a_cluster_of_weightless_samples_has_their_plain_mean():
    X = np.array([[0.0], [1.0], [8.0], [10.0], [12.0]])
    problem = Problem.build(X, 2, Constraints([(2, 3)]), [1.0, 1.0, 0.0, 0.0, 0.0])
    of_samples = np.array([0, 0, 1, 1, 1])
    labels = np.zeros(4, int)
    labels[problem.structure.item] = of_samples
    means = problem.centers_out(problem.means(labels, np.zeros((2, 1))))
    assert means.ravel() == pytest.approx([0.5, 10.0])


def test_zero_weight_is_like_leaving_the_sample_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    weight = np.repeat([1.0, 0.0], 15)
    init = X[:3]
    full = kmeans(X, 3, sample_weight=weight, init=init, tol=0)
    part = kmeans(X[:15], 3, init=init, tol=0)
    assert full.inertia == pytest.approx(part.inertia)
    assert full.centers == pytest.approx(part.centers)


def test_whole_weights_are_like_repeating_samples():
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(20, 2)), rng.integers(1, 4, 20)
    init = X[:3]
    options = {"init": init, "tol": 0, "search": "none"}
    weighted = kmeans(X, 3, sample_weight=weight, **options)
    repeated = kmeans(np.repeat(X, weight, axis=0), 3, **options)
    assert weighted.inertia == pytest.approx(repeated.inertia)
    assert weighted.centers == pytest.approx(repeated.centers)


@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
def test_the_pull_of_weightless_items_is_felt_by_them_alone(far):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(40, 2)), np.ones(40)
    X[30:] *= far
    weight[30:] = 0
    problem = Problem.build(X, 3, None, weight)
    centers = problem.centers_in(X[:3])
    cost = problem.cost(centers)
    squares = cdist(problem.points, centers, "sqeuclidean")
    assert np.array_equal(cost, squares * problem.cost_weight[:, None])
    weightless = problem.mass == 0
    assert np.array_equal(problem.cost_weight[~weightless], problem.mass[~weightless])
    inertia = cost[~weightless].min(axis=1).sum()
    assert 0 < cost[weightless].max(axis=1).sum() < 1e-10 * inertia
    assert (cost[weightless].argmin(axis=1) == squares[weightless].argmin(axis=1)).all()


def test_pull_where_all_weight_lies_in_one_point():
    problem = Problem.build([[0.0], [0.0], [1.0], [5.0]], 2, None, [1, 1, 0, 0])
    assert (problem.cost_weight > 0).all()
    assert problem.cost_weight[problem.mass == 0].max() < 1e-11


# -- large data -------------------------------------------------------------------------------

LARGE = (5000, 20)  # several blocks


def large():
    rng = np.random.default_rng(5)
    X, weight = rng.normal(size=LARGE) * 7 + 100, rng.uniform(0, 2, LARGE[0])
    weight[::10] = 0
    return rng, X, weight, Constraints([(0, 1, 4999), (7, 70)])


def test_many_blocks_are_like_one():
    rng, X, weight, asked = large()
    problem = Problem.build(X, 6, asked, weight)
    item, centers = problem.structure.item, rng.normal(size=(6, 20)) * 7 + 100
    linked = np.isin(item, item[[0, 7]])
    assert problem.centers_out(problem.points)[item[~linked]] == pytest.approx(X[~linked])
    assert problem.variance * problem.x_scale**2 == pytest.approx(X.var(axis=0).mean(), rel=1e-12)
    assert problem.points.mean(axis=0) == pytest.approx(np.zeros(20), abs=1e-3)
    labels = rng.integers(6, size=problem.structure.n_items)
    of_samples = problem.structure.expand(labels)
    found = problem.objective(problem.within(labels, problem.centers_in(centers)))
    assert found == pytest.approx(direct_inertia(X, weight, of_samples, centers), rel=1e-12)
    means = problem.centers_out(problem.means(labels, np.zeros((6, 20))))
    assert means == pytest.approx(direct_means(X, weight, of_samples, 6), rel=1e-12)
    cost = problem.cost(problem.centers_in(centers))
    nearest, least = problem.nearest(problem.centers_in(centers))
    assert np.array_equal(nearest, cost.argmin(axis=1))
    assert least == pytest.approx(cost.min(axis=1), rel=1e-12)


def test_nearest_in_several_blocks(monkeypatch):
    monkeypatch.setattr("bckm._core.arrays.BLOCK", 100)
    test_many_blocks_are_like_one()


def same(a, b):
    for name in ("points", "mass", "cost_weight", "origin"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert np.array_equal(a.structure.item, b.structure.item)
    assert (a.x_scale, a.weight_scale, a.scatter, a.variance) == (
        b.x_scale,
        b.weight_scale,
        b.scatter,
        b.variance,
    )


def test_layout_and_precision_of_x_do_not_matter():
    _, X, weight, asked = large()
    X = X.astype(np.float32)
    expected = Problem.build(X.astype(np.float64), 6, asked, weight)
    wide = np.zeros((LARGE[0], 40), np.float32)
    wide[:, ::2] = X
    for other in (X, np.asfortranarray(X), wide[:, ::2], X.tolist(), X[::-1][::-1]):
        same(Problem.build(other, 6, asked, weight), expected)


def test_x_is_neither_changed_nor_kept():
    _, X, weight, asked = large()
    before = X.copy(), weight.copy()
    X.setflags(write=False)
    problem = Problem.build(X, 6, asked, weight)
    assert np.array_equal(X, before[0])
    assert np.array_equal(weight, before[1])
    assert problem.points.base is None
    alive = weakref.ref(X)
    del X
    assert alive() is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_building_takes_one_copy_of_x(dtype):
    n, d = 20_000, 100
    X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    tracemalloc.start()
    Problem.build(X, 6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 8 * n * d < peak < 1.2 * 8 * n * d


def test_the_loop_takes_little_memory():
    n, d, k = 20_000, 50, 200
    problem = Problem.build(np.random.default_rng(0).normal(size=(n, d)), k)
    labels = np.arange(n) % k
    tracemalloc.start()
    centers = problem.means(labels, np.zeros((k, d)))
    problem.within(labels, centers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * problem.points.nbytes


def test_threads():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    X = np.eye(3)
    for n_jobs, threads in ((None, cores), (-1, cores), (-2, max(1, cores - 1)), (7, 7), (-99, 1)):
        assert Problem.build(X, 2, n_jobs=n_jobs).threads == threads
    found = [kmeans(X, 2, n_jobs=n_jobs, random_state=0).labels.tolist() for n_jobs in (1, 3)]
    assert found[0] == found[1]
    for wrong in (0, True, 1.5, "all", [1]):
        with pytest.raises(ValueError, match=r"n_jobs must be.*-1 uses all cores"):
            kmeans(X, 2, n_jobs=wrong)


# -- order and place --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_permuted_rows_give_the_same_problem(seed, shift):
    rng, X, weight, asked = drawn(seed, shift=shift)
    order = rng.permutation(len(X))
    a = Problem.build(X, 3, asked, weight)
    b = Problem.build(X[order], 3, permuted(asked, order), weight[order])
    assert a.points == pytest.approx(b.points, abs=1e-9)
    assert a.mass == pytest.approx(b.mass, rel=1e-13)
    assert a.structure.count.tolist() == b.structure.count.tolist()
    assert a.structure.edges.tolist() == b.structure.edges.tolist()
    assert a.structure.item[order].tolist() == b.structure.item.tolist()


@pytest.mark.parametrize("leading", [1, 7, 8, 9, 30])
def test_permuted_rows_give_the_same_problem_whatever_the_feature_that_tells(leading):
    # images: the first pixels of all samples are equal
    rng, X, _, asked = drawn(0)
    X = np.hstack([np.zeros((len(X), leading)), X])
    order = rng.permutation(len(X))
    a, b = Problem.build(X, 3, asked), Problem.build(X[order], 3, permuted(asked, order))
    assert a.points == pytest.approx(b.points, abs=1e-9)
    assert a.structure.edges.tolist() == b.structure.edges.tolist()


def test_permuted_rows_give_the_same_problem_despite_round_off():
    # the mean of item (2, 4, 5, 8) equals other samples, but for the order of a sum
    X = np.array([0.0, 0.2, 0.2, 0.3, 0.1, 0.1, 0.0, 0.0, 0.0, 0.3, 0.1, 0.1])[:, None]
    asked = Constraints([(2, 8, 5), (2, 4, 5)])
    masses = {
        tuple(Problem.build(X[order], 3, permuted(asked, order)).mass.tolist())
        for order in (np.random.default_rng(seed).permutation(12) for seed in range(50))
    }
    assert len(masses) == 1


@pytest.mark.parametrize("seed", range(10))
def test_reordered_rules_give_the_same_problem(seed):
    rng, X, weight, asked = drawn(seed)

    def shuffled(links):
        return [tuple(rng.permutation(links[at]).tolist()) for at in rng.permutation(len(links))]

    other = Constraints(
        shuffled(asked.must_link), shuffled(asked.cannot_link), size_max=asked.size_max
    )
    a, b = Problem.build(X, 3, asked, weight), Problem.build(X, 3, other, weight)
    assert np.array_equal(a.points, b.points)
    assert np.array_equal(a.mass, b.mass)
    assert np.array_equal(a.structure.item, b.structure.item)
    assert np.array_equal(a.structure.edges, b.structure.edges)
    assert [c.tolist() for c in a.structure.cliques] == [c.tolist() for c in b.structure.cliques]


@pytest.mark.parametrize("links", [False, True])
def test_items_in_one_place_are_ordered_by_mass_and_count(links):
    """Masses differ and counts do not, or the other way round."""
    X = np.repeat([[0.0], [1.0]], 6, axis=0)
    asked = Constraints([(0, 1), (8, 9)] if links else None, size_max=11)
    weight = np.ones(12)
    weight[[0, 1, 8, 9]] = 0.5
    found = set()
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(12)
        problem = Problem.build(X[order], 3, permuted(asked, order), weight[order])
        found.add((tuple(problem.mass), tuple(problem.structure.count)))
    assert len(found) == 1


@pytest.mark.parametrize("shift", [1e6, 1e9])
def test_points_far_away_are_centered_without_a_rounding(shift):
    X = np.random.default_rng(0).normal(size=(1000, 3)) + shift
    problem = Problem.build(X, 3)
    # to the last digit that a number of this size has
    assert np.abs(problem.points.mean(axis=0)).max() * problem.x_scale < np.spacing(shift)
    # X and the origin differ by less than either: the difference of such numbers is exact
    found = problem.points[problem.structure.item] * problem.x_scale + problem.origin
    assert np.array_equal(found, X)


@pytest.mark.parametrize("shift", [1e6, 1e9, -1e9])
def test_data_far_from_the_origin(shift):
    # multiples of 1/8 stay exact after the shift, so nothing but the method can lose digits
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 3)) * 8) / 8
    near, far = kmeans(X, 4, random_state=0), kmeans(X + shift, 4, random_state=0)
    assert near.labels.tolist() == far.labels.tolist()
    assert far.inertia == pytest.approx(near.inertia, rel=1e-9)
    assert far.centers - shift == pytest.approx(near.centers, abs=1e-6)


@pytest.mark.parametrize("factor", [2.0**-300, 2.0**-20, 2.0**20, 2.0**300])
def test_a_power_of_two_changes_nothing(factor):
    _, X, weight, asked = drawn(3)
    a, b = Problem.build(X, 3, asked, weight), Problem.build(X * factor, 3, asked, weight)
    assert np.array_equal(a.points, b.points)
    assert b.x_scale == a.x_scale * factor


# -- features ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "features"),
    [
        (None, Feature.NONEMPTY),
        (Constraints(), Feature.NONEMPTY),
        (Constraints([(0, 1)]), Feature.NONEMPTY),
        (Constraints(size_min=0), Feature.NONE),
        (Constraints(size_min=1), Feature.NONEMPTY),
        (Constraints(size_max=4), Feature.NONEMPTY),
        (Constraints(size_min=2), Feature.NONEMPTY | Feature.SIZES),
        (Constraints(size_min=0, size_max=3), Feature.SIZES),
        (
            Constraints([(0, 1)], size_min=0, size_max=3),
            Feature.SIZES | Feature.MUST_LINKS_AND_SIZES,
        ),
        (Constraints(cannot_link=[(0, 1)], size_min=0), Feature.CONFLICTS),
        (Constraints(size_min=0, capacities={"kg": Capacity([1] * 4, max=3)}), Feature.ROWS),
        (Constraints(size_min=0, linear=LinearRows(np.ones((1, 8)), upper=9)), Feature.ROWS),
        (Constraints(size_min=0, capacities={"kg": Capacity([1] * 4)}), Feature.NONE),
    ],
)
def test_features(asked, features):
    assert Problem.build([[0.0], [1.0], [2.0], [3.0]], 2, asked).features == features


def test_the_cost_around_means_does_not_cancel():
    """Means come with what labels cost there, also from centers that are far away."""
    rng, X, weight, _ = large()
    problem = Problem.build(X, 6, None, weight)
    labels = rng.integers(6, size=LARGE[0])
    for away in (0.0, 1.0, 1e3, 1e8):
        means, cost = problem.recentered(labels, away + rng.normal(size=(6, 20)))
        assert cost == pytest.approx(problem.within(labels, means), rel=1e-13), away
