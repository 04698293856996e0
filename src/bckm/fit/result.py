"""What a fit produces: `Result`, with its `Step`s and `SoftViolation`s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import bckm
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.constraints import Constraints
from bckm.constraints.rules import SoftRule, plural

if TYPE_CHECKING:
    from bckm.plotting import ClustersDisplay


@dataclass(frozen=True)
class Step:
    """One iteration of the loop, or one round of local search.

    Attributes
    ----------
    start : int
        Which of the `n_init` starts.
    iteration : int
        Counted from 1 in each start.
    objective : float
        Inertia and penalty after the centers moved to the means; never rises within a start.
    assigned : float
        Before the centers moved: the labels of this step at the centers they were assigned to.
    lower_bound : float
        What no labels can get below at these centers; compare it with `assigned`.
    status : Status
        OPTIMAL or FEASIBLE: how the assignment of this step ended.
    moved : int
        Samples that changed their cluster.
    seconds : float
        Since the fit began.
    kind : {"assign", "moves"}
        An assignment and the means that follow, or moves of local search. These have no centers
        that labels are assigned to: `assigned` is the objective, `lower_bound` proves nothing.

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
    objective: float
    assigned: float
    lower_bound: float
    status: Status
    moved: int
    seconds: float
    kind: str = "assign"


@dataclass(frozen=True, eq=False)
class SoftViolation:
    """A soft rule that labels break.

    Attributes
    ----------
    rule : SoftRule
        What was asked.
    message : str
        What is wrong, with the numbers.
    penalty : float
        What it costs, in units of the inertia.
    saved : float
        What breaking it saved: the least rise of the inertia, means following, over moves of
        single samples (with those that must share their cluster) that would keep it, all other
        rules aside; never negative. Of a link or a place, one move; of a size, sum or quota, the
        cheapest moves that bring it back to its bound, each judged alone, so an estimate; of
        previous labels, the return of all that moved. Infinite if no move keeps the rule.

    Examples
    --------
    >>> import bckm
    >>> wish = bckm.Constraints(must_link=[(0, 2)]).soft(price=3.0)
    >>> print(bckm.kmeans([[0.0], [1.0], [9.0]], 2, wish, random_state=0).violated[0])
    samples 0 and 2 are must-linked, but lie in clusters 0 and 1. (penalty: 3, saved: 40)
    """

    rule: SoftRule
    message: str
    penalty: float
    saved: float

    def __str__(self) -> str:
        return f"{self.message} (penalty: {self.penalty:.6g}, saved: {self.saved:.6g})"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result:
    """A clustering whose labels obey every hard rule.

    Attributes
    ----------
    labels : array (n,)
        Cluster of each sample; verified against the rules.
    centers : array (k, d)
        Means of the clusters (an empty cluster keeps the center it last had); from `bckm.assign_to`
        the centers that were given. In the terms of X: with ``metric="cosine"`` the direction of
        the mean, of length 1; with "latlon" or "haversine" its latitude and longitude. A mean in
        the middle of the sphere has no direction and gets that of one of its samples.
    inertia : float
        Weighted sum of squared distances of samples to the center of their cluster.
    penalty : float
        What the violated soft rules cost; zero where all rules are hard.
    objective : float
        What was minimized: inertia + penalty.
    lower_bound : float
        No labels that obey the rules have a smaller objective *with these centers*, in exact
        arithmetic too: what rounding may have added is taken off. It bounds the last assignment
        step, not the whole problem; for that there is `bckm.certify`.
    gap : float
        (objective - lower_bound) / objective, between 0 and 1; 0 where the objective is 0.
    sizes : array (k,)
        Samples in each cluster.
    prices : array (k,) or None
        Prices of the size bounds at `centers`, where the engine has them: labels i of least
        ``w_p |x_p - c_i|^2 - prices_i`` are optimal under the bounds, but for ties. `predict` of
        `ConstrainedKMeans` uses them.
    status : Status
        CONVERGED, ITERATION_LIMIT, TIME_LIMIT, INTERRUPTED or NOT_STARTED; from `bckm.assign_to`
        OPTIMAL, FEASIBLE, TIME_LIMIT, INTERRUPTED or NOT_STARTED.
    assignment_status : Status
        OPTIMAL when `lower_bound` proves the labels optimal for the centers, to a share of 1e-9 of
        the objective; else FEASIBLE.
    violated : tuple of SoftViolation
        The soft rules that the labels break.
    history : tuple of Step
        Steps of the start that won; none from `bckm.assign_to`.
    counters : mapping of str to int
        What the engine counts over the whole fit; for ``solver="pump"`` the steps that the pump
        finished ``alone`` and those ``completed`` by the exact engine; for the exact engine the
        tree ``searches``, that is steps whose relaxation was not enough; for the transport engine
        the points it ``looked`` at and the shortest ``paths`` it took.
    seconds : float
        Time of the whole fit.
    solver : str
        Engine that made the assignments.
    embedded : array (k, e)
        The centers that distances are measured to, in the space where k-means ran: `centers` for
        ``metric="euclidean"``; else means of points on a sphere, which lie inside it.

    Examples
    --------
    >>> import bckm
    >>> result = bckm.kmeans([[0.], [1.], [8.], [9.]], 2, random_state=0)
    >>> result
    Result(4 samples in 2 clusters of 2, inertia 1, converged)
    >>> result.inertia, result.gap < 1e-9, result.sizes.tolist(), result.status.value
    (1.0, True, [2, 2], 'converged')
    """

    labels: IntArray
    centers: FloatArray
    inertia: float
    penalty: float = 0.0
    lower_bound: float
    sizes: IntArray
    prices: FloatArray | None = None
    status: Status
    assignment_status: Status
    violated: tuple[SoftViolation, ...] = ()
    history: tuple[Step, ...]
    counters: Mapping[str, int] = field(default_factory=dict)
    seconds: float
    solver: str
    embedded: FloatArray

    def __repr__(self) -> str:
        least, most = int(self.sizes.min()), int(self.sizes.max())
        of = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        cost = f"inertia {self.inertia:.6g}"
        if self.penalty:
            cost += f" and penalty {self.penalty:.6g}"
        clusters = plural(self.sizes.size, "cluster")
        many = f"{plural(self.labels.size, 'sample')} in {clusters} of {of}"
        return f"Result({many}, {cost}, {self.status.value})"

    def _repr_html_(self) -> str:
        from bckm.fit.card import result_card

        return result_card(self)

    @property
    def objective(self) -> float:
        """What was minimized: inertia and penalty."""
        return self.inertia + self.penalty

    @property
    def gap(self) -> float:
        """Share of the objective that `lower_bound` leaves open, for these centers."""
        # of copies of few samples nothing but rounding is left
        rounding = self.assignment_status is Status.OPTIMAL and self.lower_bound <= 0
        if self.objective <= 0 or rounding:
            return 0.0
        return min(max((self.objective - self.lower_bound) / self.objective, 0.0), 1.0)

    @property
    def n_iter(self) -> int:
        """Iterations of the start that won."""
        return len(self.history)

    def plot(
        self,
        X: Any,  # noqa: N803
        constraints: Constraints | None = None,
        *,
        metric: str = "euclidean",
        sample_id: Any = None,
        **options: Any,
    ) -> ClustersDisplay:
        """Draw the clusters: on a map, by their two features, or by principal components.

        Parameters
        ----------
        X : array of shape (n_samples, n_features) or frame
            What was clustered.
        constraints : Constraints, optional
            What was asked; links are drawn.
        metric, sample_id :
            As in the fit.
        **options
            Those of `bckm.plotting.ClustersDisplay`, for example `ax`.

        Returns
        -------
        ClustersDisplay
            Drawn with matplotlib; its `ax_` and `figure_` are there.

        Examples
        --------
        >>> import bckm
        >>> X = [[0.0, 0.0], [1.0, 0.0], [8.0, 9.0], [9.0, 9.0]]
        >>> display = bckm.kmeans(X, 2, random_state=0).plot(X)
        >>> display.ax_.get_xlabel()
        'feature 0'
        """
        # by the public door, which is above this package
        study = bckm.Study.of(self, X, constraints, metric=metric, sample_id=sample_id)
        return bckm.plotting.ClustersDisplay.from_study(study, **options)
