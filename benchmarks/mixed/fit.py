"""One fit in a fresh interpreter: ``python -m benchmarks.mixed.fit`` reads what to do and tells.

The interpreter may be one in which another version of the library is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
GRACE = 60.0  # seconds to begin, to draw the instance and to end


@dataclass(frozen=True)
class Request:
    """What to fit, and how.

    Attributes
    ----------
    instance, offset : str, int
        See `families`.
    search : str
        As in `bckm.kmeans`.
    limit : float or None
        Seconds.
    seed : int
        Random state.
    n_init : int or None
        Starts; None is the default.
    """

    instance: str
    offset: int
    search: str = "auto"
    limit: float | None = None
    seed: int = 0
    n_init: int | None = None


Row = dict[str, Any]


def fit(request: Request, python: str = sys.executable, stop: float = 300.0) -> Row:
    """Fit in a process of its own, which is stopped if it takes too long."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    told = asdict(request)
    try:
        done = subprocess.run(
            [python, "-m", "benchmarks.mixed.fit"],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=os.environ | threads,
            timeout=stop + GRACE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return told | {"failed": f"stopped after {stop:g} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it died"]
        return told | {"failed": lines[-1]}
    return told | json.loads(done.stdout)


def _fitted(request: Request) -> Row:
    import numpy as np

    import bckm
    from benchmarks.mixed.families import INSTANCES

    instance = INSTANCES[request.instance](request.offset)
    warm = np.random.default_rng(0).random((40, 2))
    bckm.kmeans(warm, 3, bckm.Constraints(cannot_link=[(0, 1)], size_max=20), random_state=0)
    before = time.process_time()
    result = bckm.kmeans(
        instance.X,
        instance.k,
        instance.constraints(),
        search=request.search,
        n_init=request.n_init or "auto",
        time_limit=request.limit,
        n_jobs=1,
        random_state=request.seed,
    )
    cpu = time.process_time() - before
    return {
        "inertia": instance.inertia(result.labels),
        "broken": instance.broken(result.labels),
        "cpu": cpu,
        "seconds": result.seconds,
        "gap": result.gap,
        "status": str(result.status),
        "solver": result.solver,
        "runs": 1 + max((step.start for step in result.history), default=0),
    }


if __name__ == "__main__":
    print(json.dumps(_fitted(Request(**json.load(sys.stdin)))))
