"""`Labels`: labels of data in a file, made from the rows whenever they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm.blocks.labeling import Labeling, label_block
from bckm.blocks.sources import Source


class Labels:
    """Labels of rows that are not in memory; they are computed from the rows when asked for.

    ``result.labels`` of data in a file is of this class. ``labels[a:b]`` reads these rows and
    returns an array, ``np.asarray(labels)`` reads all rows, and `blocks` goes through them with one
    block in memory at a time.

    Parameters
    ----------
    source : Source
        The rows.
    labeling : Labeling
        What labels follow from.
    threads : int
        How many threads compiled code may use.

    Examples
    --------
    >>> import bckm, numpy as np
    >>> from bckm.blocks.frame import Frame
    >>> from bckm.blocks.labeling import Labeling
    >>> from bckm.blocks.labels import Labels
    >>> none = np.empty(0, np.int64)
    >>> rule = Labeling(Frame(np.zeros(1), 1.0), np.eye(2)[:, :1], np.zeros(2), none, none)
    >>> labels = Labels(bckm.ArrayRows(np.array([[0.2], [0.9], [0.1]])), rule)
    >>> len(labels), int(labels[1]), labels[:2].tolist(), np.asarray(labels).tolist()
    (3, 0, [1, 0], [1, 0, 1])
    """

    dtype = np.dtype(np.int32)
    ndim = 1

    def __init__(self, source: Source, labeling: Labeling, threads: int = 1) -> None:
        self._source, self._labeling, self._threads = source, labeling, threads
        self.shape = (source.shape[0],)
        self.size = source.shape[0]

    def __repr__(self) -> str:
        return f"Labels({self.size:,} rows, made when asked for)"

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            start, stop, step = which.indices(self.size)
            if step < 0:
                return self[:][which]
            return self._of(start, stop)[::step]
        if isinstance(which, int | np.integer):
            row = range(self.size)[which]
            return self._of(row, row + 1)[0]
        return self[:][which]

    def __iter__(self) -> Iterator[np.int32]:
        for _, labels in self.blocks():
            yield from labels

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(self.dtype if dtype is None else dtype, copy=False)  # type: ignore[no-any-return]

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, NDArray[Any]]]:
        """Labels from row `start` to `stop`, in order: number of the first row, and an array."""
        for at, rows in self._source.blocks(start, stop):
            yield at, label_block(rows, at, self._labeling, self._threads)

    def tolist(self) -> list[int]:
        """All labels as a list, as arrays have it."""
        return list(self[:].tolist())

    def _of(self, start: int, stop: int) -> NDArray[np.int32]:
        found = np.empty(max(stop - start, 0), np.int32)
        for at, labels in self.blocks(start, stop):
            found[at - start : at - start + labels.size] = labels
        return found
