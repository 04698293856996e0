"""Any linear rules over the sample x cluster indicator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from bckm._core.sparse_input import read_sparse
from bckm._core.tolerance import LARGEST_SUM, overflows
from bckm._core.types import FloatArray, Sparse
from bckm._core.validation import read_numbers
from bckm._storage.fields import Fields, narrow, scalar
from bckm.constraints._per_sample import read_bound, refuse_crossed

if TYPE_CHECKING:
    from bckm.constraints.linear_rule import LinearRule


class LinearRows:
    """Arbitrary linear rules: lower <= A s <= upper over the sample x cluster indicator.

    ``s[p * n_clusters + i]`` is 1 when sample p has label i, else 0, so `A` has
    n_samples * n_clusters columns.

    Parameters
    ----------
    A : array or scipy.sparse array of shape (r, n_samples * n_clusters)
        Coefficients, one row per rule.
    lower, upper : float or array of shape (r,), optional
        Bounds of each row; None leaves that side free.
    name : str
        Name of these rows in messages.

    Examples
    --------
    At most one of samples 0 and 1 in cluster 0 (3 samples, 2 clusters):

    >>> import numpy as np, bckm
    >>> A = np.zeros((1, 6)); A[0, [0 * 2 + 0, 1 * 2 + 0]] = 1
    >>> rows = bckm.LinearRows(A, upper=1, name="not both in 0")
    >>> labels = bckm.kmeans([[0.], [1.], [9.]], 2, bckm.Constraints(linear=[rows])).labels
    >>> bool(labels[0] == labels[1] == 0)
    False
    """

    rule: LinearRule | None = None  # whose linear form this is

    def __init__(self, A: Any, lower: Any = None, upper: Any = None, name: str = "row") -> None:  # noqa: N803
        what = f"the coefficients of {name!r}"
        given = A if sp.issparse(A) else np.atleast_2d(read_numbers(A, what))
        if given.ndim != 2:
            raise ValueError(f"A of {name!r} must have two dimensions; got shape {given.shape}.")
        if given.dtype.kind not in "biuf":
            raise ValueError(f"{what} must be numbers; got dtype {given.dtype}.")
        matrix = read_sparse(given, what).copy() if sp.issparse(given) else sp.csr_array(given)
        if not np.all(np.isfinite(matrix.data)):
            raise ValueError(f"the coefficients of {name!r} contain NaN or infinity.")
        if overflows(matrix.data):
            raise ValueError(
                f"the coefficients of {name!r} add up to more than {LARGEST_SUM:g}, so sums "
                "overflow; express them and their bounds in a larger unit."
            )
        self.A: Sparse = matrix
        self.name = name
        self.lower = _side(lower, -np.inf, matrix.shape[0], f"lower of {name!r}")
        self.upper = _side(upper, np.inf, matrix.shape[0], f"upper of {name!r}")
        refuse_crossed(self.lower, self.upper, f"{name!r}")

    def to_tree(self) -> dict[str, Any]:
        """All of the statement, for a file."""
        return {
            "name": scalar(self.name, "the name"),
            "data": np.asarray(self.A.data, float),
            "indices": narrow(self.A.indices),
            "indptr": narrow(self.A.indptr),
            "columns": int(self.A.shape[1]),
            "lower": self.lower,
            "upper": self.upper,
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The statement from a file, which may hold anything."""
        data = fields.floats("data", (None,))
        indices = fields.whole_numbers("indices", data.size)
        indptr, columns = fields.whole_numbers("indptr"), fields.whole("columns")
        rows = indptr.size - 1
        if rows < 0 or indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
            raise ValueError("linear rows are cut in the wrong places")
        if indices.max(initial=-1) >= columns:
            raise ValueError("linear rows name a column that is not there")
        statement = object.__new__(cls)
        statement.A = sp.csr_array((data, indices, indptr), shape=(rows, columns))
        statement.lower = fields.floats("lower", (rows,), finite=False)
        statement.upper = fields.floats("upper", (rows,), finite=False)
        name: Any = fields.scalar("name")
        statement.name = name
        return statement

    def __repr__(self) -> str:
        return f"LinearRows({self.A.shape[0]} rows, name={self.name!r})"


def _side(value: Any, free: float, n_rows: int, what: str) -> FloatArray:
    array = read_bound(value, free, what)
    if array is None:
        return np.full(n_rows, free)
    if array.ndim > 1 or (array.ndim == 1 and array.size != n_rows):
        raise ValueError(f"{what} has shape {array.shape} for {n_rows} rows.")
    return np.broadcast_to(array, n_rows).copy()
