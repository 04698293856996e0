"""What a fit produces: `Result`, with its `Step`s and `SoftViolation`s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import bckm
from bckm._core.on_device import device_of, on_host
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.constraints import Constraints
from bckm.constraints.rules import SoftRule, plural
from bckm.fit.mixed.measure import Mixed
from bckm.metric.embedding import Euclidean, Metric
from bckm.metric.named import LEARNED

if TYPE_CHECKING:
    from bckm.blocks.labeling import Labeling
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
        Inertia plus penalty after the centers moved to the means; never increases within a start.
    assigned : float
        Objective before the centers moved: the labels at the centers they were assigned to.
    lower_bound : float
        Lower bound for any labels at these centers; compare it with `assigned`.
    status : Status
        OPTIMAL or FEASIBLE: how the assignment of this step ended.
    moved : int
        Number of samples that changed cluster; where data are read in blocks, an estimate.
    seconds : float
        Seconds since the fit began.
    kind : {"assign", "moves"}
        An assignment followed by an update of the means, or moves of local search. Moves do not
        assign labels to centers: `assigned` is the objective, `lower_bound` proves nothing.

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
    """A violated soft rule.

    Attributes
    ----------
    rule : SoftRule
        The rule.
    message : str
        What is wrong, with the numbers.
    penalty : float
        Penalty, in units of the inertia.
    saved : float
        Inertia saved by violating it: the smallest increase of the inertia, with updated means,
        over moves of single samples (with those must-linked to them) that would meet the rule,
        ignoring all other rules; never negative. For a link or a fixed or forbidden cluster, one
        move; for a size, capacity or quota, the cheapest moves back to the bound, each evaluated
        on its own, so an estimate; for previous labels, the return of all moved samples. Infinite
        if no move meets the rule.

    Examples
    --------
    >>> import bckm
    >>> wish = bckm.Constraints(must_link=[(0, 2)]).soft(price=3.0)
    >>> print(bckm.kmeans([[0.0], [1.0], [9.0]], 2, wish, random_state=0).violated[0])
    samples 0 and 2 are must-linked, but are in clusters 0 and 1. (penalty: 3, saved: 40)
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
        Cluster of each sample; verified against the rules. Of data in a file (Parquet, Zarr), a
        `bckm.blocks.labels.Labels`: it looks like an array and reads the rows when it is asked.
        Of a dask array, a dask array with the same chunks; of an array on a GPU, the same kind of
        array on the same device.
    centers : array (k, d)
        Means of the clusters (an empty cluster keeps its last center); from `bckm.assign_to`, the
        given centers; where data are read in blocks, those that the labels were assigned to, which
        are the means up to `tol`. With the columns of X: for ``metric="cosine"``, the direction of
        the mean, of length 1; for "latlon" or "haversine", its latitude and longitude. A mean at
        the center of the sphere has no direction and gets that of one of its samples. For a learned
        metric, the means of X (of an empty cluster, a point that the learned center is the image
        of).
    inertia : float
        Weighted sum of squared distances of samples to the center of their cluster.
    penalty : float
        Cost of the violated soft rules; zero if all rules are hard.
    objective : float
        The minimized quantity: inertia + penalty; for mixed groups ``mixed.between`` + penalty.
    lower_bound : float
        No labels that obey the rules have a smaller objective *with these centers*, even in exact
        arithmetic: possible rounding errors are subtracted. It bounds the last assignment step, not
        the whole problem; for that, see `bckm.certify`.
    gap : float
        (objective - lower_bound) / objective, between 0 and 1; 0 if the objective is 0.
    sizes : array (k,)
        Number of samples in each cluster.
    prices : array (k,) or None
        Prices of the size bounds at `centers`, if the engine computes them: labels i that minimize
        ``w_p |x_p - c_i|^2 - prices_i`` are optimal under the bounds, except for ties. `predict` of
        `ConstrainedKMeans` uses them.
    status : Status
        CONVERGED, ITERATION_LIMIT, TIME_LIMIT, INTERRUPTED or NOT_STARTED; from `bckm.assign_to`
        OPTIMAL, FEASIBLE, TIME_LIMIT, INTERRUPTED or NOT_STARTED.
    assignment_status : Status
        OPTIMAL if `lower_bound` proves the labels optimal for the centers, to within 1e-9 of the
        objective; otherwise FEASIBLE.
    violated : tuple of SoftViolation
        The violated soft rules.
    history : tuple of Step
        Steps of the best start; none from `bckm.assign_to`.
    counters : mapping of str to int
        Counts of the engine over the whole fit; for ``solver="pump"`` the steps that the pump
        finished ``alone`` and those ``completed`` by the exact engine; for the exact engine the
        tree ``searches``, that is steps whose relaxation was not enough; for the transport engine
        the points it ``looked`` at and its shortest ``paths``; where data are read in blocks, the
        ``passes`` over them and the bytes of what these told, ``received``.
    seconds : float
        Time of the whole fit.
    solver : str
        Engine that made the assignments.
    embedded : array (k, e)
        The centers that distances are measured to, in the space where k-means ran: `centers` for
        ``metric="euclidean"``; for a learned metric means in the learned space; otherwise means
        of points on a sphere, which are inside it.
    metric : Metric
        The metric of the fit: ``metric.name``, and ``metric.embedded(X)`` for the points whose
        distances count. With ``metric="learned"``, what was learned, for `bckm.assign_to`:
        inertia, penalty, bounds and prices are those of the learned space, which varies in total
        as much as X. Its ``judgment`` says whether it was used, and why; where the
        plain metric was kept, the name is "euclidean".
    labeling : Labeling or None
        Where data were read in blocks, what their labels follow from: labels of a file are made
        from it when they are asked for.
    mixed : Mixed or None
        With ``objective="mixed"``, how alike the clusters are, and can be. The objective is then
        ``mixed.between`` plus penalty, `centers` are means that attract nothing, and `lower_bound`
        bounds the objective of all labels that obey; it is mostly zero.

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
    metric: Metric = field(default_factory=Euclidean)
    labeling: Labeling | None = None
    mixed: Mixed | None = None

    def __repr__(self) -> str:
        least, most = int(self.sizes.min()), int(self.sizes.max())
        of = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        cost = f"inertia {self.inertia:.6g}"
        if self.mixed is not None:
            cost = f"{self.mixed.share:.2g} of all squares between them"
        if self.penalty:
            cost += f" and penalty {self.penalty:.6g}"
        clusters = plural(self.sizes.size, "cluster")
        many = f"{plural(int(self.sizes.sum()), 'sample')} in {clusters} of {of}"
        learned = "learned metric, " if self.metric.name == LEARNED else ""
        return f"Result({many}, {learned}{cost}, {self.status.value})"

    def _repr_html_(self) -> str:
        from bckm.fit.card import result_card

        return result_card(self)

    @property
    def objective(self) -> float:
        """The minimized quantity: inertia plus penalty, or what is between mixed groups."""
        return (self.inertia if self.mixed is None else self.mixed.between) + self.penalty

    @property
    def gap(self) -> float:
        """Relative gap between the objective and `lower_bound`, for these centers.

        Of mixed groups no centers are meant, and a gap of 1 only says that nothing is proven.
        """
        # of copies of few samples nothing but rounding is left
        rounding = self.assignment_status is Status.OPTIMAL and self.lower_bound <= 0
        if self.objective <= 0 or rounding:
            return 0.0
        return min(max((self.objective - self.lower_bound) / self.objective, 0.0), 1.0)

    @property
    def n_iter(self) -> int:
        """Number of iterations of the best start."""
        return len(self.history)

    def on_device_of(self, X: Any) -> Result:  # noqa: N803
        """Return the same result with arrays of the kind and on the device of X.

        These are `labels`, unless they are made when they are asked for, `centers` and `prices`;
        the last two are of float32 if X is of float32 or less, else of float64. Nothing else
        changes. So the centers of an array on a GPU can be used there, and with an array of the
        host all comes to the host.

        Parameters
        ----------
        X : array
            Any array: of NumPy, CuPy, PyTorch or JAX.

        Returns
        -------
        Result
            A copy.

        Examples
        --------
        >>> import bckm, numpy as np
        >>> X = np.array([[0.0], [1.0], [8.0], [9.0]], np.float32)
        >>> result = bckm.kmeans(X, 2, bckm.Constraints(size_max=2), random_state=0)
        >>> there = result.on_device_of(X)
        >>> str(there.centers.dtype), str(there.prices.dtype), there.labels.tolist()
        ('float32', 'float32', [0, 0, 1, 1])
        """
        from bckm.blocks.gpu.arrays import like  # most results stay where they are

        narrow = str(getattr(X, "dtype", "")).endswith(("float32", "float16"))  # also bfloat16
        kind = np.float32 if narrow else np.float64
        labels, prices = self.labels, self.prices
        if isinstance(labels, np.ndarray) or device_of(labels) is not None:
            labels = like(on_host(labels), X)
        return replace(
            self,
            labels=labels,
            centers=like(on_host(self.centers).astype(kind), X),
            prices=None if prices is None else like(on_host(prices).astype(kind), X),
        )

    def plot(
        self,
        X: Any,  # noqa: N803
        constraints: Constraints | None = None,
        *,
        sample_id: Any = None,
        **options: Any,
    ) -> ClustersDisplay:
        """Plot the clusters: on a map, by two features, or by principal components.

        Parameters
        ----------
        X : array of shape (n_samples, n_features) or frame
            The data of the fit.
        constraints : Constraints, optional
            The rules of the fit; links are drawn.
        sample_id :
            As in the fit.
        **options
            Options of `bckm.plotting.ClustersDisplay`, for example `ax`.

        Returns
        -------
        ClustersDisplay
            The matplotlib plot, with attributes `ax_` and `figure_`.

        Examples
        --------
        >>> import bckm
        >>> X = [[0.0, 0.0], [1.0, 0.0], [8.0, 9.0], [9.0, 9.0]]
        >>> display = bckm.kmeans(X, 2, random_state=0).plot(X)
        >>> display.ax_.get_xlabel()
        'feature 0'
        """
        # by the public door, which is above this package
        study = bckm.Study.of(self, X, constraints, sample_id=sample_id)
        return bckm.plotting.ClustersDisplay.from_study(study, **options)


def result_on_host(result: Result) -> Result:
    """The same result with all arrays on the host: itself, where they are there."""
    arrays = {name: getattr(result, name) for name in ("labels", "centers", "prices")}
    there = {name: one for name, one in arrays.items() if device_of(one) is not None}
    if not there:
        return result
    return replace(result, **{name: on_host(one) for name, one in there.items()})
