"""Local search: rules hold, the inertia falls, local optima are local optima."""

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm.feasibility import feasible_start
from bckm.fit.search.local import LocalSearch
from bckm.problem.problem import Problem
from tests.support.ctrl_c import interrupt_after, needs_signals
from tests.support.families import FAMILIES
from tests.support.instances import draw, obeying
from tests.support.local_search import (
    Start,
    better_moves,
    check,
    compiled,
    objective,
    planted,
    soft_planted,
)

pytestmark = compiled


def run(start, deadline=None, effort=np.inf, *, fixed=False):
    search = LocalSearch(start.problem)
    return search(start.labels, start.centers, deadline or Deadline(), effort, fixed=fixed)


@needs_signals
def test_ctrl_c_keeps_the_moves_that_were_made():
    rng = np.random.default_rng(0)
    rules = bckm.Constraints(size_min=1000, size_max=1000)
    start = Start.of(rng.normal(size=(30_000, 8)), 30, rules, rng.permutation(30_000) % 30)
    with interrupt_after(0.2):
        found = run(start)
    assert found.interrupted
    check(start, found)
    assert objective(start.problem, found.labels) < objective(start.problem, start.labels)


def from_family(name, n, seed=0):
    X, k, rules = FAMILIES[name](np.random.default_rng(seed), n)
    problem = Problem.build(X, k, rules)
    labels = feasible_start(problem.structure, problem.rules, Deadline())
    return Start.of(X, k, rules, problem.structure.expand(labels))


# --- what is promised, on instances of every kind ---


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(4))
def test_small_instances(batch):
    """From any labels that obey; N <= 9 with all kinds of rules, ties and duplicates."""
    finished = seen = 0
    for seed in range(100 * batch, 100 * (batch + 1)):
        drawn = draw(seed)
        allowed = obeying(drawn)
        if not len(allowed):
            continue
        first = allowed[np.random.default_rng(seed).integers(len(allowed))]
        start = Start.of(drawn.X, drawn.k, drawn.constraints, first, drawn.weight)
        found = run(start)
        check(start, found)
        seen, finished = seen + 1, finished + found.finished
    assert finished >= 0.9 * seen > 20


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(60))
def test_rules_around_random_labels(seed):
    start = planted(seed)
    found = run(start)
    check(start, found)
    assert found.finished


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    start = from_family(family, 48)
    found = run(start)
    check(start, found)
    assert found.finished


@pytest.mark.parametrize("seed", range(30))
def test_fixed_centers(seed):
    """Centers that do not follow: the objective is the cost of an assignment."""
    start = planted(1000 + seed, n=24)
    found = run(start, fixed=True)
    check(start, found, fixed=True)
    assert found.finished


@pytest.mark.sampled(10)
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_soft_rules(seed, fixed):
    """Penalties are part of the objective; hard loads and forbidden clusters hold."""
    start = soft_planted(seed)
    found = run(start, fixed=fixed)
    check(start, found, fixed=fixed)
    assert found.finished


def test_soft_instances_are_of_every_kind():
    starts = [soft_planted(seed) for seed in range(40)]
    found = [run(start) for start in starts]
    assert sum(bool(np.any(f.labels != s.labels)) for f, s in zip(found, starts, strict=True)) > 30
    counts = sum((f.counts for f in found), start=Counter())
    assert min(counts[kind] for kind in ("relocated", "swapped", "chained", "grouped")) > 2
    p = [start.problem for start in starts]
    for kind in (
        [one.structure.loads.number > 0 for one in p],
        [one.structure.forbidden.size > 0 for one in p],
        [one.structure.linear.number > 0 for one in p],
        [bool(one.structure.conflict_sets) for one in p],
        [bool((one.soft.ties.data > 0).any()) for one in p],
        [bool((one.soft.ties.data < 0).any()) for one in p],
        [one.soft.has_cluster_costs for one in p],
        [one.soft.loads.number > 0 for one in p],
        [bool((one.mass == 0).any()) for one in p],
    ):
        assert 3 <= sum(kind) <= 37


def test_loads_make_no_rows():
    """A sum of amounts in each cluster takes m numbers, not m * k."""
    load = np.arange(40) + 1.0
    problem = Problem.build(
        np.random.default_rng(0).normal(size=(40, 2)),
        3,
        bckm.Constraints(capacities={"load": bckm.Capacity(load, max=load.sum() / 2)}),
    )
    start = feasible_start(problem.structure, problem.rules, Deadline())
    problem = replace(problem, structure=replace(problem.structure))  # without what is cached
    LocalSearch(problem)(start, np.zeros((3, 2)), Deadline())
    assert problem.structure.loads.number == 1
    assert problem.structure.apart_from_loads.matrix.indptr.size == 1
    assert "_all_rows" not in vars(problem.structure)


def test_instances_are_of_every_kind():
    """The tests above would prove little if the rules left nothing to do, or asked nothing."""
    starts = [planted(seed) for seed in range(60)]
    moved = [np.any(run(start).labels != start.labels) for start in starts]
    assert sum(moved) > 40
    s = [start.problem.structure for start in starts]
    for kind in (
        [bool(one.conflict_sets) for one in s],
        [one.rows.shape[0] > 0 for one in s],
        [bool((one.count > 1).any()) for one in s],
        [bool((one.lower == one.upper).all()) for one in s],
        [bool((one.lower == 0).any()) for one in s],
        [bool((start.problem.mass == 0).any()) for start in starts],
        [start.problem.mass.min() < start.problem.mass.max() for start in starts],
    ):
        assert 8 <= sum(kind) <= 52


def test_weightless_items_make_room():
    """An item that the objective does not feel is worth moving where sizes are exact."""
    X = np.array([[0.0], [0.1], [9.0], [9.1], [0.2], [8.9]])
    rules = bckm.Constraints(size_min=3, size_max=3)
    start = Start.of(X, 2, rules, [0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 0, 0])
    found = run(start)
    check(start, found)
    assert objective(start.problem, found.labels) < 0.01 * objective(start.problem, start.labels)


@pytest.mark.parametrize("spread", [0.0, 1e-15, 1e-13, 1e-10, 1e-7, 1e-4])
def test_differences_at_the_edge_of_rounding(spread):
    """Gains that are round-off must neither raise the inertia nor keep the search going."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, k = 40, 4
        X = rng.normal(size=(3 if seed % 2 else k, 3))[rng.integers(3, size=n)]
        X = X + spread * rng.normal(size=X.shape)
        weight = 10.0 ** rng.uniform(-20, 0, n) if seed % 4 > 1 else None
        rules = bckm.Constraints(size_min=0, size_max=n if seed % 3 else 10)
        start = Start.of(X, k, rules, np.arange(n) % k, weight)
        found = run(start)
        check(start, found, brute=False)
        assert found.counts["passes"] < 60


# --- the same for other units, orders and numbers of threads ---


def units(seed):
    """The instance, and its data, without ties: those may fall either way."""
    rng = np.random.default_rng(seed)
    n, k = 60, 4
    X = rng.normal(size=(k, 3))[rng.integers(k, size=n)] * 1.5 + rng.normal(size=(n, 3))
    labels = np.arange(n) % k
    pairs = rng.integers(n, size=(40, 2))
    load = rng.random(n)
    sums = np.bincount(labels, load, k)
    rules = [
        {"size_min": 15, "size_max": 15},
        {"size_min": 0, "size_max": 25},
        {"cannot_link": pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]].tolist()},
        {"capacities": {"load": bckm.Capacity(load, sums - 0.2, sums + 0.2)}},
    ][seed % 4]
    soft = bckm.Constraints(size_min=0)
    if seed >= 8:
        links = rng.permutation(n).reshape(2, -1, 2)[:, :10].tolist()
        loads = bckm.Capacity(load, sums.mean() - 0.5, sums.mean() + 0.5)
        home = bckm.Stay(rng.integers(-1, k, n), confidence=rng.random(n) / 4)
        soft &= bckm.Constraints(*links).soft(confidence=rng.uniform(0.1, 2, 20))
        soft &= bckm.Constraints(capacities={"kg": loads}).soft(confidence=0.3)
        soft &= bckm.Constraints(stay=home, size_min=0)
    if seed % 8 > 3:
        rules["must_link"] = [(0, 4, 8), (1, 5), (2, 6, 10)]
        apart = [p for p in rules.get("cannot_link", []) if min(p) > 10]
        rules |= {"cannot_link": apart} if "cannot_link" in rules else {}
    weight = None if seed % 2 else rng.uniform(0.5, 2, n)
    return X, k, bckm.Constraints(**rules) & soft, labels, weight


@pytest.mark.parametrize("seed", range(14))
def test_scale_and_offset(seed):
    X, k, rules, labels, weight = units(seed)
    found = run(Start.of(X, k, rules, labels, weight)).labels
    for other in (X * 1e-6, X * 1e6, X + 1e6 * X.std()):
        start = Start.of(other, k, rules, labels, weight)
        np.testing.assert_array_equal(run(start).labels, found)


@pytest.mark.parametrize("seed", range(14))
def test_rows_permuted(seed):
    X, k, rules, labels, weight = units(seed)
    one = Start.of(X, k, rules, labels, weight)
    found = one.problem.structure.expand(run(one).labels)
    order = np.random.default_rng(seed).permutation(len(X))
    weight = None if weight is None else weight[order]
    two = Start.of(X[order], k, rules.take(order), labels[order], weight)
    two.centers = one.centers
    again = two.problem.structure.expand(run(two).labels)
    np.testing.assert_array_equal(again, found[order])


@pytest.mark.full
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("k", [6, 40])
def test_threads_change_nothing(k, soft):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(2500, 4)), rng.uniform(0.5, 2, 2500)
    rules = bckm.Constraints(size_min=2500 // k, size_max=-(-2500 // k))
    if soft:
        pairs = rng.permutation(2500).reshape(2, -1, 2)[:, :300].tolist()
        rules &= bckm.Constraints(*pairs).soft(confidence=1)
        load = bckm.Capacity(rng.random(2500), 1250 / k - 1, 1250 / k + 1)
        rules &= bckm.Constraints(capacities={"kg": load}).soft(confidence=1)
    labels = np.argsort(np.argsort(X[:, 0])) % k
    one, two = (Start.of(X, k, rules, labels, weight, n_jobs=jobs) for jobs in (1, 2))
    first, second = run(one), run(two)
    np.testing.assert_array_equal(first.labels, second.labels)
    assert first.counts == second.counts
    assert first.counts["relocated"] + first.counts["swapped"] > 100


# --- when it ends ---


def test_effort():
    """More work finds more; work is counted, so the same work finds the same."""
    start = from_family("mix", 200)
    whole = run(start)
    assert whole.finished
    last, different = objective(start.problem, start.labels), set()
    for share in (0.0, 0.01, 0.1, 0.3, 0.6, 0.9, 1.1):
        found = run(start, effort=share * whole.work)
        check(start, found, brute=False)
        now = objective(start.problem, found.labels)
        assert now <= last
        last = now
        different.add(now)
        again = run(start, effort=share * whole.work)
        np.testing.assert_array_equal(again.labels, found.labels)
        assert again.work == found.work
        assert found.finished == (share > 1) or share == 0.9  # the rest may be chains, not claimed
    assert len(different) > 3
    np.testing.assert_array_equal(found.labels, whole.labels)
    nothing = run(start, effort=0.0)
    np.testing.assert_array_equal(nothing.labels, start.labels)
    assert nothing.counts["passes"] == 0


def test_given_labels_stay():
    start = from_family("mix", 100)
    labels, centers = start.labels.copy(), start.centers.copy()
    assert np.any(run(start).labels != labels)
    np.testing.assert_array_equal(start.labels, labels)
    np.testing.assert_array_equal(start.centers, centers)


def test_deadline():
    """Whenever it comes, the labels obey, and nothing is claimed that was not looked at."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 8))
    pairs = rng.integers(4000, size=(6000, 2))
    labels = np.arange(4000) % 10
    pairs = pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]].tolist()
    start = Start.of(X, 10, bckm.Constraints(cannot_link=pairs), labels)
    found = run(start, deadline=Deadline.after(0.0))
    np.testing.assert_array_equal(found.labels, start.labels)
    assert not found.finished
    for seconds in (0.003, 0.03, 0.2):
        began = time.process_time()
        found = run(start, deadline=Deadline.after(seconds))
        assert time.process_time() - began < seconds + 0.5
        check(start, found, brute=False)
        if found.finished:
            np.testing.assert_array_equal(found.labels, run(start).labels)


def test_no_claim_where_not_all_was_looked_at():
    """One far item makes every bound so wide that it cannot look at all swaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 2)) + np.repeat([[0.0, 0.0], [20.0, 0.0]], 5000, axis=0)
    X[0] = -2e4
    rules = bckm.Constraints(size_min=5000, size_max=5000)
    start = Start.of(X, 2, rules, np.repeat([0, 1], 5000))
    found = run(start)
    check(start, found, brute=False)
    assert not found.finished
    X[0] = 0.0
    assert run(Start.of(X, 2, rules, np.repeat([0, 1], 5000))).finished


# --- moves that no shorter ones replace ---


def triangle():
    """Three clusters of exact size, each with an item a bit nearer to the next: all must go."""
    corner = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    base = np.repeat(corner, 6, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(18, 2))
    between = 0.4 * corner + 0.6 * np.roll(corner, -1, axis=0)
    labels = np.concatenate([np.repeat(np.arange(3), 6), np.arange(3)])
    rules = bckm.Constraints(size_min=7, size_max=7)
    return Start.of(np.vstack([base, between]), 3, rules, labels)


def test_only_a_cycle_helps():
    start = triangle()
    assert not better_moves(start.problem, start.labels)
    found = run(start)
    check(start, found)
    assert found.counts["chained"] == 1
    assert objective(start.problem, found.labels) < 0.9 * objective(start.problem, start.labels)


def test_only_a_flip_helps():
    """Four items in a row of conflicts, each on the wrong side: two alone cannot go."""
    X = np.concatenate([np.zeros(6), np.ones(6), [0.9, 0.1, 0.9, 0.1]])[:, None]
    X = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)
    labels = np.concatenate([np.zeros(6, int), np.ones(6, int), [0, 1, 0, 1]])
    rules = bckm.Constraints(cannot_link=[(12, 13), (13, 14), (14, 15)])
    start = Start.of(X, 2, rules, labels)
    assert better_moves(start.problem, start.labels) == {"flip"}
    found = run(start)
    check(start, found)
    assert found.counts["flipped"] == 1
    assert objective(start.problem, found.labels) < 0.1 * objective(start.problem, start.labels)


def crowd(third):
    """Item 42 of cluster 0 wants to cluster 1, and 43 there must then go on to cluster 2.

    Five others want to cluster 1 more, but all there forbid it; so chains, which try the four that
    are best off, do not find this. With `third`, sizes are exact, and an item of cluster 2 has to
    come to cluster 0.
    """
    base = np.repeat([[0.0, 0.0], [4.0, 0.0], [4.0, 1.0]], (30, 6, 6), axis=0)
    more = np.array([[3.0, 0.0], [4.0, 0.45], *[[4.0, 0.0]] * 5, *[[2.0, 0.8]] * third])
    X = np.vstack([base, more])
    X += 0.01 * np.random.default_rng(0).normal(size=X.shape)
    labels = np.repeat([0, 1, 2, 0, 1, 0, 2], (30, 6, 6, 1, 1, 5, int(third)))
    links = [(42, 43), (42, 36), (42, 37), *((p, q) for p in range(44, 49) for q in range(30, 42))]
    sizes = np.bincount(labels).tolist()
    rules = {"size_min": sizes, "size_max": sizes} if third else {}
    return Start.of(X, 3, bckm.Constraints(cannot_link=links, **rules), labels)


@pytest.mark.parametrize("third", [False, True])
def test_only_a_push_helps(third):
    start = crowd(third)
    assert not better_moves(start.problem, start.labels)
    found = run(start)
    check(start, found)
    assert found.counts["chained"] == 1
    assert objective(start.problem, found.labels) < objective(start.problem, start.labels)


@pytest.mark.parametrize("far", [0.0, 100.0])
def test_only_a_path_into_an_empty_cluster_helps(far):
    """What goes to an empty cluster costs nothing there, however far its old center is.

    Cluster 1 keeps its size, and only its last item may go to cluster 2, none of them to 0.
    """
    X = np.array([[0.0], [0.0], [0.0], [0.9], [1.0], [1.0], [1.1]])
    labels = [0, 0, 0, 0, 1, 1, 1]
    A = np.zeros((2, 7, 3))
    A[0, :6, 2] = A[1, 4:, 0] = 1.0
    rows = bckm.LinearRows(A.reshape(2, -1), None, [0.0, 0.0])
    rules = bckm.Constraints(size_min=[0, 3, 0], size_max=[4, 3, 1], linear=rows)
    start = Start.of(X, 3, rules, labels)
    start.centers = start.centers + far
    assert not better_moves(start.problem, start.labels)
    found = run(start)
    check(start, found)
    assert objective(start.problem, found.labels) < 0.1 * objective(start.problem, start.labels)


def pair_astray(back=0):
    """Two samples far from the others of their cluster, held together at a high price.

    With `back`, sizes are exact, and so many samples of the other cluster are astray as well.
    """
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [9.0, 0.5], [0.5, 1.0]], (9, 9, 2, back), axis=0)
    X += 0.01 * np.random.default_rng(0).normal(size=X.shape)
    labels = np.repeat([0, 1, 0, 1], (9, 9, 2, back))
    wish = bckm.Constraints(must_link=[(18, 19)]).soft(price=1e4)
    if back:
        sizes = np.bincount(labels).tolist()
        wish &= bckm.Constraints(size_min=sizes, size_max=sizes)
    return Start.of(X, 2, wish, labels)


@pytest.mark.parametrize("back", [0, 2])
def test_only_a_group_helps(back):
    start = pair_astray(back)
    assert better_moves(start.problem, start.labels) == ({"group"} if not back else set())
    found = run(start)
    check(start, found)
    assert found.counts["grouped"] == 1
    assert objective(start.problem, found.labels) < 0.1 * objective(start.problem, start.labels)


def test_two_that_should_be_apart_change_places():
    """Each alone would come to the other at a high price."""
    X = np.repeat([[0.0], [9.0]], 10, axis=0)
    X += 0.01 * np.random.default_rng(0).normal(size=X.shape)
    labels = np.repeat([0, 1], 10)
    labels[[0, 19]] = 1, 0
    wish = bckm.Constraints(cannot_link=[(0, 19)]).soft(price=1e4)
    start = Start.of(X, 2, wish, labels)
    assert better_moves(start.problem, start.labels) == {"swap"}
    found = run(start)
    check(start, found)
    assert found.counts["swapped"] == 1
    assert objective(start.problem, found.labels) < 0.1 * objective(start.problem, start.labels)


def test_an_item_without_mass_has_wishes():
    """Its own goes with a swap that pays only because the mean of the other cluster follows."""
    X = np.array([[0.0], [0.0], [3.0], [7.0]])
    rules = bckm.Constraints(size_min=[1, 3], size_max=[1, 3])
    rules &= bckm.Constraints(fixed={0: 1, 1: 1, 2: 1}).soft(price=7)
    rules &= bckm.Constraints(fixed={3: 1}).soft(price=2)
    start = Start.of(X, 2, rules, [1, 1, 1, 0], [1, 1, 1, 0])
    assert better_moves(start.problem, start.labels) == {"swap"}
    found = run(start)
    check(start, found)
    assert found.counts["swapped"] == 1


# --- larger ---


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["sizes", "conflicts", "cliques"])
def test_larger(kind):
    rng = np.random.default_rng(0)
    if kind == "sizes":
        X = rng.normal(size=(8, 5))[rng.integers(8, size=3000)] + rng.normal(size=(3000, 5))
        rules = bckm.Constraints(size_min=375, size_max=375)
        start = Start.of(X, 8, rules, np.argsort(np.argsort(X.sum(axis=1))) // 375)
    else:
        start = from_family("planted_coloring" if kind == "conflicts" else kind, 3000)
    found = run(start)
    check(start, found, brute=False)
    assert found.finished
    assert objective(start.problem, found.labels) < 0.95 * objective(start.problem, start.labels)
