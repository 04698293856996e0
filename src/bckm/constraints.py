"""What is asked: `Constraints` and the linear rules it may hold.

A `Constraints` knows neither the data nor the number of clusters, so the same object serves several
fits. What depends on them is checked by `Constraints.rules`, the one door from here to the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from bckm._reading import read_links, read_numbers, read_sizes
from bckm._types import FloatArray, IntArray, Sparse
from bckm.rules import (
    CannotLink,
    MustLink,
    NonEmpty,
    RowBound,
    Rule,
    SizeMax,
    SizeMin,
    SumBound,
    name_samples,
)


class LinearRows:
    """Any linear rules: lower <= A s <= upper over the sample x cluster indicator.

    ``s[p * n_clusters + i]`` is 1 when sample p has label i, else 0, so `A` has
    n_samples * n_clusters columns.

    Parameters
    ----------
    A : array or scipy.sparse array of shape (r, n_samples * n_clusters)
        Coefficients, one row per rule.
    lower, upper : float or array of shape (r,), optional
        Bounds of each row; None leaves that side free.
    name : str
        What messages call these rows.

    Examples
    --------
    Samples 0 and 1 together at most once in cluster 0 (3 samples, 2 clusters):

    >>> import numpy as np, bckm
    >>> A = np.zeros((1, 6)); A[0, [0 * 2 + 0, 1 * 2 + 0]] = 1
    >>> rows = bckm.LinearRows(A, upper=1, name="not both in 0")
    >>> labels = bckm.kmeans([[0.], [1.], [9.]], 2, bckm.Constraints(rows=[rows])).labels
    >>> bool(labels[0] == labels[1] == 0)
    False
    """

    def __init__(self, A: Any, lower: Any = None, upper: Any = None, name: str = "row") -> None:  # noqa: N803
        if sp.issparse(A):
            matrix = sp.csr_array(A, dtype=float, copy=True)
        else:
            matrix = np.atleast_2d(read_numbers(A, f"the coefficients of {name!r}"))
        if matrix.ndim != 2:
            raise ValueError(f"A of {name!r} must have two dimensions; got shape {matrix.shape}.")
        matrix = sp.csr_array(matrix)
        if not np.all(np.isfinite(matrix.data)):
            raise ValueError(f"the coefficients of {name!r} hold NaN or infinity.")
        matrix.sum_duplicates()
        self.A: Sparse = matrix
        self.name = name
        self.lower = _side(lower, -np.inf, matrix.shape[0], f"lower of {name!r}")
        self.upper = _side(upper, np.inf, matrix.shape[0], f"upper of {name!r}")
        _refuse_crossed(self.lower, self.upper, f"{name!r}")

    def __repr__(self) -> str:
        return f"LinearRows({self.A.shape[0]} rows, name={self.name!r})"


class AttributeSum:
    """The sum of an attribute over the samples of each cluster lies between bounds.

    Parameters
    ----------
    values : array of shape (n_samples,)
        The attribute: kilograms, minutes, 0/1 for membership in a class.
    lower, upper : float or array of shape (n_clusters,), optional
        One bound for every cluster, or one per cluster; None leaves that side free.
    name : str
        What messages call the attribute.

    Examples
    --------
    >>> import bckm
    >>> weight = bckm.AttributeSum([5, 1, 1, 5], upper=6, name="weight")
    >>> result = bckm.kmeans([[0.], [1.], [2.], [3.]], 2, bckm.Constraints(rows=[weight]))
    >>> bool(result.labels[0] != result.labels[3])
    True
    """

    def __init__(
        self, values: Any, lower: Any = None, upper: Any = None, name: str = "attribute"
    ) -> None:
        self.values: FloatArray = read_numbers(values, f"values of {name!r}")
        if self.values.ndim != 1:
            raise ValueError(f"values of {name!r} must be one number per sample.")
        self.name = name
        self.lower = _optional(lower, -np.inf, f"lower of {name!r}")
        self.upper = _optional(upper, np.inf, f"upper of {name!r}")
        for side, word in ((self.lower, "lower"), (self.upper, "upper")):
            if side is not None and side.ndim > 1:
                raise ValueError(f"{word} of {name!r} must be a number or one per cluster.")
        if self.lower is not None and self.upper is not None:
            low, up = np.atleast_1d(self.lower), np.atleast_1d(self.upper)
            if low.size == 1 or up.size == 1 or low.size == up.size:  # else refused by rules()
                low, up = np.broadcast_arrays(low, up)
                _refuse_crossed(low, up, f"{name!r}")

    def __repr__(self) -> str:
        return f"AttributeSum({self.values.size} samples, name={self.name!r})"


class Constraints:
    """Rules that a clustering must obey; all of them together, all of them hard.

    Parameters
    ----------
    must_link : array of shape (p, 2), or iterable of pairs or sets of sample indices, optional
        The samples of each pair or set share a cluster.
    cannot_link : array of shape (p, 2), or iterable of pairs or sets of sample indices, optional
        No two samples of a pair or set share a cluster.
    size_min, size_max : int or sequence of int, optional
        Bounds on the number of samples, one for every cluster or one per cluster. No cluster is
        empty unless ``size_min=0`` is asked for.
    rows : LinearRows, AttributeSum, or a sequence of them, optional
        Further linear rules.

    Examples
    --------
    >>> import bckm
    >>> asked = bckm.Constraints(must_link=[(0, 1)], cannot_link=[{1, 2, 3}], size_max=3)
    >>> asked
    Constraints(must_link=1, cannot_link=1, size_max=3)
    >>> asked & bckm.Constraints(size_max=2, size_min=1)
    Constraints(must_link=1, cannot_link=1, size_min=1, size_max=2)
    """

    # no __len__: cross-validation slices whatever has a length equal to that of X
    __slots__ = ("cannot_link", "must_link", "rows", "size_max", "size_min")

    must_link: tuple[tuple[int, ...], ...]
    cannot_link: tuple[tuple[int, ...], ...]
    size_min: IntArray | None
    size_max: IntArray | None
    rows: tuple[LinearRows | AttributeSum, ...]

    def __init__(
        self,
        must_link: Any = None,
        cannot_link: Any = None,
        *,
        size_min: Any = None,
        size_max: Any = None,
        rows: LinearRows | AttributeSum | Sequence[LinearRows | AttributeSum] | None = None,
    ) -> None:
        together = read_links(must_link, "must_link")
        apart = read_links(cannot_link, "cannot_link")
        for samples in apart:
            if len(set(samples)) < len(samples):
                twice = next(p for p in samples if samples.count(p) > 1)
                raise ValueError(f"cannot_link asks sample {twice} to be apart from itself.")
        blocks = _blocks(rows)
        lower, upper = read_sizes(size_min, "size_min"), read_sizes(size_max, "size_max")
        _refuse_crossed_sizes(lower, upper)
        values = {
            "must_link": tuple(tuple(dict.fromkeys(samples)) for samples in together),
            "cannot_link": apart,
            "size_min": lower,
            "size_max": upper,
            "rows": blocks,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Constraints are frozen; join new rules with & instead of {name}=.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Constraints are frozen; {name} cannot be deleted.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __and__(self, other: Constraints) -> Constraints:
        """Ask for both: links and rows add up, of the stated size bounds the tighter ones hold.

        "No cluster is empty" is implied only where neither side states `size_min`.
        """
        if not isinstance(other, Constraints):
            return NotImplemented
        return Constraints(
            self.must_link + other.must_link,
            self.cannot_link + other.cannot_link,
            size_min=_tighter(self.size_min, other.size_min, np.maximum, "size_min"),
            size_max=_tighter(self.size_max, other.size_max, np.minimum, "size_max"),
            rows=self.rows + other.rows,
        )

    def __repr__(self) -> str:
        parts = [
            f"{name}={len(value)}"
            for name in ("must_link", "cannot_link", "rows")
            if (value := getattr(self, name))
        ]
        sizes = [
            f"{name}={value.tolist()}"
            for name in ("size_min", "size_max")
            if (value := getattr(self, name)) is not None
        ]
        at = sum(bool(getattr(self, name)) for name in ("must_link", "cannot_link"))
        return f"Constraints({', '.join(parts[:at] + sizes + parts[at:])})"

    def rules(self, n_samples: int, n_clusters: int) -> list[Rule]:
        """List the single rules, after checking that they fit this many samples and clusters.

        Parameters
        ----------
        n_samples, n_clusters : int
            Shape of the problem.

        Returns
        -------
        list of Rule
            Must-links, cannot-links, size bounds and row bounds, in the order they were asked.

        Examples
        --------
        >>> import bckm
        >>> for rule in bckm.Constraints(must_link=[(0, 2)], size_max=2).rules(3, 2):
        ...     print(rule)
        must-link: samples 0 and 2 together
        size_max: at most 2 samples in every cluster
        no cluster may be empty (implied; size_min=0 allows empty clusters)
        """
        _check_range(self.must_link, n_samples, "must_link")
        _check_range(self.cannot_link, n_samples, "cannot_link")
        # a link of one sample asks nothing: it is always together with itself
        found: list[Rule] = [MustLink(s) for s in self.must_link if len(s) > 1]
        found += [CannotLink(s) for s in self.cannot_link if len(s) > 1]
        for value, cluster in _per_cluster(self.size_min, n_clusters, "size_min"):
            if value > 0:
                found.append(SizeMin(int(value), cluster))
        for value, cluster in _per_cluster(self.size_max, n_clusters, "size_max"):
            if value < n_samples:
                found.append(SizeMax(int(value), cluster))
        if self.size_min is None:
            found.append(NonEmpty())
        for block in self.rows:
            if isinstance(block, LinearRows):
                found += _row_rules(block, n_samples, n_clusters)
            else:
                found += _sum_rules(block, n_samples, n_clusters)
        return found


def as_constraints(constraints: Any) -> Constraints:
    """Read what a caller passes as constraints; None asks nothing."""
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise TypeError(f"constraints must be bckm.Constraints; got {constraints!r:.60}.")
    return constraints


def _blocks(rows: Any) -> tuple[LinearRows | AttributeSum, ...]:
    if rows is None:
        return ()
    blocks = tuple(rows) if isinstance(rows, list | tuple) else (rows,)
    for block in blocks:
        if not isinstance(block, LinearRows | AttributeSum):
            raise TypeError(
                f"rows takes LinearRows or AttributeSum, one or a list; got {block!r:.60}."
            )
    return blocks


def _row_rules(block: LinearRows, n_samples: int, n_clusters: int) -> list[Rule]:
    if block.A.shape[1] != n_samples * n_clusters:
        raise ValueError(
            f"A of {block.name!r} has {block.A.shape[1]} columns; "
            f"{n_samples} samples x {n_clusters} clusters need {n_samples * n_clusters}."
        )
    found: list[Rule] = []
    for r in range(block.A.shape[0]):
        if np.isfinite(block.lower[r]):
            found.append(RowBound(block, "min", float(block.lower[r]), r))
        if np.isfinite(block.upper[r]):
            found.append(RowBound(block, "max", float(block.upper[r]), r))
    return found


def _sum_rules(block: AttributeSum, n_samples: int, n_clusters: int) -> list[Rule]:
    if block.values.size != n_samples:
        raise ValueError(
            f"values of {block.name!r} has {block.values.size} numbers; the data have "
            f"{n_samples} samples."
        )
    sides: tuple[tuple[Literal["min", "max"], FloatArray | None, str], ...] = (
        ("min", block.lower, f"lower of {block.name!r}"),
        ("max", block.upper, f"upper of {block.name!r}"),
    )
    return [
        SumBound(block, side, float(value), cluster)
        for side, bounds, what in sides
        for value, cluster in _per_cluster(bounds, n_clusters, what)
        if np.isfinite(value)
    ]


def _per_cluster(bounds: Any, n_clusters: int, what: str) -> list[tuple[float, int | None]]:
    """Pair each bound with its cluster; a scalar is one rule for every cluster (None)."""
    if bounds is None:
        return []
    if bounds.ndim == 0:
        return [(bounds.item(), None)]
    if bounds.size != n_clusters:
        raise ValueError(
            f"{what} has {bounds.size} values; give one number, or one for each of the "
            f"{n_clusters} clusters."
        )
    return list(zip(bounds.tolist(), range(n_clusters), strict=True))


def _check_range(links: tuple[tuple[int, ...], ...], n_samples: int, what: str) -> None:
    for samples in links:
        if max(samples) >= n_samples:
            raise ValueError(
                f"{what} names {name_samples(samples)}, but the data have samples 0 to "
                f"{n_samples - 1}."
            )


def _optional(value: Any, free: float, what: str) -> FloatArray | None:
    """Read a bound; infinity may leave a side free, but not ask the impossible."""
    if value is None:
        return None
    array: FloatArray = read_numbers(value, what, finite=False)
    if (array == -free).any():
        raise ValueError(f"{what} is {-free:g}; infinity cannot be reached.")
    return array


def _side(value: Any, free: float, n_rows: int, what: str) -> FloatArray:
    array = _optional(value, free, what)
    if array is None:
        return np.full(n_rows, free)
    if array.ndim > 1 or (array.ndim == 1 and array.size != n_rows):
        raise ValueError(f"{what} has shape {array.shape}; there are {n_rows} rows.")
    return np.broadcast_to(array, n_rows).copy()


def _refuse_crossed(lower: Any, upper: Any, what: str) -> None:
    if (lower > upper).any():
        at = int(np.argmax(lower > upper))
        raise ValueError(
            f"bounds of {what} are crossed, first at {at}: "
            f"lower {lower[at]:.15g} > upper {upper[at]:.15g}."
        )


def _refuse_crossed_sizes(lower: Any, upper: Any) -> None:
    if lower is None or upper is None:
        return
    if lower.ndim and upper.ndim and lower.size != upper.size:
        raise ValueError(f"size_min has {lower.size} values, size_max {upper.size}.")
    low, up = np.broadcast_arrays(np.atleast_1d(lower), np.atleast_1d(upper))
    if (low > up).any():
        at = int(np.argmax(low > up))
        where = f" of cluster {at}" if low.size > 1 else ""
        raise ValueError(f"size_min{where} is {low[at]}, above size_max {up[at]}.")


def _tighter(a: Any, b: Any, pick: Any, what: str) -> Any:
    if a is None or b is None:
        return b if a is None else a
    if a.ndim and b.ndim and a.size != b.size:
        raise ValueError(f"{what} is given for {a.size} and for {b.size} clusters.")
    return pick(a, b)
