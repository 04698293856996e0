"""Mending labels that break rules, compiled: annealing through violated rules, without costs."""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import IntArray
from bckm.kernels import missing, native
from bckm.problem.compiled import as_arrays
from bckm.problem.structure import Structure

HOT, COLD, CYCLES = 0.5, 0.03, 4  # as in a search: with fines that rise and fall


def oscillate(
    s: Structure, labels: IntArray, effort: float, deadline: Deadline, seed: int = 0
) -> IntArray | None:
    """Labels that obey, from any labels; None if so much work does not find them.

    Also None without the compiled kernels.
    """
    if missing or s.contradictions or deadline.passed:
        return None
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
