"""Which engine serves a problem."""

from __future__ import annotations

from bckm.assign.base import Engine
from bckm.assign.exact import Exact
from bckm.assign.greedy import Greedy
from bckm.assign.nearest import Nearest
from bckm.assign.pump import Pump
from bckm.exceptions import UnsupportedError
from bckm.problem import Feature, Problem

ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (Nearest, Exact, Pump, Greedy)
}

# Within a fit one step need not be proven optimal at any price: a work limit that is almost never
# reached, counted in nodes so that results do not depend on the speed of the machine.
AUTO_NODES = 500


def choose(solver: str, problem: Problem) -> Engine:
    """Return the engine that `solver` names, or the best one for the problem for 'auto'.

    Raises
    ------
    ValueError
        For an unknown name.
    UnsupportedError
        When the named engine cannot express what the problem asks.
    """
    if solver == "auto":
        simple = not problem.features & ~Nearest.handles
        return Nearest() if simple else Exact(max_nodes=AUTO_NODES)
    if solver not in ENGINES:
        names = ", ".join(map(repr, ["auto", *ENGINES]))
        raise ValueError(f"unknown solver {solver!r}; choose one of {names}.")
    engine = ENGINES[solver]
    missing: Feature = problem.features & ~engine.handles
    if missing:
        raise UnsupportedError(
            f"solver {solver!r} cannot express {missing.name}; use solver='auto'."
        )
    return engine()
