"""The transport engine against SciPy, and its answers against their own proofs.

Prices prove labels optimal: the dual value, computed here in plain NumPy, equals the cost.
"""

import itertools
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from bckm import Constraints, kernels
from bckm._core.deadline import Deadline
from bckm.assign import ENGINES
from bckm.assign.choose import choose
from bckm.assign.transport import SmallTransportAssigner
from bckm.assign.transport_state import SizeBounds, TransportState, newton
from bckm.feasibility import feasible_start
from bckm.fit.lloyd import Limits, alternate
from bckm.problem.problem import Problem
from tests.support import exact_costs as exactly
from tests.support.transport import check, draw, optimum, slots

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)

BATCH = 100
BATCHES = 24


def moves(rng, problem, centers, found):
    """Centers that follow each other: small and large steps, as the loop makes them and others."""
    k, d = centers.shape
    spread = float(problem.points.std()) or 1.0
    yield "still", centers
    means = problem.means(found().labels, centers)
    yield "means", means
    yield "jitter", means + 10.0 ** rng.integers(-9, -1) * spread * rng.normal(size=(k, d))
    order = np.arange(k)
    pair = rng.choice(k, min(k, 2), replace=False)
    order[pair] = pair[::-1]
    yield "exchange", means[order]
    yield "back", means
    one = means.copy()
    one[rng.integers(k)] += spread * rng.normal(size=d)
    yield "one moves", one
    yield "means", problem.means(found().labels, one)
    yield "elsewhere", problem.points[rng.integers(len(problem.points), size=k)]


def as_if_features_were_many(monkeypatch, many=True, *, rows=True):
    """Have lists of contenders, with rows of all values or without."""
    monkeypatch.setattr("bckm.assign.transport_state.MANY", 2**15 * (not many))
    monkeypatch.setattr("bckm.assign.transport_state.KEPT_VALUES", 2**28 * rows)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_drawn_instances_against_scipy(batch, monkeypatch):
    proven = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        drawn = draw(seed)
        # as if points were many, for every other one
        monkeypatch.setattr("bckm.assign.few_points.COSTS", 2**19 * (seed // 2 % 2))
        as_if_features_were_many(monkeypatch, seed // 4 % 2 == 1, rows=seed // 8 % 2 == 1)
        problem = drawn.problem(n_jobs=1 + seed % 2)
        s = problem.structure
        start = feasible_start(s, problem.rules, Deadline())
        assigner = ENGINES["transport"]().prepare(problem)
        centers = problem.centers_in(drawn.centers)
        found = assigner(centers, start, Deadline())
        proven[check(problem, found, centers)] += 1
        if slots(drawn) <= 800:
            best = optimum(problem.cost(centers), s.lower, s.upper)
            assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-300), seed
        rng = np.random.default_rng(seed)
        for number, (move, after) in enumerate(moves(rng, problem, centers, lambda: found)):  # noqa: B023
            found = assigner(after, start, Deadline())
            try:
                proven[check(problem, found, after)] += 1
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, move {number}: {move}") from error
    # a few costs vanish beside the prices: there the proof is as good as float64 can be
    assert proven[False] <= 0.05 * proven.total()


KINDS = """a far cluster, all clusters far, as many samples as clusters, both, centers on data,
equal centers, few duplicates, float32, grid, heavy duplicates, l = u, no capacity, none, offset,
one cluster, only lower, only upper, outlier, scaled, ties, weights, zero weights, zero-inflated,
1 features, 2 features, 3 features, 5 features, 8 features, 13 features, 30 features"""


def test_draws_hold_all_kinds_in_number():
    """The tests above, and the campaign, would prove little without them."""
    drawn = [draw(seed) for seed in range(BATCH * BATCHES)]
    count = Counter(kind for one in drawn for kind in one.kinds)
    assert sorted(count) == sorted(kind.strip() for kind in KINDS.replace("\n", " ").split(","))
    assert min(count.values()) >= 40, count
    assert sum(slots(one) <= 800 for one in drawn) >= 2000, "compared with SciPy"
    assert sum(len(one.X) > 100 for one in drawn) >= 200


def large(seed):
    """Draw many samples: parts of the points are looked at first."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20_000, 60_001)), int(rng.choice([2, 3, 8]))
    k = int(rng.choice([2, 5, 20, 60, 150]))
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(8, d))[rng.integers(8, size=n)]
    kind = seed % 6
    weight = None
    if kind == 1:
        X = np.round(X * 2)  # heavy duplicates, ties
    elif kind == 2:
        weight = rng.integers(0, 5, n).astype(float)
    elif kind == 3:
        X[rng.random(n) < 0.5] = 0.0
    elif kind == 4:
        X = np.exp(2 * X)  # skewed
    elif kind == 5:
        X = np.round(X * 50) / 50  # some duplicates
    share = rng.dirichlet(np.full(k, 3.0)) if seed % 2 else np.full(k, 1 / k)
    lower = np.floor(n * share * rng.choice([1.0, 0.9, 0.5])).astype(int)
    upper = np.ceil(n * share * rng.choice([1.0, 1.1, 2.0])).astype(int)
    return X, k, lower, upper, weight


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [seed for seed in range(12) if seed != 4])  # 30 s
@pytest.mark.parametrize("many", [False, True])
def test_many_samples_are_proven_step_by_step(seed, many, monkeypatch):
    import bckm

    as_if_features_were_many(monkeypatch, many)
    X, k, lower, upper, weight = large(seed)
    rules = bckm.Constraints(size_min=lower.tolist(), size_max=upper.tolist())
    problem = Problem.build(X, k, rules, weight)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    assigner = ENGINES["transport"]().prepare(problem)
    rng = np.random.default_rng(seed)
    centers = problem.points[rng.choice(len(X), k, replace=False)]
    cold = 0
    for step in range(4):
        found = assigner(centers, start, Deadline())
        check(problem, found, centers)
        if step == 0:
            cold = assigner.counters["looked"]
        centers, before = problem.means(found.labels, centers), centers
    assert cold > 0
    order = np.arange(k)
    order[[0, 1]] = 1, 0
    for after in (before[order], before, before + 1e-6 * rng.normal(size=centers.shape)):
        check(problem, assigner(after, start, Deadline()), after)


@pytest.mark.parametrize("seed", range(6))
def test_must_links_without_sizes_against_brute_force(seed):
    """An item counts once where sizes do not matter; clusters need one, also those far away."""
    import bckm

    rng = np.random.default_rng(seed)
    n, k = 9, 3
    order = rng.permutation(n).tolist()
    rules = bckm.Constraints(must_link=[order[:2], order[2:5]])
    problem = Problem.build(rng.normal(size=(n, 2)), k, rules)
    s = problem.structure
    centers = rng.normal(size=(k, 2))
    centers[0] += 20 * (seed % 2)
    every = map(np.array, itertools.product(range(k), repeat=s.n_items))
    allowed = [labels for labels in every if s.feasible(labels)]
    best = min(problem.within(labels, centers) for labels in allowed)
    found = choose("auto", problem).prepare(problem)(centers, allowed[0], Deadline())
    assert found.cost == pytest.approx(best, rel=1e-12)
    assert found.bound <= best
    assert found.status is bckm.Status.OPTIMAL


def test_few_points_when_time_is_up_in_the_first_step(monkeypatch):
    """Nothing is known then: the labels at hand, and a bound that claims nothing."""
    drawn = draw(0)
    problem = drawn.problem(n_jobs=1)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    monkeypatch.setattr(
        SmallTransportAssigner, "_few_paths", lambda *_: SimpleNamespace(stopped=True)
    )
    assigner = ENGINES["transport"]().prepare(problem)
    assert isinstance(assigner, SmallTransportAssigner)
    centers = problem.centers_in(drawn.centers)
    found = assigner(centers, start, Deadline())
    own = problem.cost(centers)[np.arange(start.size), start].sum()
    assert found.cost <= own * (1 + 1e-12)
    assert found.bound <= 0


@pytest.mark.parametrize("seed", range(4))
def test_paths_that_prove_all_labels_need_no_last_look(seed, monkeypatch):
    monkeypatch.setattr("bckm.assign.few_points.COSTS", 0)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1_500, 3)) + 4 * rng.integers(0, 3, (1_500, 1))
    weight = rng.uniform(0.1, 3, 1_500) if seed % 2 else None
    problem = Problem.build(X, 20, Constraints(size_min=75, size_max=75), weight, n_jobs=1)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    assigner = ENGINES["transport"]().prepare(problem)
    centers = problem.points[rng.choice(1_500, 20, replace=False)]
    kept = []
    evaluate = TransportState.evaluate

    def heard(self, *args, keep=False):
        kept.append(keep)
        return evaluate(self, *args, keep=keep)

    monkeypatch.setattr(TransportState, "evaluate", heard)
    for _ in range(4):
        found = assigner(centers, start, Deadline())
        check(problem, found, centers)
        state = assigner.levels[0]
        value = problem.cost(centers) - state.prices
        own = value[np.arange(1_500), found.labels]
        value[np.arange(1_500), found.labels] = np.inf
        assert (state.slack <= value.min(axis=1) - own).all()
        assert found.bound == pytest.approx(found.cost, rel=1e-12)
        centers = problem.means(found.labels, centers)
    assert not all(kept)
    assert sum(kept) == 0
    # labels that have a regret are not taken for proven
    least = np.zeros(20)
    assert not state.take_prices(state.prices, least)


def blobs_of_many_features(seed, n=2_000, d=300):
    """Draw directions in blobs of very unequal shares."""
    rng = np.random.default_rng(seed)
    which = rng.choice(40, n, p=rng.dirichlet(np.full(40, 0.5)))
    X = rng.normal(size=(40, d))[which] + rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def steps(X, k, number, n_jobs=1):
    """Make steps from some samples on, each proven; return them, and the engine."""
    rules = Constraints(size_min=len(X) // k, size_max=-(-len(X) // k))
    problem = Problem.build(X, k, rules, n_jobs=n_jobs)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    assigner = ENGINES["transport"]().prepare(problem)
    centers, found = problem.points[:: len(X) // k][:k], []
    for _ in range(number):
        found.append(assigner(centers, start, Deadline()))
        check(problem, found[-1], centers)
        centers = problem.means(found[-1].labels, centers)
    return found, assigner


@pytest.mark.parametrize("seed", range(2))
def test_many_features_with_kept_values_and_without(seed, monkeypatch):
    X = blobs_of_many_features(seed)
    kept, _ = steps(X, 120, 3)
    threads, _ = steps(X, 120, 3, n_jobs=3)
    monkeypatch.setattr("bckm.assign.transport_state.KEPT_VALUES", 0)
    lists, _ = steps(X, 120, 3)
    for one, two, three in zip(kept, threads, lists, strict=True):
        assert np.array_equal(one.labels, two.labels)
        assert np.array_equal(one.prices, two.prices)
        assert one.cost == pytest.approx(three.cost, rel=1e-12)
        assert one.bound == pytest.approx(one.cost, rel=1e-12)


@pytest.mark.full
def test_parts_that_have_nothing_to_do_are_left_out_where_looks_are_dear():
    X = blobs_of_many_features(2, n=10_000)
    found, assigner = steps(X, 120, 12)
    part = assigner.levels[1]
    assert part.idle
    # where all centers are elsewhere it is needed again
    looked, centers = part.evaluated, X[5_000:5_120]
    again = assigner(centers, found[-1].labels, Deadline())
    check(assigner.problem, again, centers)
    assert part.evaluated > looked


def test_newton_steps_that_did_little_are_left_to_paths_where_few_are_wrong():
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2))
    size = np.full(20, 200.0)
    never = Deadline.after(None)
    wrong = {}
    for pace in (0.0, 1.0):
        for tolerable in (0.0, 4000.0):
            points = kernels.native.Points(X)
            state = TransportState(points, None, SizeBounds(size, size), (1.0, 1.0), 1)
            state.evaluate(X[:20], np.zeros(20), never)
            before, state.pace = state.infeasibility, pace
            newton(state, X[:20], 40.0, never, tolerable)
            wrong[pace, tolerable] = state.infeasibility
            assert (state.infeasibility == before) == (pace == 1.0 and tolerable > 0.0)
    assert wrong[1.0, 0.0] == wrong[0.0, 0.0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("few", [True, False])
def test_large_prices_cost_no_digits_of_the_bound(seed, few, monkeypatch):
    """Sizes are whole numbers: a bound that binds rounds by nothing, however large its price."""
    if not few:
        monkeypatch.setattr("bckm.assign.few_points.COSTS", 0)
    rng, k, n = np.random.default_rng(seed), 30, 120
    # a sample or two of each group have to leave it
    groups = np.repeat(rng.normal(size=(4, 2)), [33, 28, 31, 28], axis=0)
    X = groups + 0.02 * rng.normal(size=(n, 2))
    X[:20] = X[:10].repeat(2, axis=0) if seed % 2 else X[:20]  # equal points may be divided
    problem = Problem.build(X, k, Constraints(size_min=n // k, size_max=n // k))
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = problem.centers_in(X[::4])
    found = ENGINES["transport"]().prepare(problem)(centers, start, Deadline())
    assert np.abs(found.prices).mean() > 10 * found.cost / n
    assert found.cost - found.bound <= 4e-13 * found.cost
    cost, price = exactly.costs(problem.points, centers), [Fraction(p) for p in found.prices]
    best = sum(min(c - p for c, p in zip(row, price, strict=True)) for row in cost)
    assert Fraction(found.bound) <= best + n // k * sum(price)  # the dual value, in fractions


@pytest.mark.parametrize(("n", "k", "d"), [(50, 3, 2), (214, 7, 9), (1000, 20, 2), (2000, 20, 4)])
def test_effort_of_few_points_is_about_what_is_counted(n, k, d):
    """A search goes by effort: were it far more, small problems would search for long."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(k, d))[rng.integers(k, size=n)]
    problem = Problem.build(X, k, Constraints(size_min=n // k // 2, size_max=2 * n // k))
    assigner = ENGINES["transport"]().prepare(problem)
    limits = Limits(300, 1e-4, Deadline())
    alternate(problem, assigner, problem.centers_in(X[:k]), np.arange(n) % k, limits)
    assert 0.5 < assigner.effort / assigner.work < 2
