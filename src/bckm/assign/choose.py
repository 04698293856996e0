"""Which engine serves a problem."""

from __future__ import annotations

from bckm.assign.base import Engine
from bckm.assign.exact import Exact
from bckm.assign.greedy import Greedy
from bckm.assign.nearest import Nearest
from bckm.assign.pump import Pump
from bckm.assign.transport import Transport
from bckm.exceptions import UnsupportedError
from bckm.kernels import missing
from bckm.problem import Feature, Problem

ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (Nearest, Transport, Exact, Pump, Greedy)
}

AUTO_EFFORT = 20_000  # within a fit, a step need not be proven optimal at any price


# the first one that can express what a problem asks; nearest is quicker without kernels, and on
# sparse points
_AUTO = ([Nearest()] if missing else []) + [Transport(), Exact(effort=AUTO_EFFORT)]


def choose(solver: str, problem: Problem) -> Engine:
    """Return the engine that `solver` names, or the best one for the problem for 'auto'.

    Raises
    ------
    ValueError
        For an unknown name.
    UnsupportedError
        When the named engine cannot express what the problem asks.
    """
    if isinstance(solver, str) and solver == "auto":
        engines = [Nearest(), *_AUTO] if problem.sparse else _AUTO
        return next(e for e in engines if not problem.features & ~e.handles)
    if not isinstance(solver, str) or solver not in ENGINES:
        names = ", ".join(map(repr, ["auto", *ENGINES]))
        raise ValueError(f"unknown solver {solver!r}; choose one of {names}.")
    engine = ENGINES[solver]
    beyond: Feature = problem.features & ~engine.handles
    if beyond:
        raise UnsupportedError(
            f"solver {solver!r} cannot express {beyond.words}; use solver='auto'."
        )
    return engine()
