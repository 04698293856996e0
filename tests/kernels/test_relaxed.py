"""What annealing thinks of a move: kept up to date move by move, against sums made anew."""

from types import SimpleNamespace

import numpy as np
import pytest

import bckm
from bckm.kernels import native
from bckm.problem.compiled import as_arrays
from bckm.problem.problem import Problem
from tests.support.local_search import compiled, objective, planted, soft_planted

pytestmark = compiled

SIZE_MARGIN = 1e-3  # sizes are fined from so much beyond their bounds on


def judge(problem, labels, centers, fines, items, to, *, fixed=False, price_step=0.0):
    """What annealing thinks of a move."""
    return SimpleNamespace(
        **native._judge_relay(
            *as_arrays(problem.structure, problem.soft, problem.points, problem.mass),
            labels.astype(np.int32),
            centers,
            fixed,
            np.asarray(fines, float),
            price_step,
            np.asarray(items),
            np.asarray(to),
        )
    )


def kinds(problem):
    """Number of kinds of hard rules: sizes, each load, conflicts, rows."""
    return 3 + problem.structure.loads.number


def moves(rng, labels, k):
    """A relocation, a swap and a path, as items and clusters."""
    j = int(rng.integers(labels.size))
    a = labels[j]
    others = [i for i in range(k) if i != a]
    if not others:
        return
    b = int(rng.choice(others))
    yield [j], [b]
    there = np.flatnonzero(labels == b)
    if there.size == 0:
        return
    ell = int(rng.choice(there))
    yield [j, ell], [b, a]
    thirds = [i for i in others if i != b]
    if thirds:
        yield [j, ell], [b, int(rng.choice(thirds))]


def fined(problem, labels, fines):
    """What violated hard rules are fined, from the definition."""
    s, k = problem.structure, problem.structure.n_clusters

    def beyond(value, lower, upper):
        return np.maximum(np.maximum(lower - value, value - upper), 0.0)

    def unit(amount):
        size = np.abs(amount[amount != 0])
        return size.mean() if size.size else 1.0

    sizes = np.bincount(labels, s.count, k)
    over = beyond(sizes, s.lower - SIZE_MARGIN, s.upper + SIZE_MARGIN)
    total = fines[0] / unit(s.count) * over.sum()
    for q in range(s.loads.number):
        amount = s.loads.amount[:, q]
        held = np.bincount(labels, amount, k)
        over = beyond(held, s.loads.lower[:, q], s.loads.upper[:, q])
        total += fines[1 + q] / unit(amount) * over.sum()
    total += fines[-2] * np.count_nonzero(labels[s.edges[:, 0]] == labels[s.edges[:, 1]])
    rows = s.apart_from_loads
    if rows.number:
        matrix = rows.matrix.tocsr()
        value = matrix @ (labels[:, None] == np.arange(k)).ravel()
        units = np.array([unit(matrix[[r]].data) for r in range(rows.number)])
        total += fines[-1] * (beyond(value, rows.lower, rows.upper) / units).sum()
    return total


@pytest.mark.parametrize("make", [planted, soft_planted])
def test_changes_are_those_of_the_objective_and_of_fines(make):
    seen = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        start = make(seed)
        problem, k = start.problem, start.problem.structure.n_clusters
        labels = rng.integers(k, size=start.labels.size)  # most of them violate rules
        fines = rng.uniform(0.5, 2, kinds(problem))
        fixed = bool(seed % 2)
        at = start.centers if fixed else None
        for items, to in moves(rng, labels, k):
            found = judge(problem, labels, start.centers, fines, items, to, fixed=fixed)
            after = labels.copy()
            after[items] = to
            before = objective(problem, labels, at)
            change = objective(problem, after, at) - before
            noise = 1e-9 * max(1.0, abs(before))
            assert found.change == pytest.approx(change, abs=noise), seed
            assert found.objective_change == pytest.approx(change, abs=noise), seed
            charged = fined(problem, after, fines) - fined(problem, labels, fines)
            assert found.charge_change == pytest.approx(charged, rel=1e-6, abs=1e-6), seed
            assert found.feasible == found.feasible_again == problem.structure.feasible(after)
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("make", [planted, soft_planted])
def test_prices_are_charged_and_given_back(make):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        start = make(seed)
        problem, k = start.problem, start.problem.structure.n_clusters
        labels = rng.integers(k, size=start.labels.size)
        fines = rng.uniform(0.5, 2, kinds(problem))
        for items, to in moves(rng, labels, k):
            found = judge(problem, labels, start.centers, fines, items, to, price_step=0.7)
            noise = 1e-9 * (1 + abs(found.charge_change))
            assert found.charge_change_back == pytest.approx(-found.charge_change, abs=noise), seed
            again = found.charge_change_back_again
            assert again == pytest.approx(found.charge_change_back, abs=noise), seed
            assert found.least_charge_change <= found.charge_change + noise, seed
            if hasattr(found, "swap_sums_change"):
                swapped = found.swap_sums_change
                assert swapped == pytest.approx(found.sums_change, abs=noise), seed


def test_prices_rise_where_sums_are_too_much_and_fall_where_they_are_too_little():
    kg = np.array([3.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    asked = bckm.Constraints(capacities={"kg": bckm.Capacity(kg, 2.5, 4.5)}, size_min=0)
    problem = Problem.build(np.arange(6.0)[:, None], 3, asked)
    labels = np.array([0, 0, 0, 1, 1, 1])  # 6, 3 and 0 kg
    centers = np.zeros((3, 1))

    def price_change(item, to, step):
        found = judge(
            problem, labels, centers, np.ones(kinds(problem)), [item], [to], price_step=step
        )
        return found.price_change

    for item in range(3):
        assert price_change(item, 1, 0.0) == 0
        assert price_change(item, 2, 0.5) < price_change(item, 1, 0.5) < 0
        assert price_change(3 + item, 2, 0.5) < 0 < price_change(3 + item, 0, 0.5)
