"""An answer in reserve: what a fit returns if time is up before a slow engine has any."""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Engine
from bckm.fit.search.local import LocalSearch
from bckm.kernels import missing
from bckm.problem.problem import Problem

EFFORT = 2e8  # work of each pass of moves, less than a second
PASSES = 3
MANY = 1_000  # clusters whose pairs are too many to look at quickly
SMALL = 500_000  # costs (items x clusters) of which an engine makes a step within seconds


def reserved(
    problem: Problem,
    engine: Engine,
    start: IntArray,
    centers: FloatArray,
    deadline: Deadline,
    *,
    still: bool = False,
) -> IntArray | None:
    """Labels of items by quick moves alone, or None where the engine is quick itself.

    From any feasible labels towards the nearest centers; then, unless the centers stay `still`,
    with centers that follow. It takes a counted amount of work and decides nothing else. Where
    there is no deadline and little to do, nobody will ask for it.
    """
    s = problem.structure
    quick = not missing and not problem.sparse and s.n_clusters <= MANY
    small = s.n_items * s.n_clusters <= SMALL or engine.quick_step
    soon = deadline.left == np.inf and small
    if engine.cheap_step or not quick or soon or deadline.passed:
        return None
    moves, labels = LocalSearch(problem), start
    for number in range(PASSES):
        last = number + 1 == PASSES
        descent = moves(labels, centers, deadline, EFFORT, fixed=still or not last)
        if descent.interrupted:
            raise KeyboardInterrupt
        labels = descent.labels
        if not still:
            centers = problem.means(labels, centers)
    return labels if np.any(labels != start) else None
