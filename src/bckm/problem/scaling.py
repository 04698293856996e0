"""`Scaling`: features brought to comparable sizes, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bckm._core.types import FloatArray
from bckm._core.validation import array_of
from bckm._storage.fields import Fields

SCALINGS = ("none", "standard", "robust")


@dataclass(frozen=True, eq=False)
class Scaling:
    """Shift and division of each feature: scaled = (x - shift) / factor.

    Attributes
    ----------
    kind : {"none", "standard", "robust"}
        Nothing; mean and standard deviation; median and distance between the quartiles. A feature
        that has no spread is only shifted.
    shift, factor : array (d,)
        In the units of the features.

    Examples
    --------
    >>> from bckm.problem.scaling import Scaling
    >>> scaling = Scaling.of([[1.0, 10.0], [3.0, 30.0]], "standard")
    >>> scaling.apply([[1.0, 40.0]]).tolist()
    [[-1.0, 2.0]]
    >>> scaling.undo([[-1.0, 2.0]]).tolist()
    [[1.0, 40.0]]
    """

    kind: str
    shift: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, X: Any, kind: str = "none") -> Self:  # noqa: N803
        """Read the scaling off data of shape (n, d)."""
        if kind not in SCALINGS:
            raise ValueError(f"scaling must be one of {', '.join(SCALINGS)}; got {kind!r}.")
        X = _read(X)  # noqa: N806
        shift, factor = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if kind == "standard":
            shift, factor = X.mean(axis=0), X.std(axis=0)
        elif kind == "robust":
            low, shift, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
            factor = high - low
        # a constant column has a spread of rounding errors
        flat = factor <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        return cls(kind, shift, np.where(flat, 1.0, factor))

    def to_tree(self) -> dict[str, Any]:
        """All of it, for a file."""
        shift, factor = np.asarray(self.shift, float), np.asarray(self.factor, float)
        return {"kind": self.kind, "shift": shift, "factor": factor}

    @classmethod
    def from_tree(cls, fields: Fields, n_features: int) -> Self:
        """A scaling of so many features from a file, which may hold anything."""
        kind, factor = fields.text("kind"), fields.floats("factor", (n_features,))
        if kind not in SCALINGS:
            raise ValueError(f"there is no scaling {kind!r:.60}")
        if not (factor > 0).all():
            raise ValueError("the scaling divides by zero")
        return cls(kind, fields.floats("shift", (n_features,)), factor)

    def apply(self, X: Any) -> FloatArray:  # noqa: N803
        """Scaled data."""
        return np.asarray((_read(X) - self.shift) / self.factor)

    def undo(self, X: Any) -> FloatArray:  # noqa: N803
        """Data in the units of the person again."""
        return np.asarray(_read(X) * self.factor + self.shift)


def _read(X: Any) -> FloatArray:  # noqa: N803
    return array_of(X, "X").astype(float, copy=False)
