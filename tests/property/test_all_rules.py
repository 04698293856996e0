"""All kinds of rules at once, hard and soft, against brute force on thousands of instances."""

from itertools import pairwise

import numpy as np
import pytest

import bckm
from tests.support.instances import inertias
from tests.support.oracle import Truth, holds, in_inertia, owed
from tests.support.rule_instances import draw

BATCH, BATCHES = 125, 16


def near(a, b, scale=0.0):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), scale)


def reach(drawn):
    """What rounding is relative to where an optimum is zero: a hundredth of a far pair."""
    weight = 1.0 if drawn.weight is None else drawn.weight.max()
    return 0.01 * float(weight * np.square(np.ptp(drawn.X, axis=0)).sum()) + 1e-30


def look_at_check(drawn, truth):
    answer = bckm.check(drawn.X, drawn.k, drawn.constraints)
    assert answer.verdict == ("feasible" if truth.obeys.any() else "infeasible")
    if answer:
        assert truth.obeys[truth.at(answer.labels)]
        return
    assert answer.error.minimal
    good = [holds(rule, truth.labels, drawn.k) for rule in answer.conflict]
    assert not np.all(good, axis=0).any(), answer.message
    for out in range(len(good)):
        rest = [one for at, one in enumerate(good) if at != out]
        assert not rest or np.all(rest, axis=0).any(), answer.message


def look_at_step(drawn, truth, seed, solver):
    rng = np.random.default_rng(seed)
    n, d = drawn.X.shape
    # centers anywhere, or on the data: then costs tie and vanish
    centers = drawn.X[rng.integers(n, size=drawn.k)]
    if seed % 3:
        centers = centers + (np.ptp(drawn.X) or 1.0) * rng.normal(size=(drawn.k, d))
    found = bckm.assign_to(
        drawn.X, centers, drawn.constraints, solver=solver, sample_weight=drawn.weight
    )
    weight = np.ones(n) if drawn.weight is None else drawn.weight
    square = weight[:, None] * np.square(drawn.X[:, None] - centers).sum(axis=2)
    cost = square[np.arange(n), truth.labels].sum(axis=1)
    best = (cost + truth.penalty)[truth.obeys].min()
    at, scale = truth.at(found.labels), reach(drawn)
    assert truth.obeys[at]
    assert near(found.inertia, cost[at], scale)
    assert near(found.penalty, truth.penalty[at], scale)
    assert found.lower_bound <= found.objective
    assert found.lower_bound <= best + 1e-9 * max(best, scale)
    if solver != "exact":
        return
    assert near(found.objective, best, scale), (found.objective, best)
    if drawn.soft:  # rows that give way are proven to the tolerance of the solver, about 1e-9, and
        # what the rounding of their prices may be is taken off
        assert found.objective - found.lower_bound <= 1e-6 * max(found.objective, scale)
    else:
        assert found.status is bckm.Status.OPTIMAL, found.objective - found.lower_bound


def look_at_fit(drawn, truth, seed, **options):
    result = bckm.kmeans(
        drawn.X,
        drawn.k,
        drawn.constraints,
        sample_weight=drawn.weight,
        random_state=seed,
        n_init=1,
        **options,
    )
    inertia = inertias(drawn, truth.labels).astype(float)
    at, scale = truth.at(result.labels), reach(drawn)
    assert truth.obeys[at]
    assert near(result.inertia, inertia[at], scale), (result.inertia, inertia[at])
    assert near(result.penalty, truth.penalty[at], scale), (result.penalty, truth.penalty[at])
    best = (inertia + truth.penalty)[truth.obeys].min()
    assert result.objective >= best - 1e-9 * max(best, scale)
    assert near(sum(one.penalty for one in result.violated), result.penalty, scale)
    assert all(one.saved >= 0 for one in result.violated)
    assert all(b.objective <= a.objective for a, b in pairwise(result.history))


def look_at_checker(drawn, seed):
    """Amounts of hard and soft rules, on labels that break many of them."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        y = rng.integers(drawn.k, size=len(drawn.X))
        hard = sum(float(owed(ask, y[None], drawn.k)[0]) for ask in drawn.hard)
        broken = bckm.verify(y, drawn.k, drawn.constraints)
        assert bool(broken) == (hard > 0)
        if not drawn.labeled:  # hard labels are links of sets, and pairs to brute force
            assert near(sum(one.amount for one in broken), hard), broken
        soft = sum(
            float(owed(ask, y[None], drawn.k)[0]) * in_inertia(drawn, ask.price)
            for ask in drawn.soft
        )
        violated = bckm.verify(y, drawn.k, drawn.constraints, soft=True)
        kinds = ("price", "confidence")
        paid = [
            one.amount * in_inertia(drawn, (kinds[one.rule.relative], one.rule.weight))
            for one in violated
        ]
        assert near(sum(paid), soft), violated


def look(seed, *, often=1):
    """All of it for one instance; what is slow for some of them."""
    drawn = draw(seed)
    truth = Truth.of(drawn)
    look_at_check(drawn, truth)
    look_at_checker(drawn, seed)
    if not truth.obeys.any():
        return
    if seed % 2 == 0 or often > 1:
        look_at_step(drawn, truth, seed, "exact")
    if seed % 8 == 1 or often > 1:
        look_at_step(drawn, truth, seed, "lagrangian")
    if seed * often % 8 == 0:
        look_at_fit(drawn, truth, seed, search="none")
    if seed * often % 16 == 0:
        look_at_fit(drawn, truth, seed)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_all_rules_against_brute_force(batch):
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        try:
            look(seed)
        except Exception as error:
            error.add_note(f"seed {seed}: {draw(seed).constraints}")
            raise


@pytest.mark.parametrize("seed", [8119, 13433])
def test_seeds_whose_optimum_was_cut_off(seed):
    look(seed, often=16)


def test_draws_hold_both_kinds_in_number():
    """The campaign would prove little if nearly all draws could be obeyed, or none."""
    drawn = [draw(seed) for seed in range(300)]
    feasible = sum(bool(Truth.of(one).obeys.any()) for one in drawn)
    assert 150 < feasible < 250
    kinds = {(ask.kind, ask.price is None) for one in drawn for ask in one.asks}
    assert len(kinds) == 2 * 12 + 3  # rows and at_most are hard, moved is soft
