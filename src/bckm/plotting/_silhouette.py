"""`SilhouetteDisplay`: how well each sample fits its cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bckm._core.types import IntArray
from bckm.plotting._drawing import INK, PALE, Display, heading, name_ticks, say, tidy
from bckm.study import Study
from bckm.study.views import Silhouette, Style, palette, plane, silhouette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection


@dataclass(eq=False, repr=False)
class SilhouetteDisplay(Display):
    """Silhouettes of the samples, cluster by cluster, the largest on top.

    A sample left of zero is closer to another cluster; rules may have put it where it is.

    Parameters
    ----------
    silhouette : Silhouette
        From `bckm.study.views.silhouette`.
    styles : list of Style
        From `bckm.study.views.palette`.
    n_samples : int, optional
        Total number of samples, if only some are drawn.
    names : sequence of str, optional
        Names of the clusters; by default their labels.

    Attributes
    ----------
    ax_, figure_ :
        Axes and figure of matplotlib.
    bands_ : list of PolyCollection
        The samples of each cluster.
    mean_ : Line2D
        The overall mean.

    Examples
    --------
    >>> import bckm
    >>> from bckm.plotting import SilhouetteDisplay
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X)
    >>> display = SilhouetteDisplay.from_study(study)
    >>> len(display.bands_), round(float(display.mean_.get_xdata()[0]), 2)
    (2, 0.87)
    """

    silhouette: Silhouette
    styles: Sequence[Style]
    n_samples: int | None = None
    names: Sequence[str] | None = None

    @classmethod
    def from_study(
        cls, study: Study, *, most: int = 10_000, ax: Axes | None = None, **plot: Any
    ) -> Self:
        """Plot the silhouettes of a study.

        Parameters
        ----------
        most : int
            Maximum number of samples to draw; a note says if some are omitted.
        ax, **plot :
            As in `plot`.
        """
        found = silhouette(study, most)
        styles = palette(plane(study).centers)
        names = [study.cluster(i) for i in range(study.n_clusters)]
        return cls(found, styles, study.n_samples, names).plot(ax, **plot)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        title : str, optional
            Title to use instead of the default.
        """
        values, labels, k = self.silhouette.values, self.silhouette.labels, len(self.styles)
        ax = self._begin(ax, 6.4, float(np.clip(3.2 + 0.11 * k, 3.8, 9)))
        tidy(ax, grid="x")
        order = np.lexsort((-values, labels))
        sizes = np.bincount(labels, minlength=k)
        gap = 0.25 * labels.size / max(k, 1) if k <= 60 else 0.0
        top = np.concatenate([[0.0], np.cumsum(sizes + gap)])[:-1]
        self.bands_: list[PolyCollection] = []
        start = 0
        for i, style in enumerate(self.styles):
            mine = values[order[start : start + sizes[i]]]
            start += sizes[i]
            edges = np.repeat(top[i] + np.arange(sizes[i] + 1), 2)[1:-1]
            band = ax.fill_betweenx(
                edges, 0.0, np.repeat(mine, 2), color=style.color, linewidth=0.0, zorder=2
            )
            self.bands_.append(band)
        self.mean_ = ax.axvline(float(values.mean()), color=INK, linewidth=1.2, linestyle="--")
        self.mean_.set_zorder(3)
        ax.axvline(0.0, color="0.6", linewidth=0.8, zorder=3)
        whole = float(top[-1] + sizes[-1])
        ax.set_ylim(whole + 0.01 * whole, -0.01 * whole)
        low = float(min(values.min(), 0.0))
        ax.set_xlim(max(1.08 * low, -1.0) - 0.01, min(float(max(1.08 * values.max(), 0.1)), 1.0))
        self._ticks(ax, top + sizes / 2, sizes, whole)
        say(ax.xaxis.label, "silhouette")
        say(ax.yaxis.label, "cluster")
        told = f"Silhouette {values.mean():.2f} on average"
        heading(ax, told if title is None else title, self._note())
        return self

    def _ticks(self, ax: Axes, middle: Any, sizes: IntArray, whole: float) -> None:
        """Number the clusters, but none that would touch the number before it."""
        inch = ax.get_window_extent().height / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
        room = 0.105 * whole / max(inch, 0.1)
        shown: list[int] = []
        for i in np.flatnonzero(sizes):
            if not shown or middle[i] - middle[shown[-1]] >= room:
                shown.append(int(i))
        words = [str(i) if self.names is None else self.names[i] for i in shown]
        name_ticks(ax.yaxis, [middle[i] for i in shown], words)
        ax.tick_params(axis="y", length=0, labelsize=8 if len(shown) <= 30 else 7, labelcolor=PALE)

    def _note(self) -> str:
        values = self.silhouette.values
        near = int((values < 0).sum())
        told = "no sample is" if not near else "1 sample is" if near == 1 else f"{near:,} are"
        chosen = ""
        if self.silhouette.sampled:
            whole = "all" if self.n_samples is None else f"{self.n_samples:,}"
            chosen = f"; {values.size:,} of {whole} samples, chosen evenly"
        elif near > 1:
            told = f"{near:,} of {values.size:,} samples are"
        return f"{told} closer to another cluster{chosen}"
