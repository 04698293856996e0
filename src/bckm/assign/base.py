"""The interface of every assignment engine: cost matrix in, labels with their bound out."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from bckm._types import FloatArray, IntArray
from bckm.problem import Feature, Problem
from bckm.result import Status

OPTIMALITY = 1e-9  # relative distance of cost and bound at which an assignment counts as optimal


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


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels of items for one cost matrix.

    `status` is OPTIMAL only if ``cost - bound`` is within `OPTIMALITY`, relative to the cost.
    """

    labels: IntArray
    cost: float
    bound: float

    @property
    def status(self) -> Status:
        """OPTIMAL or FEASIBLE."""
        close = self.cost - self.bound <= OPTIMALITY * abs(self.cost)
        return Status.OPTIMAL if close else Status.FEASIBLE


class Assigner(ABC):
    """An engine prepared for one problem; call it with new costs as often as needed."""

    def __init__(self, problem: Problem) -> None:
        self.structure = problem.structure
        self.counters: Counter[str] = Counter()

    @abstractmethod
    def __call__(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign items to clusters.

        Parameters
        ----------
        cost : array (m, k)
            Cost of each item in each cluster; not negative.
        start : array (m,)
            Feasible labels to fall back on; the loop refuses an answer that is worse.
        deadline : Deadline
            When to return the best labels found.
        """


class Engine(ABC):
    """A way to assign; `handles` says which features it can express."""

    name: ClassVar[str]
    handles: ClassVar[Feature]

    @abstractmethod
    def prepare(self, problem: Problem) -> Assigner:
        """Compile what does not change between calls."""
