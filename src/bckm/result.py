"""Values that a fit produces: `Status`, `Step`, `Result`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bckm._types import FloatArray, IntArray
from bckm.problem import Problem
from bckm.rules import SoftRule

CERTIFIABLE = 2_000  # items up to which a result keeps its problem, for `bckm.certify`


class Status(StrEnum):
    """How a fit or a single assignment ended; `message` says it in a sentence.

    Examples
    --------
    >>> import bckm
    >>> bckm.Status.TIME_LIMIT.message
    'stopped at the time limit: this is the best answer found so far'
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not started"

    @property
    def message(self) -> str:
        """One sentence for a person."""
        return _MESSAGES[self]

    @property
    def stopped(self) -> bool:
        """Whether a time limit or the user ended it."""
        return self in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.NOT_STARTED)


_MESSAGES = {
    Status.OPTIMAL: "no assignment to these centres is better, and this is proven",
    Status.FEASIBLE: "every rule holds; a better assignment may exist",
    Status.CONVERGED: "the clusters no longer change",
    Status.ITERATION_LIMIT: "stopped at max_iter while the clusters still changed",
    Status.TIME_LIMIT: "stopped at the time limit: this is the best answer found so far",
    Status.INTERRUPTED: "stopped by the user: this is the best answer found so far",
    Status.NOT_STARTED: (
        "stopped before the first step: every rule holds, but nothing was optimised"
    ),
}


@dataclass(frozen=True)
class Step:
    """One iteration of the loop, or one round of local search.

    Attributes
    ----------
    start : int
        Which of the `n_init` starts.
    iteration : int
        Counted from 1 in each start.
    inertia : float
        After the centres moved to the means, with what given-up soft rules cost; never rises
        within a start.
    assigned : float
        Before the centres moved: the labels of this step at the centres they were assigned to.
    lower_bound : float
        What no labels can get below at these centres; compare it with `assigned`.
    status : Status
        OPTIMAL or FEASIBLE: how the assignment of this step ended.
    moved : int
        Samples that changed their cluster.
    seconds : float
        Since the fit began.
    kind : {"assign", "moves"}
        An assignment and the means that follow, or moves of local search. These have no centres
        that labels are assigned to: `assigned` is the inertia, `lower_bound` proves nothing.

    Examples
    --------
    >>> import bckm
    >>> steps = []
    >>> result = bckm.kmeans([[0.], [1.], [8.], [9.]], 2, random_state=0, on_step=steps.append)
    >>> [step.iteration for step in steps if step.start == 0][:1]
    [1]
    """

    start: int
    iteration: int
    inertia: float
    assigned: float
    lower_bound: float
    status: Status
    moved: int
    seconds: float
    kind: str = "assign"


@dataclass(frozen=True, eq=False)
class GivenUp:
    """A soft rule that labels break.

    Attributes
    ----------
    rule : SoftRule
        What was asked.
    message : str
        What is wrong, with the numbers.
    paid : float
        What it costs, in units of inertia.
    saved : float
        What giving it up saved: the least rise of the inertia, means following, over moves of
        single samples (with those that must share their cluster) that would keep it, all other
        rules aside; never negative. Of a link or a place, one move; of a size, sum or quota, the
        cheapest moves that bring it back to its bound, each judged alone, so an estimate; of
        previous labels, the return of all that moved. Infinite if no move keeps the rule.

    Examples
    --------
    >>> import bckm
    >>> wish = bckm.Constraints(must_link=[(0, 2)]).soft(price=3.0)
    >>> print(bckm.kmeans([[0.0], [1.0], [9.0]], 2, wish, random_state=0).given_up[0])
    samples 0 and 2 are must-linked, but lie in clusters 0 and 1. (paid: 3, saved: 40)
    """

    rule: SoftRule
    message: str
    paid: float
    saved: float

    def __str__(self) -> str:
        return f"{self.message} (paid: {self.paid:.6g}, saved: {self.saved:.6g})"


@dataclass(frozen=True, eq=False)
class Result:
    """A clustering whose labels obey every rule.

    Attributes
    ----------
    labels : array (n,)
        Cluster of each sample; verified against the rules.
    centres : array (k, d)
        Means of the clusters (an empty cluster keeps the centre it last had); from `bckm.assign_to`
        the centres that were given. In the terms of X: with ``metric="cosine"`` the direction of
        the mean, of length 1; with "haversine" its latitude and longitude in degrees. A mean in the
        middle of the sphere has no direction and gets that of one of its samples.
    inertia : float
        Weighted sum of squared distances of samples to the centre of their cluster.
    lower_bound : float
        No labels that obey the rules have a smaller sum of squared distances *to these centres*
        (and penalties, where rules are soft), in exact arithmetic too: what rounding may have added
        is taken off. It bounds the last assignment step, not the whole problem.
    status : Status
        CONVERGED, ITERATION_LIMIT, TIME_LIMIT or INTERRUPTED; from `bckm.assign_to` OPTIMAL,
        FEASIBLE, TIME_LIMIT or INTERRUPTED.
    assignment : Status
        OPTIMAL when `lower_bound` proves the labels optimal for the centres, to a share of 1e-9 of
        the inertia.
    history : tuple of Step
        Steps of the start that won; none from `bckm.assign_to`.
    seconds : float
        Time of the whole fit.
    sizes : array (k,)
        Samples in each cluster.
    solver : str
        Engine that made the assignments.
    counters : mapping of str to int
        What the engine counts over the whole fit; for ``solver="pump"`` the steps that the pump
        finished ``alone`` and those ``completed`` by the exact engine; for the exact engine the
        tree ``searches``, that is steps whose relaxation was not enough; for the transport engine
        the points it ``looked`` at and the shortest ``paths`` it took.
    prices : array (k,) or None
        Prices of the size bounds at `centres`, where the engine has them: labels i of least
        ``w_p |x_p - c_i|^2 - prices_i`` are optimal under the bounds, but for ties. `predict` of
        `ConstrainedKMeans` uses them.
    penalty : float
        What the given-up soft rules cost; zero where all rules are hard.
    given_up : tuple of GivenUp
        The soft rules that the labels break.
    problem : Problem or None
        What was asked, with the data, for `bckm.certify`; None where there are many items.
    embedded : array (k, e)
        The centres that distances are measured to, in the space where k-means ran: `centres` for
        ``metric="euclidean"``; else means of points on a sphere, which lie inside it.

    Examples
    --------
    >>> import bckm
    >>> result = bckm.kmeans([[0.], [1.], [8.], [9.]], 2, random_state=0)
    >>> result.inertia, sorted(result.sizes.tolist()), result.status.value
    (1.0, [2, 2], 'converged')
    """

    labels: IntArray
    centres: FloatArray
    inertia: float
    lower_bound: float
    status: Status
    assignment: Status
    history: tuple[Step, ...]
    seconds: float
    sizes: IntArray
    solver: str
    embedded: FloatArray = field(repr=False)
    counters: Mapping[str, int] = field(default_factory=dict)
    prices: FloatArray | None = None
    penalty: float = 0.0
    given_up: tuple[GivenUp, ...] = ()
    problem: Problem | None = field(default=None, repr=False)

    @property
    def objective(self) -> float:
        """What was minimised: inertia and penalty."""
        return self.inertia + self.penalty

    @property
    def n_iter(self) -> int:
        """Iterations of the start that won."""
        return len(self.history)
