"""Mending labels that break rules, compiled: by moves that may break others, without costs.

Where there is nothing but conflicts, this is graph coloring, and tabu search finds labels a hundred
times quicker than annealing; everything else is annealed, through labels that violate rules.
"""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import IntArray
from bckm.kernels import missing, native
from bckm.problem.compiled import as_arrays
from bckm.problem.structure import Structure

HOT, COLD, CYCLES = 0.5, 0.03, 4  # in fines of a mean item that is too much
LARGEST = 20_000_000  # items x clusters of which a table is kept


def oscillate(
    s: Structure, labels: IntArray, effort: float, deadline: Deadline, seed: int = 0
) -> IntArray | None:
    """Labels that obey, from any labels; None if so much work does not find them.

    Also None without the compiled kernels.
    """
    if missing or s.contradictions or deadline.passed:
        return None
    if _is_coloring(s):
        parted = _recolored(s, labels, effort, deadline, seed)
        if parted is None or s.feasible(parted):
            return parted
        labels = parted  # a cluster is empty that must not be
    after = labels.astype(np.int32)
    outcome = native.anneal(
        *as_arrays(s),
        after,
        np.zeros((s.n_clusters, 1)),
        True,
        HOT,
        COLD,
        CYCLES,
        effort,
        seed,
        min(deadline.left, 1e9),
    )
    found = after.astype(np.int64)
    return found if outcome.feasible and s.feasible(found) else None


def _is_coloring(s: Structure) -> bool:
    """Whether conflicts and forbidden clusters are all that matters, but for empty clusters."""
    loose = bool((s.lower <= 1).all() and (s.upper >= s.count.sum()).all())
    other = s.loads.number or s.linear.number
    return bool(s.conflict_sets) and loose and not other and s.n_items * s.n_clusters <= LARGEST


def _recolored(
    s: Structure, labels: IntArray, effort: float, deadline: Deadline, seed: int
) -> IntArray | None:
    """Labels without conflicts."""
    after = labels.astype(np.int32)
    closed = np.zeros((s.n_items, s.n_clusters), bool)
    closed.ravel()[s.forbidden] = True
    told = native.recolor(
        s.neighbors.indptr.astype(np.int32, copy=False),
        s.neighbors.indices.astype(np.int32, copy=False),
        closed,
        after,
        effort,
        seed,
        min(deadline.left, 1e9),
    )
    return None if told.left else after.astype(np.int64)
