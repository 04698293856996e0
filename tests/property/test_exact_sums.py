"""Sums of amounts from 1e-12 to 1e16: what is said of them is true by exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import bckm
from tests.support.exact_sums import draw, wishes

pytestmark = pytest.mark.sampled(1)

SOLVERS = ("exact", "lagrangian", "greedy", "pump", "auto")
FEW, BATCH, BATCHES = 6, 25, 4


def look(seed):
    drawn = draw(seed)
    every = drawn.all_labels()
    good = {labels for labels in every if drawn.kept(labels)}
    surely = [labels for labels in good if drawn.kept(labels, Fraction(1, 4))]
    for labels in every:
        if not drawn.sharp(labels):
            broken = bckm.verify(labels, drawn.k, drawn.constraints)
            assert (labels in good) == (not broken), (labels, broken)
    answer = bckm.check(len(drawn.X), drawn.k, drawn.constraints)
    if surely or answer:
        assert answer.verdict == "feasible", answer.message
        assert tuple(answer.labels.tolist()) in good
        look_at_steps(drawn, seed, good, surely)
    else:
        assert answer.verdict == "infeasible", answer.message


def look_at_steps(drawn, seed, good, surely):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(drawn.k, 2))
    square = np.square(drawn.X[:, None] - centers).sum(axis=2)

    def cost(labels):
        return square[np.arange(len(labels)), list(labels)].sum()

    least = min(map(cost, surely), default=np.inf)
    for solver in SOLVERS:
        step = bckm.assign_to(drawn.X, centers, drawn.constraints, solver=solver)
        assert tuple(step.labels.tolist()) in good
        assert step.lower_bound <= least * (1 + 1e-9)
        if step.status is bckm.Status.OPTIMAL:
            assert step.objective <= least * (1 + 1e-9)
        for search in ("local", "none"):
            fit = bckm.kmeans(
                drawn.X,
                drawn.k,
                drawn.constraints,
                solver=solver,
                search=search,
                n_init=1,
                random_state=0,
            )
            assert tuple(fit.labels.tolist()) in good


def look_at_wishes(seed):
    drawn, price = draw(seed), 10.0 ** (seed % 7 - 3)
    rules, bounds = wishes(drawn, price)
    for solver in ("exact", "lagrangian", "greedy"):
        fit = bckm.kmeans(drawn.X, drawn.k, rules, solver=solver, n_init=1, random_state=0)
        labels = fit.labels.tolist()
        looks = [bound.beyond(labels) for bound in bounds]
        owed = price * float(sum(max(missed, 0) for missed, _ in looks))
        held = price * float(sum(sum(map(abs, bound.values)) for bound in bounds))
        # what is in no cluster is not paid for
        assert abs(fit.penalty - owed) <= 1e-9 * fit.objective + 1e-14 * held
        assert fit.lower_bound <= fit.objective


@pytest.mark.parametrize("seed", range(FEW))
def test_what_is_said_of_sums_is_true_exactly(seed):
    look(seed)


@pytest.mark.parametrize("seed", range(FEW))
def test_soft_sums_cost_what_exact_sums_say(seed):
    look_at_wishes(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_campaign(batch):
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        look(seed)
        look_at_wishes(seed)
