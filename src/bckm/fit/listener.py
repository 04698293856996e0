"""Who hears of a fit while it runs: of its phases, its steps and better labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bckm.fit.result import Step

PHASES = ("metric", "rules", "seeding", "assignment", "search")
ROUNDED = 1e-9  # share of the objective by which two starts differ that found the same


@dataclass(frozen=True, eq=False, repr=False)
class Best:
    """Labels that are better than all before, while a fit goes on.

    Attributes
    ----------
    objective : float
        Inertia plus penalty.
    seconds : float
        Seconds since the fit began.
    labels : array (n,)
        Cluster of each sample, numbered as in a `Result`. They obey every hard rule, and are made
        when they are asked for: who shows five pictures a second asks for no more.

    Examples
    --------
    >>> import bckm
    >>> found = []
    >>> result = bckm.kmeans([[0.], [1.], [8.], [9.]], 2, random_state=0, on_best=found.append)
    >>> found[-1]
    Best(objective 1)
    >>> found[-1].labels.tolist() == result.labels.tolist()
    True
    """

    objective: float
    seconds: float
    _make: Callable[[], Any]

    def __repr__(self) -> str:
        return f"Best(objective {self.objective:.6g})"

    @property
    def labels(self) -> Any:
        """Cluster of each sample."""
        return self._make()


@dataclass(eq=False)
class Listener:
    """Those who hear of a fit; see `bckm.kmeans`.

    An exception that one of them raises passes through the fit, and KeyboardInterrupt ends it with
    the best labels so far.
    """

    on_step: Callable[[Step], None] | None = None
    on_best: Callable[[Best], None] | None = None
    on_phase: Callable[[str], None] | None = None
    _least: float = field(default=float("inf"), init=False)
    _start: int = field(default=-1, init=False)
    _phase: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for name in ("on_step", "on_best", "on_phase"):
            one = getattr(self, name)
            if one is not None and not callable(one):
                raise TypeError(f"{name} must be callable; got {one!r}.")

    def phase(self, word: str) -> None:
        """One of `PHASES` begins, or goes on."""
        begins, self._phase = word != self._phase, word
        if begins and self.on_phase is not None:
            self.on_phase(word)

    def step(self, step: Step, labels: Callable[[], Any]) -> None:
        """A step was made; `labels` makes those after it."""
        if self.on_step is not None:
            self.on_step(step)
        # another start that finds the same clusters is not better, whatever rounding says
        margin = 0.0 if step.start == self._start else ROUNDED
        if step.objective < self._least * (1 - margin):
            self._least, self._start = step.objective, step.start
            if self.on_best is not None:
                self.on_best(Best(step.objective, step.seconds, labels))
