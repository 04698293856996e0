"""Each pass of the kernels against plain NumPy, for features, clusters and rows of any number."""

from dataclasses import replace

import cupy as cp
import numpy as np
import pytest

from bckm._core.rounding import UNIT
from bckm.blocks import look, whole_sums
from bckm.blocks.gpu import cupy_pairs, cupy_passes, cupy_soft
from bckm.blocks.gpu.cupy_passes import CupyPasses
from bckm.blocks.survey import survey
from tests.support import numpy_passes
from tests.support.looks import drawn_question
from tests.support.row_data import KINDS, drawn_rows

pytestmark = pytest.mark.gpu

FEATURES = (1, 2, 3, 7, 8, 9, 16, 17, 63, 64, 65, 128, 200, 1024)
CLUSTERS = (1, 2, 3, 31, 32, 33, 64, 65, 100, 1000, 8192)
DTYPES = (np.float32, np.float64)


def rows_of(n, d, kind, dtype, seed=0):
    return np.ascontiguousarray(drawn_rows(0, n, d, kind, seed), dtype)


def seen_by(X, question):
    """Passes that were asked, rows, labels and slacks."""
    rows = cp.asarray(X)
    passes = CupyPasses(rows, X.dtype)
    passes.ask(question, X.dtype)
    label, slack = passes.empty(rows, np.int32), passes.empty(rows, np.float32)
    passes.best(rows, label, slack)
    return passes, rows, label, slack


def check_best(X, question, label, slack):
    """No label that float64 does not confirm, and no more slack than there is."""
    centers, prices, k, d = question.centers, question.prices, question.k, X.shape[1]
    points = question.frame.inside(X)
    label, slack = label.get(), slack.get().astype(np.float64)
    assert (label >= 0).all()
    assert (label < k).all()
    for begin in range(0, len(X), 1000):
        part = slice(begin, begin + 1000)
        own, each = label[part], np.arange(len(label[part]))
        dot = np.square(points[part]).sum(axis=1)[:, None] - 2 * (points[part] @ centers.T)
        value = dot + np.square(centers).sum(axis=1) - prices
        here = value[each, own].copy()
        size = np.square(points[part]).sum(axis=1) + np.square(centers).sum(axis=1).max()
        noise = 8 * (d + 8) * UNIT * (size + np.abs(prices).max())
        assert (here <= value.min(axis=1) + noise).all()
        value[each, own] = np.inf
        gap = value.min(axis=1) - here
        assert (slack[part] <= gap + noise).all() if k > 1 else (slack[part] > 1e38).all()
    return label


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


def twin_of(X, question, label, slack):
    """The same in plain NumPy: passes that were asked, rows, labels and slacks."""
    plain = numpy_passes.CupyPasses(numpy_passes.DeviceArray(X), X.dtype)
    plain.ask(question, X.dtype)
    return plain, *(numpy_passes.DeviceArray(one) for one in (X, label.get(), slack.get()))


def check_told(told, n, k):
    """Moves are in the order of rows and clusters, each of them once; returned are its numbers."""
    index, place, cluster, cost = told
    assert (np.diff(index) > 0).all()
    assert index.size == 0 or (index[0] >= 0 and index[-1] < n)
    keys = index[place] * k + cluster
    assert (np.diff(keys) > 0).all()
    assert cost.shape == keys.shape
    assert (cost >= 0).all()
    return keys


class OfChunks:
    """Pairs, and the rows of the chunks that were added."""

    def __init__(self, pairs, rows):
        self.pairs, self.rows = pairs, rows

    def __getattr__(self, name):
        return getattr(self.pairs, name)

    def moves(self, chunk, limit):
        return self.pairs.moves(chunk, self.rows[chunk], limit)


def in_pairs(X, question, cuts=(), met=None):
    """What rows cost more in others, on the device and in NumPy, in chunks."""
    passes, rows, label, slack = seen_by(X, question)
    plain, *hidden = twin_of(X, question, label, slack)
    tally = passes.tally(rows, label)
    found, expected = passes.pairs(tally, met), plain.pairs(tally, None)
    expected.other = found.other
    begin, chunks = 0, []
    for end in (*cuts, len(X)):
        part = slice(begin, end)
        counts = passes.counted(label[part], question.k)
        chunks.append(passes.plain(rows[part], X.dtype))
        found.add(chunks[-1], label[part], counts)
        expected.add(hidden[0][part], hidden[1][part], counts)
        begin = end
    return OfChunks(found, chunks), OfChunks(expected, chunks)


def drawn_goal(counts, shape, seed):
    """How many rows of each pair: few, some, and more than there are."""
    rng = np.random.default_rng(seed)
    goal = np.ceil(0.3 * counts[:, None] * rng.random(shape) ** 2)
    goal = np.where(rng.random(shape) < 0.2, 1.0, goal)
    goal = np.where(rng.random(shape) < 0.1, counts[:, None] + 1.0, goal)
    return np.maximum(goal, 1.0)


def check_pairs(X, question, seed, cuts=(), smooth=False):
    """Limits lie in the bins of the rows that were asked for; moves are those up to limits."""
    k, d = question.k, X.shape[1]
    found, expected = in_pairs(X, question, cuts)
    other = found.other
    assert (np.diff(other, axis=1) > 0).all()
    assert (other != np.arange(k)[:, None]).all()
    gap, own = (np.concatenate(one) for one in zip(*expected.chunks, strict=True))
    goal = drawn_goal(np.bincount(own, minlength=k), other.shape, seed)
    limit = found.limits(goal, shorter=False)
    assert np.array_equal(found.limits(goal, shorter=False), limit)
    exact = expected.limits(goal, shorter=False)
    assert np.array_equal(np.isinf(limit), np.isinf(exact))
    noise = (1e-5 if d <= 200 else 1e-4) * found._top
    assert gap.max() <= found._top
    some = np.isfinite(exact)
    # two bins for each power of two: an end is at most 1.5 times the one before
    assert (limit <= 1.5 * exact + 2 * noise)[some].all()
    assert (limit >= exact / 1.5 - 2 * noise)[some].all()
    asked = zip(range(k), other, limit, strict=True)
    many = np.array([(gap[own == a][:, b] <= most).sum(axis=0) for a, b, most in asked])
    assert (many >= 1)[some].all()
    enough = some & (goal >= 32)
    if smooth and enough.any():  # between the ends of a bin rows are taken to lie evenly
        assert 0.5 <= np.median(many[enough] / goal[enough]) <= 2
    check_shorter(found, goal, limit)
    # moves
    few = np.where(np.random.default_rng(seed).random(limit.shape) < 0.3, -1.0, limit)
    few = np.where(some, few, -1.0)
    for chunk, (chunk_gap, _) in enumerate(expected.chunks):
        told = found.moves(chunk, few)
        keys, n = check_told(told, len(chunk_gap), k), len(chunk_gap)
        fewer, more = (
            expected.moves(chunk, np.where(few >= 0, few + away, -1.0)) for away in (-noise, noise)
        )
        assert np.setdiff1d(check_told(fewer, n, k), keys).size == 0
        assert np.setdiff1d(keys, check_told(more, n, k)).size == 0
        if d <= 65:  # the limit that lists is higher by more than float32 is wrong by
            same = check_told(expected.moves(chunk, few), n, k)
            assert np.setdiff1d(same, keys).size == 0
        _, a, b = np.intersect1d(keys, check_told(more, n, k), return_indices=True)
        np.testing.assert_allclose(told[3][a], more[3][b], rtol=1e-6, atol=1e-11)
    return found, goal, limit


def check_shorter(found, goal, limit):
    """At most the sum on the way by another cluster, and no less than the shortest way."""
    k, noise = len(limit), cupy_pairs.NOISE * found._top  # which is added at the end

    def table(values):
        whole = np.full((k, k), np.inf)
        np.put_along_axis(whole, found.other, values, axis=1)
        return whole

    direct, short = table(limit - noise), table(found.limits(goal, shorter=True) - noise)
    shortest = np.where(np.eye(k, dtype=bool), 0.0, direct)
    by_one = np.full((k, k), np.inf)
    for by in range(k):
        by_one = np.minimum(by_one, direct[:, by, None] + direct[by])
        shortest = np.minimum(shortest, shortest[:, by, None] + shortest[by])
    mine = np.zeros((k, k), bool)
    np.put_along_axis(mine, found.other, values=True, axis=1)
    rounding = 1e-9 * found._top
    assert (short <= np.minimum(direct, by_one) + rounding)[mine].all()
    assert (short >= shortest - rounding)[mine].all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", FEATURES)
def test_pairs_of_any_features(d, dtype):
    for kind in ("blobs", "uniform", "far"):
        X = rows_of(9001 if d < 200 else 3001, d, kind, dtype, seed=d)
        # where features are many, gaps of a pair are almost equal: in a bin or two
        check_pairs(X, drawn_question(X, 23, seed=d), d, smooth=d <= 9)


@pytest.mark.parametrize("k", [2, 3, 33, 300])
def test_pairs_of_any_clusters(k):
    for kind in KINDS:
        X = rows_of(9001, 5, kind, np.float32, seed=k)
        check_pairs(X, drawn_question(X, k, seed=k), k)


@pytest.mark.parametrize("d", [64, 65, 200, 1024])
def test_as_many_others_as_there_is_room_for(d):
    """Bins and differences of all of them fit into the memory of a block, whatever the features."""
    X = rows_of(3001, d, "blobs", np.float32)
    found, *_ = check_pairs(X, drawn_question(X, 200), 0)
    assert 16 <= found.other.shape[1] <= cupy_pairs.OTHERS


def test_others_are_those_that_rows_have_met_and_the_nearest():
    X, k = rows_of(9001, 5, "blobs", np.float32), 300
    question = drawn_question(X, k)
    passes, rows, label, _ = seen_by(X, question)
    met = np.zeros((k, k), np.uint32)
    met[7, [3, 250]] = 2
    met[299, 7] = 1
    found, _ = in_pairs(X, question, met=cp.asarray(met))
    plain, _ = in_pairs(X, question)
    tally, centers = passes.tally(rows, label), question.centers
    means = whole_sums.as_means(tally.high, tally.low, tally.counts)
    means = np.where(tally.counts[:, None] > 0, means, centers)
    cost = np.square(centers).sum(axis=1) - question.prices - 2 * means @ centers.T
    np.fill_diagonal(cost, np.inf)
    nearest = np.sort(np.argsort(cost, axis=1)[:, : plain.other.shape[1]], axis=1)
    assert np.mean(plain.other == nearest) > 0.999  # float32 decides
    assert np.isin([3, 250, 299], found.other[7]).all()
    for a in (3, 250, 299):
        assert 7 in found.other[a]
    same = np.setdiff1d(np.arange(k), [3, 7, 250, 299])
    assert np.array_equal(found.other[same], plain.other[same])


@pytest.mark.parametrize("k", [11, 300])
def test_rows_that_have_met(k):
    X, rng = rows_of(5000, 2, "blobs", np.float32), np.random.default_rng(0)
    passes, *_ = seen_by(X, drawn_question(X, k))
    table, expected = None, np.zeros((k, k), int)
    for n in (0, 700, 1):
        label = rng.integers(k, size=5000).astype(np.int32)
        index = np.sort(rng.choice(5000, n, replace=False)).astype(np.int32)
        before = rng.integers(k, size=n).astype(np.int32)
        table = passes.met(table, *(cp.asarray(one) for one in (before, label, index)))
        np.add.at(expected, (before, label[index]), 1)
        assert np.array_equal(table.get(), expected)


def test_limits_of_pairs_do_not_depend_on_chunks():
    """Nor moves, chunk by chunk."""
    X = rows_of(50_021, 9, "blobs", np.float32)
    question = drawn_question(X, 29)
    one, _, limit = check_pairs(X, question, 0)
    parts, _, same = check_pairs(X, question, 0, cuts=(1, 7000, 7001, 30_000))
    assert np.array_equal(same, limit)
    few = np.where(np.isfinite(limit), limit, -1.0)
    whole = check_told(one.moves(0, few), len(X), question.k)
    keys = [
        check_told(parts.moves(chunk, few), len(X), question.k) + begin * question.k
        for chunk, begin in enumerate((0, 1, 7000, 7001, 30_000))
    ]
    assert np.array_equal(np.concatenate(keys), whole)


def test_moves_of_pairs_that_are_too_many_are_not_told(monkeypatch):
    X = rows_of(5000, 3, "blobs", np.float32)
    found, *_ = check_pairs(X, drawn_question(X, 11), 0)
    limit = np.full(found.other.shape, np.inf)
    keys = check_told(found.moves(0, limit), len(X), 11)
    assert keys.size == 10 * len(X)
    monkeypatch.setattr(cupy_pairs, "TOLD", keys.size)
    assert np.array_equal(check_told(found.moves(0, limit), len(X), 11), keys)
    monkeypatch.setattr(cupy_pairs, "TOLD", keys.size - 1)
    assert found.moves(0, limit) is None


@pytest.mark.parametrize("spread", [1e4, 1e6])
def test_pairs_that_are_not_asked_for_are_not_told(spread):
    """However far centers are: no limit of -1 becomes one that is not negative."""
    X = rows_of(3000, 3, "blobs", np.float32)
    question = drawn_question(X, 11)
    centers = question.centers.copy()
    centers[-1] += spread
    found, _ = in_pairs(X, replace(question, centers=centers))
    assert found.moves(0, np.full((11, 10), -1.0))[1].size == 0


# ---- rows that lead to prices ----

BEST, LEAST_SHARE, WIDEST = 6, 4e-3, 12.0  # as in soft.cu


def values_of(X, question):
    """|c|^2 - 2 x c - price of each row and cluster."""
    points, centers = question.frame.inside(X), question.centers
    return np.square(centers).sum(axis=1) - question.prices - 2 * points @ centers.T


def listed_of(soft, n, k):
    """Values of the clusters that are listed, infinite elsewhere."""
    value, cluster = soft._value.get(), soft._cluster.get().astype(int)
    listed = np.full((n, k), np.inf)
    for those, at in zip(value, cluster, strict=True):
        row = np.flatnonzero(those < 1e38)
        listed[row, at[row]] = those[row]
    return listed


class Spread:
    """Rows shared among the clusters that are listed, in NumPy; `value` (n, k) at some prices."""

    def __init__(self, value, temperature):
        k = value.shape[1]
        order = np.sort(value, axis=1)
        far = (value - order[:, :1]) / temperature
        top = value <= order[:, min(BEST, k) - 1 :][:, :1]
        share = np.where(far < WIDEST, np.exp(-np.minimum(far, 50)), 0.0)
        total = share.sum(axis=1)
        share /= total[:, None]
        self.soft = float((order[:, 0] - temperature * np.log(total)).sum())
        self.hard, self.shared = float(order[:, 0].sum()), share.sum(axis=0)
        self.units = np.bincount(value.argmin(axis=1), minlength=k)
        joined = np.where(top & (share >= LEAST_SHARE), share, 0.0)
        edge, others = joined.T @ joined, np.zeros((k, k))
        rest = np.where(~top & (share >= LEAST_SHARE), share * (1 - share), 0.0)
        np.add.at(others, value.argmin(axis=1), rest)
        self.edge = (edge + others + others.T) / temperature
        np.fill_diagonal(self.edge, 0.0)


SHAPES = ((3, 2), (16, 8), (5, 9), (1, 40), (16, 100), (7, 160), (8, 161), (130, 300), (64, 1000))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_listed_clusters(d, k, dtype):
    """The best one, and the best of each part, are listed; no value is wrong."""
    n = max(3001, k)
    X = rows_of(n, d, "uniform", dtype, seed=k)
    question = drawn_question(X, k, seed=k)
    passes, rows, _, _ = seen_by(X, question)
    half = n // 2
    soft = passes.soft_rows([(rows[:half], np.arange(half)), (rows[half:], np.arange(n - half))])
    assert soft.size == n
    listing = soft.list(question)
    value, listed = values_of(X, question), listed_of(soft, n, k)
    noise = 1e-6 + 1e-5 * np.abs(value).max()
    ok = np.isfinite(listed)
    assert np.abs(listed - value)[ok].max() <= noise
    best = np.sort(value, axis=1)
    assert np.abs(listed.min(axis=1) - best[:, 0]).max() <= noise
    order = cupy_soft.parts_of(question.centers)
    assert np.array_equal(np.sort(order), np.arange(k))
    for begin in range(0, k, cupy_soft.part_of(k)):
        part = order[begin : begin + cupy_soft.part_of(k)]
        here = listed[:, part].min(axis=1)
        assert np.abs(here - value[:, part].min(axis=1)).max() <= noise
    few = slice(None, None, max(1, n // cupy_soft.SOME))
    assert np.abs(listing.gaps - (best[few, 1] - best[few, 0])).max() <= 2 * noise
    # so are the second best, and most of the third; what is not listed costs more than `reach`
    known = np.take_along_axis(ok, np.argsort(value, axis=1)[:, 1:3], axis=1).mean(axis=0)
    assert known[0] > 0.999
    assert known[-1] > 0.8
    unlisted = np.where(ok, np.inf, value).min(axis=1) - best[:, 0]
    assert np.median(unlisted) >= listing.reach - 2 * noise
    share = ok[:: max(1, n // cupy_soft.FEW)].mean(axis=0)
    np.testing.assert_allclose(listing.known, share, atol=1e-9)  # each row counts once
    again = soft.list(question)
    assert np.array_equal(again.gaps, listing.gaps)
    assert again.reach == listing.reach


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_softened_dual_and_steps(d, k, dtype):
    """Sums, curvature and steps as in NumPy, from the same lists; the same bits when repeated."""
    n, rng = max(5003, k), np.random.default_rng(k)
    X = rows_of(n, d, "uniform", dtype, seed=k)
    question = drawn_question(X, k, seed=k)
    passes, rows, _, _ = seen_by(X, question)
    soft = passes.soft_rows([(rows, np.arange(n))])
    temperature = float(np.quantile(soft.list(question).gaps, 0.2))
    prices = question.prices + temperature * rng.normal(size=k)
    listed = listed_of(soft, n, k)
    value = listed - (prices - question.prices).astype(np.float32)
    found = soft.soften(prices, temperature)
    # no row is left out of the curvature: fewer than would be enough lie near borders
    assert n < cupy_soft.BORDERING
    heats = temperature * cupy_soft.HOTTER ** np.arange(cupy_soft.HEATS)
    spreads = [Spread(value, one) for one in heats]
    expected = spreads[0]
    scale = float(np.abs(value[np.isfinite(value)]).max()) * n
    assert abs(found.soft - expected.soft) <= 1e-5 * scale
    assert abs(found.hard - expected.hard) <= 1e-5 * scale
    np.testing.assert_allclose(found.shared, expected.shared, rtol=1e-3, atol=1e-4 * n)
    assert abs(found.shared.sum() - n) <= 1e-6 * n
    assert found.units.sum() == n
    assert np.abs(found.units - expected.units).sum() <= 2 + 1e-3 * n  # at a border
    # the most of all temperatures, since few rows that lie near a border do not tell enough
    curvature = np.maximum.reduce([one.edge for one in spreads])
    weight = found._weight.get().astype(np.float64)
    assert np.array_equal(weight, weight.T)
    assert np.abs(weight - curvature).max() <= 1e-3 * curvature.max()
    # a step, and how much of the gradient a move takes
    gradient, active = rng.normal(size=k), rng.random(k) < 0.9
    active[:2] = True
    degree, here = weight.sum(axis=1), np.flatnonzero(active)
    for damping in (1e-3, 1.0):
        matrix = np.diag(degree + damping * (degree + degree.mean())) - weight
        step = np.zeros(k)
        step[here] = np.linalg.solve(matrix[np.ix_(here, here)], gradient[here])
        mine = found.step(gradient, active, damping)
        if k <= cupy_soft.DIRECTLY:
            assert np.abs(mine - step).max() <= 1e-9 * np.abs(step).max()
        assert not mine[~active].any()
        left, all_of_it = (
            np.sqrt((np.square(one) / np.diag(matrix))[here].sum())
            for one in (matrix @ mine - gradient, gradient)
        )
        assert left <= 2 * cupy_soft.ACCURACY * all_of_it
        assert np.array_equal(found.step(gradient, active, damping), mine)
    pulled = degree * step - weight @ step
    assert np.abs(found.pull(step) - pulled).max() <= 1e-9 * np.abs(degree * step).max()
    again = soft.soften(prices, temperature)
    assert (again.soft, again.hard) == (found.soft, found.hard)
    assert np.array_equal(again.shared, found.shared)
    assert np.array_equal(again.units, found.units)
    assert bool((again._weight == found._weight).all())


@pytest.mark.parametrize("k", [5, 200])
def test_no_step_where_no_row_is_near_a_border(k):
    """Each row is at a center, and others are far: nothing is known of the curvature."""
    X = np.repeat(np.arange(k, dtype=np.float32)[:, None], 20, axis=0)
    question = replace(drawn_question(X, k), prices=np.zeros(k))
    question = replace(question, centers=question.frame.inside(X[::20]))
    passes, rows, _, _ = seen_by(X, question)
    soft = passes.soft_rows([(rows, np.arange(len(X)))])
    soft.list(question)
    found = soft.soften(question.prices, 1e-30)
    assert np.array_equal(found.units, np.full(k, 20))
    assert np.array_equal(found.shared, np.full(k, 20))
    assert found.step(np.ones(k), np.ones(k, bool), 1e-3) is None


@pytest.mark.parametrize("k", [40, 300])
def test_one_of_many_rows_tells_of_borders(k, monkeypatch):
    """Of rows near borders some are enough: the curvature is about the same."""
    X = rows_of(200_003, 5, "uniform", np.float32)
    question = drawn_question(X, k)
    passes, rows, _, _ = seen_by(X, question)
    soft = passes.soft_rows([(rows, np.arange(len(X)))])
    temperature = float(np.quantile(soft.list(question).gaps, 0.5))
    some = soft.soften(question.prices, temperature)
    monkeypatch.setattr(cupy_soft, "BORDERING", 2**30)
    all_rows = soft.soften(question.prices, temperature)
    assert some.soft == all_rows.soft
    assert np.array_equal(some.shared, all_rows.shared)
    mine, whole = some._weight.get(), all_rows._weight.get()
    assert not np.array_equal(mine, whole)
    much = whole > 0.1 * whole.max()
    assert 0.8 < np.median(mine[much] / whole[much]) < 1.25


def test_rows_that_lead_to_prices_are_those_of_their_chunks():
    X = rows_of(3000, 4, "blobs", np.float64)
    passes, rows, _, _ = seen_by(X, drawn_question(X, 5))
    parts = [(rows[:1000], np.array([0, 7, 999])), (rows[1000:], np.array([3, 1999]))]
    assert np.array_equal(passes.soft_rows(parts)._rows.get(), X[[0, 7, 999, 1003, 2999]])
