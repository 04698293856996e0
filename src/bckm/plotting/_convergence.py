"""`ConvergenceDisplay`: how the inertia fell, and what each step proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bckm.constraints import Constraints
from bckm.fit.result import Result
from bckm.plotting._drawing import PALE, Display, figures, heading, say, tidy
from bckm.study import Study
from bckm.study.views import COLORS, MARKERS, Convergence, convergence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

_STEEP = 20.0  # a fall by such a factor is drawn on a logarithmic scale


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The inertia after each step, and how far its assignment can be from the best.

    A filled marker is an assignment proven to be the best at its centers. The bar below an open
    marker is the gap between its cost and the lower bound at these centers: a better assignment can
    save at most that much. Open diamonds are rounds of moves, which have no bound.

    Parameters
    ----------
    courses : mapping of str to Convergence
        From `bckm.study.views.convergence`, by their name in the legend.
    label : str
        Label of the vertical axis.

    Attributes
    ----------
    ax_, figure_ :
        Axes and figure of matplotlib.
    lines_ : list of Line2D
        The inertia of each result.
    open_, moves_ : list of Line2D
        The open markers of assignments and of moves of each result.
    gaps_ : list of LineCollection
        The bars; by default only drawn for a single result.

    Examples
    --------
    >>> import bckm
    >>> from bckm.plotting import ConvergenceDisplay
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [20.0]]
    >>> results = {
    ...     name: bckm.kmeans(X, 2, bckm.Constraints(size_max=4), search=name, random_state=0)
    ...     for name in ("none", "local")
    ... }
    >>> display = ConvergenceDisplay.from_results(results)
    >>> [line.get_label() for line in display.lines_]
    ['none', 'local']
    """

    courses: Mapping[str, Convergence]
    label: str = "inertia"

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, Result] | Sequence[Result] | Result,
        *,
        ax: Axes | None = None,
        **plot: Any,
    ) -> Self:
        """Plot one or more results.

        Parameters
        ----------
        results : Result, sequence of Result, or mapping of names to Result
            From `bckm.kmeans`.
        ax, **plot :
            As in `plot`.
        """
        if isinstance(results, Result):
            results = {"inertia": results}
        elif not isinstance(results, Mapping):
            results = {f"result {at}": one for at, one in enumerate(results)}
        if not results:
            raise ValueError("no results to draw.")
        courses = {str(name): convergence(one) for name, one in results.items()}
        paid = any(one.penalty > 0 for one in results.values())
        return cls(courses, "inertia plus penalty" if paid else "inertia").plot(ax, **plot)

    @classmethod
    def from_study(cls, study: Study, *, ax: Axes | None = None, **plot: Any) -> Self:
        """Plot the result of a study; further arguments as in `plot`."""
        return cls.from_results(study.result, ax=ax, **plot)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,  # noqa: ARG003, N803
        constraints: Constraints | None = None,  # noqa: ARG003
        *,
        ax: Axes | None = None,
        **plot: Any,
    ) -> Self:
        """Plot the fit of a `ConstrainedKMeans`; neither X nor rules are needed."""
        if getattr(model, "result_", None) is None:
            raise ValueError(f"this {type(model).__name__} is not fitted yet; call fit first.")
        return cls.from_results(model.result_, ax=ax, **plot)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        x: str = "iteration",
        gaps: bool | None = None,
        log: bool | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        x : {"iteration", "seconds"}
            Quantity on the horizontal axis.
        gaps : bool, optional
            Whether to draw the gap of each assignment; by default only for a single result.
        log : bool, optional
            Whether the inertia has a logarithmic scale; by default if it falls to a twentieth.
        title : str, optional
            Title to use instead of the default.
        """
        if x not in ("iteration", "seconds"):
            raise ValueError(f"x must be 'iteration' or 'seconds'; got {x!r}.")
        ax = self._begin(ax, 6.4, 3.8)
        tidy(ax)
        self.lines_: list[Line2D] = []
        self.open_: list[Line2D] = []
        self.moves_: list[Line2D] = []
        self.gaps_: list[LineCollection] = []
        alone = len(self.courses) == 1
        for at, (name, course) in enumerate(self.courses.items()):
            self._draw(ax, at, name, course, x, alone if gaps is None else gaps)
        if log if log is not None else self._steep():
            ax.set_yscale("log")
        say(ax.xaxis.label, "iteration" if x == "iteration" else "seconds since the fit began")
        say(ax.yaxis.label, self.label)
        if x == "iteration":
            from matplotlib.ticker import MaxNLocator

            ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
            last = max((one.iteration.size for one in self.courses.values()), default=1)
            ax.set_xlim(
                0.5 if last < 20 else 0.0, max(last, 1) + (0.5 if last < 20 else 0.02 * last)
            )
        self._legend(ax)
        heading(ax, self._title() if title is None else title)
        return self

    def _draw(self, ax: Axes, at: int, name: str, course: Convergence, x: str, gaps: bool) -> None:
        where = course.iteration if x == "iteration" else course.seconds
        color = COLORS[at % len(COLORS)]
        marker = "o" if len(self.courses) == 1 else MARKERS[at % len(MARKERS)]
        moves = np.array([kind == "moves" for kind in course.kind], bool)
        size = 5.5 if where.size <= 60 else 3.0
        (line,) = ax.plot(where, course.objective, color=color, linewidth=1.5, zorder=2)
        line.set(label=name, marker=marker, markersize=size)
        line.set_markevery(np.flatnonzero(course.optimal).tolist())
        self.lines_.append(line)
        hollow = {"markerfacecolor": "white", "markeredgecolor": color, "markeredgewidth": 1.3}
        opened = ~course.optimal & ~moves
        for those, shape, kept in ((opened, marker, self.open_), (moves, "D", self.moves_)):
            (marks,) = ax.plot(where[those], course.objective[those], linestyle="", zorder=3)
            marks.set(marker=shape, markersize=size, **hollow)
            kept.append(marks)
        hangs = opened & np.isfinite(course.bound)
        if gaps and hangs.any():
            top = course.objective[hangs]
            down = np.maximum(course.assigned[hangs] - course.bound[hangs], 0.0)
            bars = ax.vlines(where[hangs], top - down, top)
            bars.set(color=color, alpha=0.35, linewidth=5, zorder=1)
            self.gaps_.append(bars)

    def _values(self) -> Any:
        return np.concatenate([course.objective for course in self.courses.values()])

    def _steep(self) -> bool:
        values = self._values()
        return bool(values.size and values.min() > 0 and values.max() > _STEEP * values.min())

    def _legend(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D

        alone = len(self.courses) == 1
        shape = self.lines_[0].get_marker() if alone else "o"
        color = COLORS[0] if alone else PALE
        handles = [] if alone else list(self.lines_)
        kinds = (
            (any(one.optimal.any() for one in self.courses.values()), shape, color,
             "assignment, proven best at its centers"),
            (any(len(one.get_xydata()) for one in self.open_), shape, "white",  # type: ignore[arg-type]
             "assignment; bar: most that a better one could save" if self.gaps_ else
             "assignment, not proven best"),
            (any(len(one.get_xydata()) for one in self.moves_), "D", "white",  # type: ignore[arg-type]
             "moves of a few samples"),
        )  # fmt: skip
        for there, marker, inside, told in kinds:
            if there:
                look = Line2D([], [], linestyle="", marker=marker, markersize=5.5, label=told)
                look.set(markerfacecolor=inside, markeredgecolor=color, markeredgewidth=1.3)
                handles.append(look)
        if handles:
            # a label that begins with "_" would be left out, so none does
            words = [f" {one.get_label()}" for one in handles]
            legend = ax.legend(handles, words, frameon=False, fontsize=9, loc="upper right")
            for text in legend.get_texts():
                say(text, text.get_text())

    def _title(self) -> str:
        number = sum(course.objective.size > 0 for course in self.courses.values())
        if not number:
            return "No steps: the centers were given"
        if len(self.courses) > 1:
            last = {
                name: float(course.objective[-1])
                for name, course in self.courses.items()
                if course.objective.size
            }
            best = min(last, key=lambda name: last[name])
            return f"Lowest: {best}, {figures(last[best])}"
        (course,) = self.courses.values()
        first, end, steps = course.objective[0], course.objective[-1], course.objective.size
        word = "step" if steps == 1 else "steps"
        return f"Inertia from {figures(first)} to {figures(end)} in {steps} {word}"
