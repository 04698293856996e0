"""Rows on a device: answers are those of an array of the host, in any chunks; little crosses."""

from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline, TimeUp
from bckm.assign.transport_state import SizeBounds
from bckm.blocks import attempt, gap_counts, label_exceptions, looking
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.gap_counts import GapCounts, others_of, top_of
from bckm.blocks.gpu import holder as gpu
from bckm.blocks.gpu.arrays import gpu_holder
from bckm.blocks.labeling import Ties
from bckm.blocks.looking import LookState
from bckm.blocks.question import Listed
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
def test_rows_are_counted_and_listed_by_what_they_cost_more(chunk, monkeypatch):
    """Counts of each pair and bin, and all moves up to limits: none is missing."""
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    X, rng = rows_of("blobs"), np.random.default_rng(0)
    question = drawn_question(X, 11)
    holder = gpu_holder(DeviceArray(X))
    answer = holder.look(replace(question, draw=0))
    points = question.frame.inside(X)
    value = np.square(points[:, None] - question.centers).sum(axis=2) - question.prices
    own = value.argmin(axis=1)
    other = others_of(question.centers, question.prices, question.centers)
    gap = np.take_along_axis(value - value.min(axis=1)[:, None], other[own].astype(int), axis=1)
    top = top_of(question.centers, question.prices, answer.farthest, other)
    assert gap.max() <= top
    shift = np.where(rng.random(other.shape) < 0.5, 0.1 * top * rng.random(other.shape), 0.0)
    gaps = GapCounts(other, holder.gaps(question, other, shift, top), shift, top)
    ends = np.insert(gaps.ends, 0, -np.inf)
    for a in range(11):
        for j in range(10):
            expected = np.histogram(gap[own == a, j] - shift[a, j], ends)[0]
            assert np.abs(gaps.count[a, j] - expected).sum() <= 2  # at an end
            held = np.flatnonzero(gaps.count[a, j])
            assert held.size == 0 or gaps.first()[a, j] <= gap[own == a, j].min() * (1 + 1e-6)
    limit = np.quantile(gap, 0.01) * rng.random(other.shape)
    moves = holder.moves(question, gaps, limit)
    row, j = np.nonzero(gap <= limit[own])
    assert np.array_equal(moves.of, row)
    assert np.array_equal(moves.cluster, other[own[row], j])
    assert np.array_equal(moves.number, np.unique(row))
    assert np.array_equal(moves.label, own[moves.number])
    assert np.array_equal(moves.rows, X[moves.number])
    np.testing.assert_allclose(moves.cost, gap[row, j], rtol=1e-9, atol=1e-12)


def test_a_look_tells_which_rows_it_moved():
    X = rows_of("blobs")
    question, holder = drawn_question(X, 11), gpu_holder(DeviceArray(X))
    holder.look(replace(question, draw=0))
    before = holder._last.label[0].hidden.copy()
    assert holder.moved().pair.size == 0
    went = 0.3 * np.random.default_rng(0).normal(size=11)
    holder.look(replace(question, prices=question.prices + went, draw=1))
    after = holder._last.label[0].hidden
    pairs = np.bincount(before * 11 + after, minlength=121)
    pairs[:: 11 + 1] = 0
    flow = holder.moved()
    assert np.array_equal(flow.pair, np.flatnonzero(pairs))
    assert np.array_equal(flow.rows, pairs[flow.pair])
    assert flow.rows.sum() > 10


def test_what_looks_have_moved_is_learned(monkeypatch):
    """Shares below one go into the next model, and pairs that were met into the next counts."""
    shares, met = [], []
    table, others = GapCounts.table, looking.others_of

    def watched(self, many, prices, units, threads, share=None):
        shares.append(1.0 if share is None else share.min())
        return table(self, many, prices, units, threads, share)

    def chosen(*args):
        met.append(args[-1].pair.size)
        return others(*args)

    monkeypatch.setattr(gap_counts, "OTHERS", 14)
    monkeypatch.setattr(attempt, "FAR", 1.0)  # no sample is asked: there is a way to go
    monkeypatch.setattr(GapCounts, "table", watched)
    monkeypatch.setattr(looking, "others_of", chosen)
    X = rows_of("blobs", d=5, n=15_000)
    rules = bckm.Constraints(size_min=750, size_max=750)
    result = bckm.assign_to(DeviceArray(X), X[:20], rules)
    assert result.gap <= 1e-9
    assert shares[0] == 1
    assert min(shares) < 1
    assert max(met) > 0


def test_a_row_at_a_border_is_not_left_to_rounding():
    """Sizes are right, but who labels rows later may round otherwise: the look proves nothing."""
    X = np.concatenate([rows_of("uniform", d=2), [[0.5, 0.5]]])
    holder, none = gpu_holder(DeviceArray(X)), np.zeros(2)
    frame = holder.survey(1.0, 0).frame()
    centers = frame.inside(np.array([[0.25, 0.5], [0.75, 0.5]]))
    state = LookState(holder, frame, SizeBounds(none, np.full(2, 1e9)))
    state.evaluate(centers, none, Deadline())
    assert state.infeasibility == 0
    assert state.settled() is None
    state.evaluate(centers, np.array([1e-3, 0.0]), Deadline())
    assert not holder.tied(1e-9)


@pytest.mark.parametrize("room", [0, 40, 400])
def test_moves_that_are_too_many_are_asked_for_again(room, monkeypatch):
    """Fewer at a time, or by the way of all holders: proven in any case."""
    monkeypatch.setattr(numpy_passes.CupyPasses, "room", room)
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(9000, 4)) + 6 * rng.integers(4, size=(9000, 1))).astype(np.float32)
    rules = bckm.Constraints(size_min=750, size_max=750)
    result = bckm.assign_to(DeviceArray(X), X[::750].astype(float), rules)
    assert (result.sizes == 750).all()
    assert result.gap <= 1e-9
