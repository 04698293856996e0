"""Judging a metric by whether samples that it did not see are nearest to their own set.

Members of must-link sets are held back, in turn. A metric learned from the rest is good if such a
sample is nearer to the mean of the rest of its set than to the means of other sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.arrays import squared_distances
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.metric.learning import set_means
from bckm.metric.links_seen import Seen

FOLDS = 8
GRID = 2.0 ** np.arange(-1, 12)  # temperatures, in units of the mean variance of a direction
WRONG = 0.05  # share of links that may be wrong without deciding all
BETTER = 0.5  # standard errors by which what takes more effort must be better
TINY = 1e-5  # logarithms of probabilities: less is no gain
OTHERS = 300  # sets, or single samples, that a held-back one is compared with, at most


@dataclass(frozen=True, eq=False)
class Judgment:
    """What was found when a metric was to be learned.

    Attributes
    ----------
    learned : bool
        Whether it is used; otherwise the plain metric is.
    message : str
        The same in a sentence.
    n_links, n_sets : int
        Must-links it was learned from, and sets of samples they make.
    n_held_back : int
        Samples that were held back in turn.
    plain_score, learned_score : float
        With the plain and with the learned metric, the probability of a held-back sample to be in
        its own set, among sets that it is compared with (their geometric mean, from distances to
        the means of the sets); NaN where nothing was judged.
    standard_error : float
        Of the logarithm of the ratio of the two.
    n_components : int
        Dimensions of the learned space; 0 if none was learned.
    standardized : bool
        Whether features were divided by their standard deviations first.
    shrinkage : float
        Between 0, as links say, and 1, all directions alike.
    refined : bool
        Whether clusters that were found taught it, too.
    """

    learned: bool
    message: str
    n_links: int = 0
    n_sets: int = 0
    n_held_back: int = 0
    plain_score: float = float("nan")
    learned_score: float = float("nan")
    standard_error: float = float("nan")
    n_components: int = 0
    standardized: bool = False
    shrinkage: float = 1.0
    refined: bool = False


class Folds:
    """Which samples of links are held back when, and what they are compared with.

    Each is held back once: of a set a part at a time, of a pair both.

    Parameters
    ----------
    seen : Seen
        The links.
    """

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        rng = np.random.default_rng(0)
        self.fold = _folds(seen, rng)
        self._some = np.sort(rng.permutation(seen.n_sets)[:OTHERS])
        place = np.full(seen.n_sets, -1)
        place[self._some] = np.arange(self._some.size)
        rivals = np.zeros((seen.n_sets, self._some.size), bool)
        for one, other in (seen.apart.T, seen.apart.T[::-1]):
            shown = place[other] >= 0
            rivals[one[shown], place[other[shown]]] = True
        # where none is known to be apart, all others are
        rivals[~rivals.any(axis=1)] = True
        rivals[self._some, np.arange(self._some.size)] = False
        self._rivals = rivals
        self._stars = _Stars(seen, rng)
        self._partner = _partners(seen)

    @property
    def held(self) -> IntArray:
        """All samples that are held back, in the order of `scores` of one fold after the other."""
        return np.concatenate([np.flatnonzero(self.fold == at) for at in range(FOLDS)])

    def visible(self, at: int) -> BoolArray:
        """Samples that are not held back."""
        return np.asarray(self.fold != at)

    def scores(self, points: FloatArray, at: int, trace: float) -> FloatArray:
        """How each sample that is held back tells its own set from others, (h, 1 + temperatures).

        First the share of others that are farther; then, for each temperature, the logarithm of
        the probability of its own set. NaN where there is nothing to compare with.

        Parameters
        ----------
        points : array (l, e)
            The samples of the links, by a metric that was learned from the visible ones.
        at : int
            Which are held back.
        trace : float
            What visible samples vary around the mean of their set: the mean of m of them is
            farther from everything by 1 / m of that, which is taken off.
        """
        sets = self.seen.set_of
        visible = self.visible(at)
        means, count = self._means(points, visible)
        held = np.flatnonzero(~visible)
        found = np.full((held.size, 1 + GRID.size), np.nan)
        unit = np.multiply(trace / points.shape[1] or 1.0, GRID)
        member = np.flatnonzero(sets[held] >= 0)
        if member.size:
            x, own = points[held[member]], sets[held[member]]
            others = squared_distances(x, means[self._some]) - trace / count[self._some]
            near = np.square(x - means[own]).sum(axis=1) - trace / count[own]
            pair = np.flatnonzero(
                ~self._shown(visible)[own]
            )  # both are held back: x is in the mean
            near[pair] = 4 * np.square(x[pair] - means[own[pair]]).sum(axis=1) - trace
            found[member] = _told(near, others, self._rivals[own], unit)
        star = np.flatnonzero(sets[held] < 0)
        if star.size:
            found[star] = self._stars.told(points, held[star], means, count, trace, unit)
        return found

    def scores_by_clusters(
        self, points: FloatArray, at: int, rows: IntArray, labels: IntArray
    ) -> FloatArray:
        """Like `scores`, where a set is the center of the cluster that its samples are in.

        Means of few samples are far from everything; centers of clusters are not.

        Parameters
        ----------
        points : array (n, e)
            All samples.
        at : int
            Which are held back.
        rows, labels : array
            All others, and their clusters, found without those.
        """
        sets, samples = self.seen.set_of, self.seen.samples
        number = int(labels.max()) + 1
        centers, count = set_means(points[rows], np.ones(rows.size), labels, number)
        squares = np.square(points[rows] - centers[labels]).sum(axis=1)
        unit = np.multiply(float(squares.mean()) / points.shape[1] or 1.0, GRID)
        held = np.flatnonzero(~self.visible(at))
        found = np.full((held.size, 1 + GRID.size), np.nan)
        inside = np.full(len(points), -1)
        inside[rows] = labels
        linked = inside[samples]  # the cluster of each sample of the links,
        far = squared_distances(points[samples[held]], centers)
        far[:, count == 0] = np.inf
        linked[held] = far.argmin(axis=1)  # or the nearest one
        place = np.full(self.seen.n_sets, -1)  # and of each set: that of a visible sample, if any
        for which in (held, np.flatnonzero(self.visible(at))):
            own = which[sets[which] >= 0]
            place[sets[own]] = linked[own]
        member = np.flatnonzero(sets[held] >= 0)
        own = sets[held[member]]
        cluster = place[own]
        pair = np.flatnonzero(~self._shown(self.visible(at))[own])
        cluster[pair] = linked[self._partner[held[member[pair]]]]
        near = far[member, cluster]
        others = far[member][:, place[self._some]]
        found[member] = _told(near, others, self._rivals[own], unit)
        return found

    def _shown(self, visible: BoolArray) -> BoolArray:
        """Which sets have visible members."""
        sets = self.seen.set_of
        return np.bincount(sets[visible & (sets >= 0)], minlength=self.seen.n_sets) > 0

    def _means(self, points: FloatArray, visible: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Mean of the visible members of each set, of a hidden pair that of both; their numbers."""
        sets = self.seen.set_of
        used = np.flatnonzero(
            (sets >= 0) & (visible | ~np.append(self._shown(visible), True)[sets])
        )
        return set_means(points[used], np.ones(used.size), sets[used], self.seen.n_sets)


def _folds(seen: Seen, rng: np.random.Generator) -> IntArray:
    """When each sample of the links is held back."""
    fold = np.full(seen.samples.size, -1)
    order = np.argsort(seen.set_of, kind="stable")
    for members in np.split(order, np.searchsorted(seen.set_of[order], np.arange(seen.n_sets)))[1:]:
        first = int(rng.integers(FOLDS))
        parts = 1 if members.size == 2 else min(FOLDS, members.size)
        fold[members] = (rng.permutation(members.size) % parts + first) % FOLDS
    # samples that soft links alone name; two that nothing else is linked to, at once
    alone = np.flatnonzero(seen.set_of < 0)
    fold[alone] = rng.permutation(alone.size) % FOLDS
    degree = np.bincount(seen.pairs.ravel(), minlength=fold.size)
    single = (degree[seen.pairs] == 1) & (seen.set_of[seen.pairs] < 0)
    one, other = seen.pairs[single.all(axis=1)].T
    fold[other] = fold[one]
    return fold


def _partners(seen: Seen) -> IntArray:
    """The other sample of a set of two; of other samples, anything."""
    order = np.argsort(seen.set_of, kind="stable")
    found = np.roll(order, -1)[np.argsort(order)]
    last = np.flatnonzero(seen.set_of[found] != seen.set_of)
    found[last] = np.roll(order, 1)[np.argsort(order)][last]
    return found


def _told(near: FloatArray, others: FloatArray, rivals: BoolArray, unit: FloatArray) -> FloatArray:
    """See `Folds.scores`; distances (h,) and (h, o), which of the latter count, temperatures."""
    number = rivals.sum(axis=1)
    difference = np.where(rivals, near[:, None] - others, -np.inf)
    farther = ((difference < 0) & rivals).sum(axis=1) + 0.5 * (difference == 0).sum(axis=1)
    found = np.empty((near.size, 1 + unit.size))
    found[:, 0] = farther / np.maximum(number, 1)
    for column, temperature in enumerate(unit, 1):
        own = np.exp(-np.logaddexp(0.0, _log_sum(difference / temperature)))
        found[:, column] = np.log((1 - WRONG) * own + WRONG / (1 + number))
    found[number == 0] = np.nan
    return found


def _log_sum(values: FloatArray) -> FloatArray:
    """Logarithm of the sum of exponentials of each row."""
    largest = values.max(axis=1, initial=-1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(largest + np.log(np.exp(values - largest[:, None]).sum(axis=1)))


class _Stars:
    """Samples that soft links alone name, each with those it is linked to."""

    def __init__(self, seen: Seen, rng: np.random.Generator) -> None:
        size = seen.samples.size
        one, other = seen.pairs.T
        ends = (np.concatenate([one, other]), np.concatenate([other, one]))
        graph = sp.coo_array((np.tile(seen.trust, 2), ends), (size, size)).tocsr()
        total, squares = (np.asarray(g.sum(axis=1)) for g in (graph, graph.power(2)))
        self.graph = graph
        self.share = 1 / np.where(total > 0, total, 1.0)
        # of how many samples a weighted mean is worth
        self.count = np.where(squares > 0, np.square(total) / np.where(squares > 0, squares, 1), 1)
        alone = np.flatnonzero((seen.set_of < 0) & (total > 0))
        self.some = np.sort(rng.permutation(alone)[:OTHERS])

    def told(
        self,
        points: FloatArray,
        held: IntArray,
        means: FloatArray,
        count: FloatArray,
        trace: float,
        unit: FloatArray,
    ) -> FloatArray:
        """See `Folds.scores`: the mean of those that a sample is linked to is its own set."""
        centers = np.asarray(self.graph @ points) * self.share[:, None]
        near = np.square(points[held] - centers[held]).sum(axis=1) - trace / self.count[held]
        some = np.concatenate([centers[self.some], means])
        number = np.concatenate([self.count[self.some], count])
        others = squared_distances(points[held], some) - trace / number
        linked = self.graph[held][:, self.some].toarray() > 0
        rivals = np.ones(others.shape, bool)
        rivals[:, : self.some.size] = ~linked & (held[:, None] != self.some)
        return _told(near, others, rivals, unit)


def standard_error(values: FloatArray) -> float:
    """Of the mean of values."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("inf")


def best_value(scores: FloatArray) -> FloatArray:
    """Logarithms of probabilities (see `Folds.scores`) at the temperature best for all of them."""
    scores = scores[~np.isnan(scores[:, 0]), 1:]
    return np.asarray(scores[:, int(scores.mean(axis=0).argmax()) if len(scores) else 0])
