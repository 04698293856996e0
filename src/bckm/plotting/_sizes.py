"""`SizesDisplay`: sizes or other bounded quantities of the clusters, with their bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.constraints.rules import plural
from bckm.plotting._drawing import INK, PALE, Display, figures, heading, name_ticks, say, tidy
from bckm.study import Study
from bckm.study.views import COLORS, WRONG, Amount, amounts, clean, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.container import BarContainer

_NAMED = 14  # bars up to which each has its value written on it
_FAR = 3.0  # a bound that is so many times the largest value is told, not drawn


@dataclass(eq=False, repr=False)
class SizesDisplay(Display):
    """Sizes or other bounded quantities of the clusters, with their bounds.

    Each bar is a cluster, the band behind it the allowed range; bars out of bounds are red and
    hatched.

    Parameters
    ----------
    amount : Amount
        From `bckm.study.views.amounts`.

    Attributes
    ----------
    ax_, figure_ :
        Axes and figure of matplotlib.
    bars_ : BarContainer
        One bar per cluster, in the order of `order_`.
    bounds_ : dict of LineCollection
        By side, "lower" and "upper", if there are any.
    order_ : array of int
        The cluster of each bar.

    Examples
    --------
    >>> import bckm
    >>> from bckm.plotting import SizesDisplay
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0]]
    >>> kg = bckm.Capacity([3, 1, 1, 2, 2])
    >>> rules = bckm.Constraints(size_max=3, capacities={"kg": kg})
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    >>> display = SizesDisplay.from_study(study)
    >>> len(display.bars_), sorted(display.bounds_)
    (2, ['upper'])
    >>> SizesDisplay.from_study(study, "kg", order="value").ax_.get_ylabel()
    'kg'
    """

    amount: Amount

    @classmethod
    def from_study(
        cls, study: Study, name: str = "size", *, ax: Axes | None = None, **plot: Any
    ) -> Self:
        """Plot one of the amounts of a study.

        Parameters
        ----------
        name : str
            One of ``bckm.study.views.amounts(study)``: "size", the name of a capacity, or that
            of a quota and a category, as in "color: red".
        ax, **plot :
            As in `plot`.
        """
        found = {one.name: one for one in amounts(study)}
        if name not in found:
            raise ValueError(
                f"there is no amount {name!r}; choose one of "
                f"{', '.join(repr(clean(one)) for one in list(found)[:12])}."
            )
        return cls(found[name]).plot(ax, **plot)

    def plot(
        self, ax: Axes | None = None, *, order: str = "label", title: str | None = None
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default a new figure, as wide as the number of clusters requires.
        order : {"label", "value"}
            Bars by the number of the cluster, or the largest first.
        title : str, optional
            Title to use instead of the default.
        """
        if order not in ("label", "value"):
            raise ValueError(f"order must be 'label' or 'value'; got {order!r}.")
        values = np.nan_to_num(self.amount.values)
        k = values.size
        ax = self._begin(ax, float(np.clip(3.4 + 0.17 * k, 5, 12)), 3.6)
        tidy(ax, grid="y")
        self.order_: IntArray = np.arange(k)
        if order == "value":
            self.order_ = np.argsort(-values, kind="stable")
        low, high = self._view(values)
        self.bounds_ = self._bounds(ax, low, high)
        self.bars_ = self._bars(ax, values[self.order_])
        ax.set_ylim(low, high)
        ax.set_xlim(-0.7, k - 0.3)
        self._ticks(ax)
        heading(ax, self._title() if title is None else title, self._note())
        return self

    def _view(self, values: FloatArray) -> tuple[float, float]:
        """Ends of the axis: from zero on, with the bounds that are not far away."""
        ends = [0.0, *values]
        reach = max(float(np.abs(values).max(initial=0.0)), 1e-300)
        for bound in (self.amount.lower, self.amount.upper):
            if bound is not None:
                finite = bound[np.isfinite(bound)]
                ends += finite[np.abs(finite) <= _FAR * reach].tolist()
        low, high = min(ends), max(ends)
        if low == high:
            high = low + 1.0
        return low - (0.08 * (high - low) if low < 0 else 0.0), high + 0.14 * (high - low)

    def _bars(self, ax: Axes, values: FloatArray) -> BarContainer:
        broken = self.amount.broken[self.order_]
        bars = ax.bar(
            np.arange(values.size),
            values,
            width=0.68,
            color=[WRONG if wrong else COLORS[0] for wrong in broken],
            zorder=2,
        )
        for bar, wrong in zip(bars, broken, strict=True):
            if wrong:
                bar.set(hatch="///", edgecolor="white", linewidth=0.0)
        if values.size <= _NAMED:
            self._write(ax, values)
        return bars

    def _write(self, ax: Axes, values: FloatArray) -> None:
        """Write values at the foot of their bars, if they fit; above low ones."""
        low, high = self._view(values)
        words = [f"{100 * v:.0f}" if self.amount.kind == "share" else figures(v, 3) for v in values]
        if max(map(len, words)) * 5.4 > 0.68 * _points(ax) / values.size:
            return
        for x, (value, word) in enumerate(zip(values.tolist(), words, strict=True)):
            tall, up = abs(value) > 0.1 * (high - low), value >= 0
            ax.annotate(
                word, (x, 0.0 if tall else value), (0, 4 if up else -4),
                textcoords="offset points", ha="center", va="bottom" if up else "top",
                fontsize=8.5, color="white" if tall else INK, zorder=4,
            )  # fmt: skip

    def _bounds(self, ax: Axes, low: float, high: float) -> dict[str, LineCollection]:
        k = self.amount.values.size
        x = np.arange(k)
        found = {}
        sides: dict[str, FloatArray] = {}
        for side, bound, free in (
            ("lower", self.amount.lower, low),
            ("upper", self.amount.upper, high),
        ):
            if bound is None:
                sides[side] = np.full(k, free)
                continue
            bound = bound[self.order_]
            sides[side] = np.clip(np.where(np.isfinite(bound), bound, free), low, high)
            drawn = np.isfinite(bound)
            found[side] = ax.hlines(
                bound[drawn], x[drawn] - 0.5, x[drawn] + 0.5,
                color=PALE, linewidth=1.3, linestyle="--" if self.amount.soft else "-", zorder=3,
            )  # fmt: skip
        if found:
            ax.bar(
                x, sides["upper"] - sides["lower"], bottom=sides["lower"], width=1.0,
                color="#dfe9f1", linewidth=0, zorder=1,
            )  # fmt: skip
            self._tell_bounds(ax, low, high)
        return found

    def _tell_bounds(self, ax: Axes, low: float, high: float) -> None:
        """Write bounds that are the same for all clusters beside their lines."""
        sides = ((self.amount.upper, "at most", "bottom"), (self.amount.lower, "at least", "top"))
        told = []
        for bound, word, align in sides:
            if bound is None or np.ptp(bound[np.isfinite(bound)]) > 0 or np.isinf(bound).any():
                continue
            value = float(bound[0])
            inside = low <= value <= high
            told.append((value, word, align, inside))
        if len(told) == 2 and told[0][0] == told[1][0]:
            told = [(told[0][0], "exactly", "center", told[0][3])]
        for value, word, align, inside in told:
            beyond = "" if inside else " ↑" if value > high else " ↓"
            ax.annotate(
                f" {word} {self._say(value)}{beyond}",
                (1.0, float(np.clip(value, low, high))),
                xycoords=("axes fraction", "data"),
                fontsize=8.5,
                color=PALE,
                va="top" if value > high else align,
                annotation_clip=False,
            )

    def _say(self, value: float) -> str:
        return f"{100 * value:.3g} %" if self.amount.kind == "share" else figures(value)

    def _ticks(self, ax: Axes) -> None:
        k = self.order_.size
        words = [self.amount.cluster(int(i)) for i in self.order_]
        room = int(_points(ax) / (5.6 * (min(max(map(len, words)), 12) + 1.2)))
        at = thinned(k, max(room, 3))
        name_ticks(ax.xaxis, at, [words[i] for i in at])
        ax.tick_params(axis="x", length=0)
        say(ax.xaxis.label, "cluster")
        say(ax.yaxis.label, self.amount.unit or self.amount.name)
        if self.amount.kind in ("share", "size", "count"):
            ax.yaxis.set_major_formatter(lambda value, _: self._say(value))

    def _title(self) -> str:
        values = self.amount.values[np.isfinite(self.amount.values)]
        ends = (values.min(), values.max()) if values.size else ()
        told = " to ".join(dict.fromkeys(self._say(float(end)) for end in ends))
        name = "Sizes" if self.amount.name == "size" else clean(self.amount.name)
        return f"{name}: {told} {self.amount.unit}".rstrip()

    def _note(self) -> str:
        if not self.amount.bounded:
            return "no bounds"
        wrong, k = int(self.amount.broken.sum()), self.amount.values.size
        kind = "soft bounds" if self.amount.soft else "bounds"
        if not wrong:
            return f"all within their {kind}"
        return f"{wrong} of {plural(k, 'cluster')} outside {'its' if k == 1 else 'their'} {kind}"


def _points(ax: Axes) -> float:
    """Width of the axes in points."""
    figure = ax.get_figure(root=True)
    return 72.0 * ax.get_window_extent().width / (figure.dpi if figure is not None else 100.0)
