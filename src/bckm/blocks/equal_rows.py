"""Which rows are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import blocks
from bckm._core.types import IntArray
from bckm.kernels import missing, native

NUMBERS = 2**19  # in a part of rows that are compared


def groups_of(rows: NDArray[Any], threads: int = 1) -> IntArray:
    """A number for each row, the same for equal rows: in the order in which they come first."""
    if not missing and rows.dtype in (np.float32, np.float64):
        found: IntArray = native.equal_rows(np.ascontiguousarray(rows), threads)[0]
        return found
    _, first, group = np.unique(_keys_of(rows), return_index=True, return_inverse=True)
    place = np.empty_like(first)
    place[np.argsort(first)] = np.arange(first.size)
    return np.asarray(place[group.reshape(-1)])


def _keys_of(rows: NDArray[Any]) -> IntArray:
    """A number for each row, the same for equal rows."""
    parts = list(blocks(len(rows), max(1, rows.shape[1]), NUMBERS))
    factors = np.random.default_rng(0).integers(1, 2**63, _words(rows[:0]).shape[1], np.uint64)
    key = np.empty(len(rows), np.uint64)
    for part in parts:
        words = _words(rows[part])
        words ^= words >> np.uint64(29)
        key[part] = words @ (factors * np.uint64(2) + np.uint64(1))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    alike = (_words(rows[part]) == _words(rows[first[group[part]]]) for part in parts)
    if all(same.all() for same in alike):
        return np.asarray(group)
    _, group = np.unique(_words(rows), axis=0, return_inverse=True)  # two rows with one key
    return np.asarray(group).reshape(-1)


def _words(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """The bytes of rows as whole numbers, in an array of their own."""
    rows = np.ascontiguousarray(rows + 0.0 if rows.dtype.kind == "f" else rows)  # no minus zero
    size = rows.shape[1] * rows.dtype.itemsize
    words = np.zeros((len(rows), -(-size // 8) * 8), np.uint8)
    words[:, :size] = rows.view(np.uint8).reshape(len(rows), size)
    return words.view(np.uint64)


def alike(listed: NDArray[Any], rows: NDArray[Any]) -> IntArray:
    """The first listed row that each row equals; -1 where there is none."""
    group = groups_of(np.concatenate([listed, rows]))
    first = np.full(int(group.max(initial=-1)) + 1, -1)
    first[group[: len(listed)][::-1]] = np.arange(len(listed))[::-1]  # the last one written stays
    return np.asarray(first[group[len(listed) :]])


def united(rows: NDArray[Any], number: IntArray) -> tuple[NDArray[Any], IntArray]:
    """Different rows, and the sum of the numbers of each."""
    group = groups_of(rows)
    first = np.flatnonzero(np.diff(np.maximum.accumulate(group), prepend=-1))
    if first.size == group.size:
        return rows, number
    # whole numbers below 2^53: floats add them up without rounding
    return rows[first], np.bincount(group, number).astype(np.int64)
