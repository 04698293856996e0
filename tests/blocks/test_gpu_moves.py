"""Moves that a device lists, and paths along them: up to limits of clusters, or of their pairs."""

from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm.blocks import row_moves
from bckm.blocks.gpu import holder as gpu
from bckm.blocks.gpu.arrays import gpu_holder
from bckm.kernels import missing
from tests.support import numpy_passes
from tests.support.looks import drawn_question
from tests.support.numpy_passes import DeviceArray, on_a_device
from tests.support.row_data import drawn_rows


@pytest.fixture(autouse=True)
def device(monkeypatch):
    on_a_device(monkeypatch)


def rows_of(kind, d=3, n=9001):
    return drawn_rows(0, n, d, kind, d)


def limits_of(holder, goal, *, shorter):
    """Limits of all pairs, (k, k), for goals of all pairs; infinite for a cluster itself."""
    other, limit = holder.others(), np.full(goal.shape, np.inf)
    told = holder.limits(np.take_along_axis(goal, other, axis=1), shorter=shorter)
    np.put_along_axis(limit, other, told, axis=1)
    return limit


def moves_of(holder, limit):
    """Moves within limits of all pairs, (k, k)."""
    return holder.moves(np.take_along_axis(limit, holder.others(), axis=1))


class Gaps:
    """What rows cost more in other clusters than in their own, at a question."""

    def __init__(self, X, question):
        points = question.frame.inside(X)
        value = np.square(points[:, None] - question.centers).sum(axis=2) - question.prices
        self.X, self.own = X, value.argmin(axis=1)
        self.gap = value - value.min(axis=1)[:, None]
        self.size = np.bincount(self.own, minlength=question.k)

    def rows_within(self, limit):
        """How many rows of each pair cost at most so much, (k, k)."""
        k = len(limit)
        return np.stack([(self.gap <= limit[a])[self.own == a].sum(axis=0) for a in range(k)])

    def check(self, moves, limit):
        """All moves up to limits of pairs are told, and no others."""
        near = self.gap <= limit[self.own]
        near[np.arange(len(near)), self.own] = False
        row, cluster = np.nonzero(near)
        number = moves.number[moves.place]
        order = np.lexsort((moves.cluster, number))
        assert np.array_equal(number[order], row)
        assert np.array_equal(moves.cluster[order], cluster)
        np.testing.assert_allclose(moves.cost[order], self.gap[row, cluster], 1e-9, 1e-12)
        assert np.array_equal(moves.number, np.unique(row))
        assert np.array_equal(moves.rows, self.X[moves.number])
        assert np.array_equal(moves.label, self.own[moves.number])


@pytest.mark.parametrize("chunk", [2**24, 1000])
def test_limits_have_as_many_rows_as_were_asked_for(chunk, monkeypatch):
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    X, rng = rows_of("blobs"), np.random.default_rng(0)
    question, apart = drawn_question(X, 11), ~np.eye(11, dtype=bool)
    holder, gaps = gpu_holder(DeviceArray(X)), Gaps(X, question)
    holder.look(question)
    goal = np.ceil(1.2 * gaps.size[:, None] * rng.random((11, 11)) ** 3 + 1e-9)
    limit = limits_of(holder, goal, shorter=False)
    there = apart & (goal <= gaps.size[:, None])
    assert np.isinf(limit[~there]).all()
    assert (apart & ~there).any()
    # rounding may leave the last of them out, or let the next one in
    fewer, more = (gaps.rows_within(limit * (1 + away)) for away in (-1e-9, 1e-9))
    assert (fewer < goal)[there].all()
    assert (more >= goal)[there].all()
    # or as many on the way by other clusters
    short = limits_of(holder, goal, shorter=True)
    by_one = (limit[:, :, None] + limit[None]).min(axis=1)
    shortest = np.where(apart, limit, 0.0)
    for by in range(11):
        shortest = np.minimum(shortest, shortest[:, by, None] + shortest[by])
    rounding = 1e-12 * limit[there].max()
    assert (short <= np.minimum(limit, by_one) + rounding)[apart].all()
    assert (short >= shortest - rounding)[apart].all()
    assert (short < 0.9 * limit)[there].any()
    assert np.isinf(np.diag(short)).all()


@pytest.mark.parametrize("chunk", [2**24, 1000])
def test_all_moves_within_limits_are_told(chunk, monkeypatch):
    """None is missing, and only their rows cross the bus."""
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    X, rng = rows_of("blobs"), np.random.default_rng(0)
    question = drawn_question(X, 11)
    holder, gaps = gpu_holder(DeviceArray(X)), Gaps(X, question)
    holder.look(question)
    limit = np.quantile(gaps.gap, 0.15) * rng.uniform(-0.3, 1, (11, 11))
    limit[3] = -1.0
    np.fill_diagonal(limit, np.inf)
    crossed, received = holder._passes.crossed, holder.received
    moves = moves_of(holder, limit)
    gaps.check(moves, limit)
    assert 0 < moves.number.size < moves.place.size
    assert moves.number.size < 0.5 * len(X)
    assert holder._passes.crossed - crossed == moves.number.size
    assert holder.received - received == moves.nbytes
    none = moves_of(holder, np.full((11, 11), -1.0))
    assert none.number.size == none.place.size == 0


@pytest.mark.parametrize("chunk", [2**24, 1000])
def test_all_moves_within_limits_of_clusters_are_told(chunk, monkeypatch):
    """Also after looks at other prices, where slacks are what is left of earlier ones."""
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    X, rng = rows_of("blobs"), np.random.default_rng(0)
    question, holder = drawn_question(X, 11), gpu_holder(DeviceArray(X))
    for draw in range(3):
        went = 0.2 * np.abs(question.prices).max() * rng.normal(size=11)
        question = replace(question, prices=question.prices + went, draw=draw)
        holder.look(question)
        gaps, depth = Gaps(X, question), holder.depth(np.full(11, 40.0))
        limit = depth * rng.uniform(0.1, 1, 11)
        limit[draw] = -1.0
        crossed = holder._passes.crossed
        moves = holder.moves(limit)
        gaps.check(moves, np.repeat(limit[:, None], 11, axis=1))
        assert moves.number.size > 20
        assert holder._passes.crossed - crossed == moves.number.size
    everything = holder.moves(np.where(np.arange(11) == 4, np.inf, -1.0))
    assert everything.place.size == 10 * np.count_nonzero(gaps.own == 4)


@pytest.mark.parametrize("chunk", [2**24, 1000])
def test_depth_is_where_so_many_rows_lie(chunk, monkeypatch):
    """To a bin of gaps; about so many, where not all rows are counted, whatever the chunks."""
    monkeypatch.setattr(gpu, "CHUNK", chunk)
    X = rows_of("uniform", d=2, n=40_000)
    question, holder = drawn_question(X, 5), gpu_holder(DeviceArray(X))
    holder.look(question)
    gaps = Gaps(X, question)
    gap = np.sort(gaps.gap, axis=1)[:, 1]

    def within(depth):
        return np.bincount(gaps.own, gap <= depth[gaps.own], minlength=5)

    goal = gaps.size * np.array([0.01, 0.1, 0.3, 0.6, 2.0])
    exact = holder.depth(goal)
    held = within(exact)
    assert (held[:4] >= goal[:4]).all()
    assert (within(0.8 * exact)[:4] < goal[:4]).all()
    assert held[4] == gaps.size[4]  # all, where there are not so many
    monkeypatch.setattr(gpu, "COUNTED", 8000)
    holder.look(replace(question, draw=1))
    some = holder.depth(goal)
    assert not np.array_equal(some, exact)
    monkeypatch.setattr(gpu, "CHUNK", 777)
    holder.look(replace(question, draw=0))
    assert np.array_equal(holder.depth(goal), some)
    np.testing.assert_allclose(within(some)[:4], goal[:4], rtol=0.4)


def test_pairs_are_those_of_the_last_look():
    X, goal = rows_of("blobs"), np.full((11, 11), 5.0)
    question, holder = drawn_question(X, 11), gpu_holder(DeviceArray(X))
    for price in (question.prices, 0.5 * question.prices):
        question = replace(question, prices=price, draw=question.draw + 1)
        holder.look(question)
        limit = (1 + 1e-12) * limits_of(holder, goal, shorter=False)
        Gaps(X, question).check(moves_of(holder, limit), limit)


def test_pairs_know_the_sums_of_all_rows_and_which_moved(monkeypatch):
    """In chunks, too: what looks at the same centers have moved adds up, and begins anew."""
    monkeypatch.setattr(gpu, "CHUNK", 1000)
    told, pairs = [], numpy_passes.CupyPasses.pairs

    def watched(self, tally, met):
        told.append((tally, met))
        return pairs(self, tally, met)

    monkeypatch.setattr(numpy_passes.CupyPasses, "pairs", watched)
    X, rng = rows_of("blobs"), np.random.default_rng(0)
    question, holder = drawn_question(X, 11), gpu_holder(DeviceArray(X))
    own, moved = [], np.zeros(121, int)
    for draw in range(3):
        went = 0.3 * np.abs(question.prices).max() * rng.normal(size=11)
        question = replace(question, prices=question.prices + went, draw=draw)
        answer = holder.look(question)
        own.append(Gaps(X, question).own)
        if draw:
            moved += np.bincount(11 * own[-2] + own[-1], minlength=121)
        holder.others()
    moved[::12] = 0
    assert moved.sum() > 100
    tally, met = told[-1]
    assert told[0][1] is None
    assert np.array_equal(np.ravel(met), moved)
    assert np.array_equal(tally.counts, answer.counts)
    assert np.array_equal(tally.high, answer.high)
    assert np.array_equal(tally.farthest, answer.farthest)
    holder.look(drawn_question(X, 11, seed=1))
    holder.others()
    assert told[-1][1] is None


@pytest.mark.skipif(missing != "", reason="without kernels")
@pytest.mark.parametrize("room", [0, 10, 150])
def test_moves_that_are_too_many_are_asked_for_again(room, monkeypatch):
    """Fewer at a time, or by the way of all holders: proven in any case."""
    monkeypatch.setattr(numpy_passes.CupyPasses, "room", room)
    asked, moves = [], gpu.GpuHolder.moves

    def watched(self, limit):
        found = moves(self, limit)
        asked.append((self._last, limit, found))
        return found

    monkeypatch.setattr(gpu.GpuHolder, "moves", watched)
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(9000, 4)) + 6 * rng.integers(4, size=(9000, 1))).astype(np.float32)
    rules = bckm.Constraints(size_min=750, size_max=750)
    result = bckm.assign_to(DeviceArray(X), X[::750].astype(float), rules)
    assert (result.sizes == 750).all()
    assert result.gap <= 1e-9
    (look, limit, found), (next_look, less, _), *_ = asked
    assert found is None
    assert next_look is look
    assert (less <= limit).all()
    assert (less < limit).any()
    told = [found for _, _, found in asked if found is not None and found.place.size]
    assert bool(told) == (room == 150)
    assert all(found.place.size <= room for found in told)


@pytest.mark.skipif(missing != "", reason="without kernels")
def test_pairs_that_paths_need_are_asked_for(monkeypatch):
    """Few moves are listed at first, and more of some pairs until all sizes are right."""
    asked, moves = [], gpu.GpuHolder.moves

    def watched(self, limit):
        asked.append((limit >= 0).mean())
        return moves(self, limit)

    monkeypatch.setattr(row_moves, "EACH", 1.0)
    monkeypatch.setattr(row_moves, "PER_WRONG", 0.05)
    monkeypatch.setattr(gpu.GpuHolder, "moves", watched)
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3000, 4)) + 30 * rng.integers(4, size=(3000, 1))).astype(np.float32)
    rules = bckm.Constraints(size_min=250, size_max=250)
    result = bckm.assign_to(DeviceArray(X), X[::250].astype(float), rules)
    assert (result.sizes == 250).all()
    assert result.gap <= 1e-9
    assert asked[0] == 1
    assert 0 < min(asked) < 0.5
    assert len(asked) < row_moves.ASKS / 2  # what was told is not asked for again


@pytest.mark.skipif(missing != "", reason="without kernels")
@pytest.mark.parametrize("few", [False, True])
def test_rows_nearest_to_others_are_enough_where_no_groups_lie_apart(few, monkeypatch):
    """Pairs of clusters are counted where paths need more moves than are listed."""
    counted, limits = [], gpu.GpuHolder.limits

    def watched(self, goal, *, shorter):
        counted.append(goal)
        return limits(self, goal, shorter=shorter)

    monkeypatch.setattr(gpu.GpuHolder, "limits", watched)
    if few:
        monkeypatch.setattr(row_moves, "ROWS", 1.0)
        monkeypatch.setattr(row_moves, "LEAST", 0.1)
        monkeypatch.setattr(row_moves, "PER_WRONG", 0.01)
    X = np.random.default_rng(0).random((9000, 8)).astype(np.float32)
    assert not row_moves.are_apart(X[::300].astype(float))
    rules = bckm.Constraints(size_min=300, size_max=300)
    result = bckm.assign_to(DeviceArray(X), X[::300].astype(float), rules)
    assert (result.sizes == 300).all()
    assert result.gap <= 1e-9
    assert bool(counted) == few


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_groups_of_clusters_that_lie_far_apart(scale):
    rng = np.random.default_rng(0)
    for d in (8, 16, 64):
        noise, middle = rng.normal(size=(500, d)), 10 * rng.random((20, d))
        assert not row_moves.are_apart(scale * rng.random((500, d)))
        assert not row_moves.are_apart(scale * (noise + 1e3))
        assert row_moves.are_apart(scale * (0.3 * noise + middle[np.arange(500) % 20]))
    assert not row_moves.are_apart(scale * np.array([[0.0], [1.0]]))
    assert not row_moves.are_apart(np.zeros((9, 2)))
