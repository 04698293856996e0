"""What rows cost more in other clusters, pair by pair, against plain NumPy."""

from dataclasses import replace

import cupy as cp
import numpy as np
import pytest

from bckm.blocks import whole_sums
from bckm.blocks.gpu import cupy_pairs
from tests.gpu.seen import DTYPES, FEATURES, check_told, rows_of, seen_by, twin_of
from tests.support.looks import drawn_question
from tests.support.row_data import KINDS

pytestmark = pytest.mark.gpu


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
