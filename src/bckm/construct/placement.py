"""Placing items one by one, hardest first, where they break least."""

from __future__ import annotations

import heapq
import math
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from bckm import kernels
from bckm._core.arrays import blocks
from bckm._core.deadline import Deadline, TimeUp
from bckm._core.types import BoolArray, FloatArray, IntArray, Sparse
from bckm.construct.load_room import LoadRoom
from bckm.problem.structure import Structure

LISTEN = 1024  # items between two looks at the clock
MANY, LARGEST = 500, 20_000_000  # items in conflict beside sums; numbers in a table of costs


def place(
    s: Structure,
    cost: FloatArray | None,
    deadline: Deadline,
    rng: np.random.Generator | None = None,
) -> IntArray:
    """Put every item into its cheapest cluster that has room, hardest items first.

    Without costs every cluster is as cheap as the first, unless sums are bounded: then the one
    that misses most of what the item brings. The many items that ask nothing but room for one
    sample are placed at once. Raises `TimeUp` at the deadline.
    """
    return _Placer(s, cost, deadline, rng).run()


class _Placer:
    """Labels, and what clusters hold so far."""

    def __init__(
        self,
        s: Structure,
        cost: FloatArray | None,
        deadline: Deadline,
        rng: np.random.Generator | None,
    ) -> None:
        self.s, self.cost, self.deadline = s, cost, deadline
        m, k = s.n_items, s.n_clusters
        self.labels = np.full(m, -1)
        self.sizes = np.zeros(k, np.int64)
        self.remaining = int(s.count.sum())
        self.room = LoadRoom(s) if s.loads.number else None
        self.row_gain = _row_gain(s)
        self.regret: FloatArray | None = None  # the first of equals are most costly
        if rng is not None:
            self.regret = rng.permutation(m) / m
        elif cost is not None:
            self.regret = _regret(cost)

    @cached_property
    def blocked(self) -> BoolArray:
        """Whether a cluster is forbidden, or a neighbor is in it, (m, k)."""
        blocked = np.zeros((self.s.n_items, self.s.n_clusters), bool)
        blocked.ravel()[self.s.forbidden] = True
        return blocked

    def run(self) -> IntArray:
        s, labels = self.s, self.labels
        degree = np.diff(s.neighbors.indptr)
        constrained = degree > 0
        if s.forbidden.size:
            constrained |= self.blocked.any(axis=1)
        hard = self._hardest_first(np.flatnonzero(constrained), degree)
        plain = self.room is None and self.row_gain is None
        if not kernels.missing and (plain or self._many(hard)):
            if not (plain and self._place_in_order(hard)):
                self._place_compiled(hard, self.cost if plain else self._in_turn(hard))
        else:
            self._place_conflicting(hard)
        # then large items, which need most room; then costly ones
        at_once = ~constrained & (s.count == 1)
        if self.cost is not None or self.room is not None or self.row_gain is not None:
            at_once[:] = False
        rest = np.flatnonzero(~constrained & ~at_once)
        rest = self._hardest_first(rest)
        if self.cost is None and self.row_gain is not None and self.room is None:
            rest = self._by_row_gain(rest, self.row_gain)
        elif self.cost is None and self.room is None:
            rest = rest[self._by_size(rest) :]
        elif self.cost is None and self.room is not None and self.row_gain is None:
            rest = rest[self._fill_loads(rest.tolist(), self.room) :]
        for number, j in enumerate(rest.tolist()):
            if number % LISTEN == 0:
                self.deadline.check()
            self._place(j)
        labels[at_once] = _fill(s, self.sizes, int(at_once.sum()))
        return labels

    def _hardest_first(self, items: IntArray, degree: IntArray | None = None) -> IntArray:
        """Items in most conflicts first, of these large ones, of these costly ones."""
        if items.size == 0:
            return items
        large = self.s.count if self.room is None else self.room.share
        keys = [large] if degree is None else [large, degree]
        if self.regret is None and self.room is None:
            spans = [int(key.max(initial=0)) + 1 for key in keys]
            if math.prod(spans) <= 1 << 16:  # small whole numbers: counting sorts them
                code, span = np.zeros(items.size, np.uint16), 1
                for key, most in zip(keys, spans, strict=True):
                    code += ((most - 1 - key[items]) * span).astype(np.uint16)
                    span *= most
                return items[np.argsort(code, kind="stable")]
        elif self.regret is not None:
            keys = [self.regret, *keys]
        return items[np.lexsort([-key[items] for key in keys])]

    def _many(self, hard: IntArray) -> bool:
        """Whether items in conflict are too many to look at the sums for each of them."""
        if self.cost is not None or self.row_gain is not None:
            return False
        return hard.size > MANY and self.s.n_items * self.s.n_clusters <= LARGEST

    def _in_turn(self, hard: IntArray) -> FloatArray:
        """Costs that bring items into all clusters in turn: so sums grow about evenly."""
        k = self.s.n_clusters
        cost = np.zeros((self.s.n_items, k))
        cost[hard] = (np.arange(hard.size)[:, None] + np.arange(k)) % k
        return cost

    def _place_in_order(self, hard: IntArray) -> bool:
        """Where only conflicts and sizes matter, and the first cluster that fits always exists."""
        s = self.s
        if self.cost is not None or self.regret is not None or s.forbidden.size:
            return False
        done = kernels.native.place_in_order(
            s.neighbors.indptr.astype(np.int32, copy=False),
            s.neighbors.indices.astype(np.int32, copy=False),
            s.count,
            s.lower,
            s.upper,
            hard,
            self.labels,
            self.sizes,
            self.deadline.left,
        )
        if done:
            self.remaining -= int(s.count[hard].sum())
        return bool(done)

    def _place_compiled(self, hard: IntArray, cost: FloatArray | None) -> None:
        """The same as `_place_conflicting` where only conflicts, sizes and costs matter."""
        s = self.s
        done = kernels.native.place_conflicting(
            s.neighbors.indptr.astype(np.int32, copy=False),
            s.neighbors.indices.astype(np.int32, copy=False),
            s.count,
            s.lower,
            s.upper,
            s.item.size,
            None if cost is None else np.ascontiguousarray(cost),
            hard,
            self.labels,
            self.sizes,
            self.blocked,
            self.deadline.left,
        )
        if not done:
            raise TimeUp
        self.remaining -= int(s.count[hard].sum())
        if self.room is not None:
            self.room.add(hard, self.labels[hard])

    def _place_conflicting(self, hard: IntArray) -> None:
        """Items in conflict: fewest choices first (DSATUR)."""
        s, labels, blocked = self.s, self.labels, self.blocked
        saturation = blocked.sum(axis=1)
        indptr, indices = s.neighbors.indptr, s.neighbors.indices
        rank = dict(zip(hard.tolist(), range(hard.size), strict=True))
        heap = [(-int(saturation[j]), at, j) for j, at in rank.items()]
        heapq.heapify(heap)
        number = 0
        while heap:
            if number % LISTEN == 0:
                self.deadline.check()
            number += 1
            fewer, _, j = heapq.heappop(heap)
            if labels[j] >= 0 or -fewer < saturation[j]:  # an entry from before it was blocked more
                continue
            self._place(j)
            around = indices[indptr[j] : indptr[j + 1]]
            fresh = around[~blocked[around, labels[j]]]
            blocked[fresh, labels[j]] = True
            saturation[fresh] += 1
            for other in fresh[labels[fresh] < 0].tolist():
                heapq.heappush(heap, (-int(saturation[other]), rank[other], other))

    def _by_row_gain(self, items: IntArray, row_gain: Sparse) -> IntArray:
        """Place single samples where rows gain most, as far as there is room; those left over.

        None are placed where too few others would be left to fill every cluster.
        """
        s = self.s
        single = items[(s.count[items] == 1) & (np.diff(row_gain.indptr)[items] > 0)]
        if single.size == 0:
            return items
        to = np.empty(single.size, np.int64)
        for part in blocks(single.size, s.n_clusters):
            to[part] = row_gain[single[part]].toarray().argmax(axis=1)
        order = np.argsort(to, kind="stable")
        begin = np.searchsorted(to[order], np.arange(s.n_clusters))
        rank = np.empty(to.size, np.int64)
        rank[order] = np.arange(to.size) - begin[to[order]]
        fits = rank < (s.upper - self.sizes)[to]
        taken = np.bincount(to[fits], minlength=s.n_clusters)
        missing = np.maximum(s.lower - self.sizes - taken, 0).sum()
        if missing > self.remaining - taken.sum():
            return items
        self.labels[single[fits]] = to[fits]
        self.sizes += taken
        self.remaining -= int(taken.sum())
        return items[self.labels[items] < 0]

    def _by_size(self, items: IntArray) -> int:
        """Place items that ask for nothing but room, each in the first cluster that has it.

        It ends where that would leave too few for the clusters that must be filled, or where an
        item fits nowhere; returns how many are placed.
        """
        if items.size == 0:
            return 0
        counts, k = self.s.count[items].tolist(), self.s.n_clusters
        room = (self.s.upper - self.sizes).tolist()
        missing = (self.s.lower - self.sizes).tolist()
        spare = self.remaining - sum(max(0, m) for m in missing)  # beyond what must be filled
        clusters: list[int] = []
        first = 0  # clusters before it are full
        for size in counts:
            while first < k and room[first] <= 0:
                first += 1
            for i in range(first, k):
                if room[i] >= size and size - min(size, max(0, missing[i])) <= spare:
                    break
            else:
                break
            spare -= size - min(size, max(0, missing[i]))
            room[i] -= size
            missing[i] -= size
            clusters.append(i)
        done = items[: len(clusters)]
        self.labels[done] = clusters
        self.sizes += np.bincount(clusters, self.s.count[done], k).astype(np.int64)
        self.remaining -= int(self.s.count[done].sum())
        return len(clusters)

    def _fill_loads(self, items: list[int], room: LoadRoom) -> int:
        """Place items that only sums concern, while they fit; how many that was."""
        s = self.s
        upper, limit = s.upper, room.limit
        if room.amount.shape[1] == 1 and (room.amount >= 0).all():
            return self._fill_one_load(items, room)
        for number, j in enumerate(items):
            amount, count = room.amount[j], int(s.count[j])
            i = int(room.imbalance(j).argmin())
            if self.sizes[i] + count > upper[i] or (room.sums[i] + amount > limit[i]).any():
                return number
            self._assign(j, i)
        return len(items)

    def _fill_one_load(self, items: list[int], room: LoadRoom) -> int:
        """The same for a single sum, without arrays: the emptiest cluster is on top of a heap."""
        counts, amounts = self.s.count[items].tolist(), room.amount[items, 0].tolist()
        upper, limit = self.s.upper.tolist(), room.limit[:, 0].tolist()
        goal = (room.sums - room.excess)[:, 0].tolist()
        sizes, sums = self.sizes.tolist(), room.sums[:, 0].tolist()
        heap = [(sums[i] - goal[i], i) for i in range(len(sums))]
        heapq.heapify(heap)
        clusters = []
        for count, amount in zip(counts, amounts, strict=True):
            i = heap[0][1]
            if sizes[i] + count > upper[i] or sums[i] + amount > limit[i]:
                break
            sizes[i] += count
            sums[i] += amount
            heapq.heapreplace(heap, (sums[i] - goal[i], i))
            clusters.append(i)
        done = items[: len(clusters)]
        self.labels[done] = clusters
        self.sizes[:] = sizes
        self.remaining -= int(self.s.count[done].sum())
        room.add(done, clusters)
        return len(clusters)

    def _assign(self, j: int, i: int) -> None:
        self.labels[j] = i
        self.sizes[i] += self.s.count[j]
        self.remaining -= int(self.s.count[j])
        if self.room is not None:
            self.room.add([j], [i])

    def _place(self, j: int) -> None:
        """Place item j; where nothing is allowed, in the cluster that breaks least."""
        s, size = self.s, int(self.s.count[j])
        missing = np.maximum(s.lower - self.sizes, 0)
        filled = np.minimum(missing, size)
        # what is left must still be enough to fill every cluster to its lower bound
        broken: FloatArray | IntArray = np.maximum(self.sizes + size - s.upper, 0) + np.maximum(
            missing.sum() - filled - (self.remaining - size), 0
        )
        broken = broken + self.blocked[j] * s.item.size
        if self.room is not None:
            broken = broken + self.room.broken(j)
        choices = np.flatnonzero(broken == broken.min())
        if self.row_gain is not None:
            start, end = self.row_gain.indptr[j : j + 2]
            gain = np.zeros(s.n_clusters)
            gain[self.row_gain.indices[start:end]] = self.row_gain.data[start:end]
            choices = choices[gain[choices] == gain[choices].max()]
        best = 0
        if self.cost is not None:
            best = int(self.cost[j, choices].argmin())
        elif self.room is not None:
            best = int(self.room.imbalance(j)[choices].argmin())
        self._assign(j, int(choices[best]))


def _row_gain(s: Structure) -> Sparse | None:
    """What linear rows gain from each item in each cluster, (m, k); None if they gain nothing."""
    if s.linear.number == 0:
        return None
    low, up = np.isfinite(s.linear.lower), np.isfinite(s.linear.upper)
    gain = sp.csr_array((low.astype(float) - up)[None]) @ s.linear.matrix
    gains = gain.reshape((s.n_items, s.n_clusters)).tocsr()
    return gains if gains.nnz else None


def _fill(s: Structure, sizes: IntArray, number: int) -> IntArray:
    """Clusters for so many single samples: each takes what fits and the later ones can spare."""
    missing = np.maximum(s.lower - sizes, 0)
    room = np.maximum(s.upper - sizes, missing)
    later, left = int(missing.sum()), number
    taken = []
    for most, least in zip(room.tolist(), missing.tolist(), strict=True):
        later -= least
        taken.append(min(most, left, max(left - later, least)))
        left -= taken[-1]
    # what fits nowhere is left to the repair
    k = s.n_clusters
    return np.concatenate([np.repeat(np.arange(k), taken), np.arange(left) % k])


def _regret(cost: FloatArray) -> FloatArray:
    """What an item loses in its second-best cluster, of the largest such loss."""
    if cost.shape[1] < 2:
        return np.zeros(cost.shape[0])
    two = np.partition(cost, 1, axis=1)[:, :2]
    regret = two[:, 1] - two[:, 0]
    # centers often lie on items, and then regrets tie: round-off must not order them
    return np.asarray(np.round(regret / (float(regret.max()) or 1.0), 9), dtype=np.float64)
