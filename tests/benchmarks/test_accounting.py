"""Counted work: the benchmark of it, and that all is counted which costs, by other counters."""

import numpy as np
import pytest
import scipy.sparse as sp

from bckm import Constraints
from bckm._core.deadline import Deadline
from bckm.assign import few_points, transport
from bckm.assign.base import STEP
from bckm.fit.search import coarse
from bckm.fit.search.anneal import Annealing
from bckm.fit.search.local import LocalSearch
from bckm.kernels import missing, native
from bckm.problem.problem import Problem
from bckm.programs import highs
from benchmarks.mixed.accounting import measured


@pytest.mark.sampled(1)
@pytest.mark.skipif(bool(missing), reason="moves are compiled")
@pytest.mark.parametrize(
    ("asked", "engines"),
    [
        (Constraints(size_max=30), ["transport", "lagrangian", "exact", "coarse"]),
        (Constraints(cannot_link=[(0, 1)], size_max=30), ["lagrangian", "exact"]),
    ],
    ids=["sizes", "links"],
)
def test_every_engine_counts_its_work(asked, engines):
    X = np.random.default_rng(0).normal(size=(100, 2))
    rows = list(measured("drawn", Problem.build(X, 4, asked, n_jobs=1), 2))
    moves = ["moves", "first moves", "annealing"]
    assert sorted(row.engine for row in rows) == sorted([*engines, *moves])
    assert all(row.work > 0 and row.cpu >= 0 for row in rows)


def drawn(n, k, d, **asked):
    X = np.random.default_rng(n).normal(size=(n, d))
    problem = Problem.build(X, k, Constraints(**asked), n_jobs=1)
    return problem, np.arange(n) % k, problem.points[:k]


@pytest.mark.skipif(bool(missing), reason="without the kernels it is another engine")
def test_transport_counts_calls_points_looks_and_paths(monkeypatch):
    monkeypatch.setattr(few_points, "COSTS", 0)  # as if points were many
    problem, labels, centers = drawn(400, 5, 3, size_min=80, size_max=80)
    assigner = transport.Transport().prepare(problem)
    for _ in range(4):
        labels = assigner(centers, labels, Deadline()).labels
        centers, _ = problem.recentered(labels, centers)
    looked, paths = assigner.counters["looked"], assigner.counters["paths"]
    assert looked >= 400
    assert paths > 0
    call = STEP + transport.CALL + 400 * (transport.POINT + 3)
    look = transport.LOOK + 0.2 * 5 * 3
    assert assigner.work == pytest.approx(4 * call + transport.PATH * paths + look * looked)


@pytest.mark.skipif(bool(missing), reason="without the kernels it is another engine")
def test_few_points_count_costs_pairs_and_paths():
    problem, labels, centers = drawn(400, 5, 3, size_min=80, size_max=80)
    assigner = transport.Transport().prepare(problem)
    for _ in range(4):
        labels = assigner(centers, labels, Deadline()).labels
        centers, _ = problem.recentered(labels, centers)
    looked, paths = assigner.counters["looked"], assigner.counters["paths"]
    assert looked == 1600
    assert paths > 0
    cost = few_points.COST + few_points.FEATURE * 3
    call = few_points.CALL + few_points.STEP_PAIR * 25
    path = few_points.PATH + few_points.PATH_PAIR * 25
    work = 4 * call + looked * (few_points.POINT + 5 * cost) + path * paths
    assert assigner.work == pytest.approx(work)


@pytest.mark.skipif(bool(missing), reason="moves are compiled")
@pytest.mark.parametrize(("n", "k", "d"), [(60, 12, 2), (2000, 5, 2), (300, 4, 40)])
def test_moves_count_passes_and_what_they_list_and_make(n, k, d):
    """Few items in many clusters, many items, many dimensions: none is free."""
    problem, labels, centers = drawn(n, k, d, size_min=1)
    descend = LocalSearch(problem)
    centers, _ = problem.recentered(labels, centers)
    whole = descend(labels, centers, Deadline())
    counts = whole.counts
    assert whole.finished
    rows, width = n * (35 + 0.85 * d), -(-k // 8) * 8
    costs = n * width * (0.25 + 0.11 * d) + n * k
    # listed, judged and made, at least; it may list a thousand to make one
    listed = (7 + 10 + 17 + 18 + 6.5 * d) * counts["relocated"]
    assert whole.work >= 2e4 + counts["passes"] * (rows + costs) + listed
    ended = descend(whole.labels, centers, Deadline())
    assert ended.counts["passes"] == 1
    # looks for relocations and twice for offers, all of which are looked at closer at worst
    looks = 2e4 + rows + costs + 2 * (2.2 * n * k + 15 * k * k)
    assert looks <= ended.work
    closer = n * k * (3 * 3.5 + 2 * (11 + 20 + 7 * np.log2(1 + n)))
    assert ended.work <= looks + closer + 20 * k**3 + 1e3 * n * k


@pytest.mark.skipif(bool(missing), reason="moves are compiled")
def test_moves_of_many_dimensions_and_from_long_lists_cost_more():
    """Of the same labels: what a first pass lists is the same, and nearly all is tried."""
    works = {}
    for n, d in ((1000, 2), (1000, 100), (40_000, 2)):
        problem, labels, centers = drawn(n, 10, d, size_min=1)
        looks = n * (35 + 0.85 * d) + 16 * n * (0.25 + 0.11 * d) + 10 * n
        found = LocalSearch(problem)(labels, centers, Deadline(), 2.5e4)
        assert found.counts["passes"] == 1
        works[n, d] = (found.work - 2e4 - looks) / n
    assert works[1000, 100] > works[1000, 2] + 98 * 6.5 / 2
    assert works[40_000, 2] > 1.2 * works[1000, 2]


@pytest.mark.skipif(bool(missing), reason="moves are compiled")
def test_moves_count_what_they_look_at_closer_but_may_not_list():
    """Exact sizes admit no relocation, however many would help."""
    problem, labels, _ = drawn(600, 10, 1, size_min=60, size_max=60)
    labels[np.argsort(problem.points[:, 0])] = np.arange(600) // 60
    works = []
    for some in (labels, np.arange(600) % 10):  # nearly the best, and any
        centers, _ = problem.recentered(some, problem.points[:10])
        found = LocalSearch(problem)(some, centers, Deadline(), 2.5e4)
        assert found.counts["relocated"] == 0
        works.append(found.work)
    assert works[1] > works[0] + 3.5 * 600 * 10


@pytest.mark.skipif(bool(missing), reason="annealing is compiled")
@pytest.mark.parametrize("d", [2, 40])
def test_annealing_counts_proposals_and_candidates(d):
    problem, labels, centers = drawn(200, 5, d, size_min=40, size_max=40)
    found = Annealing(problem)(labels, centers, Deadline(), 2e7, 0)
    proposed = found.counts["proposed"]
    assert found.work >= proposed * (32 + 3 * d)
    # half of them are swaps, for which six items are looked at; now and then all are
    assert found.work <= 1.5 * proposed * (32 + 3 * d + 3 * (6 + 2 * d))


def programs(rows):
    """Twelve items in four places, with so many rows that couple them."""
    rng = np.random.default_rng(1)
    once = sp.kron(sp.eye_array(12), np.ones((1, 4)))
    matrix = sp.vstack([once, sp.csr_array(rng.integers(1, 9, (rows, 48)))], format="csc")
    lower = np.concatenate([np.ones(12), np.full(rows, -np.inf)])
    upper = np.concatenate([np.ones(12), np.full(rows, 48.0)])
    return matrix, lower, upper, rng


def test_tree_searches_count_questions_by_what_couples_items():
    number, question, each, by_cut = highs.MIP_WORK
    for rows in (2, 4):
        matrix, lower, upper, rng = programs(rows)
        model = highs.Model(matrix, lower, upper, integer=True)
        solution = model.solve(rng.random(48), Deadline())
        # rows that couple, and the numbers in 36 columns beyond one per item
        size = rows + (48 - 12) * (1 + rows) / highs.PER_ROW
        asked, left = model._asked - highs.FIRST, min(1, model._left / (48 - 12))
        dear = sum(min(before, highs.GATHER) for before in range(1, asked + 1))
        iterations = model._solver.getInfo().simplex_iteration_count
        counted = number * matrix.nnz + question * dear * size * (1 + left) / 2
        counted += iterations * (each + by_cut * model._cuts)
        assert asked > 0
        assert solution.work == pytest.approx(counted)


def test_tree_searches_count_cuts_and_what_is_left_of_a_program():
    """HiGHS shows its cuts at the end of a root node; later searches know nothing of them."""
    matrix, lower, upper, rng = programs(4)
    model = highs.Model(matrix, lower, upper, integer=True)
    seen = []

    def shown(event):
        seen.append((len(event.data_out.cutpool_index), event.data_out.cutpool_num_col))

    model._solver.cbMipGetCutPool.subscribe(shown)
    model.solve(rng.random(48), Deadline())
    assert seen
    assert (model._cuts, model._left) == seen[-1]
    assert model._cuts > 0
    assert 0 < model._left < 48
    model.solve(rng.random(48), Deadline(), max_work=0.0)
    assert (model._cuts, model._left) == (0, 48)


def test_questions_grow_dearer_while_cuts_gather():
    matrix, lower, upper, _ = programs(6)
    model = highs.Model(matrix, lower, upper, integer=True)
    works = []
    for asked in range(40):
        model._asked = asked
        works.append(model._work(0))
    more = np.diff(works)
    gathering, last = slice(highs.FIRST, highs.FIRST + highs.GATHER), highs.FIRST + highs.GATHER
    assert np.all(more[: highs.FIRST] == 0)
    assert np.all(np.diff(more[gathering]) > 0)
    assert more[last:] == pytest.approx(more[last - 1])
    model._left = 12  # begun anew with a third of what was open
    assert model._work(0) - works[0] == pytest.approx((works[-1] - works[0]) * 2 / 3)


def test_lps_from_a_basis_count_dearer_iterations():
    matrix, lower, upper, rng = programs(4)
    model = highs.Model(matrix, lower, upper)
    dense, others = matrix.nnz - 2 * 48, int((matrix.data != 1).sum())
    assert 0 < others < matrix.nnz
    costs = rng.random((2, 48))
    for start, cost in enumerate(costs):
        solution = model.solve(cost, Deadline())
        iterations = max(1, model._solver.getInfo().simplex_iteration_count)
        if start == 0:
            run, number, each, by_number, by_row = highs.LP_WORK
            by_other = 0.0
        else:
            (number, each, by_number, by_other, by_row), run = highs.WARM_WORK, 0.0
        iteration = each + by_number * dense + by_other * others + by_row * matrix.shape[0]
        counted = run + number * matrix.nnz + iterations * iteration
        assert solution.work == pytest.approx(counted)


@pytest.mark.skipif(bool(missing), reason="the coarse search is compiled")
def test_a_coarse_search_counts_cells_steps_and_paths(monkeypatch):
    """Sizes that are hard to keep take more searches for paths: they are not free."""
    calls, alternate = [], native.alternate_few

    def counted(*args):
        done = alternate(*args)
        calls.append((done.steps, done.rounds, done.steps * len(args[3])))
        return done

    monkeypatch.setattr(coarse.native, "alternate_few", counted)
    problem, *_ = drawn(3000, 10, 2, size_min=300, size_max=300)
    search = coarse.CoarseSearch(problem, Deadline())
    before = search.work
    assert before > 2 * 3000 * 2 * coarse.MEAN
    monkeypatch.setattr(coarse, "SEED", 0.0)
    monkeypatch.setattr(coarse.Part, "work", 0.0)
    search(np.random.default_rng(0), 2e7)
    steps, rounds, looked = np.sum(calls, axis=0)
    path = few_points.PATH + few_points.PATH_PAIR * 100
    point = few_points.POINT + 10 * (few_points.COST + 2 * few_points.FEATURE)
    call = len(calls) * (few_points.CALL + few_points.STEP_PAIR * 100)
    assert rounds > steps > 10
    assert search.work == pytest.approx(before + call + looked * point + rounds * path)
