"""Who holds given data, if they are to be read in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bckm._core.on_device import device_of
from bckm._core.types import FloatArray
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.holder import Holder
from bckm.blocks.question import Question
from bckm.blocks.sources import source_of
from bckm.blocks.whole_sums import as_float


def holder_of(X: Any, threads: int = 1) -> Holder | None:  # noqa: N803
    """Return the holder of data that are to be read in blocks; None: they are for memory.

    Examples
    --------
    >>> import bckm, numpy as np
    >>> from bckm.blocks.holders import holder_of
    >>> holder_of(np.eye(2)) is None, holder_of(bckm.ArrayRows(np.eye(2))).n_rows
    (True, 2)
    """
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from bckm.blocks.dask_holder import DaskHolder  # no other data need dask

        return DaskHolder(X)
    if device_of(X) is not None:
        from bckm.blocks.gpu.arrays import gpu_holder  # no other data need CuPy

        return gpu_holder(X)
    if hasattr(X, "survey") and hasattr(X, "look"):  # it is one
        held: Holder = X
        return held
    source = source_of(X)
    return None if source is None else ArrayHolder(source, threads)


def nearest_cost(holder: Holder, centers: FloatArray) -> float:
    """Sum of the squared distances of all rows to the nearest of some centers, in units of X.

    Examples
    --------
    >>> import bckm, numpy as np
    >>> from bckm.blocks.holders import holder_of, nearest_cost
    >>> nearest_cost(holder_of(bckm.ArrayRows(np.array([[0.0], [3.0], [9.0]]))), np.array([[1.0]]))
    69.0
    """
    survey = holder.survey(0.0, 0)
    survey.check()
    frame = survey.frame()
    question = Question(frame, frame.inside(centers), np.zeros(len(centers)), sums=False)
    return as_float(holder.look(question).cost, question.cost_scale) * frame.x_scale**2
