"""Reading raw input: the only place that looks at types, NaN and shapes of what a person passes."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm._core.arrays import blocks
from bckm._core.note import Note
from bckm._core.on_device import on_host, refuse_on_device
from bckm._core.sparse_input import read_sparse
from bckm._core.types import FloatArray, PointArray

LARGEST = 1e150  # squares of larger values overflow
MOST_JOBS = 1024


def array_of(value: Any, what: str) -> NDArray[Any]:
    """What a person passes as an array, also a frame or an array on a GPU, which is copied.

    Masked cells have no value: refused.
    """
    value = on_host(value)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    refuse_masked(value, what)
    return np.asarray(value)


def refuse_masked(value: Any, what: str) -> None:
    """Refuse masked arrays, or lists of them, that hide cells: NumPy would show what is hidden."""
    for part in value if isinstance(value, list | tuple) else (value,):
        if isinstance(part, np.ma.MaskedArray) and (hidden := np.ma.getmaskarray(part)).any():
            raise ValueError(
                f"{what} contains masked values ({int(hidden.sum())} of {hidden.size}); fill or "
                "drop them before clustering."
            )


def read_data(X: Any) -> PointArray:  # noqa: N803
    """Read X as a finite array (n, d) of float64 or float32: X itself where it is one.

    Sparse data of any format become a csr_array of float64, with each entry once.
    """
    refuse_on_device(X, "X")
    array = X if sp.issparse(X) else array_of(X, "X")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real numbers.")
    if array.dtype.kind == "O":
        array = _numbers_of_objects(array)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"X must be numeric; got dtype {array.dtype}.")
    if array.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (samples, features); got shape {array.shape}. "
            "Reshape your data: X.reshape(-1, 1) for one feature."
        )
    if 0 in array.shape:
        raise ValueError(f"X has {array.shape[0]} samples and {array.shape[1]} features.")
    if sp.issparse(array):
        array = read_sparse(array, "X")
    if array.dtype not in (np.float64, np.float32):
        array = array.astype(np.float64)
    largest = _largest(array)
    if not np.isfinite(largest):
        row, column = _first_not_finite(array)
        raise ValueError(
            f"X contains NaN or infinity, first at sample {row}, feature {column}; "
            "impute or drop such samples before clustering."
        )
    if largest > LARGEST:
        raise ValueError(f"X contains {largest:g}, whose square overflows; rescale X.")
    return array


def _largest(array: PointArray) -> float:
    """The largest absolute value; NaN if there is one."""
    values = array.data if sp.issparse(array) else array
    with np.errstate(invalid="ignore"):
        return float(np.maximum(-values.min(initial=0), values.max(initial=0)))


def _first_not_finite(array: PointArray) -> tuple[int, int]:
    if sp.issparse(array):
        first = int(np.flatnonzero(~np.isfinite(array.data))[0])
        row = int(np.searchsorted(array.indptr, first, side="right")) - 1
        return row, int(array.indices[first])
    for rows in blocks(*array.shape):
        found = np.argwhere(~np.isfinite(array[rows]))
        if found.size:
            return rows.start + int(found[0, 0]), int(found[0, 1])
    raise AssertionError("every value is finite")


def _numbers_of_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Convert an object array, if it holds numbers (None counts as NaN) and no strings or dates."""
    for value in array.ravel():
        if value is not None and not isinstance(value, numbers.Number | np.bool_):
            raise ValueError(f"X must be numeric; got {value!r:.60}.")
    try:
        return array.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be numeric: {error}") from error


def read_n_clusters(n_clusters: Any, n_samples: int) -> int:
    """Read the number of clusters to make: whole, at least 1, at most the number of samples."""
    k = read_cluster_count(n_clusters)
    if n_samples < k:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={k}; use at most {n_samples} clusters."
        )
    return k


def read_cluster_count(n_clusters: Any) -> int:
    """Read a number of clusters: whole, at least 1."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, int | np.integer):
        raise TypeError(f"n_clusters must be an integer; got {n_clusters!r:.60}.")
    if n_clusters < 1:
        raise ValueError(f"n_clusters must be at least 1; got {n_clusters}.")
    return int(n_clusters)


def read_whole(value: Any, what: str) -> int:
    """Read a whole number, at least 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{what} must be a whole number of at least 1; got {value!r}.")
    return int(value)


def read_not_negative(value: Any, what: str) -> float:
    """Read a number, at least 0."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not float(value) >= 0:
        raise ValueError(f"{what} must be a number of at least 0; got {value!r}.")
    return float(value)


def read_seed(value: Any, what: str) -> int:
    """Read a seed: a whole number, at least 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise ValueError(
            f"{what} must be a whole number of at least 0, a generator or None; got {value!r:.60}."
        )
    return int(value)


def read_time_limit(value: Any) -> float | None:
    """Read a time limit in seconds; None means none."""
    return None if value is None else read_not_negative(value, "time_limit")


def read_centers(
    centers: Any, what: str, choices: str = "an array", shape: tuple[int, int] | None = None
) -> FloatArray:
    """Read centers (k, d), an array of their own; of any shape when None is expected."""
    array = centers if sp.issparse(centers) else array_of(centers, what)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be {choices}; got {centers!r:.60}.")
    if shape is None and (array.ndim != 2 or 0 in array.shape):
        raise ValueError(f"{what} has shape {array.shape}; expected (n_clusters, n_features).")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}; expected {shape}.")
    if sp.issparse(array):
        array = read_sparse(array, what).toarray()
    if not np.isfinite(array).all():
        raise ValueError(f"{what} contains NaN or infinity.")
    if (largest := float(np.abs(array).max())) > LARGEST:
        raise ValueError(
            f"{what} contains {largest:g}, whose square overflows; rescale X and {what}."
        )
    return array.astype(np.float64)


def read_jobs(n_jobs: Any) -> int:
    """Read how many threads may be used; None and -1: all cores of this process."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a whole number other than 0, or None; got {n_jobs!r}. "
            "Pass the number of threads; -1 uses all cores, -2 all but one."
        )
    number = int(n_jobs)
    # more threads than this help nobody, and kernels count them in 32 bits
    return min(number, MOST_JOBS) if number > 0 else max(1, cores + 1 + number)


def read_weight(sample_weight: Any, n_samples: int) -> FloatArray:
    """Read sample weights: not negative, not all zero; ones when None."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = array_of(sample_weight, "sample_weight")
    if weight.dtype.kind not in "biuf":
        raise ValueError(f"sample_weight must be numbers; got dtype {weight.dtype}.")
    weight = weight.astype(np.float64)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar; got {weight.ndim}D array.")
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_samples,)}: one per sample."
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity.")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative; got {weight.min():g}.")
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample.")
    return weight


def read_numbers(value: Any, what: str, finite: bool = True) -> Any:
    """Read a float array without accepting strings, objects or NaN."""
    array = array_of(value, what)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be numbers; got {value!r:.60}.")
    array = array.astype(float)
    if np.isnan(array).any() or (finite and not np.isfinite(array).all()):
        raise ValueError(f"{what} contains NaN{' or infinity' if finite else ''}.")
    return array


def read_price(price: Any, confidence: Any) -> FloatArray:
    """Read what a violation costs: a price or a confidence, not both; not negative."""
    if (price is None) == (confidence is None):
        rest = "" if price is None else ", not both"
        raise ValueError(f"give a price or a confidence{rest}.")
    what = "confidence" if price is None else "price"
    weight: FloatArray = read_numbers(confidence if price is None else price, what, finite=False)
    if weight.ndim > 1:
        raise ValueError(f"{what} must be one number or one per rule; got shape {weight.shape}.")
    if (weight < 0).any():
        raise ValueError(f"{what} must not be negative; got {weight.min():g}.")
    return weight


def read_sizes(value: Any, what: str) -> Any:
    """Read size bounds: whole numbers of samples, or floats between 0 and 1, shares of them.

    The array is of integers where there is no share; else of floats, of which those strictly
    between 0 and 1 are shares.
    """
    if value is None:
        return None
    each = value if isinstance(value, list | tuple) else np.atleast_1d(array_of(value, what))
    if any(isinstance(one, bool | np.bool_) for one in each):
        raise ValueError(f"{what} must be whole numbers or shares; got {value!r:.60}.")
    array = read_numbers(value, what)
    if array.ndim > 1 or array.size == 0:
        raise ValueError(f"{what} must be one number or one per cluster; got shape {array.shape}.")
    if (array < 0).any():
        raise ValueError(f"{what} must not be negative; got {array.min():g}.")
    for one in each:
        if not isinstance(one, numbers.Integral) and not 0 <= float(one) < 1:
            raise ValueError(
                f"{what} must be a number of samples (int) or a share of them (float between 0 and "
                f"1); got {float(one)!r}."
            )
    if (array == np.floor(array)).all():
        # every cluster holds fewer than 2**53 samples, so clipping changes no answer
        array = np.minimum(array, 2.0**53).astype(np.int64)
    array.setflags(write=False)
    return array


def resolve_sizes(bound: Any, n_samples: int, what: str) -> Any:
    """Size bounds as numbers of samples: of shares the least, or the most, whole number.

    A share that makes a whole number but for rounding, such as 0.1 of 30, is that number.
    """
    if bound is None or bound.dtype.kind == "i":
        return bound
    exact = bound * n_samples
    near = np.rint(exact)
    whole = np.ceil(exact) if what == "size_min" else np.floor(exact)
    whole = np.where(np.abs(exact - near) <= 1e-9 * np.maximum(near, 1), near, whole)
    return np.where(bound < 1, whole, bound).astype(np.int64)


def read_size_pair(size_min: Any, size_max: Any) -> tuple[Any, Any]:
    """Read both size bounds; they must not cross."""
    lower, upper = read_sizes(size_min, "size_min"), read_sizes(size_max, "size_max")
    _refuse_crossed_sizes(lower, upper)
    return lower, upper


def _refuse_crossed_sizes(lower: Any, upper: Any) -> None:
    if lower is None or upper is None:
        return
    if lower.ndim and upper.ndim and lower.size != upper.size:
        raise ValueError(f"size_min has {lower.size} values, but size_max has {upper.size}.")
    low, up = np.broadcast_arrays(np.atleast_1d(lower), np.atleast_1d(upper))
    crossed = ~_other_kinds(low, up) & (low > up)
    if crossed.any():
        at = int(np.argmax(crossed))
        where = f"[{at}]" if low.size > 1 else ""
        text = f"size_min{where} is {low[at]:.15g}, above size_max{where}, {up[at]:.15g}."
        raise ValueError(Note(text, "crossed", low=float(low[at]), high=float(up[at])))


def _other_kinds(a: Any, b: Any) -> Any:
    """Where one bound is a share and the other a number of samples: only the data can compare."""
    return ((a % 1 > 0) != (b % 1 > 0)) & (a > 0) & (b > 0)


def join_sizes(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """Of two pairs of size bounds the tighter ones."""
    found = []
    picks = ((np.maximum, "size_min"), (np.minimum, "size_max"))
    for a, b, (pick, what) in zip(one, other, picks, strict=True):
        if a is None or b is None:
            found.append(b if a is None else a)
            continue
        if a.ndim and b.ndim and a.size != b.size:
            raise ValueError(f"{what} is given for {a.size} and for {b.size} clusters.")
        if _other_kinds(a, b).any():
            text = (
                f"{what} is a share of the samples on one side of & and a number of samples on the "
                "other; which is tighter depends on the data: use the same form for both."
            )
            raise ValueError(Note(text, "share_or_number"))
        tighter = np.asarray(pick(a, b))
        tighter.setflags(write=False)
        found.append(tighter)
    lower, upper = found
    _refuse_crossed_sizes(lower, upper)
    return lower, upper
