"""Prices in the middle of what optimal labels permit.

Moving the cheapest sample from cluster a to b costs m_ab, so price_b - price_a <= m_ab; a cluster
above its lower bound has no subsidy, one below its upper bound pays no tax. The prices that obey
are a polyhedron of shortest paths; in its middle, few samples lie at a border.
"""

from __future__ import annotations

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds
from bckm.kernels import missing, native

ROUNDS = 6  # in which prices go to the middle of what the others permit, one by one
TRIES = 64  # rounds of relaxation, before prices count as not to be found
ROUNDING = 1e-13  # of the largest price: arcs may be violated by as much


def arcs(move: FloatArray, units: IntArray, bounds: SizeBounds) -> FloatArray:
    """Moves between clusters (k, k), and from and to the hub, whose price is zero: (k + 1, k + 1).

    The hub is where samples beyond a lower bound come from and go to.
    """
    k = units.size
    lengths = np.full((k + 1, k + 1), np.inf)
    lengths[:k, :k] = move
    lengths[:k, k] = np.where(units < bounds.upper, 0.0, np.inf)
    # a cluster that need not hold anything has no subsidy: an empty one far away might get any
    lengths[k, :k] = np.where((units > bounds.lower) | (bounds.lower <= 0), 0.0, np.inf)
    np.fill_diagonal(lengths, np.inf)
    return lengths


def middle(
    lengths: FloatArray, prices: FloatArray, threads: int = 1, *, free: bool
) -> FloatArray | None:
    """Prices (k,) in the middle of what arcs permit, from prices of all nodes that nearly obey.

    `free` says whether samples can flow through the hub; else prices are as high as their mean.
    None if no prices were found that obey.
    """
    k = len(prices) - 1
    if missing:
        obeying = _permitted(lengths, prices)
        nodes = None if obeying is None else _middle(lengths, obeying, k if free else 0)
    else:
        nodes = native.price_range(lengths, prices, free, ROUNDING, TRIES, ROUNDS, threads)
    if nodes is None:
        return None
    return np.asarray(nodes[:k] - (nodes[k] if free else nodes[:k].mean()))


def _permitted(lengths: FloatArray, prices: FloatArray) -> FloatArray | None:
    """Prices of all nodes that obey all arcs, from some that nearly do; None if none were found."""
    for _ in range(TRIES):
        lower: FloatArray = np.minimum(prices, (lengths + prices[:, None]).min(axis=0))
        if (prices - lower).max() <= ROUNDING * np.abs(prices).max():
            return lower
        prices = lower
    return None


def _middle(lengths: FloatArray, prices: FloatArray, still: int) -> FloatArray:
    """Prices of all nodes in the middle of what arcs permit, while that of `still` stays."""
    k = len(prices) - 1
    reduced = np.maximum(lengths + prices[:, None] - prices, 0.0)
    up, down = _shortest(reduced, still), _shortest(reduced.T, still)
    both = np.concatenate([up, down])
    most = float(both[np.isfinite(both)].max())
    prices = prices + (np.minimum(up, most) - np.minimum(down, most)) / 2
    # the middle of two corners may lie on an edge: one by one to the middle of what others permit
    entering = np.ascontiguousarray(lengths.T)
    for _ in range(ROUNDS):
        for v in range(k):
            rise = (entering[v] + prices).min() - prices[v]
            fall = (lengths[v] - prices).min() + prices[v]
            if v != still and np.isfinite(rise) and np.isfinite(fall):
                prices[v] += (max(rise, 0.0) - max(fall, 0.0)) / 2
    return prices


def _shortest(length: FloatArray, begin: int) -> FloatArray:
    """Dijkstra on a full matrix of arcs."""
    way, hidden = np.full(len(length), np.inf), np.zeros(len(length))
    way[begin] = 0.0
    for _ in range(len(length)):
        u = int((way + hidden).argmin())
        if hidden[u] or not np.isfinite(way[u]):
            break
        hidden[u] = np.inf
        np.minimum(way, way[u] + length[u], out=way)
    return way
