"""Steps by looks: rows at borders are listed, and looks lead on where few samples are wrong."""

from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm.assign.transport_state import SizeBounds
from bckm.blocks import label_exceptions, looking, row_moves
from bckm.blocks.answer import FEW
from bckm.blocks.attempt import Attempt
from bckm.blocks.gpu import holder as gpu
from bckm.blocks.gpu.arrays import gpu_holder
from bckm.blocks.label_exceptions import rounding_of_values
from bckm.blocks.looking import LookState, approach
from bckm.blocks.settling import rounding_of_sums
from bckm.blocks.soft_prices import SoftPrices
from bckm.kernels import missing
from tests.support.device_problems import check_result, device_problem
from tests.support.numpy_passes import DeviceArray, on_a_device
from tests.support.row_data import drawn_rows


@pytest.fixture(autouse=True)
def device(monkeypatch):
    on_a_device(monkeypatch)


def rows_of(kind, d=3, n=9001):
    return drawn_rows(0, n, d, kind, d)


def at_a_border(copies=1):
    """A state at prices of zero, with rows as near to one center as to the other."""
    X = np.concatenate([rows_of("uniform", d=2), np.full((copies, 2), 0.5)])
    holder, none = gpu_holder(DeviceArray(X)), np.zeros(2)
    frame = holder.survey(1.0, 0).frame()
    state = LookState(holder, frame, SizeBounds(none, np.full(2, 1e9)))
    state.evaluate(frame.inside(np.array([[0.25, 0.5], [0.75, 0.5]])), none, Deadline())
    assert state.infeasibility == 0
    return state, len(X)


@pytest.mark.parametrize("chunk", [2**24, 1000])
def test_a_row_at_a_border_is_not_left_to_rounding(chunk, monkeypatch):
    """Sizes are right, but who labels rows later may round otherwise: they are listed."""
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    state, n = at_a_border(copies=3)
    received, holder = state.holder.received, state.holder
    settled = state.settled()
    taken = state.answer.taken
    assert holder.received - received == taken.nbytes > 0
    labeling = label_exceptions.labeling_of(settled, taken, state.question, holder, Deadline())
    assert labeling.index.tolist() == [n - 3, n - 2, n - 1]
    assert np.array_equal(holder.count(labeling), settled.sizes)
    other = replace(labeling, label=1 - labeling.label)
    assert np.array_equal(np.abs(holder.count(other) - settled.sizes), [3, 3])
    assert settled.gap == 0
    assert 0 < settled.cost - settled.bound < 1e-9 * settled.cost
    state.evaluate(state.question.centers, np.array([1e-3, 0.0]), Deadline())
    assert len(holder.tied(1e-9).rows) == 0


def test_the_bound_gives_up_what_rounding_hides_of_rows_at_borders():
    """Prices that are large make it large enough to be seen."""
    state, _ = at_a_border(copies=FEW)
    counts, centers, prices = state.units, state.question.centers, np.full(2, 1e6)
    state.bounds = SizeBounds(counts, counts)
    state.evaluate(centers, prices, Deadline())
    settled = state.settled()
    tied = state.answer.taken
    assert tied.number.sum() >= FEW
    hidden = rounding_of_values(state.answer.farthest[tied.label], centers, prices) @ tied.number
    sums = rounding_of_sums(centers, prices, settled.cost, counts, state.bounds)
    assert np.isclose(settled.cost - settled.gap - settled.bound - sums, hidden, rtol=0.1)


def test_rows_at_borders_cost_no_proof():
    """Half of the centers are twice the same: what rounding may hide is little."""
    problem = device_problem(110)
    result = bckm.assign_to(DeviceArray(problem.X), problem.centers, problem.rules)
    assert len(np.unique(problem.centers, axis=0)) < problem.k
    check_result(problem, result, problem.centers)
    assert result.gap < 1e-12


@pytest.mark.parametrize(("copies", "most"), [(FEW + 1, 2**12), (FEW, FEW - 1)])
def test_many_rows_at_a_border_are_settled_as_by_all_holders(copies, most, monkeypatch):
    monkeypatch.setattr(gpu, "TIED", most)
    state, _ = at_a_border(copies)
    assert state.settled() is None


def test_few_rows_at_a_border_need_no_looks_that_bring_others(monkeypatch):
    def no_plan(*_):
        raise AssertionError("rows near borders are asked for")

    monkeypatch.setattr(Attempt, "plan_near", no_plan)
    X = np.concatenate([rows_of("uniform", d=2), np.full((3, 2), 0.5)])
    rules = bckm.Constraints(size_min=10)
    result = bckm.assign_to(DeviceArray(X), [[0.25, 0.5], [0.75, 0.5]], rules)
    assert result.gap <= 1e-9
    assert np.array_equal(np.bincount(result.labels.hidden), result.sizes)


@pytest.mark.skipif(missing != "", reason="without kernels")
def test_looks_lead_on_from_where_moves_have_brought_some(monkeypatch):
    """Moves that leave no more than a part of the wrong samples are followed by looks again."""
    led, settled_prices = [], row_moves.settled_prices

    def half_of_the_way(state, *args):
        led.append(state.infeasibility)
        found = settled_prices(state, *args)
        return state.prices + 0.6 * (found - state.prices) if len(led) == 1 else found

    def far(state, soft, target, many, deadline):
        approach(state, soft, 300.0, many, deadline)

    monkeypatch.setattr(row_moves, "settled_prices", half_of_the_way)
    monkeypatch.setattr(row_moves, "ENDS", 1)
    monkeypatch.setattr(gpu, "SOFT", 2000)
    monkeypatch.setattr(looking, "approach", far)
    X = rows_of("uniform", d=4, n=20_000)
    rules = bckm.Constraints(size_min=1990, size_max=2010)
    result = bckm.assign_to(DeviceArray(X), X[::2000], rules)
    assert len(led) > 1
    assert led[1] < led[0]
    assert result.gap <= 1e-9


def begun():
    """A state at prices of zero, where many samples are wrong, and rows that lead on."""
    X, k = rows_of("uniform", d=4, n=20_000), 10
    holder = gpu_holder(DeviceArray(X))
    frame = holder.survey(1.0, 0).frame()
    bounds, centers = SizeBounds(np.full(k, 1990.0), np.full(k, 2010.0)), frame.inside(X[::2000])
    state = LookState(holder, frame, bounds)
    state.evaluate(centers, np.zeros(k), Deadline())
    return state, SoftPrices(holder.soft_rows(k), frame, centers, bounds, len(X))


def test_prices_that_stay_are_not_looked_at_again(monkeypatch):
    monkeypatch.setattr(SoftPrices, "correct", lambda self, prices, *_: prices)
    state, soft = begun()
    approach(state, soft, 10.0, 10.0, Deadline())
    assert state.looks == 1


def test_where_it_gets_slow_temperatures_are_higher(monkeypatch):
    """Each is tried until steps that leave most of the wrong samples are many."""
    asked, correct = [], SoftPrices.correct

    def slow(self, prices, counts, deadline, hotter):
        asked.append(hotter)
        there = correct(self, prices, counts, deadline, hotter)
        return prices + (1.0 if hotter == 100.0 else 0.02) * (there - prices)

    monkeypatch.setattr(SoftPrices, "correct", slow)
    state, soft = begun()
    approach(state, soft, 10.0, 10.0, Deadline())
    assert asked[:9] == [1.0] * 4 + [10.0] * 4 + [100.0]
    assert state.infeasibility <= 20.0


@pytest.mark.parametrize(("many", "hottest"), [(10.0, 100.0), (1e9, 1.0)])
def test_where_no_prices_are_better_temperatures_are_higher(many, hottest, monkeypatch):
    """Unless so few samples are wrong that moves can bring them where they belong."""
    monkeypatch.setattr(gpu, "SOFT", 2000)
    asked, correct = [], SoftPrices.correct

    def lower(self, prices, counts, deadline, hotter):
        asked.append(hotter)
        if hotter == 100.0:
            return correct(self, prices, counts, deadline, hotter)
        return prices + np.where(np.arange(prices.size) == 0, 1e3, 0.0)

    monkeypatch.setattr(SoftPrices, "correct", lower)
    state, soft = begun()
    wrong = state.infeasibility
    approach(state, soft, 10.0, many, Deadline())
    assert max(asked) == hottest
    assert asked[:3] == ([1.0, 10.0, 100.0] if many == 10.0 else [1.0])
    assert (state.infeasibility < 0.2 * wrong) == (many == 10.0)
