"""Looks against plain NumPy, and merged in any way to the same bits."""

import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bckm import kernels
from bckm._core.deadline import Deadline, TimeUp
from bckm.blocks import look as looks
from bckm.blocks import whole_sums
from bckm.blocks.answer import Taken, merged
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.labeling import Labeling, label_block
from bckm.blocks.look import look
from bckm.blocks.question import Question
from bckm.blocks.sources import ArrayRows
from bckm.blocks.survey import merged_surveys, survey


def drawn(seed, n=3000, d=3, k=5, dtype=np.float64, **asked):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * 3 + 7).astype(dtype)
    X[rng.integers(n, size=n // 10)] = X[0]
    frame = survey(X, 0, 0.3, 1).frame()
    centers = frame.inside(X[rng.choice(n, k, replace=False)])
    return X, Question(frame, centers, 0.02 * rng.normal(size=k), **asked)


def values(X, question):
    return cdist(question.frame.inside(X), question.centers, "sqeuclidean") - question.prices


def box(k, scale=0.02, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "limit": scale * rng.random((k, k)) ** 2,
        "wide": scale * (1 + 4 * rng.random(k)),
    }


def same(one, two):
    assert (one.cost, one.most) == (two.cost, two.most)
    for name in ("counts", "farthest", "high", "low", "minima", "located"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    for name in ("rows", "index", "level", "draw", "thinned"):
        assert np.array_equal(getattr(one.drawn, name), getattr(two.drawn, name)), name
        assert np.array_equal(getattr(one.spare, name), getattr(two.spare, name)), name
    for name in ("rows", "label", "number", "first", "index", "which", "overflow"):
        assert np.array_equal(getattr(one.taken, name), getattr(two.taken, name)), name


@pytest.fixture(params=["kernel", "NumPy"])
def way(request, monkeypatch):
    """Looks with the kernel and without."""
    if request.param == "NumPy":
        monkeypatch.setattr(looks, "missing", "left out")
    elif kernels.missing:
        pytest.skip(kernels.missing)
    return request.param


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_counts_cost_and_sums_are_exact(way, dtype, d):
    X, question = drawn(d, 400, d, dtype=dtype)
    answer = look(X, 0, question)
    points, label = question.frame.inside(X), values(X, question).argmin(axis=1)
    assert np.array_equal(answer.counts, np.bincount(label, minlength=5))
    cost = np.square(points - question.centers[label]).sum(axis=1).sum()
    assert whole_sums.as_float(answer.cost, question.cost_scale) == pytest.approx(cost, rel=1e-13)
    squares = np.square(points - question.centers[label]).sum(axis=1)
    for i in range(5):
        assert answer.farthest[i] == pytest.approx(squares[label == i].max(initial=0.0))
    means = whole_sums.as_means(answer.high, answer.low, answer.counts)
    for i in range(5):
        mine = [[Fraction(v) for v in row] for row in points[label == i].tolist()]
        for t in range(d):
            exact = sum(row[t] for row in mine) / max(len(mine), 1)
            assert abs(Fraction(means[i, t]) - exact) <= Fraction(1, 2**52)


def test_rows_beyond_are_drawn_the_fewer_the_farther(way):
    X, question = drawn(0, 30_000, **box(5, 0.05))
    value = values(X, question)
    label, each = value.argmin(axis=1), np.arange(len(X))
    gap = value - value.min(axis=1)[:, None]
    gap[each, label] = np.inf
    ratio = (gap / question.limit[label]).min(axis=1)
    inside = (gap.min(axis=1) <= question.wide[label]) & (ratio > 1)
    for thin in (0, 2):
        answer = look(X, 0, replace(question, thin=thin))
        found = answer.drawn
        assert np.array_equal(found.rows, X[found.index])
        assert (np.diff(found.index) > 0).all()
        assert inside[found.index].mean() > 0.999  # but for rounding
        level = np.frexp(ratio[found.index])[1] + thin
        assert (level == found.level).mean() > 0.999
        for one in np.unique(found.level):
            all_of = inside & (np.frexp(ratio)[1] + thin == one)
            number = found.number[found.level == one].sum()
            assert abs(number - all_of.sum()) <= 5 * np.sqrt(2.0**one * all_of.sum()) + 5
        close = answer.taken.number.sum()
        assert abs(answer.spare.number.sum() - close) <= 5 * np.sqrt(8 * close)
    other = look(X, 0, replace(question, thin=2, draw=1)).drawn
    assert not np.array_equal(other.index, found.index)


def test_masses_of_equal_rows_are_drawn_one_by_one():
    X, question = drawn(3, 4000, **box(5, 0.05))
    X = np.concatenate([X, np.repeat(X[:40], 500, axis=0)])
    whole = look(X, 0, question).drawn
    few = look(X, 0, replace(question, most=200)).drawn
    assert few.thinned > 0
    assert 50 < len(few.rows) <= 200
    assert abs(few.number.sum() / whole.number.sum() - 1) < 0.4


def test_rows_are_returned_that_could_change(way):
    X, question = drawn(1, **box(5))
    answer, value = look(X, 100, question), values(X, question)
    taken, n, label = answer.taken, len(X), value.argmin(axis=1)
    gap = value - value.min(axis=1)[:, None]
    gap[np.arange(n), label] = np.inf
    within = (gap <= question.limit[label]).any(axis=1)
    could = np.flatnonzero(within) + 100
    wide = question.wide
    # X[0] stands for many samples
    whole = np.concatenate([taken.index, np.flatnonzero((X[0] == X).all(axis=1)) + 100])
    assert np.isin(could, whole).all()
    assert could.size == taken.number.sum() > 0
    assert np.array_equal(taken.rows[taken.which], X[taken.index - 100])
    assert np.array_equal(taken.rows, X[taken.first - 100])
    assert np.array_equal(taken.label, label[taken.first - 100])
    assert len(np.unique(taken.rows, axis=0)) == len(taken.rows)
    few = taken.number <= 16
    listed = np.bincount(taken.which, minlength=len(taken.rows))
    assert np.array_equal(listed, np.where(few, taken.number, 0))
    gap[np.isin(np.arange(n) + 100, could)] = np.inf
    for a in range(5):
        least = gap[label == a].min(axis=0, initial=np.inf)
        told = np.minimum(answer.minima[a], wide[a])
        assert (told <= least).all()
        # by float32, of squares of about 1
        assert np.allclose(told, np.minimum(least, wide[a]), rtol=1e-6, atol=2e-5)


def test_kernel_and_numpy_agree(monkeypatch):
    if kernels.missing:
        pytest.skip(kernels.missing)
    X, question = drawn(2, 5000, 7, 30, **box(30))
    fast = look(X, 0, question)
    monkeypatch.setattr(looks, "missing", "left out")
    slow = look(X, 0, question)
    assert np.array_equal(fast.counts, slow.counts)
    assert np.array_equal(fast.high, slow.high)
    assert np.array_equal(fast.low, slow.low)
    assert abs(fast.cost - slow.cost) <= 2e-13 * slow.cost  # squares are summed up in other orders


@pytest.mark.parametrize("seed", range(4))
def test_answers_do_not_depend_on_blocks(way, seed):
    rng = np.random.default_rng(seed)
    X, question = drawn(seed, dtype=rng.choice([np.float32, np.float64]), **box(5, seed=seed))
    whole = look(X, 0, question)
    cuts = np.sort(rng.integers(0, len(X) + 1, 6))  # empty blocks among them
    ends = [0, *cuts.tolist(), len(X)]
    parts = [look(X[a:b], a, question) for a, b in pairwise(ends)]
    parts = [parts[i] for i in rng.permutation(len(parts))]
    same(merged(parts), whole)
    same(merged([merged(parts[:3]), merged(parts[3:])]), whole)
    same(look(np.asfortranarray(X), 0, question), whole)
    same(ArrayHolder(ArrayRows(X, 77), threads=3).look(question), whole)


def test_answers_do_not_depend_on_threads_and_parts(monkeypatch):
    X, question = drawn(3, 40_000, 16, 20, np.float32, **box(20))
    whole = look(X, 0, question)
    same(look(X, 0, question, threads=3), whole)
    monkeypatch.setattr(looks, "NUMBERS", 5000)
    same(look(X, 0, question, threads=2), whole)


def test_too_many_rows_are_none_however_merged():
    X, question = drawn(4, limit=np.full((5, 5), 0.2), wide=np.ones(5), most=50)
    parts = [look(X[a : a + 60], a, question) for a in range(0, len(X), 60)]
    assert not all(part.taken.overflow for part in parts)
    for answer in (look(X, 0, question), merged(parts), merged([merged(parts[:20]), *parts[20:]])):
        assert answer.taken.overflow
        assert len(answer.taken.rows) == len(answer.taken.index) == 0


def test_equal_rows_count_once_against_the_limit():
    X, question = drawn(5, limit=np.full((5, 5), 9.0), wide=np.full(5, 99.0), most=10)
    X = np.repeat(X[:10], 500, axis=0)
    taken = look(X, 0, question).taken
    assert taken.number.tolist() == [500] * 10
    assert taken.first.tolist() == list(range(0, 5000, 500))
    assert taken.index.size == 0
    assert not taken.overflow


def test_rows_with_one_key_are_told_apart(monkeypatch):
    class Zero:
        def integers(self, low, high, size, dtype):
            return np.full(size, 2**63 - 1, dtype) + np.uint64(1)  # all keys are alike, times one

    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [-0.0, 3.0], [0.0, 3.0]])
    monkeypatch.setattr("bckm.blocks.equal_rows.np.random.default_rng", lambda seed: Zero())
    taken = Taken.found(rows, np.arange(5, dtype=np.int32), np.array([9, 5, 7, 1, 2]), 10)
    assert taken.index.tolist() == [1, 2, 5, 7, 9]
    assert taken.which.tolist() == [0, 0, 1, 2, 2]
    assert taken.number.tolist() == [2, 1, 2]
    assert taken.rows.tolist() == [[0, 3], [2, 1], [1, 2]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_surveys_do_not_depend_on_blocks(dtype):
    X = (np.random.default_rng(0).normal(size=(5000, 3)) * 100).astype(dtype)
    whole = survey(X, 0, 0.1, 7)
    parts = [survey(X[a : a + 700], a, 0.1, 7) for a in range(0, 5000, 700)]
    parts.append(survey(X[:0], 5000, 0.1, 7))
    one = merged_surveys([merged_surveys(parts[4:]), *parts[:4]])
    for name in ("n", "bad", "low", "high", "index", "rows"):
        assert np.array_equal(getattr(whole, name), getattr(one, name)), name
    assert 400 < whole.index.size < 600
    assert np.array_equal(X[whole.index], whole.rows)
    assert np.abs(whole.frame().inside(X)).max() <= 1
    assert not np.array_equal(survey(X, 0, 0.1, 8).index, whole.index)
    assert survey(X, 0, 1.0, 7).index.size == 5000


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named(value):
    X = np.zeros((3000, 2))
    X[[1234, 2000], [1, 0]] = value
    holder = ArrayHolder(ArrayRows(X, 100))
    with pytest.raises(ValueError, match="first at sample 1234, feature 1"):
        holder.survey(0.1, 0).check()


@pytest.mark.parametrize("shift", [0.0, 1e6, -1e12])
def test_a_frame_holds_all_rows(shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2)) + shift
    X[5] *= 1e5
    frame = survey(X, 0, 0.5, 0).frame()
    assert np.abs(frame.inside(X)).max() <= 1
    assert np.allclose(frame.outside(frame.inside(X)), X, rtol=1e-14)


def test_a_frame_refuses_what_overflows():
    X = np.array([[-1.0], [1.0]])
    for scale in (1e160, 1.7e308):
        with pytest.raises(ValueError, match="escale X"):
            survey(X * scale, 0, 0.5, 0).frame()


def test_labels_are_the_best_ones_and_the_exceptions(way):
    X, question = drawn(6)
    index, label = np.array([3, 1500, 2999]), np.array([4, 0, 2], np.int32)
    labeling = Labeling(question.frame, question.centers, question.prices, index, label)
    labeling = pickle.loads(pickle.dumps(labeling))
    expected = values(X, question).argmin(axis=1)
    expected[index] = label
    parts = [label_block(X[a : a + 800], a, labeling, 2) for a in range(0, 3000, 800)]
    assert np.array_equal(np.concatenate(parts), expected)
    holder = ArrayHolder(X)
    assert np.array_equal(holder.count(labeling), np.bincount(expected, minlength=5))
    plain = label_block(X, 0, labeling.without_exceptions())
    assert np.array_equal(plain, values(X, question).argmin(axis=1))


def test_the_deadline_is_heard():
    X, question = drawn(7)
    over, holder = Deadline.after(0.0), ArrayHolder(X)
    with pytest.raises(TimeUp):
        holder.look(question, over)
    with pytest.raises(TimeUp):
        holder.survey(0.1, 0, over)
    labeling = Labeling(
        question.frame, question.centers, question.prices, np.empty(0, int), np.empty(0, np.int32)
    )
    with pytest.raises(TimeUp):
        holder.count(labeling, over)


def test_messages_are_small():
    X, question = drawn(8, 20_000, 8, 10, np.float32)
    holder = ArrayHolder(X)
    answer = holder.look(question)
    assert holder.received == answer.nbytes <= 10 * 8 * 16 + 100 * 40 * 16 + 100
    assert len(pickle.dumps(question)) <= 10 * 8 * 8 + 2000
    assert holder.passes == 1
