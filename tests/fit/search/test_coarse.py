"""Cells stand for their items, steps on them are exact, and what is found there is worth it."""

import numpy as np
import pytest
from scipy.optimize import linprog

import bckm
from bckm import Constraints
from bckm._core.deadline import Deadline, TimeUp
from bckm.assign import ENGINES
from bckm.fit.lloyd import Limits, alternate
from bckm.fit.search import coarse
from bckm.fit.search.coarse import LARGE, SMALL, Cells, CoarseSearch
from bckm.fit.seeding import spread
from bckm.kernels import missing
from bckm.problem.problem import Problem

pytestmark = pytest.mark.skipif(bool(missing), reason=missing or "there")


def blobs(rng, n=2000, k=20, d=3):
    return 6 * rng.normal(size=(2 * k, d))[rng.integers(2 * k, size=n)] + rng.normal(size=(n, d))


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_stand_for_their_items(weighted):
    rng = np.random.default_rng(0)
    weight = rng.integers(3, size=2000) / 2.0 if weighted else None
    problem = Problem.build(blobs(rng), 20, sample_weight=weight)
    large, small = Cells.of(problem)
    assert len(large.points) == LARGE * 20
    assert len(small.points) == SMALL * LARGE * 20
    anywhere = rng.normal(size=3)
    whole = problem.cost_weight @ np.square(problem.points - anywhere).sum(axis=1)
    for cells in (large, small):
        assert cells.weight.sum() == pytest.approx(problem.cost_weight.sum())
        coarsely = cells.weight @ np.square(cells.points - anywhere).sum(axis=1)
        assert coarsely + cells.scatter == pytest.approx(whole)
    assert small.scatter < large.scatter < 0.15 * whole


def test_cells_of_a_part_of_the_items_stand_for_all(monkeypatch):
    monkeypatch.setattr(coarse, "SEEN", 300)
    monkeypatch.setattr(coarse, "SEEN_EACH", 10)
    problem = Problem.build(blobs(np.random.default_rng(1)), 20)
    for cells in Cells.of(problem):
        assert cells.weight.sum() == pytest.approx(2000)
        assert len(cells.points) <= 400


def test_cells_of_few_items():
    for n in (10, 100, 300, 900):
        problem = Problem.build(np.random.default_rng(2).normal(size=(n, 2)), 10)
        large, small = Cells.of(problem)
        assert len(large.points) == min(n, 10 * LARGE)
        assert len(small.points) == len(large.points) * min(SMALL, max(1, n // (10 * LARGE)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(0, 60), (50, 50), (30, 55)])
def test_a_step_is_optimal_within_the_sizes(monkeypatch, sizes, weighted):
    monkeypatch.setattr(coarse, "STEPS", 1)
    rng = np.random.default_rng(2)
    k = 6
    weight = rng.integers(1, 4, size=300).astype(float) if weighted else None
    rules = Constraints(size_min=sizes[0], size_max=sizes[1])
    problem = Problem.build(blobs(rng, 300, k, 2), k, rules, sample_weight=weight)
    search, cells = CoarseSearch(problem, Deadline()), Cells.of(problem)[1]
    centers = problem.points[rng.choice(300, k, replace=False)]
    found = search._fine.started(centers)
    cost = (np.square(cells.points[:, None] - centers).sum(axis=2) * cells.weight[:, None]).ravel()
    c, each = len(cells.points), SMALL * LARGE / 50  # cells for a sample
    of_cell, of_cluster = np.kron(np.eye(c), np.ones(k)), np.kron(np.ones(c), np.eye(k))
    bounds = np.ceil(sizes[1] * each), -np.floor(sizes[0] * each)
    best = linprog(
        cost,
        A_ub=np.vstack([of_cluster, -of_cluster]),
        b_ub=np.repeat(bounds, k),
        A_eq=of_cell,
        b_eq=np.ones(c),
    )
    weights = best.x.reshape(c, k) * cells.weight[:, None]
    mass = weights.sum(axis=0)
    means = weights.T @ cells.points
    means = np.where(mass[:, None] > 0, means / np.maximum(mass, 1e-300)[:, None], centers)
    after = best.fun - mass @ np.square(means - centers).sum(axis=1)
    assert found.centers == pytest.approx(means)
    assert found.cost == pytest.approx(after + cells.scatter)


def test_two_starts_that_find_the_same_end_it(monkeypatch):
    problem = Problem.build(blobs(np.random.default_rng(6)), 20, Constraints(size_min=90))
    monkeypatch.setattr(coarse, "SAME", 1.0)
    search = CoarseSearch(problem, Deadline())
    search(np.random.default_rng(0), 1e9)
    assert search.work < 3e8


def test_better_first_centers_and_always_the_same():
    problem = Problem.build(blobs(np.random.default_rng(3)), 20, Constraints(size_min=100))
    start, limits = np.arange(2000) % 20, Limits(300, 1e-4, Deadline())

    def cost(centers):
        assigner = ENGINES["transport"]().prepare(problem)
        return alternate(problem, assigner, centers, start, limits).cost

    total = {"coarse": 0.0, "spread": 0.0}
    for seed in range(3):
        found = CoarseSearch(problem, Deadline())(np.random.default_rng(seed), 2e7)
        again = CoarseSearch(problem, Deadline())(np.random.default_rng(seed), 2e7)
        assert found.complete
        assert (found.centers == again.centers).all()
        total["coarse"] += cost(found.centers)
        total["spread"] += cost(spread(problem, np.random.default_rng(seed), Deadline()).centers)
    assert total["coarse"] < 0.98 * total["spread"]


def test_it_ends_by_its_work_and_by_the_clock():
    problem = Problem.build(blobs(np.random.default_rng(4)), 20, Constraints(size_min=90))
    little, much = CoarseSearch(problem, Deadline()), CoarseSearch(problem, Deadline())
    little(np.random.default_rng(0), 1e6)
    much(np.random.default_rng(0), 1e7)
    assert 1e6 <= little.work < much.work < 2e7
    with pytest.raises(TimeUp):
        CoarseSearch(problem, Deadline.after(0.0))
    for part in (much, much._rough, much._fine):
        part._deadline = Deadline.after(0.0)
    late = much(np.random.default_rng(0), 1e9)
    assert not late.complete
    assert np.isfinite(late.centers).all()


def test_samples_that_are_all_alike():
    result = bckm.kmeans(np.zeros((3000, 2)), 20, Constraints(size_min=150), random_state=0)
    assert result.sizes.tolist() == [150] * 20
    few = np.repeat(np.arange(3.0)[:, None], 1000, axis=0)  # fewer cells than clusters
    assert bckm.kmeans(few, 20, Constraints(size_min=100), random_state=0).inertia >= 0


@pytest.mark.parametrize("init", ["random", "given", "called"])
def test_centers_that_a_person_chose_are_kept(monkeypatch, init):
    def never(*_):
        raise AssertionError("not asked for")

    monkeypatch.setattr(coarse.CoarseSearch, "__call__", never)
    X = blobs(np.random.default_rng(5), 1200)
    chosen = {"given": X[:20], "called": lambda X, k, random_state: X[:k]}.get(init, init)
    bckm.kmeans(X, 20, Constraints(size_min=60), init=chosen, n_init=1, random_state=0)
    with pytest.raises(AssertionError, match="not asked for"):
        bckm.kmeans(X, 20, Constraints(size_min=60), random_state=0)
