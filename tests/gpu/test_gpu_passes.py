"""Each pass of the kernels against plain NumPy, for features, clusters and rows of any number."""

from dataclasses import replace

import cupy as cp
import numpy as np
import pytest

from bckm._core.rounding import UNIT
from bckm.blocks import look, whole_sums
from bckm.blocks.gpu import cupy_passes
from bckm.blocks.gpu.cupy_passes import CupyPasses
from bckm.blocks.survey import survey
from tests.gpu.seen import DTYPES, FEATURES, check_best, check_told, rows_of, seen_by, twin_of
from tests.support import numpy_passes
from tests.support.looks import drawn_question
from tests.support.row_data import KINDS

pytestmark = pytest.mark.gpu

CLUSTERS = (1, 2, 3, 31, 32, 33, 64, 65, 100, 1000, 8192)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", FEATURES)
def test_best_of_any_features(d, dtype):
    for kind in KINDS:
        X = rows_of(4999 if d < 200 else 1501, d, kind, dtype, seed=d)
        question = drawn_question(X, 37, seed=d)
        _, _, label, slack = seen_by(X, question)
        check_best(X, question, label, slack)


@pytest.mark.parametrize("k", CLUSTERS)
@pytest.mark.parametrize("d", [2, 16, 65])
def test_best_of_any_clusters(k, d):
    for dtype in DTYPES:
        X = rows_of(max(k, 3001) + 13, d, "blobs", dtype, seed=k)
        question = drawn_question(X, k, seed=k, limit=None, wide=None)
        _, _, label, slack = seen_by(X, question)
        check_best(X, question, label, slack)


@pytest.mark.parametrize("n", [1, 2, 31, 33, 255, 257, 4095, 4097, 100_003])
def test_any_number_of_rows(n):
    X = rows_of(n, 5, "uniform", np.float32)
    question = drawn_question(X, 1 if n == 1 else 2)
    passes, rows, label, slack = seen_by(X, question)
    found = check_best(X, question, label, slack)
    tally = passes.tally(rows, label)
    assert np.array_equal(tally.counts, np.bincount(found, minlength=question.k))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e6])
def test_far_from_zero(spread, dtype):
    """An offset of a million times the spread, and float32 of little slack."""
    X = (spread * (1e6 + rows_of(20_011, 16, "blobs", np.float64))).astype(dtype)
    question = drawn_question(X, 50)
    _, _, label, slack = seen_by(X, question)
    check_best(X, question, label, slack)


def test_most_rows_are_decided_in_float32():
    """Slack is not given away: of rows that are far from a border, much is left."""
    X = rows_of(20_011, 16, "blobs", np.float32)
    question = drawn_question(X, 50)
    _, _, _, slack = seen_by(X, question)
    exact = numpy_passes.CupyPasses(numpy_passes.DeviceArray(X), X.dtype)
    exact.ask(question, X.dtype)
    label, most = (exact.empty(X, kind) for kind in (np.int32, np.float32))
    exact.best(numpy_passes.DeviceArray(X), label, most)
    far = most.hidden > np.median(most.hidden)
    assert (slack.get()[far] >= 0.9 * most.hidden[far]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", FEATURES)
def test_whole_sums(d, dtype):
    X = rows_of(9001, d, "far" if d % 2 else "blobs", dtype, seed=d)
    question = drawn_question(X, 29, seed=d)
    passes, rows, label, _ = seen_by(X, question)
    tally, own = passes.tally(rows, label), label.get().astype(np.int64)
    points, k = question.frame.inside(X), question.k
    high, low = whole_sums.sums_of(points, own, k)
    assert np.array_equal(tally.high, high)
    assert np.array_equal(tally.low, low)
    assert np.array_equal(tally.counts, np.bincount(own, minlength=k))
    costs = np.square(points - question.centers[own]).sum(axis=1)
    expected = whole_sums.cost_of(costs, question.cost_scale)
    if d == 1:  # squares of more features round in their own order
        assert tally.cost == expected
    assert abs(tally.cost - expected) <= 2 * (d + 4) * UNIT * expected
    farthest = np.zeros(k)
    np.maximum.at(farthest, own, costs)
    np.testing.assert_allclose(tally.farthest, farthest, rtol=2 * (d + 4) * UNIT)


def test_sums_do_not_depend_on_chunks():
    X = rows_of(50_021, 17, "blobs", np.float32)
    question = drawn_question(X, 29)
    passes, rows, label, _ = seen_by(X, question)
    whole = passes.tally(rows, label)
    parts = [passes.tally(rows[a:b], label[a:b]) for a, b in ((0, 1), (1, 30_000), (30_000, None))]
    for name in ("counts", "cost", "high", "low"):
        assert np.array_equal(sum(getattr(part, name) for part in parts), getattr(whole, name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 5, 16, 65])
def test_near_rows(d, kind, monkeypatch):
    """The same rows as in NumPy, but for those at a limit, to rounding."""
    monkeypatch.setattr(look, "missing", "those of the host give bounds")
    X = rows_of(20_011, d, kind, np.float64, seed=d)
    question = drawn_question(X, 23, seed=d, thin=1, draw=7)
    passes, rows, label, slack = seen_by(X, question)
    near = passes.near(rows, label, slack, 100)
    plain = numpy_passes.CupyPasses(numpy_passes.DeviceArray(X), X.dtype)
    plain.ask(question, X.dtype)
    hidden = [numpy_passes.DeviceArray(one.get()) for one in (label, slack)]
    expected = plain.near(numpy_passes.DeviceArray(X), *hidden, 100)
    for name in ("taken", "spare", "drawn"):
        mine, other = getattr(near, name), getattr(expected, name)
        assert (np.diff(mine) > 0).all()
        assert np.setxor1d(mine, other).size <= 2 + 0.001 * other.size, name
    assert np.array_equal(near.label, label.get()[near.taken])
    assert near.level.size == near.drawn.size
    both, a, b = np.intersect1d(near.drawn, expected.drawn, return_indices=True)
    assert np.count_nonzero(near.level[a] != expected.level[b]) <= 2 + 0.001 * both.size
    # where a row at a limit was taken here and not there, the least gap of others is another
    odd = label.get()[np.setxor1d(near.taken, expected.taken)]
    same = np.setdiff1d(np.arange(question.k), odd)
    np.testing.assert_allclose(near.minima[same], expected.minima[same], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_seen_again(kind):
    """At other prices only rows without slack are seen again: the same as all anew."""
    X = rows_of(50_021, 9, kind, np.float32)
    question = drawn_question(X, 23)
    passes, rows, label, slack = seen_by(X, question)
    before, least = passes.tally(rows, label), np.zeros(23)
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1, 1.0, 0.0):
        went = size * np.abs(question.prices).max() * rng.normal(size=question.k)
        question = replace(question, prices=question.prices + went)
        passes.ask(question, X.dtype)
        drop = went.max() - went + 1e-11
        index, old = passes.again(rows, label, slack, drop, least)
        check_best(X, question, label, slack)
        now = before.changed(passes.moved(rows, label, index, old)) if len(index) else before
        anew = passes.tally(rows, label)
        for name in ("counts", "cost", "high", "low"):
            assert np.array_equal(getattr(now, name), getattr(anew, name)), name
        assert (now.farthest >= anew.farthest).all()
        before = now


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 5, 16, 65, 200])
def test_moves_within_limits_of_clusters(d, dtype):
    """Counts of slacks, and all moves of rows of little slack, as in NumPy."""
    X = rows_of(6007, d, "blobs", dtype, seed=d)
    question = drawn_question(X, 23, seed=d)
    passes, rows, label, slack = seen_by(X, question)
    plain, *hidden = twin_of(X, question, label, slack)
    for offset, each in ((0, 1), (77, 3)):
        counts = passes.slacks(label, slack, 23, offset, each)
        assert np.array_equal(counts, plain.slacks(*hidden[1:], 23, offset, each))
    depth = np.quantile(slack.get(), 0.2) * np.random.default_rng(d).random(23)
    depth[:3] = 0.0, np.inf, -1.0
    told = passes.moves(rows, label, slack, depth)
    keys = check_told(told, len(X), 23)
    index, place, cluster, cost = plain.moves(*hidden, depth)
    expected = index[place] * 23 + cluster
    assert keys.size > 100
    both, a, b = np.intersect1d(keys, expected, return_indices=True)
    assert both.size >= max(keys.size, expected.size) - 2  # at a limit
    np.testing.assert_allclose(told[3][a], cost[b], rtol=1e-9, atol=1e-12)


def test_moves_of_clusters_that_are_too_many_are_not_told(monkeypatch):
    X = rows_of(3001, 4, "blobs", np.float64)
    passes, rows, label, slack = seen_by(X, drawn_question(X, 11))
    depth = np.full(11, float(np.median(slack.get())))
    many = passes.moves(rows, label, slack, depth)[1].size
    for room in (many, many - 1):
        monkeypatch.setattr(cupy_passes, "TOLD", room)
        told = passes.moves(rows, label, slack, depth)
        assert (told is None) == (room < many)


def test_survey():
    X = rows_of(30_011, 7, "blobs", np.float32)
    rows = cp.asarray(X)
    passes = CupyPasses(rows, X.dtype)
    low, high = passes.extent(rows)
    assert np.array_equal(low, X.min(axis=0))
    assert np.array_equal(high, X.max(axis=0))
    for share in (0.0, 0.01, 0.5, 1.0):
        index = passes.sampled(rows, 1000, share, 3)
        assert np.array_equal(index, survey(X, 1000, share, 3).index - 1000)
    assert np.array_equal(passes.gathered(rows, index[::7]), X[::7])
    rows[17, 3] = np.nan
    low, _ = passes.extent(rows)
    assert np.isnan(low[3])


def test_small_things():
    X = rows_of(10_007, 6, "uniform", np.float32)
    question = drawn_question(X, 5)
    passes, rows, label, slack = seen_by(X, question)
    most = float(np.median(slack.get()))
    assert np.array_equal(passes.within(slack, most), np.flatnonzero(slack.get() <= most))
    assert np.array_equal(passes.counted(label, 5), np.bincount(label.get(), minlength=5))
    some = np.array([3, 77, 10_006])
    passes.put(label, some, np.array([4, 0, 2], np.int32))
    assert passes.taken(label, some).tolist() == [4, 0, 2]
    centers = X[:3].astype(np.float64)
    found = passes.empty(rows, np.float32, 3)
    passes.distances(rows, centers, found)
    apart = X[:, None].astype(np.float64) - centers
    np.testing.assert_allclose(found.get(), np.sqrt(np.square(apart).sum(axis=2)), rtol=1e-6)


def test_other_types_are_read_chunk_by_chunk():
    X = rows_of(1000, 6, "blobs", np.float64)
    for kind, dtype in ((np.float16, np.float32), (np.int64, np.float64)):
        rows = cp.asarray(X.astype(kind))
        plain = CupyPasses(rows, np.dtype(dtype)).plain(rows[10:20], dtype)
        assert plain.dtype == dtype
        assert np.array_equal(plain.get(), X.astype(kind)[10:20].astype(dtype))
    columns = cp.asarray(np.asfortranarray(X))
    assert CupyPasses(columns, X.dtype).plain(columns[3:9], X.dtype).flags.c_contiguous
