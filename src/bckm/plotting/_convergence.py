"""`ConvergenceDisplay`: how the inertia fell, and what each step proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bckm.constraints import Constraints
from bckm.plotting._drawing import PALE, Display, figures, heading, say, tidy
from bckm.result import Result
from bckm.study import Study
from bckm.views import COLOURS, MARKERS, Convergence, convergence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

_STEEP = 20.0  # a fall by such a factor is drawn on a logarithmic scale


@dataclass(eq=False)
class ConvergenceDisplay(Display):
    """The inertia after each step, and how far its assignment can have been from the best.

    Dots are assignments, open diamonds rounds of moves. Under the cost of each assignment, at the
    centres it was made for, a bar reaches down to what no labels can get below there; where it has
    no length the assignment is proven optimal.

    Parameters
    ----------
    courses : mapping of str to Convergence
        From `bckm.views.convergence`, by what they are called in the legend.
    label : str
        What falls.

    Attributes
    ----------
    ax_, figure_ :
        Axes and figure of matplotlib.
    lines_ : list of Line2D
        The inertia of each course.
    moves_ : list of Line2D
        The diamonds of each course.
    gaps_ : list of LineCollection
        The bars of each course; drawn where there is one course only, or if asked for.

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
        """Draw one result or several.

        Parameters
        ----------
        results : Result, sequence of Result, or mapping of names to Result
            From `bckm.kmeans`.
        ax : Axes, optional
            Where to draw.
        **plot
            Further arguments of `plot`.
        """
        if isinstance(results, Result):
            results = {"inertia": results}
        elif not isinstance(results, Mapping):
            results = {f"result {at}": one for at, one in enumerate(results)}
        if not results:
            raise ValueError("there is no result to draw.")
        courses = {str(name): convergence(one) for name, one in results.items()}
        paid = any(one.penalty > 0 for one in results.values())
        return cls(courses, "inertia and penalties" if paid else "inertia").plot(ax, **plot)

    @classmethod
    def from_study(cls, study: Study, *, ax: Axes | None = None, **plot: Any) -> Self:
        """Draw the result of a study.

        Parameters
        ----------
        study : Study
            What to show.
        ax : Axes, optional
            Where to draw.
        **plot
            Further arguments of `plot`.
        """
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
        """Draw the fit of a `ConstrainedKMeans`; neither X nor rules are needed for it."""
        if getattr(model, "result_", None) is None:
            raise ValueError(f"{type(model).__name__} is not fitted, so there is nothing to draw.")
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
            Where; a new figure by default.
        x : {"iteration", "seconds"}
            What the steps are drawn over.
        gaps : bool, optional
            Whether to draw what is proven of each assignment; by default for a single course.
        log : bool, optional
            Whether the inertia has a logarithmic scale; by default where it falls to a twentieth.
        title : str, optional
            Instead of a title that tells the fall.
        """
        if x not in ("iteration", "seconds"):
            raise ValueError(f"x must be 'iteration' or 'seconds'; got {x!r}.")
        ax = self._begin(ax, 6.4, 3.8)
        tidy(ax)
        self.lines_: list[Line2D] = []
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

            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        self._legend(ax, alone)
        heading(ax, self._title() if title is None else title)
        return self

    def _draw(self, ax: Axes, at: int, name: str, course: Convergence, x: str, gaps: bool) -> None:
        where = course.iteration if x == "iteration" else course.seconds
        colour = COLOURS[at % len(COLOURS)]
        marker = "o" if len(self.courses) == 1 else MARKERS[at % len(MARKERS)]
        moves = np.array([kind == "moves" for kind in course.kind], bool)
        size = 5.0 if where.size <= 60 else 0.0
        (line,) = ax.plot(
            where, course.inertia, color=colour, linewidth=1.5, marker=marker, markersize=size,
            markevery=np.flatnonzero(~moves).tolist(), zorder=3,
        )  # fmt: skip
        line.set_label(name)
        (diamonds,) = ax.plot(
            where[moves], course.inertia[moves], "D", markersize=6, markerfacecolor="white",
            markeredgecolor=colour, markeredgewidth=1.3, zorder=4, label="_moves",
        )  # fmt: skip
        self.lines_.append(line)
        self.moves_.append(diamonds)
        proven = np.isfinite(course.bound)
        if gaps and proven.any():
            bars = ax.vlines(
                where[proven], course.bound[proven], course.assigned[proven],
                color=PALE, alpha=0.6, linewidth=5, zorder=1,
            )  # fmt: skip
            self.gaps_.append(bars)
            ax.plot(where[proven], course.bound[proven], "_", color=PALE, markersize=9, zorder=2)

    def _values(self) -> Any:
        return np.concatenate([course.inertia for course in self.courses.values()])

    def _steep(self) -> bool:
        values = self._values()
        return bool(values.size and values.min() > 0 and values.max() > _STEEP * values.min())

    def _legend(self, ax: Axes, alone: bool) -> None:
        from matplotlib.lines import Line2D

        handles: list[Line2D] = []
        if not alone:
            handles += self.lines_
        elif self.lines_[0].get_xydata().size:  # type: ignore[union-attr]
            handles.append(self.lines_[0])
        for diamonds in self.moves_:
            if len(diamonds.get_xdata()):  # type: ignore[arg-type]
                look = Line2D([], [], linestyle="", marker="D", markerfacecolor="white")
                look.set(markeredgecolor=PALE, markersize=6, label="after moves of few samples")
                handles.append(look)
                break
        if self.gaps_:
            look = Line2D([], [], linestyle="", marker="_", color=PALE, markersize=9)
            look.set_label("least possible at the centres of the step")
            handles.append(look)
        if handles:
            legend = ax.legend(handles=handles, frameon=False, fontsize=9, loc="upper right")
            for text in legend.get_texts():
                say(text, text.get_text(), 45)

    def _title(self) -> str:
        number = sum(course.inertia.size > 0 for course in self.courses.values())
        if not number:
            return "No steps: the centres were given"
        if len(self.courses) > 1:
            last = {
                name: float(course.inertia[-1])
                for name, course in self.courses.items()
                if course.inertia.size
            }
            best = min(last, key=lambda name: last[name])
            return f"Lowest: {best}, {figures(last[best])}"
        (course,) = self.courses.values()
        first, end, steps = course.inertia[0], course.inertia[-1], course.inertia.size
        word = "step" if steps == 1 else "steps"
        return f"Inertia from {figures(first)} to {figures(end)} in {steps} {word}"
