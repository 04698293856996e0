"""Which engine serves a problem."""

from __future__ import annotations

import numpy as np

from bckm.assign._linked_transport import few_links, links_alone
from bckm.assign.base import Engine
from bckm.assign.exact import Exact
from bckm.assign.greedy import Greedy
from bckm.assign.lagrangian import Lagrangian
from bckm.assign.nearest import Nearest
from bckm.assign.pump import Pump
from bckm.assign.transport import Transport
from bckm.exceptions import UnsupportedError
from bckm.kernels import missing
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem

ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (Nearest, Transport, Exact, Lagrangian, Pump, Greedy)
}

# Work of the tree searches of a step within a fit, which need not be proven optimal at any price:
# for each cost, and at least and at most.
COST_EFFORT, LEAST_EFFORT, MOST_EFFORT = 2e4, 3e7, 3e8
ONCE_EFFORT = 3e9  # of a step that is all there is: no later one makes up for it


# the first one that can express what a problem asks; nearest is quicker without kernels, and on
# sparse points
_QUICK: tuple[Engine, ...] = (Nearest(), Transport())

# Costs (items x clusters) up to which proofs are quick enough. Sums of amounts are knapsacks: the
# hardest. Trees of soft links are easy, but LPs of many are large. Where most samples have no
# links, prices lead to nearly the same labels in a fraction of the time.
EXACT, EXACT_SOFT, EXACT_SUMS, EXACT_FEW_LINKS = 1_000_000, 20_000, 600, 10_000
EXACT_LINKS = 200_000  # LPs of links alone are often integral, but long where there are many
# Sums that only count samples nearly always have integral LPs.
EXACT_COUNTS = 100_000
_LINKS_WITH_SIZES = Feature.MUST_LINKS_AND_SIZES | Feature.CONFLICTS


def _auto(problem: Problem, once: bool) -> Engine:
    for engine in _QUICK if missing or problem.sparse else _QUICK[1:]:
        if not problem.features & ~engine.handles:
            return engine
    s, most = problem.structure, EXACT
    if s.loads.number and not s.linear.number:
        most = EXACT_COUNTS if _counts(problem) else EXACT_SUMS
    elif (
        s.has_rows
        or problem.features & (Feature.SOFT_LINKS | Feature.SOFT_SUMS)
        or (problem.features & Feature.SIZES and problem.features & _LINKS_WITH_SIZES)
    ):
        most = EXACT_SOFT
    if few_links(problem):
        most = min(most, EXACT_FEW_LINKS)
    elif links_alone(problem):
        most = min(most, EXACT_LINKS)
    costs = s.n_items * s.n_clusters
    effort = ONCE_EFFORT if once else min(max(COST_EFFORT * costs, LEAST_EFFORT), MOST_EFFORT)
    return Exact(effort) if costs <= most else Lagrangian()


def _counts(problem: Problem) -> bool:
    """Whether sums only count samples, one by one and without links."""
    s, links = problem.structure, _LINKS_WITH_SIZES | Feature.SOFT_LINKS
    if s.n_items < s.item.size or problem.features & links:
        return False
    return bool(np.isin(s.loads.amount, (0.0, 1.0)).all())


def choose(solver: str | Engine, problem: Problem, *, once: bool = False) -> Engine:
    """Return the engine that `solver` is or names, or the best one for the problem for 'auto'.

    `once` says that it is called for a single step, not within a fit.

    Raises
    ------
    ValueError
        For an unknown name.
    UnsupportedError
        When the named engine cannot express what the problem asks.
    """
    if isinstance(solver, str) and solver == "auto":
        return _auto(problem, once).adapted(problem)
    if isinstance(solver, Engine):
        engine = solver
    elif isinstance(solver, str) and solver in ENGINES:
        engine = ENGINES[solver]()
    else:
        names = ", ".join(map(repr, ["auto", *ENGINES]))
        raise ValueError(f"unknown solver {solver!r}; choose one of {names}.")
    beyond: Feature = problem.features & ~engine.handles
    if beyond:
        raise UnsupportedError(
            f"solver {engine.name!r} does not support {beyond.words}; use solver='auto'."
        )
    return engine.adapted(problem)
