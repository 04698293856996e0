"""Labels that break few size bounds, mended in one go: what an exact step leaves if time is up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import squared_distances
from bckm._core.types import FloatArray, IntArray

MOST = 0.3  # share of samples that may have to move; more are no small matter
NEAR = 16  # clusters that a sample looks at in a round
NUMBERS = 1e8  # products of distances, and numbers looked at, that this may take in all


def patched(
    points: FloatArray,
    centers: FloatArray,
    labels: IntArray,
    slack: NDArray[np.float32],
    lower: IntArray,
    upper: IntArray,
) -> IntArray | None:
    """Labels within the bounds, near given ones; None where that takes too long.

    Clusters that hold too much give those samples away that lose least elsewhere. Each of these
    goes to one of its nearest clusters that has room, the nearest pairs first, round by round.

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
    if number > MOST * n:
        return None
    order = np.lexsort((slack, labels))
    begin = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = np.arange(n) - np.repeat(begin, sizes)
    homeless = order[rank < np.repeat(leave, sizes)]
    patched_labels, sizes = labels.copy(), sizes - leave
    room, missing = upper - sizes, np.maximum(lower - sizes, 0)
    wide = np.flatnonzero(room > 0)
    work = float(number) * wide.size * points.shape[1]
    if work > NUMBERS:
        return None
    cost = squared_distances(points[homeless], centers[wide])
    while homeless.size:
        free = homeless.size - int(missing.sum())  # so many are needed nowhere
        still = (room if free > 0 else missing)[wide] > 0
        wide, cost = wide[still], cost[:, still]
        work += cost.size
        if work > NUMBERS:
            return None
        near = np.argpartition(cost, min(NEAR, wide.size) - 1, axis=1)[:, :NEAR]
        order = np.argsort(np.take_along_axis(cost, near, axis=1), axis=None, kind="stable")
        rows, columns = order // near.shape[1], near.ravel()[order]
        open_to, needed, to = room[wide].tolist(), missing[wide].tolist(), [-1] * homeless.size
        for row, at in zip(rows.tolist(), columns.tolist(), strict=True):
            # the cheapest pair is always possible
            if to[row] >= 0 or not open_to[at] or not (needed[at] or free):
                continue
            if needed[at]:
                needed[at] -= 1
            else:
                free -= 1
            open_to[at] -= 1
            to[row] = at
        room[wide], missing[wide] = open_to, needed
        waiting = np.array(to) < 0
        patched_labels[homeless[~waiting]] = wide[np.array(to)[~waiting]]
        homeless, cost = homeless[waiting], cost[waiting]
    return patched_labels
