"""`DaskHolder`: rows of a dask array, on one machine or many. The only file that imports dask.

Each pass is one graph: a task for what is asked, a task per block, and a tree that merges what they
answer. Tasks keep nothing, so one that a lost machine had begun, or whose result it held, is done
again elsewhere and gives the same bits. The scheduler sees tasks, and no number per row. What is
asked is a task of its own: scattered, it would be lost with the machine that holds it.

With a `distributed.Client` a pass runs on its cluster, otherwise by the scheduler that dask is
configured for, by default threads of this process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import get_scheduler
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from bckm._core.arrays import squared_distances
from bckm._core.deadline import Deadline, TimeUp
from bckm._core.types import FloatArray, IntArray
from bckm.blocks.answer import Answer, merged
from bckm.blocks.holder import IN_BLOCKS
from bckm.blocks.labeling import Labeling, label_block
from bckm.blocks.look import look
from bckm.blocks.question import Question
from bckm.blocks.sources import working_dtype
from bckm.blocks.survey import Survey, merged_surveys, survey

FAN = 12  # answers that a task merges: few enough to be held at once, and the tree is shallow


class DaskHolder:
    """Rows of a dask array, or of a dask frame of numbers; a `Holder`.

    Lengths of chunks that dask does not know are computed first, in one more pass.
    """

    elsewhere = IN_BLOCKS

    def __init__(self, X: Any) -> None:  # noqa: N803
        self._array = _rows(X)
        columns = tuple(getattr(X, "columns", ()))
        named = columns and all(isinstance(name, str) for name in columns)
        self.names = columns if named else None
        self.n_rows, self.n_features = self._array.shape
        self.dtype = self._array.dtype
        self.passes = self.received = 0
        self.quick = False
        lengths = np.array(self._array.chunks[0], np.int64)
        self._offsets = (np.cumsum(lengths) - lengths).tolist()
        self._blocks = self._array.to_delayed().ravel().tolist()
        self._libraries = ThreadpoolController()

    def survey(self, share: float, seed: int, deadline: Deadline | None = None) -> Survey:
        """Survey all rows."""
        return self._ask(survey, merged_surveys, share, seed, deadline=deadline)  # type: ignore[no-any-return]

    def look(self, question: Question, deadline: Deadline | None = None) -> Answer:
        """Answer a question about all rows."""
        answer: Answer = self._ask(look, merged, _one_task(question), deadline=deadline)
        self.received += answer.nbytes
        return answer

    def count(self, labeling: Labeling, deadline: Deadline | None = None) -> IntArray:
        """Count the labels of all rows, (k,)."""
        return self._ask(_count, sum, _one_task(labeling), deadline=deadline)  # type: ignore[no-any-return]

    def labels(self, labeling: Labeling) -> Any:
        """Labels of all rows, made when they are asked for: a dask array with the same chunks."""
        rule = dask.delayed(labeling, traverse=False, pure=True)
        none = np.empty(0, np.int32)
        return self._array.map_blocks(labels, rule, drop_axis=1, dtype=none.dtype, meta=none)

    def distances(self, centers: FloatArray) -> Any:
        """Distances of all rows to centers, made when they are asked for: a dask array (n, k)."""
        shape = (self._array.chunks[0], (len(centers),))
        return self._array.map_blocks(distances, centers, chunks=shape, meta=np.empty((0, 0)))

    def place(self, row: int, feature: int) -> str:
        """Where a number is, for messages."""
        name = feature if self.names is None else repr(self.names[feature])
        return f"sample {row}, feature {name}"

    def _ask(
        self,
        ask: Callable[..., Any],
        merge: Callable[..., Any],
        *asked: Any,
        deadline: Deadline | None,
    ) -> Any:
        """What all blocks answer, merged."""
        self.passes += 1
        client = _client()
        heard = None if client else deadline  # clocks of other machines show another time
        task, join = dask.delayed(ask, pure=False), dask.delayed(merge, pure=False)
        blocks = zip(self._blocks, self._offsets, strict=True)
        answers = [task(block, at, *asked, deadline=heard) for block, at in blocks]
        while len(answers) > 1:
            answers = [join(answers[at : at + FAN]) for at in range(0, len(answers), FAN)]
        if client is not None:
            return _on_cluster(client, answers[0], deadline)
        # each block has a thread, and more of them would only stand in the way
        with self._libraries.limit(limits=1, user_api="blas"):
            return answers[0].compute()


def _rows(X: Any) -> da.Array:  # noqa: N803
    """X as an array of float32 or float64 whose blocks are whole rows, of known number."""
    if not isinstance(X, da.Array):
        if not hasattr(type(X), "to_dask_array") or X.ndim != 2:
            raise TypeError(f"X must be a dask array or DataFrame; got a {type(X).__name__}.")
        X = X.to_dask_array(lengths=True)  # noqa: N806
    if X.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (samples, features); got a dask array with {X.ndim}."
        )
    if type(X._meta) is not np.ndarray:
        raise TypeError(
            f"the blocks of X must be NumPy arrays, not {type(X._meta).__name__}: convert them "
            "with X.map_blocks."
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real numbers.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must be numeric; got dtype {X.dtype}.")
    X = X.astype(working_dtype(X.dtype))  # noqa: N806
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})  # noqa: N806
    if np.isnan(X.shape[0]):  # of a copy, since lengths are written into the array
        X = da.Array(X.dask, X.name, X.chunks, meta=X).compute_chunk_sizes()  # noqa: N806
    if 0 in X.shape:
        raise ValueError(f"X has {X.shape[0]} samples and {X.shape[1]} features.")
    return X


def _one_task(asked: Any) -> Any:
    """A task that others wait for: each worker fetches its result once, any can repeat it."""
    return dask.delayed(asked, traverse=False)


def _count(
    block: NDArray[Any], offset: int, labeling: Labeling, deadline: Deadline | None
) -> IntArray:
    found = label_block(block, offset, labeling, deadline=deadline)
    return np.bincount(found, minlength=labeling.prices.size)


# dask shows the names of these two
def labels(block: NDArray[Any], labeling: Labeling, block_info: Any = None) -> NDArray[np.int32]:
    """Labels of a block, which dask says where it is."""
    (begin, _), _ = block_info[0]["array-location"]
    return label_block(block, int(begin), labeling)


def distances(block: NDArray[Any], centers: FloatArray) -> FloatArray:
    """Distances of the rows of a block to centers."""
    return np.sqrt(squared_distances(block, centers))


def _client() -> Any:
    """The `distributed.Client` that dask would compute with, or None."""
    distributed = sys.modules.get("distributed")  # without it, there is no client
    owner = getattr(get_scheduler(), "__self__", None)
    if distributed is None or not isinstance(owner, distributed.Client):
        return None
    if owner.asynchronous:
        raise TypeError("the dask Client is asynchronous; bckm needs one that waits for results.")
    return owner


def _on_cluster(client: Any, task: Any, deadline: Deadline | None) -> Any:
    """Wait for a task; if the waiting ends early, what is under way is canceled."""
    future = client.compute(task)
    try:
        return future.result(None if deadline is None or deadline.at == np.inf else deadline.left)
    except BaseException as error:
        future.cancel()
        if isinstance(error, TimeoutError) and deadline is not None and deadline.passed:
            raise TimeUp from None
        raise
