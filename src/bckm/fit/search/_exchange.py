"""All swaps between two clusters, judged at once, without the rules."""

from __future__ import annotations

import numpy as np

from bckm._core import arrays
from bckm._core.types import FloatArray, IntArray
from bckm.fit.search._state import State


class Side:
    """Some items of one cluster, and what concerns those that would go to another one.

    Attributes
    ----------
    items : array (n,)
        Members of cluster `own`.
    here, there : arrays (n,)
        Squared distances to the centers of their own cluster and of the other one.
    gain : array (n,)
        Change of the objective at fixed centers if one goes alone, but for soft sums.
    """

    def __init__(self, state: State, items: IntArray, own: int, other: int) -> None:
        self.items, self.own = items, own
        self.mass = state.mass[items]
        self.amount = state.penalty.soft.loads.amount[items]
        two = arrays.squared_distances(state.points[items], state.centers[[own, other]])
        self.here, self.there = two.T
        self.gain = self.mass * (self.there - self.here)
        if state.penalty.asks:
            alone = state.penalty.alone(state.labels, items)
            self.gain += alone[:, other] - alone[:, own]


def promising(state: State, mine: Side, yours: Side) -> IntArray:
    """Items of one side that may lower the objective by a swap with some item of the other.

    At fixed centers a swap changes the objective by two gains. Means follow, so it is less by
    |u|^2 / W' in each of the two clusters (see State.change); |u| is at most the sum of the two
    items' mass times distance, and W' is least if the heaviest item leaves and the lightest comes.
    And it is less by what soft sums can gain. Of the items of the other side, the best for each of
    these. Only for two items that are tied to each other below zero it can be less than that.
    """
    a, b, mass, other = mine.own, yours.own, mine.mass, yours.mass
    bound: FloatArray = mine.gain + yours.gain.min()
    if not state.fixed:
        reach_b = mass * np.sqrt(mine.there) + (other * np.sqrt(yours.here)).max()
        reach_a = mass * np.sqrt(mine.here) + (other * np.sqrt(yours.there)).max()
        rest_b = state.weight[b] - other.max() + mass
        rest_a = state.weight[a] - mass + other.min()
        for reach, rest in ((reach_b, rest_b), (reach_a, rest_a)):
            none = np.full(mass.size, np.inf)
            bound -= np.divide(np.square(reach), rest, none, where=rest > 0) * (1 + 1e-9)
    if mine.amount.shape[1]:
        least, most = yours.amount.min(axis=0), yours.amount.max(axis=0)
        bound -= state.penalty.relief(b, mine.amount - most, mine.amount - least) * (1 + 1e-9)
        bound -= state.penalty.relief(a, least - mine.amount, most - mine.amount) * (1 + 1e-9)
    return mine.items[bound < 0]


def changes(state: State, mine: Side, yours: Side) -> FloatArray:
    """Change of the objective by all swaps, (n, n'), but for ties of the two to each other."""
    mass, other = mine.mass[:, None], yours.mass[:, None]
    change: FloatArray = mine.gain[:, None] + yours.gain
    for i, sign in ((mine.own, -1), (yours.own, 1)):
        if mine.amount.shape[1]:
            now = state.penalty.sums.now[i]
            after = now + sign * (mine.amount[:, None] - yours.amount)
            change += state.penalty.beyond(i, after) - state.penalty.beyond(i, now)
        if not state.fixed:
            u = arrays.squared_distances(
                mass * (state.points[mine.items] - state.centers[i]),
                other * (state.points[yours.items] - state.centers[i]),
            )
            after = state.weight[i] + sign * (mass - yours.mass)
            change -= np.divide(u, after, np.zeros(u.shape), where=after > 0)
    return change
