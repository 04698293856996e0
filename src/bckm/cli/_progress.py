"""What is going on, on standard error: a bar on a terminal, lines elsewhere, or nothing."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from bckm._core.terminal import clean, say

if TYPE_CHECKING:
    from bckm.fit.result import Step

_PHASES = {  # of `bckm.kmeans`; search is told step by step
    "metric": "learning the metric",
    "rules": "checking whether the rules can be met",
    "seeding": "choosing the first centers",
    "assignment": "assigning all rows for the first time",
}
EVERY = 2.0  # seconds between two lines where there is no terminal


class Progress:
    """Hears of phases and steps; this one says nothing."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def phase(self, words: str) -> None:
        """Something new begins."""

    def begins(self, word: str) -> None:
        """The fit has come to one of its phases; what comes again with each start is told once."""
        words = _PHASES.get(word)
        if words is not None and words not in self._told:
            self._told.add(words)
            self.phase(words)

    def part(self, words: str) -> None:
        """How far something long has come."""

    def step(self, step: Step) -> None:
        """The fit has made a step."""

    def close(self) -> None:
        """The end."""


class Lines(Progress):
    """Plain lines: phases at once, steps now and then."""

    def __init__(self, time_limit: float | None) -> None:
        super().__init__()
        self._outlook = Outlook(time_limit)
        self._last = time.monotonic()

    def phase(self, words: str) -> None:
        """Write it."""
        say(f"{clean(words)} ...", err=True)

    def part(self, words: str) -> None:
        """Write it, unless the last line is young."""
        if self._is_due():
            say(f"  {clean(words)}", err=True)

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last < EVERY:
            return False
        self._last = now
        return True

    def step(self, step: Step) -> None:
        """Write it, unless the last line is young."""
        self._outlook.see(step)
        if self._is_due():
            left = self._outlook.left(step)
            words = (
                f"{self._outlook.words(step)}, best {self._outlook.best:.5g}, {step.seconds:.0f} s"
            )
            say(f"  {words}, {left}" if left else f"  {words}", err=True)


class Bar(Progress):
    """A bar with phase, iteration, objective and remaining time."""

    def __init__(self, time_limit: float | None) -> None:
        from tqdm import tqdm

        super().__init__()
        self._outlook = Outlook(time_limit)
        self._said = ""
        # the text is ours: tqdm's own estimate knows only equal steps
        self._bar: Any = tqdm(
            total=100,
            bar_format="{bar:12}| {desc}",
            leave=False,
            file=sys.stderr,
            # a terminal that does not know its size says 0, which would be no bar at all
            **({"dynamic_ncols": True} if _width() else {"ncols": 80, "nrows": 24}),
        )

    def phase(self, words: str) -> None:
        """Show it."""
        self._said = clean(words)
        self._bar.set_description_str(self._said, refresh=True)

    def part(self, words: str) -> None:
        """Show it beside what was shown last; tqdm draws at most ten times a second."""
        self._bar.set_description_str(f"{self._said}; {clean(words)}", refresh=False)
        self._bar.update(0)

    def step(self, step: Step) -> None:
        """Show it; tqdm draws at most ten times a second."""
        self._outlook.see(step)
        left = self._outlook.left(step)
        words = self._outlook.words(step)
        self._said = f"{words}, {left}" if left else words
        self._bar.set_description_str(self._said, refresh=False)
        self._bar.n = 100 * self._outlook.done(step)
        self._bar.update(0)

    def close(self) -> None:
        """Wipe it away."""
        self._bar.close()


class Outlook:
    """How far a fit has come, as far as its steps tell.

    Within a start fewer and fewer samples move, about by the same factor each time; so the share of
    work that is done is read off the logarithm of the moved samples. Further starts, and search
    without a time limit, are not known beforehand: then the time left is said to be of this start.
    """

    def __init__(self, time_limit: float | None) -> None:
        self._limit = time_limit
        self._most = 1
        self._start = -1
        self._began = 0.0
        self.best = math.inf

    def see(self, step: Step) -> None:
        """Take a step into account."""
        if step.start != self._start:
            self._start, self._began, self._most = step.start, step.seconds, max(step.moved, 1)
        self.best = min(self.best, step.objective)

    def words(self, step: Step) -> str:
        """Phase, iteration and objective."""
        what = "moves" if step.kind == "moves" else "iteration"
        return f"start {step.start + 1}, {what} {step.iteration}, objective {step.objective:.5g}"

    def done(self, step: Step) -> float:
        """Share of the time limit, or of this start, from 0 to 1."""
        if self._limit is not None:
            return min(step.seconds / self._limit, 1.0)
        return 1 - math.log1p(step.moved) / math.log1p(max(self._most, step.moved))

    def left(self, step: Step) -> str:
        """Time left, in words."""
        from bckm.report.words import seconds

        if self._limit is not None:
            return f"at most {seconds(round(max(self._limit - step.seconds, 0.0)))} left"
        share, spent = self.done(step), step.seconds - self._began
        if share < 0.05 or spent <= 0:
            return ""
        return f"about {seconds(round(spent * (1 - share) / share))} left of this start"


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        return 0


def progress_to(quiet: bool, time_limit: float | None) -> Progress:
    """What fits the place that standard error leads to."""
    if quiet:
        return Progress()
    return Bar(time_limit) if sys.stderr.isatty() else Lines(time_limit)
