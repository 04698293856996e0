"""Rows on a device: answers are those of an array of the host, in any chunks; little crosses."""

from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline, TimeUp
from bckm.assign.transport_state import SizeBounds
from bckm.blocks import label_exceptions, row_moves
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.gpu import holder as gpu
from bckm.blocks.gpu.arrays import gpu_holder
from bckm.blocks.labeling import Ties
from bckm.blocks.looking import LookState
from bckm.blocks.question import Listed
from bckm.blocks.soft_prices import SoftPrices
from bckm.blocks.survey import sampled
from bckm.kernels import missing
from tests.support import numpy_passes
from tests.support.device_problems import check_result, device_problem
from tests.support.looks import drawn_labeling, drawn_question, same
from tests.support.numpy_passes import DeviceArray, on_a_device
from tests.support.row_data import KINDS, drawn_rows

EXACT = ("counts", "high", "low", "taken", "spare", "drawn", "minima", "located", "most")


@pytest.fixture(autouse=True)
def device(monkeypatch):
    on_a_device(monkeypatch)


def rows_of(kind, d=3, dtype=np.float64, n=9001):
    return np.ascontiguousarray(drawn_rows(0, n, d, kind, d), dtype)


@pytest.mark.parametrize("chunk", [2**24, 1000, 4097])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_an_array(kind, dtype, chunk, monkeypatch):
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    X = rows_of(kind, dtype=dtype)
    listed = Listed(X[[0, 5, 0]], np.array([0, 0, 700]), 9, np.inf)
    question = drawn_question(X, 11, thin=1, draw=3, listed=listed)
    holder = gpu_holder(DeviceArray(X))
    here, there = ArrayHolder(X).look(question), holder.look(question)
    for name in EXACT:
        same(getattr(there, name), getattr(here, name))
    # squares are added up in another order
    assert abs(there.cost - here.cost) <= 1e-14 * here.cost
    np.testing.assert_allclose(there.farthest, here.farthest, rtol=1e-14)
    assert holder.passes == 1
    assert holder.received == here.nbytes


@pytest.mark.parametrize("kind", KINDS)
def test_later_looks_at_the_same_centers_tell_the_same(kind):
    X = rows_of(kind)
    question = drawn_question(X, 11)
    holder, rng = gpu_holder(DeviceArray(X)), np.random.default_rng(0)
    for size in (0.0, 0.01, 0.3, 3.0, 0.0):
        went = size * np.abs(question.prices).max() * rng.normal(size=11)
        question = replace(question, prices=question.prices + went)
        anew = gpu_holder(DeviceArray(X)).look(question)
        found = holder.look(question)
        for name in (*EXACT, "cost"):
            same(getattr(found, name), getattr(anew, name))
        assert (found.farthest >= anew.farthest).all()
    # other centers: nothing of that is used
    other = drawn_question(X, 11, seed=1)
    same(holder.look(other), gpu_holder(DeviceArray(X)).look(other))


def test_a_look_that_time_ended_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(gpu, "CHUNK", 1000)
    X = rows_of("blobs")
    question, holder = drawn_question(X, 11), gpu_holder(DeviceArray(X))
    holder.look(question)
    question = replace(question, prices=1.5 * question.prices)
    with pytest.raises(TimeUp):
        holder.look(question, Deadline.after(0.0))
    same(holder.look(question), gpu_holder(DeviceArray(X)).look(question))


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_surveys_are_the_same(share, monkeypatch):
    monkeypatch.setattr(gpu, "CHUNK", 777)
    X = rows_of("far", dtype=np.float32)
    same(gpu_holder(DeviceArray(X)).survey(share, 5), ArrayHolder(X).survey(share, 5))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named(value, monkeypatch):
    monkeypatch.setattr(gpu, "CHUNK", 100)
    X = rows_of("blobs", n=1000)
    X[[678, 900], [2, 0]] = value
    survey = gpu_holder(DeviceArray(X)).survey(0.0, 0)
    assert survey.bad == (678, 2)
    with pytest.raises(ValueError, match="first at sample 678, feature 2"):
        bckm.kmeans(DeviceArray(X), 3)


@pytest.mark.parametrize("chunk", [2**24, 100])
def test_labels_with_exceptions_and_ties(chunk, monkeypatch):
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    X = rows_of("copies", n=2000)
    rule = drawn_labeling(drawn_question(X, 5), len(X))
    ties = Ties(X[:1], np.array([0, 2]), np.array([3, 1]), np.array([900, 2000]), np.inf)
    for one in (rule, replace(rule, ties=ties)):
        holder, expected = gpu_holder(DeviceArray(X)), ArrayHolder(X).labels(one)
        assert np.array_equal(holder.labels(one).hidden, expected)
        assert np.array_equal(holder.count(one), np.bincount(expected, minlength=5))
        assert np.array_equal(holder.labels(one).hidden, expected)


def test_little_crosses_the_bus():
    X = rows_of("blobs", d=8, dtype=np.float32, n=60_000)
    holder = gpu_holder(DeviceArray(X))
    rules = bckm.Constraints(size_min=6000, size_max=6000)
    centers = X[np.random.default_rng(0).choice(len(X), 10, replace=False)]
    before = gpu_holder(DeviceArray(X))
    before.survey(min(1.0, 2**17 / 60_000), 0)  # a sample, which here is all of them
    result = bckm.assign_to(holder, centers, rules)
    looks = result.counters["passes"] - 1
    assert holder._passes.crossed - before._passes.crossed <= 0.2 * len(X) * looks
    assert result.gap <= 1e-9


def test_rows_of_other_types_and_orders_are_read_chunk_by_chunk(monkeypatch):
    monkeypatch.setattr(gpu, "CHUNK", 500)
    X = np.round(8 * rows_of("blobs", n=3000))
    rules, centers = bckm.Constraints(size_max=800), X[:4]
    expected = bckm.assign_to(DeviceArray(X), centers, rules)
    for other in (X.astype(np.int16), np.asfortranarray(X), X.astype(np.float16)):
        found = bckm.assign_to(DeviceArray(other), centers, rules)
        assert np.array_equal(found.labels.hidden, expected.labels.hidden)
        assert abs(found.inertia - expected.inertia) <= 1e-12 * expected.inertia


@pytest.mark.parametrize("seed", [2, 3, 9, 10, 16, 17])  # grids and copies
def test_labels_do_not_depend_on_how_others_round(seed, monkeypatch):
    """A device that breaks all ties the other way: sizes are exact, and the proof holds."""
    on_a_device(monkeypatch, contrary=True)
    problem = device_problem(seed)
    assert problem.tied
    found = bckm.assign_to(DeviceArray(problem.X), problem.centers, problem.rules)
    check_result(problem, found, problem.centers)
    # a rule of the host, and labels of the device
    here = bckm.assign_to(bckm.ArrayRows(problem.X), problem.centers, problem.rules)
    there = gpu_holder(DeviceArray(problem.X)).labels(here.labeling)
    assert np.array_equal(there.hidden, here.labels)


def test_without_a_margin_they_do(monkeypatch):
    on_a_device(monkeypatch, contrary=True)
    monkeypatch.setattr(label_exceptions, "MARGIN", -1e9)
    X = rows_of("grid", n=3000)
    rules = bckm.Constraints(size_min=1000, size_max=1000)
    with pytest.raises(RuntimeError, match="bug in bckm"):
        bckm.assign_to(DeviceArray(X), [[0.0, 0, 0], [1, 1, 1], [2, 2, 2]], rules)


@pytest.mark.skipif(missing != "", reason="without kernels")
def test_moves_that_lead_nowhere_are_not_tried_for_ever(monkeypatch):
    """Prices that lower the dual are taken back; the third time others have to find the labels."""
    tried = []

    def nowhere(state, *_):
        tried.append(state.prices)
        return state.prices + np.where(np.arange(state.k) == 0, 1e3, 0.0)

    monkeypatch.setattr(row_moves, "settled_prices", nowhere)
    X = rows_of("blobs")
    result = bckm.assign_to(DeviceArray(X), X[::1501], bckm.Constraints(size_min=1500))
    assert len(tried) == 3
    assert all(np.array_equal(prices, tried[0]) for prices in tried)
    assert result.sizes.min() == 1500


@pytest.mark.parametrize(("numbers", "drawn"), [(2**26, True), (100, False)])
def test_rows_that_are_too_wide_are_not_drawn(numbers, drawn, monkeypatch):
    monkeypatch.setattr(gpu, "SOFT_NUMBERS", numbers)
    holder = gpu_holder(DeviceArray(rows_of("blobs")))
    assert (holder.soft_rows(20) is not None) == drawn


def test_older_gpus_are_refused(monkeypatch):
    monkeypatch.setattr(numpy_passes, "capability", lambda array: 75)
    with pytest.raises(bckm.UnsupportedError, match=r"capability 7\.5; .*before Ampere \(8\.0\)"):
        bckm.kmeans(DeviceArray(rows_of("blobs")), 3, bckm.Constraints(size_min=5))


def test_a_time_limit_is_heard():
    X = rows_of("blobs", n=20_000)
    with pytest.raises(bckm.UndecidedError, match="time limit"):
        bckm.kmeans(DeviceArray(X), 9, bckm.Constraints(size_min=2000), time_limit=1e-6)


@pytest.mark.full
def test_labels_remain_when_time_is_up():
    X, rules = rows_of("uniform", d=8, n=20_000), bckm.Constraints(size_min=2000, size_max=2500)
    found = bckm.kmeans(DeviceArray(X), 9, rules, time_limit=2.0, tol=0, max_iter=10**6)
    assert found.status in (bckm.Status.TIME_LIMIT, bckm.Status.CONVERGED)
    assert np.array_equal(np.bincount(found.labels.hidden), found.sizes)


def test_a_look_that_brought_rows_may_be_the_last():
    """All samples are where they belong: labels need none of the rows."""
    X = rows_of("uniform", dtype=np.float32)
    holder, none = gpu_holder(DeviceArray(X)), np.zeros(11)
    question = replace(drawn_question(X, 11), prices=none)
    answer = holder.look(question)
    assert len(answer.taken.rows) > 0
    state = LookState(holder, question.frame, SizeBounds(none, np.full(11, 1e9)))
    state.take(question, answer)
    settled = state.settled()
    assert settled is not None
    labeling = label_exceptions.labeling_of(
        settled, state.answer.taken, question, holder, Deadline()
    )
    assert np.array_equal(holder.count(labeling), answer.counts)


@pytest.mark.parametrize("chunk", [2**24, 1000])
def test_rows_that_lead_to_prices_are_drawn_once(chunk, monkeypatch):
    """Where all of them are not too many: those; else as many for few clusters as for some."""
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    X = rows_of("blobs", dtype=np.float32)
    assert np.array_equal(gpu_holder(DeviceArray(X)).soft_rows(9).rows, X)
    monkeypatch.setattr(gpu, "SOFT", 1000)
    monkeypatch.setattr(gpu, "SOFT_EACH", 100)
    monkeypatch.setattr(gpu, "PAIRS", 900)
    holder = gpu_holder(DeviceArray(X))
    few, number = holder.soft_rows(9), np.arange(len(X))
    expected = X[sampled(number, 1000 / len(X), gpu.SOFT_SEED)]
    assert np.array_equal(few.rows, expected)
    assert few.size == len(expected)
    assert holder.soft_rows(10) is few
    assert holder.soft_rows(30).size > 2 * few.size
    assert holder.soft_rows(31) is None
    assert holder._passes.crossed == 0


def test_steps_learn_what_some_rows_have_above_their_share(monkeypatch):
    """The first step knows nothing; the later ones ask the rows for what the last one has left."""
    lessons, lead = [], SoftPrices.lead

    def watched(self, prices, lesson, deadline):
        lessons.append((self.rows.size, lesson))
        return lead(self, prices, lesson, deadline)

    monkeypatch.setattr(gpu, "SOFT", 2000)
    monkeypatch.setattr(SoftPrices, "lead", watched)
    X = rows_of("blobs", d=5, n=20_000)
    rules = bckm.Constraints(size_min=2000, size_max=2000)
    result = bckm.kmeans(DeviceArray(X), 10, rules, random_state=0, n_init=1, max_iter=4)
    assert (result.sizes == 2000).all()
    assert result.gap <= 1e-9
    assert len(lessons) >= 3
    assert not lessons[0][1].any()
    for size, lesson in lessons[1:]:
        assert 1800 < size < 2200
        assert 0 < np.abs(lesson).sum() < 0.3 * size
