"""The stress families: every engine returns feasible labels on all of them."""

import numpy as np
import pytest

import bckm
from tests.support.families import FAMILIES

SIZES = (60, 150, 300)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("solver", ["auto", "exact", "pump", "greedy"])
def test_feasible_on_every_family(family, n, solver):
    X, k, rules = FAMILIES[family](np.random.default_rng(n), n)
    # some exact steps of the dense colorings take minutes: the best labels so far must do
    result = bckm.kmeans(X, k, rules, solver=solver, random_state=0, time_limit=1)
    assert bckm.verify(result.labels, k, rules) == []
    assert result.lower_bound <= result.inertia
    if solver == "pump":
        steps = result.counters.get("alone", 0) + result.counters.get("completed", 0)
        assert steps >= sum(step.kind == "assign" for step in result.history)


def test_pump_reports_what_it_left_to_the_exact_engine():
    """Packing makes the relaxation fractional: the published pump ends non-binary there."""
    X, k, rules = FAMILIES["packing"](np.random.default_rng(60), 60)
    result = bckm.kmeans(X, k, rules, solver="pump", random_state=0)
    assert result.counters["completed"] >= 1


def test_pump_finishes_alone_where_the_relaxation_is_integral():
    X, k, rules = FAMILIES["cliques"](np.random.default_rng(60), 60)
    result = bckm.kmeans(X, k, rules, solver="pump", search="none", random_state=0)
    assert result.counters == {"alone": result.counters["alone"]}
