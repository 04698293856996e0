"""Data that come in blocks of rows: arrays, also on disk, and Parquet files, behind one face."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bckm._core.on_device import refuse_on_device
from bckm._core.validation import refuse_masked
from bckm.blocks.parquet import SUFFIXES, ParquetRows

NUMBERS = 2**22  # in a block: large enough for threads, small enough for memory
LARGE = 2**27  # numbers from which on an array in memory is not copied: that would take a GiB


class Source(Protocol):
    """Rows of numbers that can be read block by block, as often as needed.

    Attributes
    ----------
    shape : tuple
        Number of rows, number of features.
    dtype : dtype
        float32 or float64, of the blocks.
    names : tuple of str or None
        Names of the features, where they have any.
    in_file : bool
        Whether rows are read anew each time: labels are then made when they are asked for.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, number of features."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features."""

    @property
    def in_file(self) -> bool:
        """Whether rows are read anew each time."""

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, NDArray[Any]]]:
        """Rows from `start` to `stop`, in order: number of the first, and an array (m, d)."""

    def place(self, row: int, feature: int) -> str:
        """Where a number is, for messages."""


class ArrayRows:
    """Rows of an array: of NumPy, also a memory map, of Zarr, or of h5py.

    `bckm.kmeans` takes arrays as they are, and reads them block by block where they are on disk or
    have more than 2**27 numbers. Wrapped in this class they are read so whatever their size.

    Parameters
    ----------
    array : array of shape (n_samples, n_features)
        Anything with `shape`, `dtype` and slices of rows. Where it has `chunks`, as Zarr arrays
        do, blocks are whole chunks.
    rows : int, optional
        Rows in a block; no result depends on it.

    Examples
    --------
    >>> import bckm, numpy as np
    >>> rows = bckm.ArrayRows(np.arange(8, dtype=np.float32).reshape(4, 2))
    >>> rows.shape, str(rows.dtype)
    ((4, 2), 'float32')
    """

    names = None

    def __init__(self, array: Any, rows: int | None = None) -> None:
        refuse_masked(array, "X")
        refuse_on_device(array, "X")
        kind = np.dtype(array.dtype)
        self.shape = check_kind(kind, array.shape)
        self.dtype: np.dtype[Any] = working_dtype(kind)
        self.in_file = not isinstance(array, np.ndarray)
        self._array = array
        chunks = getattr(array, "chunks", None)
        self._rows = max(1, NUMBERS // self.shape[1]) if rows is None else rows
        if chunks and rows is None:  # a part of a chunk takes as long to read as all of it
            self._rows = max(1, self._rows // int(chunks[0])) * int(chunks[0])

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, NDArray[Any]]]:
        """Rows from `start` to `stop`, in order: number of the first, and an array (m, d).

        Examples
        --------
        >>> import bckm, numpy as np
        >>> [(at, rows.shape) for at, rows in bckm.ArrayRows(np.eye(3)).blocks(1)]
        [(1, (2, 3))]
        """
        stop = self.shape[0] if stop is None else min(stop, self.shape[0])
        while start < stop:
            end = min((start // self._rows + 1) * self._rows, stop)
            yield start, np.ascontiguousarray(self._array[start:end], self.dtype)
            start = end

    def place(self, row: int, feature: int) -> str:
        """Where a number is, for messages.

        Examples
        --------
        >>> import bckm, numpy as np
        >>> bckm.ArrayRows(np.eye(3)).place(1, 2)
        'sample 1, feature 2'
        """
        return f"sample {row}, feature {feature}"


def check_kind(kind: np.dtype[Any], shape: tuple[int, ...]) -> tuple[int, int]:
    """Refuse what is no table of numbers; its shape."""
    if kind.kind == "c":
        raise ValueError("Complex data not supported: X must be real numbers.")
    if kind.kind not in "biuf":
        raise ValueError(f"X must be numeric; got dtype {kind}.")
    if len(shape) != 2:
        raise ValueError(
            f"X must have two dimensions (samples, features); got shape {tuple(shape)}."
        )
    if 0 in shape:
        raise ValueError(f"X has {shape[0]} samples and {shape[1]} features.")
    return int(shape[0]), int(shape[1])


def working_dtype(kind: np.dtype[Any]) -> np.dtype[Any]:
    """In what numbers are worked with: float32 stays what it is."""
    return np.dtype(np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64)


def source_of(X: Any) -> Source | None:  # noqa: N803
    """Data as a source, if they are to be read in blocks; None: they are for memory.

    That is a path to Parquet data, an array on disk that is no memory map (Zarr, h5py), an array
    or memory map of more than 2**27 numbers, or what is a source already.

    Examples
    --------
    >>> import numpy as np
    >>> from bckm.blocks.sources import source_of
    >>> source_of(np.eye(3)) is None
    True
    """
    if isinstance(X, ArrayRows | ParquetRows):
        return X
    if isinstance(X, str | os.PathLike):
        return ParquetRows(_parquet_path(X))
    if isinstance(X, np.ndarray):
        return ArrayRows(X) if X.ndim == 2 and X.size > LARGE and X.dtype.kind in "biuf" else None
    return ArrayRows(X) if is_chunked(X) else None


def is_chunked(X: Any) -> bool:  # noqa: N803
    """Whether it is an array on disk: Zarr's, which is known by its chunks, or h5py's."""
    if not all(hasattr(X, part) for part in ("shape", "dtype", "chunks", "__getitem__")):
        return False
    whole = isinstance(X.chunks, tuple) and all(isinstance(one, int) for one in X.chunks)
    return whole or type(X).__module__.partition(".")[0] == "h5py"


def fits_memory(X: Any) -> bool:  # noqa: N803
    """Whether data that can be read in blocks can as well be loaded: arrays that are not large."""
    if isinstance(X, np.ndarray):
        return True
    return is_chunked(X) and math.prod(X.shape) <= LARGE


def _parquet_path(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if file.is_dir() and any((file / name).exists() for name in ("zarr.json", ".zarray")):
        raise ValueError(
            f"X is the path of a Zarr array; open it: zarr.open_array({os.fspath(path)!r:.60}, "
            'mode="r").'
        )
    if file.suffix.lower() == ".npy":
        raise ValueError(
            f"X is the path of a NumPy file; open it: numpy.load({os.fspath(path)!r:.60}, "
            'mmap_mode="r").'
        )
    if not file.is_dir() and file.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"X must be data, or the path of a Parquet file or folder; got {os.fspath(path)!r:.60}."
        )
    return file
