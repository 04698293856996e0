"""Labels that break few size bounds, mended in one go: what an exact step leaves if time is up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import squared_distances
from bckm._core.types import FloatArray, IntArray

MOST = 0.3  # share of samples that may have to move; more are no small matter
NUMBERS = 1e8  # products that distances of these to the centers may take


def patched(
    points: FloatArray,
    centers: FloatArray,
    labels: IntArray,
    slack: NDArray[np.float32],
    lower: IntArray,
    upper: IntArray,
) -> IntArray | None:
    """Labels within the bounds, near given ones; None where too many would have to move.

    Clusters that hold too much give those samples away that lose least elsewhere. Each of these
    goes to its nearest cluster that has room, the nearest first, round by round.

    Parameters
    ----------
    points, centers : arrays (n, d), (k, d)
        Samples, one by one, and centers.
    labels : array (n,)
        Clusters that break few bounds.
    slack : array (n,)
        About what each sample loses in another cluster; only its order matters.
    lower, upper : arrays (k,)
        Bounds that n samples can keep.
    """
    n, k = labels.size, len(centers)
    sizes = np.bincount(labels, minlength=k)
    leave = np.maximum(sizes - upper, 0)
    short = int(np.maximum(lower - sizes, 0).sum() - leave.sum())
    for i in np.argsort(lower - sizes, kind="stable"):  # those with most to spare first
        if short <= 0:
            break
        more = min(short, max(0, int(sizes[i] - leave[i] - lower[i])))
        leave[i] += more
        short -= more
    number = int(leave.sum())
    if number > MOST * n or float(number) * k * points.shape[1] > NUMBERS:
        return None
    order = np.lexsort((slack, labels))
    begin = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = np.arange(n) - np.repeat(begin, sizes)
    homeless = order[rank < np.repeat(leave, sizes)]
    patched_labels, sizes = labels.copy(), sizes - leave
    cost = squared_distances(points[homeless], centers)
    while homeless.size:
        missing = np.maximum(lower - sizes, 0)
        room = upper - sizes
        if missing.sum() >= homeless.size:  # all of them are needed somewhere
            room = missing
        cost[:, room <= 0] = np.inf
        to = cost.argmin(axis=1)
        least = cost[np.arange(to.size), to]
        order = np.lexsort((least, to))
        wanted = np.bincount(to, minlength=k)
        begin = np.concatenate([[0], np.cumsum(wanted)[:-1]])
        rank = np.empty(to.size, np.int64)
        rank[order] = np.arange(to.size) - np.repeat(begin, wanted)
        taken = rank < room[to]
        if room is not missing:  # not more than leaves enough for those that miss some
            free = homeless.size - int(missing.sum())
            spare = np.flatnonzero(taken & (rank >= missing[to]))
            taken[spare[np.argsort(least[spare], kind="stable")[free:]]] = False
        patched_labels[homeless[taken]] = to[taken]
        sizes = sizes + np.bincount(to[taken], minlength=k)
        homeless, cost = homeless[~taken], cost[~taken]
    return patched_labels
