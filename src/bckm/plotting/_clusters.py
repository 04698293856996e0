"""`ClustersDisplay`: clusters in the plane, with the links between their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.constraints.rules import plural
from bckm.plotting._drawing import INK, PALE, Display, heading, plain_ticks, say, span, tidy
from bckm.plotting._numbers import write_numbers
from bckm.study import Study
from bckm.study.views import WRONG, Links, Plane, Style, clean, links, palette, plane, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from matplotlib.text import Annotation

_WORDS = {
    ("together", True): "together, met",
    ("apart", True): "apart, met",
    ("together", False): "should be together",
    ("apart", False): "should be apart",
}
_AREAS = {"o": 1.0, "s": 0.9, "D": 0.8, "P": 1.3, "X": 1.2, "*": 1.7}  # to look equally large
_HEAVY = 5_000  # points beyond which they become pixels in vector files


@dataclass(eq=False, repr=False)
class ClustersDisplay(Display):
    """Clusters in the plane, with the links between their samples.

    Clusters have a color, a marker, and their number at the center. Must-links are solid lines,
    cannot-links dashed; violated links are thick and red.

    Parameters
    ----------
    plane : Plane
        Positions of samples and centers, from `bckm.study.views.plane`.
    labels : array of shape (n_samples,)
        Cluster of each sample.
    styles : list of Style
        From `bckm.study.views.palette`.
    links : Links
        From `bckm.study.views.links`.
    samples : array of int, optional
        Samples to draw; by default all.
    title, note : str
        Title, and a smaller note below it.
    names : sequence of str, optional
        Names of the clusters, written at the centers; by default their labels.

    Attributes
    ----------
    ax_, figure_ :
        Axes and figure of matplotlib.
    scatter_ : list of PathCollection
        The samples of each cluster.
    numbers_ : list of Annotation
        The numbers at the centers.
    links_ : dict of LineCollection
        By kind ("together" or "apart") and whether the links are met.
    outlines_ : list of Polygon
        Convex hulls, if drawn.

    Examples
    --------
    >>> import bckm
    >>> from bckm.plotting import ClustersDisplay
    >>> X = [[0.0, 1.0], [1.0, 0.0], [8.0, 9.0], [9.0, 8.0]]
    >>> rules = bckm.Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    >>> display = ClustersDisplay.from_study(study, outlines=True)
    >>> len(display.scatter_), len(display.links_["apart", True].get_segments())
    (2, 1)
    """

    plane: Plane
    labels: IntArray
    styles: Sequence[Style]
    links: Links = field(default_factory=Links)
    samples: IntArray | None = None
    title: str = ""
    note: str = ""
    names: Sequence[str] | None = None

    @classmethod
    def from_study(
        cls,
        study: Study,
        *,
        most_samples: int = 20_000,
        most_links: int = 300,
        ax: Axes | None = None,
        **plot: Any,
    ) -> Self:
        """Plot the clusters of a study.

        Parameters
        ----------
        most_samples, most_links : int
            Maximum numbers to draw; a note says if some are omitted.
        ax, **plot :
            As in `plot`.
        """
        found = plane(study)
        k = study.n_clusters
        sizes = study.result.sizes
        title = f"{clean(study.title)}: {plural(k, 'cluster')} of {span(sizes)} samples"
        display = cls(
            plane=found,
            labels=study.result.labels,
            styles=palette(found.centers),
            links=links(study, most_links),
            samples=shown(study, most_samples),
            title=title,
            names=[clean(study.cluster(i)) for i in range(k)],
        )
        return display.plot(ax, **plot)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        links: bool = True,
        numbers: bool = True,
        outlines: bool = False,
        legend: bool = True,
        size: float | None = None,
        alpha: float | None = None,
        adjustable: Literal["datalim", "box"] = "datalim",
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        links, numbers, outlines, legend : bool
            Whether to draw links, the numbers of clusters, convex hulls around their samples, and
            a legend of the lines.
        size, alpha : float, optional
            Area of the markers in square points, and their opacity; by default chosen by the number
            of samples.
        adjustable : {"datalim", "box"}
            What to adjust so that both axes have the same unit: their limits, or the shape of the
            axes.
        title : str, optional
            Title to use instead of that of the display.
        """
        ax = self._begin(ax, 7.2, 3.2 if self.plane.kind == "line" else 5.6)
        drawn = np.arange(self.labels.size) if self.samples is None else self.samples
        tidy(ax, grid="x" if self.plane.kind == "line" else "both")
        self.scatter_ = self._points(drawn, size, alpha)
        self.outlines_ = self._hulls(drawn) if outlines else []
        self.links_ = self._lines() if links else {}
        self._frame(ax, adjustable)
        self.numbers_: list[Annotation] = []
        if numbers:
            self.numbers_ = write_numbers(ax, self.plane.centers, self.styles, self.names)
        if legend and self.links_:
            ax.legend(
                handles=self.handles(), loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=4,
                frameon=False, fontsize=9, labelcolor=INK,
            )  # fmt: skip
        notes = [self.note, *self._left_out(drawn.size, links)]
        heading(ax, self.title if title is None else title, "; ".join(filter(None, notes)))
        return self

    def _points(
        self, drawn: IntArray, size: float | None, alpha: float | None
    ) -> list[PathCollection]:
        many = drawn.size
        area = float(np.clip(7_000 / max(many, 1), 5, 34)) if size is None else size
        opacity = float(np.clip(4_000 / max(many, 1), 0.35, 0.85)) if alpha is None else alpha
        found = []
        for i, style in enumerate(self.styles):
            mine = drawn[self.labels[drawn] == i]
            found.append(
                self.ax_.scatter(
                    self.plane.points[mine, 0],
                    self.plane.points[mine, 1],
                    s=area * _AREAS.get(style.marker, 1.0),
                    color=style.color,
                    marker=style.marker,
                    alpha=opacity,
                    linewidths=0,
                    zorder=2,
                    rasterized=many > _HEAVY,
                )
            )
        return found

    def _hulls(self, drawn: IntArray) -> list[Polygon]:
        from matplotlib.patches import Polygon

        found = []
        for i, style in enumerate(self.styles):
            corners = hull(self.plane.points[drawn[self.labels[drawn] == i]])
            if len(corners) > 1:
                shape = Polygon(
                    corners, facecolor=style.color, edgecolor=style.color, alpha=0.12, zorder=0.8
                )
                self.ax_.add_patch(shape)
                found.append(shape)
        return found

    def _lines(self) -> dict[tuple[str, bool], LineCollection]:
        from matplotlib.collections import LineCollection

        found = {}
        for kept in (True, False):
            many = self.links.crowded(kept=kept)
            wide = (0.5 if many else 0.9) if kept else (1.0 if many else 1.8)
            for kind, dashes in (("together", "solid"), ("apart", (0, (3, 2)))):
                pairs = [
                    (one.a, one.b) for one in self.links if one.kind == kind and one.kept == kept
                ]
                if not pairs:
                    continue
                lines = LineCollection(
                    list(self.plane.points[np.array(pairs)]),
                    colors=PALE if kept else WRONG,
                    linewidths=wide,
                    linestyles=[dashes],
                    alpha=1.0 if not many else 0.25 if kept else 0.6,
                    zorder=1.5 if kept else 3,
                )
                found[kind, kept] = lines
                self.ax_.add_collection(lines)
        return found

    def _frame(self, ax: Axes, adjustable: Literal["datalim", "box"]) -> None:
        say(ax.xaxis.label, self.plane.x_label)
        say(ax.yaxis.label, self.plane.y_label)
        ax.autoscale_view()
        if self.plane.kind == "line":
            ax.set_ylim(-1.6, 1.6)
            ax.yaxis.set_visible(False)
            ax.spines["left"].set_visible(False)
        plain_ticks(ax)
        if self.plane.kind == "map":
            ax.xaxis.set_major_formatter(lambda value, _: degrees(value, "E", "W"))
            ax.yaxis.set_major_formatter(lambda value, _: degrees(value, "N", "S"))
        if self.plane.aspect is not None:
            ax.set_aspect(self.plane.aspect, adjustable=adjustable)

    def handles(self, counted: bool = True) -> list[Line2D]:
        """What the lines mean, for a legend, with their numbers if these are to be told."""
        from matplotlib.lines import Line2D

        return [
            Line2D(
                [], [],
                color=PALE if kept else WRONG,
                linewidth=1.0 if kept else 1.8,
                linestyle="-" if kind == "together" else "--",
                label=_WORDS[kind, kept] + (f" ({len(lines.get_paths()):,})" if counted else ""),
            )
            for (kind, kept), lines in self.links_.items()
        ]  # fmt: skip

    def _left_out(self, drawn: int, links: bool) -> Iterator[str]:
        if drawn < self.labels.size:
            yield f"{drawn:,} of {self.labels.size:,} samples shown"
        if links and self.links.left_out:
            whole = len(self.links) + self.links.left_out
            yield f"{len(self.links):,} of {whole:,} links shown"


def degrees(value: float, positive: str, negative: str) -> str:
    """A coordinate as on a map; longitudes beyond 180 are those on the other side."""
    value = (value + 180.0) % 360.0 - 180.0 if positive == "E" else value
    letter = positive if value > 0 else negative if value < 0 else ""
    return f"{abs(value):.6g}°{letter if abs(value) != 180 else ''}"


def hull(points: FloatArray) -> FloatArray:
    """Corners of the convex hull, counter-clockwise; of points on a line its two ends."""
    from scipy.spatial import ConvexHull, QhullError

    distinct = np.unique(points, axis=0)
    if len(distinct) < 3:
        return distinct
    try:
        return np.asarray(distinct[ConvexHull(distinct).vertices])
    except QhullError:  # all on a line
        return np.asarray(distinct[[0, -1]])
