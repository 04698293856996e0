"""Sizes of mixed groups of which nobody said how large they are to be."""

from __future__ import annotations

from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.constraints import Constraints
from bckm.constraints.rules import SizeMax, SizeMin
from bckm.exceptions import InfeasibleError, UndecidedError
from bckm.feasibility import feasible_start
from bckm.problem.problem import Problem

PATIENCE = 0.2  # share of the time that is left, to find out whether sizes can be that equal


def states_sizes(constraints: Constraints, n_samples: int, n_clusters: int) -> bool:
    """Whether rules, hard or soft, say how large clusters are to be."""
    if constraints.size_min is not None or constraints.size_max is not None:
        return True
    soft = constraints.soft_rules(n_samples, n_clusters)
    return any(isinstance(one.rule, SizeMin | SizeMax) for one in soft.others)


def equally_sized(
    data: FloatArray,
    n_clusters: int,
    constraints: Constraints,
    sample_weight: Any,
    n_jobs: Any,
    deadline: Deadline,
) -> tuple[Problem, Constraints, IntArray | None]:
    """The problem with sizes as equal as other rules admit, its rules, and labels that obey.

    Without a common size, sizes may differ by a little more, and then twice as much each time;
    labels are None where that is not found out in time: no bounds are added then.
    """
    n, width = len(data), 0
    least, most = n // n_clusters, -(-n // n_clusters)
    while least > width:
        rules = constraints & Constraints(
            size_min=least - width, size_max=most + width, by=constraints.by
        )
        problem = Problem.build(data, n_clusters, rules, sample_weight, n_jobs=n_jobs)
        largest = int(problem.structure.count.max())
        if largest <= most + width:
            try:
                soon = deadline.share(PATIENCE) if np.isfinite(deadline.at) else deadline
                return problem, rules, feasible_start(problem.structure, problem.rules, soon)
            except (InfeasibleError, UndecidedError):
                pass
        width = max(2 * width, 1, largest - most if largest > most + width else 0)
    problem = Problem.build(data, n_clusters, constraints, sample_weight, n_jobs=n_jobs)
    return problem, constraints, None
