"""Runs cases in processes, and brings together what they tell."""

from __future__ import annotations

import importlib
import multiprocessing
import resource
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from campaign.part import Case, Part

PARTS = (
    "slow",  # one long case: first, so that both processes have work to the end
    "labels",
    "assignments",
    "conflicts",
    "kills",
    "files",
    "hostile",
    "scale",
    "memory",
    "threads",
    "limits",
    "engines",
)
PROCESSES = 2
_SHOWN = 50  # failures of a part that are kept,
_TOLD = 10  # and that are told at once


class Hung(BaseException):
    """A case did not end; no library code may swallow it."""


def part_of(name: str) -> Part:
    """The part of a name; one that lies elsewhere has the name of its module."""
    found: Part = importlib.import_module(name if "." in name else f"campaign.{name}").PART
    return found


def look_at(part: Part, seed: int, number: int) -> tuple[Counter[str], str | None]:
    """Look at one case: what was counted, and what is wrong, if anything is."""
    case = Case(part.name, seed, number)

    def stop(*_: object) -> None:
        raise Hung(f"no end after {part.limit} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(part.limit)
    try:
        part.look(case)
        wrong = None
    except (Exception, Hung, SystemExit, KeyboardInterrupt) as error:
        wrong = "".join(traceback.format_exception(error, limit=-6))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        case.close()
    return case.counts, wrong


@dataclass
class Tally:
    """What came of some cases of a part."""

    name: str
    cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    def add(self, other: Tally) -> None:
        """Bring in those of other cases."""
        self.cases += other.cases
        self.counts += other.counts
        self.failures = sorted(self.failures + other.failures, key=lambda one: one["case"])[:_SHOWN]
        self.failed += other.failed
        self.seconds += other.seconds
        self.cpu += other.cpu

    def fail(self, number: int, wrong: str) -> None:
        """Note a case that failed."""
        self.failed += 1
        self.failures.append({"case": number, "wrong": wrong})


def _cpu() -> float:
    own, below = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime


def run_chunk(name: str, seed: int, first: int, number: int) -> Tally:
    """Look at some cases in a row."""
    part, found, began, cpu = part_of(name), Tally(name), time.perf_counter(), _cpu()
    for at in range(first, first + number):
        counts, wrong = look_at(part, seed, at)
        found.cases += 1
        found.counts += counts
        if wrong is not None:
            found.fail(at, wrong)
    found.seconds, found.cpu = time.perf_counter() - began, _cpu() - cpu
    return found


Chunk = tuple[str, int, int, int]  # of a part, with a seed: the first case, and how many


def _chunks(names: list[str], seed: int, count: int | None, share: float) -> Iterator[Chunk]:
    for name in names:
        part = part_of(name)
        wanted = part.count if count is None else count
        cases = part.cases(max(int(wanted * share), 1))
        for first in range(0, cases, part.chunk):
            yield name, seed, first, min(part.chunk, cases - first)


def run(
    names: list[str],
    seed: int,
    *,
    count: int | None = None,
    share: float = 1.0,
    processes: int = PROCESSES,
    tell: Callable[[Tally, float], None] = lambda *_: None,
    warn: Callable[[str, dict[str, Any]], None] = lambda *_: None,
) -> dict[str, Tally]:
    """Run parts; `tell` is called with each that is through, `warn` with failures as they come."""
    found = {name: Tally(name) for name in names}
    waiting = list(_chunks(names, seed, count, share))[::-1]
    left = Counter(chunk[0] for chunk in waiting)
    began = dict.fromkeys(names, 0.0)

    def end(name: str, tally: Tally) -> None:
        for failure in tally.failures[: max(_TOLD - found[name].failed, 0)]:
            warn(name, failure)
        found[name].add(tally)
        left[name] -= 1
        if not left[name]:
            tell(found[name], time.perf_counter() - began[name])

    while waiting:
        for chunk in _until_death(waiting, processes, began, end):
            for suspect in _split(chunk) if chunk[3] > 1 else [chunk]:
                left[chunk[0]] += 1
                alone = [suspect]
                if any(_until_death(alone, 1, began, end)):
                    died = Tally(chunk[0], cases=1)
                    died.fail(suspect[2], "the process died")
                    end(chunk[0], died)
            left[chunk[0]] -= 1
    return found


def _split(chunk: Chunk) -> list[Chunk]:
    name, seed, first, number = chunk
    return [(name, seed, at, 1) for at in range(first, first + number)]


def _until_death(
    waiting: list[Chunk],
    processes: int,
    began: dict[str, float],
    end: Callable[[str, Tally], None],
) -> list[Chunk]:
    """Run chunks until all are done or a process dies: then those that were being looked at."""
    running: dict[Future[Tally], Chunk] = {}
    pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                chunk = waiting.pop()
                began[chunk[0]] = began[chunk[0]] or time.perf_counter()
                running[pool.submit(run_chunk, *chunk)] = chunk
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                tally = done.result()
                end(running.pop(done)[0], tally)
    except BrokenProcessPool:
        return list(running.values())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return []
