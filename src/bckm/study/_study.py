"""`Study`: a result with its data and rules; all that a report needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import bckm
from bckm._core.on_device import refuse_on_device
from bckm._core.types import FloatArray
from bckm._core.validation import read_data, read_weight
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.rules import plural
from bckm.constraints.sample_id import located
from bckm.exceptions import UnsupportedError
from bckm.fit.result import Result, result_on_host
from bckm.problem.scaling import Scaling

if TYPE_CHECKING:
    from bckm.plotting import ClustersDisplay


@dataclass(frozen=True, eq=False)
class Study:
    """A result with its data and rules.

    Create one with `Study.of`; `bckm.save` stores it in a file, `bckm.report.write` reports it.

    Attributes
    ----------
    result : Result
        The result; its centers are in scaled units.
    X : array (n, d)
        The data in their original units.
    constraints : Constraints
        The rules, about positions.
    feature_names : tuple of str
        One per column of X.
    sample_id : tuple of str or None
        Ids of the samples; None if samples are identified by position.
    sample_weight : array (n,) or None
        Weights in the objective.
    metric : str
        Name of the metric of the fit, which is `result.metric`.
    scaling : Scaling
        Scaling applied to X before clustering.
    title : str
        Title of the report.
    settings : mapping of str to JSON values
        What is needed to reproduce the fit: seed, solver, versions, source of the data.
    page : mapping or None
        What ``bckm app`` needs to go on: the file of the table, and what was said on the page.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> rules = bckm.Constraints(size_max=2)
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    >>> study.n_samples, study.n_clusters, study.feature_names
    (4, 2, ('feature 0',))
    >>> study
    Study('Clusters', 4 samples, 2 clusters)
    """

    result: Result
    X: FloatArray
    constraints: Constraints
    feature_names: tuple[str, ...]
    scaling: Scaling
    sample_id: tuple[str, ...] | None = None
    sample_weight: FloatArray | None = None
    title: str = "Clusters"
    settings: Mapping[str, Any] = field(default_factory=dict)
    page: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        result: Result,
        X: Any,  # noqa: N803
        constraints: Constraints | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        sample_id: Sequence[Any] | None = None,
        sample_weight: Any = None,
        scaling: Scaling | None = None,
        title: str = "Clusters",
        settings: Mapping[str, Any] | None = None,
    ) -> Self:
        """Combine a result with the data and rules it came from.

        Parameters
        ----------
        result : Result
            From `bckm.kmeans` or ``model.result_``.
        X : array of shape (n_samples, n_features) or frame
            The data, before any scaling.
        constraints, sample_weight, scaling, title, settings :
            See `Study`; no rules, no weights and no scaling by default.
        feature_names, sample_id : sequence of str, optional
            By default the columns of a frame and, for rules about ids, its index.
        """
        if not isinstance(result, Result):
            raise TypeError(f"Study.of takes a Result first; got {type(result).__name__}.")
        if hasattr(X, "tocsr"):
            raise UnsupportedError("a Study needs dense data, but X is sparse.")
        refuse_on_device(X, "X")
        result = result_on_host(result)
        rules = as_constraints(constraints)
        if sample_id is None and rules.by == "sample_id" and hasattr(X, "index"):
            sample_id = list(X.index)
        rules = located(rules, X, sample_id)
        if feature_names is None:
            found = getattr(X, "columns", None)
            width = np.shape(X)[1]
            names = [f"feature {j}" for j in range(width)] if found is None else list(found)
        else:
            names = list(feature_names)
        data = np.asarray(read_data(X), float)
        if len(names) != data.shape[1]:
            raise ValueError(f"got {len(names)} feature names for {data.shape[1]} features.")
        if data.shape[0] != result.labels.size:
            raise ValueError(
                f"the result has {result.labels.size} samples, but X has {data.shape[0]}."
            )
        if sample_id is not None and len(sample_id) != data.shape[0]:
            raise ValueError(f"got {len(sample_id)} ids for {data.shape[0]} samples.")
        return cls(
            result=result,
            X=data,
            constraints=rules,
            feature_names=tuple(map(str, names)),
            scaling=Scaling.of(data) if scaling is None else scaling,
            sample_id=None if sample_id is None else tuple(map(str, sample_id)),
            sample_weight=None
            if sample_weight is None
            else read_weight(sample_weight, data.shape[0]),
            title=title,
            settings=dict(settings or {}),
        )

    def __repr__(self) -> str:
        many = f"{plural(self.n_samples, 'sample')}, {plural(self.n_clusters, 'cluster')}"
        return f"Study({self.title!r}, {many})"

    def _repr_html_(self) -> str:
        from bckm.study._card import study_card

        return study_card(self)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.X)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.result.centers)

    @property
    def metric(self) -> str:
        """Name of the metric of the fit."""
        return self.result.metric.name

    @property
    def scaled(self) -> FloatArray:
        """The data after scaling, (n, d)."""
        return self.scaling.apply(self.X)

    @property
    def centers(self) -> FloatArray:
        """Centers in the original units, (k, d)."""
        return self.scaling.undo(self.result.centers)

    @property
    def cluster_names(self) -> tuple[str | int, ...]:
        """Names of the clusters: those of the rules, or else the labels 0, 1, 2, ..."""
        return self.constraints.cluster_names or tuple(range(self.n_clusters))

    def cluster(self, label: int) -> str:
        """Return the name of a cluster."""
        return str(self.cluster_names[label])

    def name(self, sample: int) -> str:
        """Return the name of a sample."""
        return str(sample) if self.sample_id is None else self.sample_id[sample]

    def plot(self, **options: Any) -> ClustersDisplay:
        """Plot the clusters: on a map, by two features, or by principal components.

        Parameters
        ----------
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
        >>> study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X, feature_names=["x", "y"])
        >>> study.plot().ax_.get_xlabel()
        'x'
        """
        # by the public door, which is above this package
        return bckm.plotting.ClustersDisplay.from_study(self, **options)
