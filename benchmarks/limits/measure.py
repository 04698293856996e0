"""One call under one limit, in a process of its own, watched from outside."""

from __future__ import annotations

import faulthandler
import multiprocessing as mp
import os
import resource
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import bckm
from benchmarks.limits.problems import PROBLEMS

LATE, SHARE = 1.0, 0.1  # what a call may be late: so many seconds, or this share of its limit
ENDED = 60.0  # seconds after the limit at which a process is ended
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Row:
    """One call under one limit; seconds of CPU, but for `wall`."""

    problem: str
    limit: float
    reading: float
    late: float
    wall: float
    outcome: str

    @property
    def holds(self) -> bool:
        """Whether the limit held."""
        return self.late <= max(LATE, SHARE * self.limit)


def cpu() -> float:
    """CPU seconds of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def cpu_of(pid: int) -> float:
    """CPU seconds of another process that runs, and of those that it has waited for."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return sum(map(int, text.rpartition(")")[2].split()[11:15])) / TICK


def judged(problem: str, limit: float, pipe: Connection, trace: bool) -> None:
    """Run one call, in a process of its own."""
    call, read = PROBLEMS[problem]()
    began = cpu()
    read()
    reading = cpu() - began
    if trace:
        faulthandler.dump_traceback_later(limit + reading + LATE, file=sys.stderr)
    pipe.send((reading, cpu()))
    try:
        answer = call(limit)
        outcome = answer if isinstance(answer, str) else type(answer).__name__
        outcome = str(getattr(answer, "status", getattr(answer, "verdict", outcome)))
        if hasattr(answer, "inertia"):
            outcome += f", {answer.inertia:.6g}"
    except (bckm.InfeasibleError, bckm.UndecidedError) as error:
        outcome = type(error).__name__
    pipe.send((cpu(), outcome))


def measure(problem: str, limit: float, trace: bool) -> Row:
    """Run one call from outside, and look at the clock when its limit is over."""
    here, there = mp.Pipe()
    process = mp.Process(target=judged, args=(problem, limit, there, trace))
    process.start()
    there.close()
    assert process.pid is not None
    reading, began = here.recv()
    start = time.perf_counter()
    done = here.poll(limit)
    at_limit = cpu_of(process.pid)
    if not done and not here.poll(ENDED):
        process.kill()
        process.join()
        return Row(problem, limit, reading, ENDED, time.perf_counter() - start, "ended by force")
    ended, outcome = here.recv()
    wall = time.perf_counter() - start
    process.join()
    unread = max(0.0, reading - (at_limit - began))
    late = 0.0 if done else max(0.0, ended - at_limit - unread)
    return Row(problem, limit, reading, late, wall, outcome)
