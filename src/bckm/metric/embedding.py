"""`Metric`: a way from data to points whose Euclidean distances count; the plain one is none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bckm._core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from bckm.metric.judging import Judgment


@dataclass(frozen=True, eq=False)
class Sample:
    """The data of a fit, as `Metric.centers` needs them.

    Attributes
    ----------
    data : array (n, d)
        The data themselves.
    points : array (n, e)
        The embedded samples.
    order : array (n,)
        An order of the samples that depends on the data alone.
    weight : array (n,)
        Weight of each sample in the means.
    """

    data: Any
    points: Any
    order: IntArray
    weight: FloatArray


class Metric(ABC):
    """A way from data to points whose Euclidean distances count, and back for centers.

    Attributes
    ----------
    name : str
        What `metric=` calls it.
    judgment : Judgment or None
        Where a metric was to be learned: what was found, in numbers and words.
    """

    name: ClassVar[str]
    turn: ClassVar[float | None] = None  # after which the second feature begins anew
    judgment: Judgment | None = None

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """What it consists of, where its name does not tell."""
        return ()

    @abstractmethod
    def embedded(self, X: Any, what: str = "X") -> Any:  # noqa: N803
        """Points of data, or of centers given in the terms of the data; `what` names them."""

    def n_features(self, embedded: int) -> int:
        """Features of data whose points have so many."""
        return embedded

    @abstractmethod
    def centers(self, means: FloatArray, labels: IntArray, of: Sample) -> FloatArray:
        """Centers in the terms of the data.

        Parameters
        ----------
        means : array (k, e)
            Means of the embedded samples.
        labels : array (n,)
            Cluster of each sample.
        of : Sample
            The samples. On a sphere, a mean without a direction gets that of its first sample in
            their order; a cluster without samples that of the first axis.
        """

    def __repr__(self) -> str:
        return f"<metric {self.name!r}>"


class Euclidean(Metric):
    """Data as they are; after a judgment where nothing better was learned."""

    name = "euclidean"

    def __init__(self, judgment: Judgment | None = None) -> None:
        self.judgment = judgment

    def embedded(self, X: Any, what: str = "X") -> Any:  # noqa: N803
        """X itself."""
        return X

    def centers(self, means: FloatArray, labels: IntArray, of: Sample) -> FloatArray:
        """The means themselves."""
        return means
