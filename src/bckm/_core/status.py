"""How a fit, or a single assignment, ended."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a fit or a single assignment ended; `message` is a sentence.

    Examples
    --------
    >>> import bckm
    >>> bckm.Status.TIME_LIMIT.message
    'stopped at the time limit: this is the best answer found so far'
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration_limit"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not_started"

    @property
    def message(self) -> str:
        """One sentence."""
        return _MESSAGES[self]

    @property
    def stopped(self) -> bool:
        """Whether a time limit or the user ended it."""
        return self in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.NOT_STARTED)


_MESSAGES = {
    Status.OPTIMAL: "no assignment to these centers is better, and this is proven",
    Status.FEASIBLE: "every rule holds; a better assignment may exist",
    Status.CONVERGED: "the clusters no longer change",
    Status.ITERATION_LIMIT: "stopped at max_iter while the clusters still changed",
    Status.TIME_LIMIT: "stopped at the time limit: this is the best answer found so far",
    Status.INTERRUPTED: "stopped by the user: this is the best answer found so far",
    Status.NOT_STARTED: (
        "stopped before the first step: every rule holds, but nothing was optimized"
    ),
}
