"""`ComparisonDisplay`: two clusterings of the same samples, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.constraints.rules import plural
from bckm.fit.kmeans import kmeans
from bckm.metric.named import LEARNED
from bckm.plotting._clusters import ClustersDisplay
from bckm.plotting._drawing import Display, figures, pyplot
from bckm.study import Study
from bckm.study.views import clean, links, matched, palette, plane, shown
from bckm.verification import verify


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """Two clusterings of the same samples, such as without and with rules.

    Matching clusters have the same number, color and marker on both sides. Both are checked against
    the same rules: those of the second.

    Parameters
    ----------
    before, after : ClustersDisplay
        Displays on the left and on the right.

    Attributes
    ----------
    axes_ : array of two Axes
        Left and right axes; `ax_` is the right one.
    figure_ :
        Figure of matplotlib.

    Examples
    --------
    >>> import bckm
    >>> from bckm.plotting import ComparisonDisplay
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0]]
    >>> rules = bckm.Constraints(size_max=2)
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    >>> display = ComparisonDisplay.from_study(study)
    >>> display.before.note, display.after.note
    ('inertia 1.333, 1 violation', 'inertia 73, no violation')
    """

    before: ClustersDisplay
    after: ClustersDisplay

    @classmethod
    def from_studies(
        cls,
        before: Study,
        after: Study,
        *,
        names: tuple[str, str] | None = None,
        most_samples: int = 20_000,
        most_links: int = 300,
        axes: Any = None,
        **plot: Any,
    ) -> Self:
        """Plot two studies of the same data.

        Parameters
        ----------
        before, after : Study
            Studies of the same samples; the rules are those of `after`.
        names : tuple of two str, optional
            Names of the studies; by default their titles.
        most_samples, most_links : int
            Maximum numbers to draw; a note says if some are omitted.
        axes : sequence of two Axes, optional
            Axes to draw on.
        **plot
            Further arguments of `plot`.
        """
        if before.X.shape != after.X.shape:
            raise ValueError(
                f"the studies have data of shapes {before.X.shape} and {after.X.shape}; only "
                "clusterings of the same samples can be compared."
            )
        k = max(before.n_clusters, after.n_clusters)
        number = matched(before.result.labels, after.result.labels, k)
        called = names or (before.title, after.title)
        found, picked = plane(after), shown(after, most_samples)
        centers = _centers(after.result.labels, found.points, k)
        styles = palette(centers)
        judged = replace(before, constraints=after.constraints)
        clusters = None if k > after.n_clusters else [clean(after.cluster(i)) for i in range(k)]
        sides = []
        for study, name, label in (
            (judged, called[0], number[before.result.labels]),
            (after, called[1], after.result.labels),
        ):
            sides.append(
                ClustersDisplay(
                    plane=replace(found, centers=_centers(label, found.points, k)),
                    labels=label,
                    styles=styles,
                    links=links(study, most_links),
                    samples=picked,
                    title=clean(name),
                    note=_verdict(study),
                    names=clusters,
                )
            )
        return cls(*sides).plot(axes, **plot)

    @classmethod
    def from_study(cls, study: Study, before: Study | None = None, **options: Any) -> Self:
        """Plot a study next to another one, or next to plain k-means.

        Parameters
        ----------
        study : Study
            Study on the right.
        before : Study, optional
            Study on the left; by default `bckm.kmeans` without rules, with the seed of
            ``study.settings["seed"]``, or 0.
        **options
            Options of `from_studies`.
        """
        if before is None:
            before = plain(study)
            options.setdefault("names", (before.title, "with rules"))
        return cls.from_studies(before, study, **options)

    def plot(self, axes: Any = None, *, links: bool = True, **plot: Any) -> Self:
        """Draw.

        Parameters
        ----------
        axes : sequence of two Axes, optional
            Axes to draw on; by default a new figure.
        links : bool
            Whether to draw links.
        **plot
            Further arguments of `ClustersDisplay.plot`.
        """
        plt = pyplot()
        own = axes is None
        if own:
            flat = self.after.plane.kind == "line"
            _, axes = plt.subplots(
                1, 2, figsize=(10, 3.2 if flat else 5.0), layout="constrained", sharey=True
            )
        self.axes_ = np.asarray(axes, object).ravel()
        if self.axes_.size != 2:
            raise ValueError(f"a comparison needs two axes; got {self.axes_.size}.")
        legend = plot.pop("legend", True)
        for side, ax in zip((self.before, self.after), self.axes_, strict=True):
            side.plot(ax, links=links, legend=False, adjustable="box", **plot)
        self.ax_, self.figure_ = self.after.ax_, self.after.figure_
        if own:
            self.ax_.set_ylabel("")
        lines = {
            line.get_label(): line
            for side in (self.before, self.after)
            for line in side.handles(counted=False)
        }
        if legend and lines:
            # one for both; axes of somebody else may have no room around them
            place: Any = {"loc": "outside lower center"} if own else {"loc": "best"}
            target = self.figure_ if own else self.ax_
            target.legend(
                handles=list(lines.values()), ncols=4 if own else 1, frameon=False, fontsize=9,
                **place,
            )  # fmt: skip
        return self


def plain(study: Study) -> Study:
    """The same data without rules, in the same space; as many clusters, and none of them empty."""
    seed = study.settings.get("seed", 0)
    result = kmeans(
        study.scaled,
        study.n_clusters,
        metric=study.result.metric,
        sample_weight=study.sample_weight,
        random_state=seed if isinstance(seed, int) and seed >= 0 else 0,
    )
    learned = study.metric == LEARNED
    title = "k-means in the learned space" if learned else "plain k-means"
    return replace(study, result=result, title=title)


def _centers(labels: IntArray, points: FloatArray, k: int) -> FloatArray:
    """Means in the plane, which is one for both sides; NaN where a cluster is empty."""
    size = np.bincount(labels, minlength=k)
    sums = np.stack([np.bincount(labels, column, k) for column in points.T], axis=1)
    return np.where(size[:, None] > 0, sums / np.maximum(size, 1)[:, None], np.nan)


def _verdict(study: Study) -> str:
    """What a clustering costs, and what it breaks."""
    labels, k = study.result.labels, study.n_clusters
    hard = len(verify(labels, k, study.constraints))
    soft = len(verify(labels, k, study.constraints, soft=True))
    told = f"inertia {figures(study.result.inertia)}"
    # of a set of links each pair counts, so these can be more than the rules
    told += f", {plural(hard, 'violation')}" if hard else ", no violation"
    return told + (f", {plural(soft, 'soft rule')} violated" if soft else "")
