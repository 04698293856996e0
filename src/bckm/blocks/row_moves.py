"""Prices at which every sample is where it belongs, from moves that a quick holder lists.

A *move* is a row that would go to another cluster, and what it costs more there. All up to a limit
are listed: of the rows of each cluster that are nearest to others or, where groups of clusters lie
far apart, a few of each pair of clusters, or as many as go cheaper by way of others. Shortest paths
along the cheapest moves (`kernels/blocks/row_paths`) bring all sizes within their bounds; where
these need moves of pairs that are not listed, the holder is asked for more. Prices in the middle of
what the moves permit are proven by the look that follows: if all sizes are right there, and few
samples are at a border, nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import squared_distances
from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.kernels import missing, native

if TYPE_CHECKING:
    from bckm.blocks.looking import LookState

ROWS, LEAST, MOST = 2.0**16, 16.0, 1024.0  # rows whose moves are listed, in all, and of a cluster
EACH, PER_WRONG = 2.0, 1.0  # rows of a pair of clusters that are listed, and for each wrong one
FEWER = 4.0  # times fewer, where they were too many to be told
MORE = 4.0  # times as many where they are asked for
MANY, MANY_EACH = 2000.0, 4.0  # wrong samples, in all or for each cluster: more take long
APART, SOME = 9.0, 128  # times how far the nearest cluster is, squared; clusters that tell
ENDS = 6  # looks
BACKS = 2  # of these that may lead nowhere
CLUSTERS, WIDEST = 2**11, 2**14  # at most: pairs have limits; features of rows that are counted
ASKS = 24  # times that a holder is asked for more
SEARCHES = 256  # for paths, between two looks at the clock
ROUNDING = 1e-12  # of the largest change of a price
SETTLED, ASKING, WORKING = 0, 1, 2  # `RowPaths::State`


@dataclass(frozen=True, eq=False)
class Moves:
    """Rows, and what they cost more in other clusters.

    Attributes
    ----------
    rows : array (u, d)
        As in X, in the order of their numbers.
    number, label : arrays (u,)
        Number and cluster of each.
    place, cluster, cost : arrays (m,)
        Which of the rows, another cluster, and what it costs more there, prices included.
    """

    rows: NDArray[Any]
    number: IntArray
    label: NDArray[np.int32]
    place: IntArray
    cluster: NDArray[np.int32]
    cost: FloatArray

    @property
    def nbytes(self) -> int:
        """Size of the message."""
        arrays = (self.rows, self.number, self.label, self.place, self.cluster, self.cost)
        return sum(int(array.nbytes) for array in arrays)


def lead(state: LookState, lower: IntArray, upper: IntArray, deadline: Deadline) -> None:
    """Look where moves lead to, until all samples are where they belong or it leads nowhere."""
    k, d = state.question.centers.shape
    backs, known = 0, not missing and 1 < k <= CLUSTERS and d <= WIDEST
    for _ in range(ENDS if known else 0):
        wrong, before, dual = state.infeasibility, state.prices, state.dual
        if wrong == 0 or wrong > many_of(state.k):
            return
        after = settled_prices(state, lower, upper, deadline)
        if after is None:
            return
        state.evaluate(state.question.centers, after, deadline)
        if state.infeasibility == 0:
            return
        if state.dual < dual:  # rows have gone where no moves were listed: now they are
            state.evaluate(state.question.centers, before, deadline)
            backs += 1
            if backs > BACKS:
                return
        elif state.infeasibility > wrong / 2:
            return


def many_of(k: int) -> float:
    """How many samples may be wrong where moves are asked for."""
    return max(MANY, MANY_EACH * k)


def settled_prices(
    state: LookState, lower: IntArray, upper: IntArray, deadline: Deadline
) -> FloatArray | None:
    """Prices where sizes are right, as far as moves tell, or nearly so; None if they do not."""
    found, is_settled = None, False
    if not are_apart(state.question.centers):
        found, is_settled = _by_rows(state, lower, upper, deadline)
    return found if is_settled else _by_pairs(state, lower, upper, deadline)[0]


def are_apart(centers: FloatArray) -> bool:
    """Whether most clusters are much farther from each other than from the nearest one."""
    some = centers[:: -(-len(centers) // SOME)]
    apart = squared_distances(some, centers)
    nearest = np.partition(apart, 1, axis=1)[:, 1]  # the least is that to itself
    return bool(np.median(apart) > APART * np.median(nearest))


Found = tuple[FloatArray | None, bool]
More = Callable[[BoolArray], "tuple[FloatArray, Moves | None]"]


def _by_rows(state: LookState, lower: IntArray, upper: IntArray, deadline: Deadline) -> Found:
    """Prices by the moves of rows that are nearest to others."""
    each = np.clip(ROWS / state.k, LEAST, MOST) + PER_WRONG * np.abs(state.gradient)
    depth = state.holder.depth(each)
    moves = state.holder.moves(depth)
    if moves is None:
        return None, False
    limit = np.repeat(depth[:, None], state.k, axis=1)
    return _Paths(state, lower, upper, limit, moves).found(deadline)


def _by_pairs(state: LookState, lower: IntArray, upper: IntArray, deadline: Deadline) -> Found:
    """Prices by the cheapest moves of each pair of clusters, and more where paths need them."""
    holder, over, k = state.holder, np.abs(state.gradient), state.k
    other, moves, each = holder.others(), None, EACH
    most = EACH + PER_WRONG * np.maximum(over[:, None], over[other])
    while moves is None and each >= EACH / FEWER**2:
        goal = each / EACH * most
        limit = holder.limits(goal, shorter=True)
        moves, each = holder.moves(limit), each / FEWER
    if moves is None:
        return None, False
    pairs = np.arange(k)[:, None] * k + other
    limits = np.full(k * k, np.inf)  # of all pairs
    limits[pairs] = limit
    paths = _Paths(state, lower, upper, limits.reshape(k, k), moves)

    def more(which: BoolArray) -> tuple[FloatArray, Moves | None]:
        nonlocal goal, limit
        asked = which.ravel()[pairs]
        goal = np.where(asked, MORE * goal, goal)
        limit = np.where(asked, np.maximum(holder.limits(goal, shorter=False), limit), limit)
        limits[pairs] = limit
        return limits.reshape(k, k), holder.moves(np.where(asked, limit, -1.0))

    return paths.found(deadline, more)


class _Paths:
    """Shortest paths along moves that were listed."""

    def __init__(
        self, state: LookState, lower: IntArray, upper: IntArray, limit: FloatArray, moves: Moves
    ) -> None:
        question, self.state, self.lower, self.upper = state.question, state, lower, upper
        sizes = (state.answer.counts, lower, upper)
        self.paths = native.RowPaths(question.centers, question.prices, *sizes, limit)
        self.add(moves)

    def add(self, moves: Moves) -> None:
        """Moves that were listed."""
        frame, paths = self.state.question.frame, self.paths
        paths.add_rows(moves.rows, moves.number, moves.label, frame.origin, 1 / frame.x_scale)
        paths.add_moves(moves.place, moves.cluster, moves.cost)

    def found(self, deadline: Deadline, more: More | None = None) -> Found:
        """Prices where paths lead to, and whether all sizes are right there.

        `more` lists more moves of some pairs, and tells up to which limits.
        """
        paths, asks = self.paths, 0
        while (found := paths.run(SEARCHES)) != SETTLED:
            deadline.check()
            if found == WORKING:
                continue
            if found != ASKING or more is None or asks == ASKS:
                break  # so far, prices have raised the dual
            asks += 1
            limit, moves = more(paths.asked > 0)
            if moves is None:
                break
            paths.raise_limits(limit)
            self.add(moves)
        self.state.log[-1].update(asks=asks, paths=paths.found)
        held, prices, lower, upper = paths.sizes, paths.prices, self.lower, self.upper
        # those between their bounds cost nothing, but for rounding
        tiny = np.abs(prices) <= ROUNDING * np.abs(prices).max(initial=0.0)
        prices[tiny & (held > lower) & (held < upper)] = 0.0
        return np.where(lower == 0, np.minimum(prices, 0.0), prices), found == SETTLED
