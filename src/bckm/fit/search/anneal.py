"""Local search that passes through labels that violate rules.

Where sums are tight, nearly every move breaks one of them, and moves that keep all rules (`local`)
soon find nothing more. Here a violated rule is fined; its fine rises while the rule is violated
too often and falls while it holds too often; what counts are the best labels met that obey. Moves
that make the objective worse are made too, less and less of them (simulated annealing).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.memory import require
from bckm._core.types import FloatArray, IntArray
from bckm.fit.search.local import Descent
from bckm.kernels import native
from bckm.problem.compiled import as_arrays
from bckm.problem.problem import Problem

KINDS: Final = ("proposed", "relocated", "swapped", "ejected")
PAIR = 16  # bytes for a pair of clusters
HOT, COLD = 0.5, 0.02  # first and last temperature, in what a median item loses elsewhere
QUICK = 1e5  # work per item below which it begins less hot
CYCLE = 8e3  # work per item of a cycle, times the root of their number: how long cooling takes


class Annealing:
    """Annealing on one problem. It is compiled code: without the kernels there is none."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        k = problem.structure.n_clusters
        require(
            PAIR * k * k,
            f"the moves between {k:,} clusters",
            "Use search='none', or fewer clusters.",
        )
        self._arrays = as_arrays(problem.structure, problem.soft, problem.points, problem.mass)

    def __call__(
        self,
        labels: IntArray,
        centers: FloatArray,
        deadline: Deadline,
        effort: float,
        seed: int,
        *,
        fixed: bool = False,
    ) -> Descent:
        """Search from any labels, also infeasible ones; return better ones that obey, or the same.

        `effort` is the work to do, in about nanoseconds; a deadline cuts it short, which is worth
        less than a smaller effort: temperatures follow the work. The center of an empty cluster is
        its given one. With `fixed` centers do not follow the labels.
        """
        after = labels.astype(np.int32)
        each = effort / after.size
        outcome = native.anneal(
            *self._arrays,
            after,
            np.ascontiguousarray(centers),
            fixed,
            max(COLD, HOT * min(1.0, each / QUICK) ** 0.25),
            COLD,
            max(1, round(each / (CYCLE * after.size**0.5))),
            effort,
            seed,
            min(deadline.left, 1e9),
        )
        counts = Counter({kind: getattr(outcome, kind) for kind in KINDS})
        found = after.astype(np.int64)
        if not (outcome.feasible and self._problem.structure.sums_hold(found)):
            found = labels
        return Descent(found, counts, outcome.work, finished=False)
