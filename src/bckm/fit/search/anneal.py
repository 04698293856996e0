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
SPEED = 2e9  # work in a second, at most about
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

        `effort` is the work to do, in about nanoseconds: temperatures follow it, and the clock
        where there is no time for so much. The center of an empty cluster is its given one. With
        `fixed` centers do not follow the labels. Ctrl-C ends it like the deadline: what was found
        by then is returned, and says so.
        """
        after = labels.astype(np.int32)
        most = min(effort, SPEED * deadline.left)
        each = most / after.size
        try:
            outcome = native.anneal(
                *self._arrays,
                after,
                np.ascontiguousarray(centers),
                fixed,
                max(COLD, HOT * min(1.0, each / QUICK) ** 0.25),
                COLD,
                max(1, round(each / (CYCLE * after.size**0.5))),
                most,
                seed,
                min(deadline.left, 1e9),
            )
        except KeyboardInterrupt:
            found = self._obeying(after.astype(np.int64), labels)
            return Descent(found, Counter(), 0.0, finished=False, interrupted=True)
        counts = Counter({kind: getattr(outcome, kind) for kind in KINDS})
        found = self._obeying(after.astype(np.int64), labels)
        hurried = outcome.hurried or most < effort
        return Descent(found, counts, outcome.work, finished=False, hurried=hurried)

    def _obeying(self, found: IntArray, before: IntArray) -> IntArray:
        """Labels that were found if they obey, else those before."""
        return found if self._problem.structure.feasible(found) else before
