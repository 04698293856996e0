"""One measured fit: in a process of its own, so that it can be stopped, or here."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.search.case import Case
from benchmarks.search.methods import METHODS, Task, warm_up

READY, FOUND, DONE, FAILED = "ready", "found", "done", "failed"
STARTUP = 120.0  # seconds for the process to begin and to get the data


@dataclass(frozen=True, eq=False)
class Found:
    """Labels, and after how many seconds and starts they were there."""

    seconds: float
    labels: np.ndarray
    starts: int
    claimed: float | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a fit found, each better than the one before, and how it ended.

    Attributes
    ----------
    found : tuple of Found
        In the order of time.
    status : {"done", "stopped", "failed"}
        Stopped is a fit that went on for longer than it may.
    seconds : float
        Of the whole fit.
    message : str
        Why it failed.
    """

    found: tuple[Found, ...]
    status: str
    seconds: float
    message: str = ""

    def until(self, seconds: float) -> Found | None:
        """The best by then; if there was nothing yet, the first that came, with its time."""
        early = [found for found in self.found if found.seconds <= seconds]
        return early[-1] if early else next(iter(self.found), None)


def measure(
    case: Case, method: str, seed: int, seconds: float, threads: int, limit: float
) -> Outcome:
    """Fit in a new process and stop it `limit` seconds after its fit began."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(there, case, method, seed, seconds, threads))
    process.start()
    there.close()
    try:
        return _listen(here, limit)
    finally:
        process.kill()
        process.join()
        here.close()


def inside(
    case: Case,
    method: str,
    seed: int,
    seconds: float,
    threads: int,
    limit: float,  # noqa: ARG001
) -> Outcome:
    """Fit in this process, which is quicker to begin but cannot be stopped."""
    told: list[tuple] = []
    _work(told.append, case, method, seed, seconds, threads)
    found = tuple(Found(*rest) for word, *rest in told if word == FOUND)
    status, took, message = told[-1]
    return Outcome(found, status, took, message)


def _listen(pipe: Connection, limit: float) -> Outcome:
    found: list[Found] = []
    began, wait = time.monotonic(), STARTUP
    try:
        while pipe.poll(max(0.0, began + wait - time.monotonic())):
            word, *rest = pipe.recv()
            if word == READY:
                began, wait = time.monotonic(), limit
            elif word == FOUND:
                found.append(Found(*rest))
            else:
                took, message = rest
                return Outcome(tuple(found), word, took, message)
    except EOFError:
        return Outcome(tuple(found), FAILED, time.monotonic() - began, "its process died")
    return Outcome(tuple(found), "stopped", wait)


def _tell(pipe: Connection, *what: Any) -> None:
    _work(pipe.send, *what)


def _work(
    send: Callable[[tuple], None],
    case: Case,
    method: str,
    seed: int,
    seconds: float,
    threads: int,
) -> None:
    def tell(*what: Any) -> None:
        send((FOUND, *what))

    began = time.perf_counter()
    try:
        with threadpool_limits(threads):
            warm_up(method, case, threads)
            send((READY,))
            task = Task(case, seed, seconds, threads, tell)
            METHODS[method].fit(task)
            send((DONE, task.elapsed, ""))
    except Exception as error:  # whatever a peer raises is its result
        send((FAILED, time.perf_counter() - began, f"{type(error).__name__}: {error}"))
