"""Reading what a file holds, with the suspicion that it was changed by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray

Scalar = str | int | float | bool | None
LARGEST = 2**63 - 1


class Fields:
    """A mapping of a file; each value is what it is asked for as, or a `ValueError`.

    `name` is what messages call it.
    """

    def __init__(self, tree: Any, name: str) -> None:
        if not isinstance(tree, dict):
            raise ValueError(f"{name} is not a mapping")
        self.tree, self.name = tree, name

    def __getitem__(self, key: str) -> Any:
        if key not in self.tree:
            raise ValueError(f"{self.name} has no {key}")
        return self.tree[key]

    def _wrong(self, key: str, what: str) -> ValueError:
        return ValueError(f"{key} of {self.name} is not {what}")

    def of(self, key: str) -> Fields:
        """A mapping within."""
        return Fields(self[key], key)

    def all(self, key: str) -> list[Any]:
        """A list."""
        if not isinstance(self[key], list):
            raise self._wrong(key, "a list")
        return list(self[key])

    def text(self, key: str) -> str:
        """A string."""
        if not isinstance(self[key], str):
            raise self._wrong(key, "text")
        return str(self[key])

    def texts(self, key: str) -> list[str]:
        """A list of strings."""
        found = self.all(key)
        if not all(isinstance(one, str) for one in found):
            raise self._wrong(key, "a list of texts")
        return found

    def scalar(self, key: str) -> Scalar:
        """A name, an id or the like."""
        if not isinstance(self[key], Scalar):
            raise self._wrong(key, "a single value")
        found: Scalar = self[key]
        return found

    def scalars(self, key: str) -> list[Scalar]:
        """A list of ids, categories or the like."""
        found = self.all(key)
        if not all(isinstance(one, Scalar) for one in found):
            raise self._wrong(key, "a list of single values")
        return found

    def flag(self, key: str) -> bool:
        """A truth value."""
        if not isinstance(self[key], bool):
            raise self._wrong(key, "true or false")
        return bool(self[key])

    def number(self, key: str) -> float:
        """Any number but NaN."""
        found = self[key]
        if isinstance(found, bool) or not isinstance(found, int | float) or found != found:
            raise self._wrong(key, "a number")
        if isinstance(found, int) and abs(found) > LARGEST:
            raise self._wrong(key, "a number that fits into 64 bits")
        return float(found)

    def amount(self, key: str) -> float:
        """A finite number, at least 0."""
        found = self.number(key)
        if not 0 <= found < math.inf:
            raise self._wrong(key, "a finite number, at least 0")
        return found

    def whole(self, key: str, most: int = LARGEST) -> int:
        """A whole number, not negative."""
        found = self[key]
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
            raise self._wrong(key, "a whole number")
        return found

    def whole_numbers(self, key: str, size: int | None = None, least: int = 0) -> IntArray:
        """A list of whole numbers, none below `least`."""
        found = self._array(key, "iu", (size,))
        if found.size and (found.min() < least or found.max() > np.iinfo(np.int64).max):
            raise self._wrong(key, f"whole numbers of at least {least}")
        return found.astype(np.int64)

    def floats(self, key: str, shape: tuple[int | None, ...], finite: bool = True) -> FloatArray:
        """An array of numbers; where the shape says None, any number of entries will do."""
        found = self._array(key, "f", shape)
        if not np.isfinite(found).all() if finite else np.isnan(found).any():
            raise self._wrong(key, "made of numbers" if finite else "without NaN")
        return found.astype(np.float64)

    def flags(self, key: str, size: int | None = None) -> NDArray[np.bool_]:
        """A list of truth values."""
        return self._array(key, "b", (size,))

    def _array(self, key: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        found = self[key]
        if not isinstance(found, np.ndarray) or found.dtype.kind not in kinds:
            raise self._wrong(key, "an array of the right kind")
        fits = len(shape) == found.ndim and all(
            want in (None, have) for want, have in zip(shape, found.shape, strict=True)
        )
        if not fits:
            raise self._wrong(key, f"of shape {shape}, but {found.shape}")
        return found

    def bound(self, key: str, *, whole: bool = False) -> Any:
        """None, one number, or one for each: how bounds and prices are kept."""
        found = self[key]
        if found is None:
            return None
        kind = "iu" if whole else "f"
        array = self._array(key, kind, (None,) * min(np.ndim(found), 1))
        if not whole and np.isnan(array).any():
            raise self._wrong(key, "without NaN")
        # a single whole number is kept as such, a single number as an array
        return array.astype(np.int64)[()] if whole else array.astype(np.float64)


def narrow(values: Any) -> IntArray:
    """Whole numbers in as few bytes as they need."""
    array = np.asarray(values, np.int64)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array


def scalar(value: Any, what: str) -> Scalar:
    """An id, category or name that a file can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Scalar):
        return value
    raise TypeError(
        f"{what} {value!r:.60} is a {type(value).__name__}, which cannot be saved; use text or "
        "numbers instead."
    )


def mapping_of(value: Any, name: str) -> Mapping[str, Any]:
    """A mapping with keys of text."""
    return Fields(value, name).tree
