"""Reading sparse arrays: their indices lead compiled code through memory, so they are looked at.

SciPy looks at some of them when an array is made, and trusts them from then on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm._core.types import Sparse


def read_sparse(array: Any, what: str) -> Sparse:
    """A csr_array of float64, each entry once and in order; what was passed is not changed."""
    check_sparse(array, what)
    # not the array itself, but a new one: what it says of its own order may not be true
    if array.format in ("csr", "csc", "bsr"):
        kind = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[array.format]
        used = int(array.indptr[-1])
        parts = (array.data[:used], array.indices[:used], array.indptr)
        array = kind(parts, shape=array.shape)
    rows = sp.csr_array(array, dtype=np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()  # it may share its numbers with what was passed
        rows.sum_duplicates()
    return rows


def check_sparse(array: Any, what: str) -> None:
    """Refuse a sparse array of two dimensions whose indices lead out of it."""
    problem = _problem(array)
    if problem:
        raise ValueError(
            f"{what} is a malformed sparse array: {problem}. Rebuild it from its entries, for "
            "example with scipy.sparse.coo_array."
        )


def _problem(array: Any) -> str:
    """What is wrong with a sparse array, in words; nothing otherwise."""
    rows, columns = array.shape
    match array.format:
        case "csr":
            return _in_lists(array, rows, columns, "column")
        case "csc":
            return _in_lists(array, columns, rows, "row")
        case "bsr":
            return _in_blocks(array, rows, columns)
        case "coo":
            return _in_coordinates(array, rows, columns)
        case "dia":
            data, offsets = np.asarray(array.data), np.asarray(array.offsets)
            fits = data.ndim == 2 and offsets.ndim == 1 and len(data) == len(offsets)
            return "" if fits and _whole(offsets) else "it needs one offset for each diagonal"
        case "lil":
            return _in_rows(array, columns)
        case _:  # "dok": SciPy looks at the keys when it writes them into arrays
            return ""


def _whole(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "iu"


def _in_lists(array: Any, lists: int, end: int, of: str, data_dimensions: int = 1) -> str:
    """Check the compressed formats: lists of indices, one after the other."""
    start, index, data = (np.asarray(part) for part in (array.indptr, array.indices, array.data))
    if start.ndim != 1 or index.ndim != 1 or data.ndim != data_dimensions:
        return f"indptr and indices must have one dimension, data {data_dimensions}"
    if not (_whole(start) and _whole(index)):
        return f"indptr and indices must be whole numbers; got {start.dtype} and {index.dtype}"
    if start.size != lists + 1:
        return f"indptr must have {lists + 1} entries; got {start.size}"
    if start[0] != 0 or (start[1:] < start[:-1]).any():
        return "indptr must start with 0 and never decrease"
    if start[-1] > min(index.size, len(data)):
        return f"indptr ends at {start[-1]}, but there are {min(index.size, len(data))} entries"
    return _beyond(index[: int(start[-1])], end, of)


def _beyond(index: NDArray[Any], end: int, of: str) -> str:
    if index.size == 0 or (index.min() >= 0 and index.max() < end):
        return ""
    bad = index[(index < 0) | (index >= end)][0]
    return f"it has an entry in {of} {bad} of {end}, numbered from 0"


def _in_blocks(array: Any, rows: int, columns: int) -> str:
    shape = np.shape(array.data)[1:]
    if len(shape) != 2 or 0 in shape or rows % shape[0] or columns % shape[1]:
        return f"blocks of shape {shape} do not fill it"
    return _in_lists(array, rows // shape[0], columns // shape[1], "block column", 3)


def _in_coordinates(array: Any, rows: int, columns: int) -> str:
    if len(array.coords) != 2:
        return "it needs two coordinates for each entry"
    row, column = (np.asarray(part) for part in array.coords)
    if not (_whole(row) and _whole(column)):
        return f"coordinates must be whole numbers; got {row.dtype} and {column.dtype}"
    if not row.shape == column.shape == np.shape(array.data) or row.ndim != 1:
        return "it needs two coordinates for each entry"
    return _beyond(row, rows, "row") or _beyond(column, columns, "column")


def _in_rows(array: Any, columns: int) -> str:
    if len(array.rows) != array.shape[0] or len(array.data) != array.shape[0]:
        return "it needs a list of columns and one of values for each row"
    if [len(row) for row in array.rows] != [len(row) for row in array.data]:
        return "a row has more columns than values, or fewer"
    named = [column for row in array.rows for column in row]
    if not all(isinstance(column, int | np.integer) for column in named):
        return "columns must be whole numbers"
    return _beyond(np.array(named, np.int64), columns, "column")
