"""`learn_metric`: candidates are learned and judged; the best is taken, or the plain metric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bckm._core.arrays import fixed_direction
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray
from bckm._core.validation import read_data, read_weight
from bckm.constraints import Constraints
from bckm.constraints.rules import plural
from bckm.metric.components import MOST, Axes, Centered, principal_axes
from bckm.metric.embedding import Euclidean, Metric
from bckm.metric.judging import BETTER, FOLDS, TINY, Folds, Judgment, best_value, standard_error
from bckm.metric.learned import Learned
from bckm.metric.learning import evidence
from bckm.metric.links_seen import Seen, links_seen
from bckm.metric.refining import ByClusters, Cluster

LADDER = (16, 32, 64, 128, MOST)  # numbers of components that are tried
JUDGED = 1500  # samples that are held back in turn, at most
DENSE = 2**24  # numbers up to which plain distances are those of all features
ALIKE = 1.0  # standard errors within which the candidate of most components is taken


@dataclass(frozen=True, eq=False)
class Candidate:
    """A metric on trial.

    Attributes
    ----------
    axes : int
        Which axes: 0 those of the data as they are, 1 of standardized features.
    n_components : int or None
        How many of them; None: the plain metric.
    value : array (h,)
        Of each held-back sample, the logarithm of the probability of its own set.
    """

    axes: int
    n_components: int | None
    value: FloatArray


class NothingToLearn(ValueError):  # noqa: N818 - for a person it is a ValueError
    """No two samples are known to belong together."""


def learn_metric(
    X: Any,  # noqa: N803
    constraints: Constraints,
    sample_weight: Any = None,
    deadline: Deadline | None = None,
    cluster: Cluster | None = None,
) -> Metric:
    """Learn a metric from links, or keep the plain one; its `judgment` says which and why.

    Parameters
    ----------
    X : array (n, d)
        Data, dense or sparse.
    constraints : Constraints
        Rules about positions.
    sample_weight : array (n,), optional
        Weights.
    deadline : Deadline, optional
        When it passes, what was not judged yet is no candidate.
    cluster : callable, optional
        Labels of some points, given with the numbers of their samples. If given, metrics are also
        judged by the clusters found by them and, where held-back links say so, learned again from
        these. `NoClusters` refuses.

    Raises
    ------
    NothingToLearn
        If no two samples belong together.
    """
    data = read_data(X)
    centered = Centered.of(data, read_weight(sample_weight, data.shape[0]))
    key = centered.times(fixed_direction(data.shape[1])[:, None])[:, 0]
    total = float(centered.variance.sum())
    seen = links_seen(constraints, key, total * centered.scale**2)
    if seen.n_links == 0:
        raise NothingToLearn(
            "there is nothing to learn a metric from: no two samples are known to belong together; "
            "pass must-links, groups or partial labels, or another metric."
        )
    told = f"{plural(seen.n_links, 'must-link')} in {plural(seen.n_sets, 'set')}"
    if total == 0:
        return _plain(seen, f"{told}, but all samples are alike")
    judge = Judge(centered, seen, deadline or Deadline())
    clusters = None
    if cluster is not None:
        clusters = ByClusters(centered, judge.trial, judge.folds, cluster, judge.deadline)
    chosen = judge.choose(clusters) if judge.able else None
    if not judge.able or judge.plain.value.size < 2:
        return _plain(seen, f"{told}, too few to judge what they teach")
    if chosen is None:
        return _plain(seen, f"{told}, but time was up")
    return judge.outcome(chosen, told, clusters)


def _plain(seen: Seen, why: str, **more: Any) -> Euclidean:
    return Euclidean(Judgment(False, f"the plain metric is kept: {why}", **_counts(seen), **more))


def _counts(seen: Seen) -> dict[str, Any]:
    return {"n_links": seen.n_links, "n_sets": seen.n_sets}


class Judge:
    """Candidates on trial."""

    def __init__(self, centered: Centered, seen: Seen, deadline: Deadline) -> None:
        self.centered, self.seen, self.deadline = centered, seen, deadline
        self.trial = seen.take(seen.some(JUDGED))
        self.folds = Folds(self.trial)
        self.weight = centered.weight[self.trial.samples]
        self.axes: list[Axes] = []
        self.plain: Candidate

    @property
    def able(self) -> bool:
        """Whether there is something to learn from and something to compare with."""
        trial, folds = self.trial, self.folds
        if trial.n_sets < 2 and len(trial.pairs) < 2:
            return False
        shown = [self._evidence(np.zeros((self.weight.size, 1)), at) for at in range(FOLDS)]
        return all(one.forest.size for one in shown if one is not None) and folds.held.size > 1

    def _evidence(self, points: FloatArray, at: int) -> Any:
        return evidence(points, self.weight, self.trial, self.folds.visible(at))

    def choose(self, clusters: ByClusters | None) -> Candidate | None:
        """The best candidate; None where none was judged in time."""
        factors = [np.ones(self.centered.origin.size), 1 / self.centered.spread]
        self.axes = principal_axes(self.centered, factors)
        self.plain = self._judged_plain()
        best = []
        for number, axes in enumerate(self.axes):
            points = self.centered.times(axes.matrix, self.trial.samples)
            rank, candidates = points.shape[1], []
            shown = [self._evidence(points, at) for at in range(FOLDS)]
            for p in sorted({min(p, rank) for p in LADDER}):
                if self.deadline.passed:
                    break
                candidates.append(self._judged(number, p, points, shown))
            if candidates:
                best.append(_best(candidates))
        if best and clusters is not None:
            self.plain, *best = self._judged_by(clusters, [self.plain, *best])
        if len(best) > 1 and _better(best[1], best[0]):
            return best[1]
        return best[0] if best else None

    def _judged_by(self, clusters: ByClusters, candidates: list[Candidate]) -> list[Candidate]:
        """Candidates whose values are, to one half, what clusters say, if they can be found."""
        found = []
        for one in candidates:
            value = clusters.values(self.axes[one.axes], one.n_components)
            if value is None:
                return candidates
            found.append(replace(one, value=(one.value + value) / 2))
        return found

    def _judged_plain(self) -> Candidate:
        n, d = self.trial.samples.size, self.centered.origin.size
        if n * d <= DENSE:
            points = self.centered.rows(self.trial.samples)
        else:  # distances are nearly kept by so many random directions
            directions = np.random.default_rng(0).normal(size=(d, DENSE // n))
            points = self.centered.times(directions, self.trial.samples)
        scores = []
        for at in range(FOLDS):
            shown = self._evidence(points, at)
            squares = np.einsum("ij,ij->i", shown.rows, shown.rows)
            scores.append(
                self.folds.scores(points, at, float(np.average(squares, weights=shown.weight)))
            )
        return Candidate(0, None, best_value(np.concatenate(scores)))

    def _judged(self, number: int, p: int, points: FloatArray, shown: list[Any]) -> Candidate:
        scores = []
        for at in range(FOLDS):
            found = shown[at].whitening(p)
            scores.append(self.folds.scores(points[:, :p] @ found.matrix, at, found.trace))
        return Candidate(number, p, best_value(np.concatenate(scores)))

    def outcome(self, chosen: Candidate, told: str, clusters: ByClusters | None) -> Metric:
        """The metric to use: the chosen one, or the plain one if that is better."""
        better = chosen.value - self.plain.value
        plain, learned = (float(np.exp(one.value.mean())) for one in (self.plain, chosen))
        numbers: dict[str, Any] = {
            "n_held_back": better.size,
            "plain_score": plain,
            "learned_score": learned,
            "standard_error": standard_error(better),
        }
        words = f"{learned:.2f} likely to be in their own set, {plain:.2f} with the plain metric"
        if not better.mean() > TINY:
            why = f"one learned from {told} is no better: held-back samples are {words}"
            return _plain(self.seen, why, **numbers)
        axes, p = self.axes[chosen.axes], chosen.n_components
        assert p is not None
        points = self.centered.times(axes.matrix[:, :p], self.seen.samples)
        weight = self.centered.weight[self.seen.samples]
        found = evidence(points, weight, self.seen, np.ones(weight.size, bool)).whitening(p)
        refined = None if clusters is None else clusters.refined(axes, p, found)
        judgment = Judgment(
            True,
            f"learned from {told}{' and clusters found' if refined else ''}: held-back samples are "
            f"{words}",
            **_counts(self.seen),
            **numbers,
            n_components=p,
            standardized=chosen.axes == 1,
            shrinkage=found.shrinkage,
            refined=refined is not None,
        )
        found = refined or found
        after = axes.variance[:p] @ np.square(found.matrix).sum(axis=1)
        factor = np.sqrt(self.centered.variance.sum() / after)
        return Learned(
            self.centered.origin,
            axes.matrix[:, :p] @ found.matrix * factor,
            self.centered.variance * self.centered.scale**2,
            judgment,
        )


def _best(candidates: list[Candidate]) -> Candidate:
    """The one of the most components, the last, of those about as good as the best."""
    best = max(candidates, key=lambda one: float(one.value.mean()))
    alike = [
        one
        for one in candidates
        if (worse := best.value - one.value).mean() <= ALIKE * standard_error(worse)
    ]
    return alike[-1]


def _better(one: Candidate, other: Candidate) -> bool:
    difference = one.value - other.value
    return bool(difference.mean() > BETTER * standard_error(difference))
