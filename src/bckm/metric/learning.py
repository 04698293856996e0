"""Learning: a linear map after which differences that must-links call unimportant count less.

Relevant component analysis: the covariance of samples around the mean of their must-link set, in
principal components of the data, shrunk (Ledoit and Wolf), becomes the unit of length in every
direction (Bar-Hillel and others, 2003).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.metric.links_seen import Seen

FLOOR = 1e-6  # share of the mean variance of components below which none counts as smaller
STRANGE = 2.5  # soft links so many deviations longer than most are not believed
LOOKS = 2  # how often that is decided again


@dataclass(frozen=True, eq=False)
class Whitening:
    """A map of principal components (p,) to where must-linked samples differ alike in all ways."""

    matrix: FloatArray  # (p, p)
    shrinkage: float
    trace: float  # what must-linked samples vary around their mean, after it


@dataclass(frozen=True, eq=False)
class Evidence:
    """Differences of samples that belong together, as far as they may be seen.

    Attributes
    ----------
    rows : array (m, r)
        Residuals of must-linked samples from the mean of their set, as long as single samples
        vary, then differences of softly linked pairs, likewise.
    weight : array (m,)
        How much each counts.
    n_sure : int
        How many of them come from hard links.
    forest : array
        Numbers of rows without those that follow from others: what a covariance is worth.
    """

    rows: FloatArray
    weight: FloatArray
    n_sure: int
    forest: IntArray

    def whitening(self, p: int) -> Whitening:
        """Learn from the first p components."""
        rows, weight = self.rows[:, :p], self.weight
        found = _whitening(rows, weight, self.forest)
        for _ in range(LOOKS if rows.shape[0] > self.n_sure else 0):
            believed = self._believed(rows @ found.matrix)
            kept = self.forest[believed[self.forest]]
            if kept.size < 2:
                break
            found = _whitening(rows, np.where(believed, weight, 0.0), kept)
        return found

    def _believed(self, rows: FloatArray) -> BoolArray:
        """Which rows are no longer than most: wrong soft links are."""
        length = np.einsum("ij,ij->i", rows, rows)
        middle = np.median(length)
        spread = 1.4826 * np.median(np.abs(length - middle))
        believed = length <= middle + STRANGE * spread
        believed[: self.n_sure] = True
        return np.asarray(believed)


def _whitening(rows: FloatArray, weight: FloatArray, forest: IntArray) -> Whitening:
    from scipy.linalg import eigh  # slow to import
    from sklearn.covariance import ledoit_wolf_shrinkage

    p = rows.shape[1]
    own = weight[forest]
    sure = rows[forest] * np.sqrt(own / own.mean())[:, None]
    covariance = (rows * (weight / weight.sum())[:, None]).T @ rows
    mean = float(np.trace(covariance)) / p
    if not mean > 0:  # must-linked samples are all alike
        return Whitening(np.eye(p), 1.0, 0.0)
    unit = np.sqrt(mean)
    part = float(ledoit_wolf_shrinkage(sure / unit, assume_centered=True))
    shrunk = (1 - part) * covariance / mean + part * np.eye(p)
    values, vectors = eigh(shrunk)
    values = np.maximum(values, FLOOR)
    matrix = vectors / (unit * np.sqrt(values))
    trace = float(np.sum(matrix * (covariance @ matrix)))
    return Whitening(matrix, part, trace)


def evidence(points: FloatArray, weight: FloatArray, seen: Seen, visible: BoolArray) -> Evidence:
    """What the links of visible samples say.

    Parameters
    ----------
    points : array (l, r)
        The samples of `seen`, in principal components.
    weight : array (l,)
        Their weights.
    seen : Seen
        The links.
    visible : array (l,)
        Which samples may be looked at.
    """
    inside = np.flatnonzero(visible & (seen.set_of >= 0) & (weight > 0))
    sets = seen.set_of[inside]
    means, count = set_means(points[inside], weight[inside], sets, seen.n_sets)
    enough = count[sets] > 1
    inside, sets = inside[enough], sets[enough]
    # a residual from the mean of m samples is shorter than a sample varies
    longer = np.sqrt(count[sets] / np.maximum(count[sets] - 1, 1))
    hard = (points[inside] - means[sets]) * longer[:, None]
    shown = visible[seen.pairs].all(axis=1) & (weight[seen.pairs] > 0).all(axis=1)
    one, other = seen.pairs[shown].T
    soft = (points[one] - points[other]) / np.sqrt(2)
    trust = seen.trust[shown] * np.sqrt(weight[one] * weight[other])
    forest = _forest(one, other, weight.size) + inside.size
    return Evidence(
        rows=np.concatenate([hard, soft]),
        weight=np.concatenate([weight[inside], trust]),
        n_sure=inside.size,
        forest=np.concatenate([np.arange(inside.size), forest]),
    )


def set_means(
    points: FloatArray, weight: FloatArray, sets: IntArray, number: int
) -> tuple[FloatArray, FloatArray]:
    """Weighted mean of each set, and how many samples it has."""
    mass = np.bincount(sets, weight, number)
    share = weight / np.where(mass > 0, mass, 1.0)[sets]
    member = sp.csr_array((share, (sets, np.arange(sets.size))), (number, sets.size))
    return np.asarray(member @ points), np.bincount(sets, minlength=number).astype(float)


def _forest(one: IntArray, other: IntArray, number: int) -> IntArray:
    """Pairs that join all that the pairs join, without a circle."""
    if one.size == 0:
        return one
    order = np.random.default_rng(0).permutation(one.size) + 1.0
    low, high = np.minimum(one, other), np.maximum(one, other)
    # of a pair that is there twice, the first counts
    _, first = np.unique(low * number + high, return_index=True)
    graph = sp.coo_array((order[first], (low[first], high[first])), (number, number))
    tree = sp.csgraph.minimum_spanning_tree(graph.tocsr())
    place = np.empty(one.size + 1, np.int64)
    place[order.astype(np.int64)] = np.arange(one.size)
    found: IntArray = np.sort(place[np.rint(tree.data).astype(np.int64)])
    return found
