"""Clusters found by a metric: what they say of it, and what they teach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bckm._core.arrays import squared_distances
from bckm._core.deadline import Deadline, TimeUp
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.metric.components import Axes, Centered
from bckm.metric.judging import FOLDS, TINY, Folds, best_value
from bckm.metric.learning import Whitening, evidence, set_means
from bckm.metric.links_seen import Seen

Cluster = Callable[[FloatArray, IntArray], IntArray]
MOST = 2_000_000  # numbers of points up to which clusters are found
ROUNDS = 2  # how often they teach
SURE = 0.7  # share of each cluster that does: wrong members teach what must not be forgotten


class NoClusters(Exception):  # noqa: N818 - no error: there is just nothing to learn from
    """No clusters can be found."""


@dataclass(frozen=True, eq=False)
class ByClusters:
    """Clusters of all samples but those whose links are held back.

    Attributes
    ----------
    centered : Centered
        The data.
    seen, folds : Seen, Folds
        The links on trial, and which are held back when: from learning, and from clustering.
    cluster : callable
        Labels of points, given with the numbers of their samples.
    deadline : Deadline
        When nothing more is tried.
    """

    centered: Centered
    seen: Seen
    folds: Folds
    cluster: Cluster
    deadline: Deadline

    def values(self, axes: Axes, p: int | None) -> FloatArray | None:
        """How a metric of p components tells own sets, by clusters it finds; None: of the plain.

        The logarithm of the probability of each held-back sample to be in the cluster of its own
        set; none at all where that would be too much work, or some links are soft.
        """
        points = self.points(axes, p)
        if points is None or (self.seen.set_of < 0).any():
            return None
        scores = []
        try:
            for at in range(FOLDS):
                matrix = None if p is None else self.learned(points, at).matrix
                own = points if matrix is None else points @ matrix
                rows = np.flatnonzero(self.shown(at))
                labels = self.found(own[rows], rows)
                scores.append(self.folds.scores_by_clusters(own, at, rows, labels))
        except (NoClusters, TimeUp):
            return None
        return best_value(np.concatenate(scores))

    def points(self, axes: Axes, p: int | None) -> FloatArray | None:
        """All samples in p components, unless these are too many numbers."""
        matrix = axes.matrix if p is None else axes.matrix[:, :p]
        if self.centered.weight.size * matrix.shape[1] > MOST:
            return None
        return self.centered.times(matrix)

    def shown(self, at: int) -> BoolArray:
        """Which of all samples are not held back."""
        shown = np.ones(self.centered.weight.size, bool)
        shown[self.seen.samples[~self.folds.visible(at)]] = False
        return shown

    def learned(self, points: FloatArray, at: int) -> Whitening:
        """What is learned from the links shown."""
        samples = self.seen.samples
        weight = self.centered.weight[samples]
        shown = evidence(points[samples], weight, self.seen, self.folds.visible(at))
        return shown.whitening(points.shape[1])

    def found(self, points: FloatArray, rows: IntArray) -> IntArray:
        """Labels of some samples."""
        self.deadline.check()
        return self.cluster(points, rows)

    def refined(self, axes: Axes, p: int, found: Whitening) -> Whitening | None:
        """What clusters teach; None where it is no better, or too much work."""
        points = self.points(axes, p)
        if points is None or self.seen.n_sets < 2:
            return None
        try:
            gain = np.concatenate([self._gain(points, at) for at in range(0, FOLDS, 2)])
            if gain.size < 2 or not gain.mean() > TINY:  # neither is the plainer one
                return None
            return self._taught(points, found, np.arange(len(points)))
        except (NoClusters, TimeUp):
            return None

    def _gain(self, points: FloatArray, at: int) -> FloatArray:
        """What held-back samples gain, by the logarithm of the probability of their own set."""
        first = self.learned(points, at)
        second = self._taught(points, first, np.flatnonzero(self.shown(at)))
        inside = points[self.seen.samples]
        before, after = (
            best_value(self.folds.scores(inside @ one.matrix, at, one.trace))
            for one in (first, second)
        )
        return np.asarray(after - before)

    def _taught(self, points: FloatArray, found: Whitening, rows: IntArray) -> Whitening:
        """Learn from the clusters of some samples, and so on."""
        weight, none = self.centered.weight[rows], np.empty((0, 2), np.int64)
        linked = np.isin(rows, self.seen.samples)
        for _ in range(ROUNDS):
            own = points[rows] @ found.matrix
            labels = self.found(own, rows)
            clusters = Seen(rows, labels, none, np.empty(0), none, 0)
            sure = sure_members(own, weight, labels, linked)
            shown = evidence(points[rows], weight, clusters, sure)
            if shown.forest.size < 2:
                raise NoClusters
            found = shown.whitening(points.shape[1])
        return found


def sure_members(
    points: FloatArray, weight: FloatArray, labels: IntArray, linked: BoolArray
) -> BoolArray:
    """Linked samples, and of each cluster those that are nearest to it rather than to another."""
    means, count = set_means(points, weight, labels, int(labels.max()) + 1)
    distance = squared_distances(points, means)
    distance[:, count == 0] = np.inf
    every = np.arange(labels.size)
    own = distance[every, labels]
    distance[every, labels] = np.inf
    margin = np.where(linked, np.inf, distance.min(axis=1) - own)
    least = np.full(count.size, np.inf)
    for label in np.flatnonzero(count):
        least[label] = np.quantile(margin[labels == label], 1 - SURE, method="lower")
    return np.asarray(margin >= least[labels])
