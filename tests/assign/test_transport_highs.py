"""Without the compiled kernels: sizes by HiGHS, with proof, and search only where it needs none."""

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm.assign._transport_highs import HighsTransportAssigner, prices_of
from bckm.feasibility import feasible_start
from bckm.problem.problem import Problem
from tests.support.transport import draw, optimum, prove, slots


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batch", range(6))
def test_the_route_by_highs_reaches_the_same_optimum(batch):
    priced = seen = 0
    for seed in range(40 * batch, 40 * (batch + 1)):
        drawn = draw(seed)
        if slots(drawn) > 800:
            continue
        problem = drawn.problem()
        s = problem.structure
        start = feasible_start(s, problem.rules, Deadline())
        centers = problem.centers_in(drawn.centers)
        found = HighsTransportAssigner(problem)(centers, start, Deadline())
        best = optimum(problem.cost(centers), s.lower, s.upper)
        assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-14), seed
        seen += 1
        if found.prices is not None:
            priced += 1
            proof = prove(
                problem.points,
                problem.cost_weight,
                centers,
                s.lower,
                s.upper,
                found.labels,
                found.prices,
            )
            gap = proof.cost - proof.value
            assert gap <= 1e-9 * proof.cost + proof.noise, seed
    assert priced >= 0.9 * seen


def test_labels_that_are_not_optimal_have_no_prices():
    cost = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    two = np.array([2, 2])
    assert prices_of(cost, np.array([0, 0, 1, 1]), two, two) is not None
    assert prices_of(cost, np.array([0, 1, 0, 1]), two, two) is None


@pytest.mark.parametrize("search", ["local", "global"])
def test_moves_are_refused(search, monkeypatch):
    monkeypatch.setattr("bckm.fit.search.local.missing", "the kernels are gone.")
    words = (
        f"search='{search}' needs the compiled kernels; the kernels are gone. Or use search='auto'"
    )
    with pytest.raises(bckm.UnsupportedError, match=words):
        bckm.kmeans([[0.0], [1.0]], 2, search=search)


def test_a_large_fit_says_what_is_missing(monkeypatch):
    monkeypatch.setattr("bckm.assign._transport_highs.LARGE", 10)
    monkeypatch.setattr("bckm.assign._transport_highs.missing", "the kernels are gone.")
    problem = Problem.build(np.arange(12.0)[:, None], 3, bckm.Constraints(size_min=4))
    with pytest.warns(RuntimeWarning, match="slow: the kernels are gone"):
        HighsTransportAssigner(problem)
