"""Local search: moves of few items that lower the objective and keep every rule.

An assignment step leaves the centers where they are; a move is judged with the means that follow
it, and with all penalties, so it finds what no assignment step finds. Moves are relocations of one
item; swaps of two; chains of three items around a cycle of clusters, or of two along a path; flips
of all items of two clusters that hang together by conflicts (in graph coloring: Kempe chains); and
groups: all items of a cluster that hang together by soft must-links go to another one, because none
of them would go alone. If sizes do not admit a group, others come back for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.memory import require
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.exceptions import UnsupportedError
from bckm.kernels import missing, native
from bckm.problem.compiled import as_arrays
from bckm.problem.problem import Problem

PAIR = 64  # bytes for a pair of clusters
KINDS: Final = ("passes", "relocated", "swapped", "chained", "flipped", "grouped")


@dataclass(frozen=True, eq=False)
class Descent:
    """Labels after local search.

    Attributes
    ----------
    labels : array (m,)
        Cluster of each item.
    counts : Counter
        Looks at all items (``passes``) and moves made, by their kind.
    work : float
        Numbers looked at, about.
    finished : bool
        Whether these labels are proven a local optimum: no relocation, swap, flip or move of a
        group (of at most 64 items) that keeps the rules lowers the objective by more than
        round-off.
    hurried : bool
        Whether the clock had a say in how it went.
    interrupted : bool
        Whether Ctrl-C ended it: nothing was counted, and the caller is to end too.
    """

    labels: IntArray
    counts: Counter[str]
    work: float
    finished: bool
    hurried: bool = False
    interrupted: bool = False

    def ended(self, deadline: Deadline) -> Status:
        """Whether Ctrl-C, or the deadline, ended it."""
        if self.interrupted:
            return Status.INTERRUPTED
        return Status.TIME_LIMIT if deadline.passed else Status.CONVERGED


def require_moves(search: str, problem: Problem) -> None:
    """Refuse a search that needs moves where there are none."""
    if search not in ("local", "global"):
        return
    if problem.sparse:
        raise UnsupportedError(
            f"search={search!r} needs dense data, but X is sparse; use search='auto', or reduce "
            "the features (for example with sklearn's TruncatedSVD) to dense data."
        )
    if missing:
        raise UnsupportedError(
            f"search={search!r} needs the compiled kernels; {missing} Or use search='auto', which "
            "works without them."
        )


class LocalSearch:
    """Local search on one problem. It is compiled code: without the kernels there is none."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        k, threads = problem.structure.n_clusters, problem.threads
        require(
            (threads + 2) * PAIR * k * k,
            f"the moves between {k:,} clusters",
            "Use search='none', or fewer clusters or n_jobs.",
        )
        self._arrays = as_arrays(problem.structure, problem.soft, problem.points, problem.mass)

    def __call__(
        self,
        labels: IntArray,
        centers: FloatArray,
        deadline: Deadline,
        effort: float = np.inf,
        *,
        fixed: bool = False,
    ) -> Descent:
        """Descend from feasible labels; the center of an empty cluster is its given one.

        `effort` limits the work. With `fixed` centers do not follow the labels: a quick
        assignment without any promise. Ctrl-C ends it like the deadline: what was found by then is
        returned, and says so.
        """
        after = labels.astype(np.int32)
        try:
            outcome = native.descend(
                *self._arrays,
                after,
                np.ascontiguousarray(centers),
                fixed,
                effort,
                min(deadline.left, 1e9),
                self._problem.threads,
            )
            counts = Counter({kind: getattr(outcome, kind) for kind in KINDS})
            descent = Descent(after.astype(np.int64), counts, outcome.work, outcome.finished)
        except KeyboardInterrupt:
            descent = Descent(after.astype(np.int64), Counter(), 0.0, False, interrupted=True)
        if not self._problem.structure.sums_hold(descent.labels):
            # sums of more than twice the digits of a number: nothing is gained where rules break
            descent = replace(descent, labels=labels, finished=False)
        return descent
