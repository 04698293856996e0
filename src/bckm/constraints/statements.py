"""What a person states beyond links and sizes: capacities, quotas, previous labels, linear rows.

Each statement belongs to `Constraints`, which turns it into single rules. Values are one per
sample, in the order of the rows of X; or a mapping (or pandas series) of sample ids to values,
which `Constraints.locate` brings into that order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm._core.sparse_input import read_sparse
from bckm._core.tolerance import LARGEST_SUM, overflows
from bckm._core.types import BoolArray, FloatArray, IntArray, Sparse
from bckm._core.validation import read_numbers, read_price

if TYPE_CHECKING:
    from bckm.constraints.linear_rule import LinearRule

Side = Literal["min", "max"]


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
            raise ValueError(f"the coefficients of {name!r} hold NaN or infinity.")
        if overflows(matrix.data):
            raise ValueError(
                f"the coefficients of {name!r} add up to more than {LARGEST_SUM:g} and their sums "
                "overflow; state them, and their bounds, in a larger unit."
            )
        self.A: Sparse = matrix
        self.name = name
        self.lower = _side(lower, -np.inf, matrix.shape[0], f"lower of {name!r}")
        self.upper = _side(upper, np.inf, matrix.shape[0], f"upper of {name!r}")
        _refuse_crossed(self.lower, self.upper, f"{name!r}")

    def __repr__(self) -> str:
        return f"LinearRows({self.A.shape[0]} rows, name={self.name!r})"


class _PerSample:
    """One value per sample, in the order of rows or by id."""

    values: NDArray[Any]
    ids: NDArray[Any] | None
    keyed = False  # whether the ids are keys of a mapping, and so no positions
    called: NDArray[Any] | None = None  # ids of samples that messages name, once located
    name: str
    what = "values"  # what messages call them

    def taken(self, order: IntArray, named: bool = False) -> Self:
        """The same statement about some of the samples, by their places among the values."""
        other = object.__new__(type(self))
        called = self.ids if named else self.called
        other.__dict__.update(
            self.__dict__,
            values=self.values[order],
            ids=None,
            called=None if called is None else called[order],
        )
        return other


def _split(values: Any) -> tuple[Any, NDArray[Any] | None]:
    """Values and the ids they belong to, if they say so."""
    if isinstance(values, Mapping):
        return list(values.values()), _objects(list(values))
    if hasattr(values, "to_numpy") and hasattr(values, "index"):  # a pandas series
        return values.to_numpy(), _objects(values.index.tolist())
    return values, None


def _objects(values: list[Any]) -> NDArray[Any]:
    """Any values, also tuples, as they are."""
    found = np.empty(len(values), object)
    found[:] = values
    return found


class Capacity(_PerSample):
    """How much of something the samples of each cluster may add up to, and must.

    Parameters
    ----------
    amounts : array of shape (n_samples,), or mapping of sample ids to amounts
        What each sample takes: kilograms, minutes, people, 0/1 for membership in a class.
    min, max : float or array of shape (n_clusters,), optional
        Bounds on the sum of the amounts in a cluster: one for every cluster, or one per cluster;
        None leaves that side free.

    Examples
    --------
    >>> import bckm
    >>> rules = bckm.Constraints(capacities={"kg": bckm.Capacity([5, 1, 1, 5], max=6)})
    >>> result = bckm.kmeans([[0.], [1.], [2.], [3.]], 2, rules)
    >>> bool(result.labels[0] != result.labels[3])
    True
    """

    values: FloatArray
    what = "amounts"

    def __init__(self, amounts: Any, min: Any = None, max: Any = None) -> None:  # noqa: A002
        self.keyed = isinstance(amounts, Mapping)
        amounts, self.ids = _split(amounts)
        self.name = ""  # `Constraints` names it
        self.values = read_numbers(amounts, "amounts of a Capacity")
        if self.values.ndim != 1:
            raise ValueError(
                f"amounts of a Capacity must be one number per sample; got shape "
                f"{self.values.shape}."
            )
        if overflows(self.values):
            raise ValueError(
                f"amounts of a Capacity add up to more than {LARGEST_SUM:g} and their sums "
                "overflow; state them, and their bounds, in a larger unit."
            )
        self.min = _optional(min, -np.inf, "min of a Capacity")
        self.max = _optional(max, np.inf, "max of a Capacity")
        for side, word in ((self.min, "min"), (self.max, "max")):
            if side is not None and side.ndim > 1:
                raise ValueError(f"{word} of a Capacity must be a number or one per cluster.")
        if self.min is not None and self.max is not None:
            low, up = np.atleast_1d(self.min), np.atleast_1d(self.max)
            if low.size == 1 or up.size == 1 or low.size == up.size:  # else refused by rules()
                low, up = np.broadcast_arrays(low, up)
                _refuse_crossed(low, up, "a Capacity", ("min", "max"))

    def named(self, name: str) -> Self:
        """The same capacity under the name that messages call it."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, name=name)
        return other

    def __repr__(self) -> str:
        sides = [
            f"{word}={value.tolist()}"
            for word, value in (("min", self.min), ("max", self.max))
            if value is not None
        ]
        return f"Capacity({', '.join([f'{self.values.size} samples', *sides])})"


class Quota(_PerSample):
    """How many samples of each category, or what share, every cluster may hold.

    Parameters
    ----------
    values : sequence of length n_samples, or mapping of sample ids to values
        Category of each sample: strings, numbers, any values that can be told apart. None, NaN and
        masked values are no category: such samples count only as members of their cluster.
    within : float or str, optional
        As in the whole: the share of each category in each cluster differs from its share in all
        data by at most so much. 0.1, "10%" and "±10%" all mean ten percentage points.
    share_min, share_max : float or mapping of category to float, optional
        Bounds on the share of each category in each cluster, from 0 to 1. An empty cluster obeys.
    count_min, count_max : float or mapping of category to float, optional
        Bounds on the number of samples of each category in each cluster.
    name : str
        What messages call the attribute.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> color = bckm.Quota(["red", "red", "red", "blue", "blue", "blue"], "±20%", name="color")
    >>> labels = bckm.kmeans(X, 2, bckm.Constraints(quotas=[color]), random_state=0).labels
    >>> [sorted((labels[:3] == i).sum() for i in (0, 1)) == [1, 2]]
    [True]
    """

    values: IntArray  # numbers of categories; -1: none

    def __init__(
        self,
        values: Any,
        within: Any = None,
        *,
        share_min: Any = None,
        share_max: Any = None,
        count_min: Any = None,
        count_max: Any = None,
        name: str = "attribute",
    ) -> None:
        self.keyed = isinstance(values, Mapping)
        values, self.ids = _split(values)
        self.name = name
        self.categories, self.values = categorize(values, f"values of quota {name!r}")
        self.within = None if within is None else _read_within(within, name)
        sides: dict[tuple[Side, bool], Any] = {
            ("min", True): share_min,
            ("max", True): share_max,
            ("min", False): count_min,
            ("max", False): count_max,
        }
        self._bounds = {side: self._read(bound, *side) for side, bound in sides.items()}
        if self.within is None and not any(self._bounds.values()):
            raise ValueError(
                f"quota {name!r} states no bound; give within='10%', share_min, share_max, "
                "count_min or count_max."
            )
        for share in (True, False):
            for at, low in self._bounds["min", share].items():
                up = self._bounds["max", share].get(at, np.inf)
                if low > up:
                    raise ValueError(
                        f"bounds of quota {name!r} are crossed for {self.categories[at]!r}: "
                        f"{low:g} > {up:g}."
                    )

    def _read(self, bound: Any, side: str, share: bool) -> dict[int, float]:
        if bound is None:
            return {}
        what = f"{'share' if share else 'count'}_{side} of quota {self.name!r}"
        if not isinstance(bound, Mapping):
            bound = dict.fromkeys(self.categories, bound)
        known = {category: at for at, category in enumerate(self.categories)}
        found = {}
        for category, value in bound.items():
            if category not in known:
                raise ValueError(f"{what} names {category!r}, which no sample has.")
            number = float(read_numbers(value, what))
            if number < 0 or (share and number > 1):
                raise ValueError(f"{what} must lie {'between 0 and 1' if share else 'above 0'}.")
            found[known[category]] = min(number, LARGEST_SUM)
        return found

    def bounds(self) -> list[tuple[int, Side, float, bool]]:
        """List all bounds: category, side, value, and whether the value is a share."""
        found: list[tuple[int, Side, float, bool]] = [
            (at, side, value, share)
            for (side, share), by_category in self._bounds.items()
            for at, value in by_category.items()
        ]
        if self.within is not None:
            share = np.bincount(self.values[self.values >= 0], minlength=len(self.categories))
            for at, whole in enumerate(share / self.values.size):
                if whole > self.within:
                    found.append((at, "min", float(whole - self.within), True))
                if whole + self.within < 1:
                    found.append((at, "max", float(whole + self.within), True))
        return found

    def __repr__(self) -> str:
        kinds = len(self.categories)
        return f"Quota({self.values.size} samples, {kinds} categories, name={self.name!r})"


class Stay(_PerSample):
    """Samples keep their previous cluster: at a price for each that moves, or with few exceptions.

    Parameters
    ----------
    labels : array of int, shape (n_samples,), or mapping of sample ids to labels
        Previous cluster of each sample; -1 where there is none (a new sample).
    price : float or array of shape (n_samples,), optional
        What each moved sample costs, in units of inertia.
    confidence : float or array of shape (n_samples,), optional
        The same, free of scale; see `Constraints.soft`.
    at_most : int, optional
        How many samples may move.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [1.0], [4.4], [8.0], [9.0]]
    >>> keep = bckm.Stay([0, 0, 0, 1, 1], at_most=0)
    >>> bckm.kmeans(X, 2, bckm.Constraints(stay=keep), random_state=0).labels.tolist()
    [0, 0, 0, 1, 1]
    """

    values: IntArray
    what = "labels"

    def __init__(
        self, labels: Any, *, price: Any = None, confidence: Any = None, at_most: Any = None
    ) -> None:
        self.keyed = isinstance(labels, Mapping)
        labels, self.ids = _split(labels)
        self.name = "stay"
        values = read_numbers(labels, "labels of Stay")
        if values.ndim != 1 or (values != np.floor(values)).any() or (values < -1).any():
            raise ValueError("labels of Stay must be one whole number per sample, -1 for none.")
        self.values = values.astype(np.int64)
        if price is None and confidence is None and at_most is None:
            raise ValueError("Stay needs a price or a confidence for each move, or at_most.")
        self.relative = price is None
        self.weight = None
        if price is not None or confidence is not None:
            self.weight = read_price(price, confidence)
            if self.weight.ndim and self.weight.size != self.values.size:
                raise ValueError(
                    f"Stay has {self.weight.size} prices for {self.values.size} labels."
                )
        if at_most is not None and (
            isinstance(at_most, bool) or not isinstance(at_most, int | np.integer) or at_most < 0
        ):
            raise ValueError(f"at_most must be a whole number, at least 0; got {at_most!r}.")
        self.at_most = None if at_most is None else int(at_most)

    @property
    def prices(self) -> FloatArray:
        """What the move of each sample costs; nothing where there is no previous cluster."""
        return np.where(self.values >= 0, 0.0 if self.weight is None else self.weight, 0.0)

    @property
    def paid(self) -> BoolArray:
        """Samples whose move costs something; an infinite price is no choice."""
        prices = self.prices
        return np.asarray((prices > 0) & (prices < np.inf))

    def taken(self, order: IntArray, named: bool = False) -> Self:
        """The same statement about some of the samples; each keeps its price."""
        other = super().taken(order, named)
        if self.weight is not None and self.weight.ndim:
            other.weight = self.weight[order]
        return other

    def __repr__(self) -> str:
        return f"Stay({self.values.size} samples)"


def categorize(values: Any, what: str) -> tuple[list[Any], IntArray]:
    """Number the different values; None, NaN and what is masked are none of them (-1)."""
    if isinstance(values, Mapping):
        raise ValueError(
            f"{what} must be one value per sample in the order of rows; got a mapping."
        )
    if hasattr(values, "to_list"):
        values = values.to_list()
    array = values.tolist() if isinstance(values, np.ndarray) else list(values)
    unknown = (None, np.ma.masked)
    known = [
        None if any(value is one for one in unknown) or value != value else value for value in array
    ]
    try:
        different: set[Any] = set(known) - {None}
    except TypeError as error:
        raise ValueError(f"{what} must be one value per sample: {error}.") from None
    try:
        categories = sorted(different)
    except TypeError:  # numbers and strings
        categories = sorted(different, key=lambda value: (str(type(value)), repr(value)))
    number = {category: at for at, category in enumerate(categories)}
    return categories, np.array([number.get(value, -1) for value in known], np.int64)


def _read_within(within: Any, name: str) -> float:
    value = within
    if isinstance(within, str):
        match = re.fullmatch(r"\s*(?:±|\+-|\+/-)?\s*([0-9.]+)\s*(%?)\s*", within)
        try:
            value = float(match[1]) / (100 if match[2] else 1) if match else None
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(
            f"within of quota {name!r} must be a share such as 0.1 or '±10%'; got {within!r}."
        )
    return float(value)


def _optional(value: Any, free: float, what: str) -> FloatArray | None:
    """Read a bound; what no sum reaches may leave a side free, but not ask the impossible."""
    if value is None:
        return None
    array: FloatArray = read_numbers(value, what, finite=False)
    beyond = np.abs(array) > LARGEST_SUM
    asked = beyond & (np.sign(array) != np.sign(free))
    if asked.any():
        raise ValueError(f"{what} is {array[asked][0]:g}, which no sum can reach.")
    return np.where(beyond, free, array)


def _side(value: Any, free: float, n_rows: int, what: str) -> FloatArray:
    array = _optional(value, free, what)
    if array is None:
        return np.full(n_rows, free)
    if array.ndim > 1 or (array.ndim == 1 and array.size != n_rows):
        raise ValueError(f"{what} has shape {array.shape}; there are {n_rows} rows.")
    return np.broadcast_to(array, n_rows).copy()


def _refuse_crossed(lower: Any, upper: Any, what: str, words: Any = ("lower", "upper")) -> None:
    if (lower > upper).any():
        at = int(np.argmax(lower > upper))
        raise ValueError(
            f"bounds of {what} are crossed, first at {at}: "
            f"{words[0]} {lower[at]:.15g} > {words[1]} {upper[at]:.15g}."
        )
