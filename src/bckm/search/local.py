"""Local search: moves of few items that lower the inertia and keep every rule.

An assignment step leaves the centres where they are; a move is judged with the means that follow
it, so it finds what no assignment step finds. Moves are relocations of one item; swaps of two;
chains of three items around a cycle of clusters, or of two along a path; and flips of all items
of two clusters that hang together by conflicts (in graph colouring: Kempe chains).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import scipy.sparse as sp

from bckm._memory import require
from bckm._types import FloatArray, IntArray, Sparse
from bckm.assign.base import Deadline
from bckm.kernels import missing, native
from bckm.problem import Problem
from bckm.search import _moves
from bckm.search._moves import KINDS, Descent
from bckm.structure import Structure

PAIR = 64  # bytes for a pair of clusters


class LocalSearch:
    """Local search on one problem, in compiled code where that is there."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        k, threads = problem.structure.n_clusters, problem.threads
        require(
            (threads + 2) * PAIR * k * k,
            f"the moves between {k:,} clusters",
            "Use search='none', or fewer clusters or n_jobs.",
        )
        if not missing:
            self._points = native.Points(problem.points, pull=problem.mass)
            self._rules = _native_rules(problem.structure)

    def __call__(
        self,
        labels: IntArray,
        centres: FloatArray,
        deadline: Deadline,
        effort: float = np.inf,
        *,
        fixed: bool = False,
    ) -> Descent:
        """Descend from feasible labels; the centre of an empty cluster is its given one.

        `effort` limits the work. With `fixed` centres do not follow the labels: a quick
        assignment without any promise.
        """
        if missing:
            return _moves.descend(self._problem, labels, centres, deadline, effort, fixed=fixed)
        after = labels.astype(np.int32)
        found = native.descend(
            self._points,
            self._rules,
            after,
            np.ascontiguousarray(centres),
            fixed,
            effort,
            min(deadline.left, 1e9),
            self._problem.threads,
        )
        counts = Counter({kind: int(found[kind]) for kind in KINDS})
        return Descent(after.astype(np.int64), counts, found["work"], found["finished"])


def _native_rules(s: Structure) -> native.Rules:
    nothing = sp.csr_array((0, 0))
    conflicts = s.neighbours if s.conflict_sets else nothing
    columns = s.columns if s.has_rows else nothing
    return native.Rules(
        _whole(s.count),
        _whole(s.lower),
        _whole(s.upper),
        *_lists(conflicts),
        *_lists(columns),
        np.ascontiguousarray(columns.data, np.float64),
        s.row_lower,
        s.row_upper,
    )


def _lists(matrix: Sparse) -> tuple[IntArray, IntArray]:
    return _whole(matrix.indptr), _whole(matrix.indices)


def _whole(values: IntArray) -> IntArray:
    return np.ascontiguousarray(values, np.int64)
