"""When long work has to end."""

from __future__ import annotations

import time
from dataclasses import dataclass


class TimeUp(Exception):  # noqa: N818 - no error: whoever set the deadline catches it
    """The deadline passed in the middle of work that has nothing to show for itself yet."""


@dataclass(frozen=True)
class Deadline:
    """A moment after which long work returns what it has; infinity means never."""

    at: float = float("inf")

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Set a deadline `seconds` from now."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - time.perf_counter())

    @property
    def passed(self) -> bool:
        """Whether the moment is over."""
        return self.left <= 0.0

    def share(self, part: float) -> Deadline:
        """An earlier deadline, after this part of the time that is left."""
        return Deadline(time.perf_counter() + part * self.left)

    def at_least(self, seconds: float) -> Deadline:
        """Grant a grace: a deadline that is no sooner than so many seconds from now."""
        return Deadline(max(self.at, time.perf_counter() + seconds))

    def check(self) -> None:
        """Raise `TimeUp` if the moment is over: for work that cannot return a part of itself."""
        if self.passed:
            raise TimeUp
