"""Prices at which every sample is where it belongs, from moves that a quick holder lists.

A *move* is a row that would go to another cluster, and what it costs more there. Shortest paths
along the cheapest moves (`kernels/blocks/row_paths`) bring all sizes within their bounds; where
they need moves that are not listed, the holder is asked for more. Prices in the middle of what the
moves permit are proven by the look that follows: if all sizes are right there, and no sample is at
a border, nothing is left to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.kernels import missing, native

if TYPE_CHECKING:
    from bckm.blocks.looking import LookState

LISTED, EACH = 2.0**14, 48.0  # rows that are listed, in all or of each cluster,
PER_WRONG = 4.0  # or for each wrong one,
PART = 8  # but no more than a part of the rows
MORE = 128  # further ones, where they are asked for; twice as many after some times
OFTEN, MOST = 4, 4
FEWER = 8  # times fewer, where they were too many to be told
MANY, MANY_EACH = 2000.0, 4.0  # wrong samples, in all or for each cluster: more take long
ENDS = 4  # looks
ASKS = 60  # times that a holder is asked for more
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
    of, cluster, cost : arrays (m,)
        Number of a row, another cluster, and what it costs more there, prices included.
    """

    rows: NDArray[Any]
    number: IntArray
    label: NDArray[np.int32]
    of: IntArray
    cluster: NDArray[np.int32]
    cost: FloatArray

    @property
    def nbytes(self) -> int:
        """Size of the message."""
        arrays = (self.rows, self.number, self.label, self.of, self.cluster, self.cost)
        return sum(int(array.nbytes) for array in arrays)


def lead(state: LookState, lower: IntArray, upper: IntArray, deadline: Deadline) -> None:
    """Look where moves lead to, until all samples are where they belong or it leads nowhere."""
    for _ in range(0 if missing else ENDS):
        wrong, before, dual = state.infeasibility, state.prices, state.dual
        if wrong == 0 or wrong > max(MANY, MANY_EACH * state.k):
            return
        after = settled_prices(state, lower, upper, deadline)
        if after is None:
            return
        state.evaluate(state.question.centers, after, deadline)
        if state.dual < dual:
            state.evaluate(state.question.centers, before, deadline)
        if state.infeasibility > wrong / 2:
            return


def settled_prices(
    state: LookState, lower: IntArray, upper: IntArray, deadline: Deadline
) -> FloatArray | None:
    """Prices where sizes are right, as far as moves tell, or nearly so; None if they do not."""
    question, holder, k = state.question, state.holder, state.k
    counts, over = state.answer.counts, np.abs(state.gradient)
    moves, goal = None, np.maximum(max(LISTED / k, EACH), PER_WRONG * over)
    goal = np.minimum(goal, np.maximum(counts / PART, 1.0))  # of few rows all have many moves
    while moves is None and goal.max() >= 1:
        limit = holder.depth(goal)
        moves, goal = holder.moves(question, limit), goal / FEWER
    if moves is None:
        return None
    paths = native.RowPaths(question.centers, question.prices, counts, lower, upper, limit)
    frame = question.frame

    def add(moves: Moves) -> None:
        paths.add_rows(moves.rows, moves.number, moves.label, frame.origin, 1 / frame.x_scale)
        paths.add_moves(moves.of, moves.cluster, moves.cost)

    add(moves)
    asks = 0
    while (found := paths.run(SEARCHES)) != SETTLED:
        deadline.check()
        if found == WORKING:
            continue
        if found != ASKING:
            return None
        more, many = None, MORE << min(asks // OFTEN, MOST)
        while asks < ASKS and more is None and many > 0:
            more = holder.more_moves(question, paths.asked, paths.targets, paths.known, many)
            many //= FEWER
        if more is None:  # so far, prices have raised the dual
            break
        asks += 1
        paths.raise_limits(more[0])
        add(more[1])
    state.log[-1].update(asks=asks, paths=paths.found)
    sizes, prices = paths.sizes, question.prices + paths.prices
    # those between their bounds cost nothing, but for rounding
    tiny = np.abs(prices) <= ROUNDING * np.abs(paths.prices).max(initial=0.0)
    prices[tiny & (sizes > lower) & (sizes < upper)] = 0.0
    return np.where(lower == 0, np.minimum(prices, 0.0), prices)
