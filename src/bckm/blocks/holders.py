"""Who holds given data, if they are to be read in blocks."""

from __future__ import annotations

from typing import Any

from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.holder import Holder
from bckm.blocks.sources import source_of


def holder_of(X: Any, threads: int = 1) -> Holder | None:  # noqa: N803
    """Return the holder of data that are to be read in blocks; None: they are for memory.

    Examples
    --------
    >>> import bckm, numpy as np
    >>> from bckm.blocks.holders import holder_of
    >>> holder_of(np.eye(2)) is None, holder_of(bckm.ArrayRows(np.eye(2))).n_rows
    (True, 2)
    """
    source = source_of(X)
    return None if source is None else ArrayHolder(source, threads)
