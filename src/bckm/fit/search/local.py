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
import scipy.sparse as sp

from bckm._core.deadline import Deadline
from bckm._core.memory import require
from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.exceptions import UnsupportedError
from bckm.kernels import missing, native
from bckm.problem.linear import Loads
from bckm.problem.problem import Problem
from bckm.problem.soft import Soft
from bckm.problem.structure import Structure

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
    """

    labels: IntArray
    counts: Counter[str]
    work: float
    finished: bool


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
        self._points = native.Points(problem.points, cost_weight=problem.mass)
        self._rules = native_rules(problem.structure)
        self._soft = native_soft(problem.soft)

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
        assignment without any promise.
        """
        after = labels.astype(np.int32)
        outcome = native.descend(
            self._points,
            self._rules,
            self._soft,
            after,
            np.ascontiguousarray(centers),
            fixed,
            effort,
            min(deadline.left, 1e9),
            self._problem.threads,
        )
        counts = Counter({kind: getattr(outcome, kind) for kind in KINDS})
        descent = Descent(after.astype(np.int64), counts, outcome.work, outcome.finished)
        if not self._problem.structure.sums_hold(descent.labels):
            # sums of more than twice the digits of a number: nothing is gained where rules break
            descent = replace(descent, labels=labels, finished=False)
        return descent


def native_rules(s: Structure) -> native.Rules:
    """What labels must obey, for compiled code."""
    nothing = sp.csr_array((0, 0))
    rows = s.apart_from_loads
    return native.Rules(
        _whole(s.count),
        _whole(s.lower),
        _whole(s.upper),
        *_lists(s.neighbors if s.conflict_sets else nothing),
        *_lists(rows.by_column),
        _floats(rows.by_column.data),
        rows.lower,
        rows.upper,
        *_loads(s.loads),
    )


def native_soft(soft: Soft) -> native.Soft:
    """What labels should obey, for compiled code."""
    return native.Soft(
        *_lists(soft.ties),
        _floats(soft.ties.data),
        *_lists(soft.cluster_cost),
        _floats(soft.cluster_cost.data),
        float(soft.base_cost.sum()),
        *_loads(soft.loads),
        _floats(soft.lower_penalty),
        _floats(soft.upper_penalty),
    )


def _loads(loads: Loads) -> tuple[FloatArray, FloatArray, FloatArray]:
    return _floats(loads.amount), _floats(loads.lower), _floats(loads.upper)


def _lists(matrix: Sparse) -> tuple[IntArray, IntArray]:
    return _whole(matrix.indptr), _whole(matrix.indices)


def _whole(values: IntArray) -> IntArray:
    return np.ascontiguousarray(values, np.int64)


def _floats(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, np.float64)
