"""One measured fit: in a fresh interpreter, wall time and memory of the fit alone.

``python -m benchmarks.sizes.measure request.json`` is the inner side; `measure` starts it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sizes import judge
from benchmarks.sizes.methods import METHODS, Task, warm_up

ROOT = Path(__file__).parents[2]
LOADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")  # read <name>_NUM_THREADS when loaded
READY, STEP = "ready", "step"
Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """All that the inner side needs to know."""

    method: str
    data: str
    start: str
    low: int
    high: int
    max_iter: int
    tol: float
    threads: int


def memory(peak: bool) -> int:
    """Bytes of this process in memory, now or at its peak.

    The kernel's own mark, since ru_maxrss begins with the peak of the process that started this
    one; ru_maxrss only where there is no such mark.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    name = "VmHWM:" if peak else "VmRSS:"
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def forget_peak() -> None:
    """Let the peak begin anew, so that loading data does not count; keeps it where it cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def fit(request: Request, say: Callable[[str], None] = lambda _: None) -> Row:
    """Load, warm up, measure the fit, then judge its labels."""
    method = METHODS[request.method]
    X, start = np.load(request.data), np.load(request.start)  # not mapped: pages would count
    bounds = (request.low, request.high)
    rest = (request.max_iter, request.tol, request.threads)
    task = Task(X, start, *bounds, *rest, on_step=lambda: say(STEP))
    warm_up(method, task)
    forget_peak()
    before = memory(peak=False)
    say(READY)
    began = time.perf_counter()
    found = method.fit(task)
    seconds = time.perf_counter() - began
    above = max(0, memory(peak=True) - before)
    labels = np.asarray(found.labels, dtype=np.intp)
    sizes = np.bincount(labels, minlength=task.k)
    return {
        "status": "done",
        "seconds": seconds,
        "iterations": int(found.iterations),
        "steps": int(found.steps),
        "per_iteration": seconds / found.steps,
        "memory": above,
        "inertia": judge.inertia(X, labels, task.k),
        "claimed_inertia": found.claimed,
        "start_cost": judge.cost(X, labels, start),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "sizes_kept": judge.sizes_kept(sizes, *bounds) if method.bounded else None,
        "gap": judge.largest_gap(X, found.proofs),
    }


def measure(request: Request, budget: float) -> Row:
    """Run one fit in a fresh interpreter; the budget counts from the beginning of the fit."""
    limits = {f"{name}_NUM_THREADS": str(request.threads) for name in LOADS}
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "errors"), "w+b") as errors:
        asked, answer = Path(folder, "request.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(asdict(request)))
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.sizes.measure", str(asked), str(answer)],
            cwd=ROOT,
            env=os.environ | limits,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,  # a buffer would swallow what `communicate` is to read
            start_new_session=True,
        )
        try:
            while process.stdout.readline().strip() not in (READY.encode(), b""):
                pass  # libraries that greet
            printed, _ = process.communicate(timeout=budget)
        except subprocess.TimeoutExpired:
            _stop(process)
            printed, _ = process.communicate()
            return _stopped(budget, printed.split().count(STEP.encode()))
        finally:
            _stop(process)
        if process.returncode == 0 and answer.exists():
            return json.loads(answer.read_text())
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
        return {"status": "failed", "message": (last or [f"signal {-process.returncode}"])[0]}


def _stop(process: subprocess.Popen) -> None:
    """End the fit with whatever it started; it has a session of its own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _stopped(budget: float, steps: int) -> Row:
    """What is known of a fit that ran out of time; the step under way counts as made."""
    return {
        "status": "stopped",
        "seconds": budget,
        "iterations": steps,
        "steps": steps,
        "per_iteration": budget / (steps + 1),
    }


def _main(asked: str, answer: str) -> None:
    request = Request(**json.loads(Path(asked).read_text()))
    row = fit(request, lambda word: print(word, flush=True))
    Path(answer).write_text(json.dumps(row))


if __name__ == "__main__":
    _main(*sys.argv[1:])
