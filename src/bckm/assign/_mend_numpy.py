"""Mending without the kernels: moves and swaps of single items, where they cost least."""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.assign._dual_lp import Resources
from bckm.problem.linear import sums_of
from bckm.problem.structure import Structure

PAIRS = 40  # items of each cluster that are tried in swaps
PATIENCE = 300  # rounds of moves


def mend(
    s: Structure, resources: Resources, priced: FloatArray, labels: IntArray, deadline: Deadline
) -> IntArray | None:
    """Labels that obey every rule, near the given ones; None if that fails.

    Parameters
    ----------
    s : Structure
        What to obey.
    resources : Resources
        The same sums, sizes and rows as resources; only hard bounds are looked at.
    priced : array (m, k)
        What to pay for items in clusters; infinite where an item must not be.
    labels : array (m,)
        Labels that break few rules.
    deadline : Deadline
        When to give up.
    """
    if s.feasible(labels):
        return labels
    mending = _Mending(s, resources, priced, labels)
    for _ in range(PATIENCE):
        if deadline.passed:
            return None
        if not (mending.part() or mending.move() or mending.keep_rows() or mending.swap()):
            break
    return mending.labels if s.feasible(mending.labels) else None


class _Mending:
    def __init__(
        self, s: Structure, resources: Resources, priced: FloatArray, labels: IntArray
    ) -> None:
        self.s, self.priced, self.labels = s, priced, labels.copy()
        hard = np.isinf(resources.lower_penalty).any(axis=0) | np.isinf(
            resources.upper_penalty
        ).any(axis=0)
        size, k = resources.mean_amount[hard], s.n_clusters
        self.amount = resources.amount[:, hard] / size
        self.lower = (
            np.where(np.isinf(resources.lower_penalty), resources.lower, -np.inf)[:, hard] / size
        )
        self.upper = (
            np.where(np.isinf(resources.upper_penalty), resources.upper, np.inf)[:, hard] / size
        )
        self.sums = sums_of(self.amount, labels, k)
        self.k = k
        self.rows, self.row_lower, self.row_upper = (
            resources.rows,
            resources.row_lower,
            resources.row_upper,
        )
        self.activity = np.empty(0)
        if self.row_lower.size:
            self.activity = np.asarray(self.rows[:, s.columns.used(labels)].sum(axis=1)).ravel()

    def rows_beyond(self, activity: FloatArray) -> FloatArray:
        """How far values of all rows (..., q) are beyond their bounds, in all."""
        low, up = self.row_lower - activity, activity - self.row_upper
        return np.asarray((np.maximum(low, 0) + np.maximum(up, 0)).sum(axis=-1))

    def keep_rows(self) -> bool:
        """Moves of single items that bring linear rows nearer to their bounds, cheapest first."""
        if not self.rows_beyond(self.activity) > 0:
            return False
        named = np.flatnonzero(np.diff(self.rows.indptr))
        item = np.unique(self.s.columns.item(named))  # items that rows name
        every, own = np.arange(self.k), self.labels[item]
        change = (
            self.rows[:, self.s.columns.all_of(item)].toarray().T.reshape(item.size, self.k, -1)
        )
        change = change - change[np.arange(item.size), own][:, None]
        after = self.rows_beyond(self.activity + change)
        sums = self.beyond(self.sums[own] - self.amount[item], own)[:, None] + self.beyond(
            self.sums + self.amount[item][:, None], every
        )
        rise = self.priced[item] - self.priced[item, own][:, None]
        good = (after < self.rows_beyond(self.activity)) & (sums <= 0) & np.isfinite(rise)
        good[np.arange(item.size), own] = False
        rise = np.where(good, rise, np.inf).ravel()
        done = False
        for at in np.argsort(rise, kind="stable")[: int(good.sum())].tolist():
            row, to = divmod(at, self.k)
            j = int(item[row])
            if self.labels[j] == own[row]:
                done |= self._try(np.array([j]), np.array([to]))
            if not self.rows_beyond(self.activity) > 0:
                break
        return done

    def beyond(self, sums: FloatArray, clusters: IntArray) -> FloatArray:
        """How far sums of some clusters (..., r) are beyond their bounds, in all."""
        low, up = self.lower[clusters], self.upper[clusters]
        return np.asarray((np.maximum(low - sums, 0) + np.maximum(sums - up, 0)).sum(axis=-1))

    def blocked(self, items: IntArray) -> BoolArray:
        """Clusters that hold an item in conflict, (items, k)."""
        taken = np.zeros((items.size, self.k), np.bool_)
        if self.s.conflict_sets:
            part = self.s.neighbors[items].tocoo()
            taken[part.coords[0], self.labels[part.coords[1]]] = True
        return taken

    def free(self, j: int, i: int) -> bool:
        """Whether an item has no conflict in a cluster."""
        if not self.s.conflict_sets:
            return True
        graph = self.s.neighbors
        around = graph.indices[graph.indptr[j] : graph.indptr[j + 1]]
        return not (self.labels[around] == i).any()

    def put(self, j: int, i: int) -> None:
        self.sums[self.labels[j]] -= self.amount[j]
        self.sums[i] += self.amount[j]
        if self.activity.size:
            for cluster, sign in ((int(self.labels[j]), -1.0), (i, 1.0)):
                column = self.s.columns.of(j, cluster)
                entries = slice(self.rows.indptr[column], self.rows.indptr[column + 1])
                self.activity[self.rows.indices[entries]] += sign * self.rows.data[entries]
        self.labels[j] = i

    def part(self) -> bool:
        """Part items in conflict: one of them goes where it costs least and none is in conflict."""
        edges = self.s.edges
        clash = edges[self.labels[edges[:, 0]] == self.labels[edges[:, 1]]]
        moved = False
        for a, b in clash.tolist():
            if self.labels[a] != self.labels[b]:
                continue
            two = np.array([a, b])
            here = self.priced[two, self.labels[two]]
            rise = np.where(self.blocked(two), np.inf, self.priced[two] - here[:, None])
            rise[:, self.labels[a]] = np.inf
            at = int(rise.argmin())
            if np.isfinite(rise.ravel()[at]):
                self.put(int(two[at // self.k]), at % self.k)
                moved = True
        return moved

    def move(self) -> bool:
        """Moves of single items that bring sums nearer to their bounds, the cheapest first."""
        bad = self.beyond(self.sums, np.arange(self.k))
        worst = np.argsort(-bad, kind="stable")[: int((bad > 0).sum())]
        return any(self._relieve(int(i), bad) for i in worst)

    def _relieve(self, i: int, bad: FloatArray) -> bool:
        """Bring one cluster nearer to its bounds."""
        every = np.arange(self.k)
        over = (self.sums[i] > self.upper[i]).any()
        held = self.labels == i
        items = np.flatnonzero(held if over else ~held)
        own = self.labels[items]
        targets = every if over else np.array([i])
        amount = self.amount[items]
        leaves = self.beyond(self.sums[own] - amount, own) - bad[own]
        joins = self.beyond(self.sums[targets] + amount[:, None], targets) - bad[targets]
        change = leaves[:, None] + joins
        rise = self.priced[items][:, targets] - self.priced[items, own][:, None]
        good = (change < -1e-9 * max(1.0, bad[i])) & np.isfinite(rise)
        good &= targets != own[:, None]
        # those in conflict there would be the first to go, and are in vain
        some = np.flatnonzero(good.any(axis=1))
        good[some] &= ~self.blocked(items[some])[:, targets]
        if not good.any():
            return False
        score = np.full(rise.shape, np.inf)  # the cheapest per unit mended first
        score[good] = np.maximum(rise[good], 0) / -change[good]
        flat = score.ravel()
        number = min(flat.size, 64)
        some = np.argpartition(flat, number - 1)[:number]
        done = False
        for at in some[np.argsort(flat[some], kind="stable")]:
            j, to = int(items[at // targets.size]), int(targets[at % targets.size])
            if np.isfinite(flat[at]) and self.labels[j] == own[at // targets.size]:
                done |= self._try(np.array([j]), np.array([to]))
                if not self.beyond(self.sums[[i]], np.array([i]))[0]:
                    break
        return done

    def _try(self, items: IntArray, to: IntArray) -> bool:
        """Move items if sums and rows get nearer to their bounds and no conflict arises."""
        clusters = np.unique(np.concatenate([self.labels[items], to]))
        before = self._broken(clusters)
        start = self.labels[items]
        for j, i in zip(items.tolist(), to.tolist(), strict=True):
            self.put(j, i)
        after = self._broken(clusters)
        apart = all(self.free(j, int(self.labels[j])) for j in items.tolist())
        if apart and after < before:
            return True
        for j, i in zip(items.tolist(), start.tolist(), strict=True):
            self.put(j, i)
        return False

    def _broken(self, clusters: IntArray) -> float:
        sums = self.beyond(self.sums[clusters], clusters).sum()
        return float(sums + self.rows_beyond(self.activity))

    def swap(self) -> bool:
        """The cheapest swap of two items that brings sums nearer to their bounds."""
        bad = self.beyond(self.sums, np.arange(self.k))
        for i in np.argsort(-bad, kind="stable"):
            if bad[i] <= 0:
                break
            if self._swap_out_of(int(i), bad):
                return True
        return False

    def _swap_out_of(self, i: int, bad: FloatArray) -> bool:
        mine = np.flatnonzero(self.labels == i)
        best: tuple[float, int, int] | None = None
        for other in range(self.k):
            theirs = np.flatnonzero(self.labels == other)
            if other == i or not theirs.size or not mine.size:
                continue
            a = _cheapest(mine, self.priced[mine, other] - self.priced[mine, i])
            b = _cheapest(theirs, self.priced[theirs, i] - self.priced[theirs, other])
            shift = self.amount[b][None, :] - self.amount[a][:, None]  # (a, b, r)
            change = self.beyond(self.sums[i] + shift, np.array(i)) - bad[i]
            change += self.beyond(self.sums[other] - shift, np.array(other)) - bad[other]
            rise = (self.priced[a, other] - self.priced[a, i])[:, None] + (
                self.priced[b, i] - self.priced[b, other]
            )
            good = (change < -1e-9 * max(1.0, bad[i])) & np.isfinite(rise)
            score = np.full(rise.shape, np.inf)
            score[good] = np.maximum(rise[good], 0) / -change[good]
            at = int(score.argmin())
            if np.isfinite(score.ravel()[at]) and (best is None or score.ravel()[at] < best[0]):
                best = (float(score.ravel()[at]), int(a[at // b.size]), int(b[at % b.size]))
        if best is None:
            return False
        _, j, other_item = best
        return self._try(np.array([j, other_item]), np.array([self.labels[other_item], i]))


def _cheapest(items: IntArray, rise: FloatArray) -> IntArray:
    number = min(items.size, PAIRS)
    return items[np.argpartition(rise, number - 1)[:number]]
