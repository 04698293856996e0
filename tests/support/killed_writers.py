"""Kills writers at random moments, with `kill -9`, and looks at what they leave.

    python -m tests.support.killed_writers save|fit NUMBER SEED

Prints JSON: how many were killed, how many of these while they wrote, and how often all was well.
It forks, so it is a program of its own: forks of a process with threads are not safe.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import bckm
from bckm._core.status import Status
from bckm._storage.container import read_container
from bckm.fit import checkpoint
from bckm.fit.result import Result
from bckm.fit.search import explore


def killed(work: Callable[[], None], seconds: float, path: Path) -> bool:
    """Let a process work for a while and kill it; False if it was done before."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def left_behind(folder: Path) -> int:
    """Remove what writers left; whether there was any."""
    found = list(folder.glob(".*.tmp"))
    for one in found:
        one.unlink()
    return len(found)


def thing(number: int) -> bckm.Study:
    """Some MB that are easily told from others."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(100_000, 4)) + number
    labels = rng.integers(3, size=len(X))
    centers = np.array([X[labels == i].mean(axis=0) for i in range(3)])
    result = Result(
        labels=labels,
        centers=centers,
        inertia=float(number),
        lower_bound=0.0,
        status=Status.CONVERGED,
        assignment_status=Status.FEASIBLE,
        history=(),
        seconds=0.0,
        sizes=np.bincount(labels),
        solver="none",
        embedded=centers,
    )
    return bckm.Study.of(result, X, bckm.Constraints(size_min=1))


def of_saves(number: int, seed: int, folder: Path) -> dict[str, int]:
    """Save one of two things again and again: one of them is always there, whole."""
    rng, path = np.random.default_rng(seed), folder / "study.bckm"
    things = [thing(0), thing(1)]
    bckm.save(things[0], path)

    def work() -> None:
        for at in range(10**6):
            bckm.save(things[at % 2], path)

    counts = {"killed": 0, "writing": 0, "old or new": 0}
    for _ in range(number):
        counts["killed"] += killed(work, float(rng.uniform(0.0, 0.15)), path)
        counts["writing"] += left_behind(folder)
        found = bckm.load(path)
        same = things[int(found.result.inertia)]
        right = np.array_equal(found.X, same.X)
        right &= np.array_equal(found.result.labels, same.result.labels)
        counts["old or new"] += bool(right)
    return counts


def of_fits(number: int, seed: int, folder: Path) -> dict[str, int]:
    """Kill fits again and again until they are through: they end like one that was left alone."""
    checkpoint.EVERY, checkpoint.SHARE, explore.PATIENCE = 0.0, 0, 12
    rng, path, answer = np.random.default_rng(seed), folder / "fit.bckm", folder / "answer.bckm"
    counts = {"killed": 0, "writing": 0, "fits": 0, "old or new": 0, "equal": 0}
    while counts["killed"] < number:
        X = rng.normal(size=(150, 2))
        k = int(rng.integers(4, 9))
        rules = bckm.Constraints(size_min=150 // k - 3, cannot_link=[(0, 1)] * int(rng.integers(2)))
        seed = int(rng.integers(1000))

        def fit(X=X, k=k, rules=rules, seed=seed, **more) -> None:
            found = bckm.kmeans(X, k, rules, search="global", random_state=seed, **more)
            bckm.save(found, answer)

        assert not killed(fit, 600.0, path)
        whole = outcome(answer)
        answer.unlink()
        most = 0.4  # more and more, or the longest of its runs would never end
        while killed(lambda fit=fit: fit(checkpoint=path), float(rng.uniform(0.02, most)), path):
            counts["killed"] += 1
            most *= 1.2
            counts["writing"] += left_behind(folder)
            if path.exists():
                read_container(path, ["checkpoint"])
            counts["old or new"] += 1
        counts["fits"] += 1
        counts["equal"] += outcome(answer) == whole
        answer.unlink()
        path.unlink()
    return counts


def outcome(path: Path) -> tuple:
    found = bckm.load(path)
    steps = [(one.start, one.iteration, one.objective, one.lower_bound) for one in found.history]
    prices = None if found.prices is None else found.prices.tolist()
    return (
        found.labels.tolist(),
        found.centers.tolist(),
        found.inertia,
        found.lower_bound,
        dict(found.counters),
        found.status,
        prices,
        steps,
    )


if __name__ == "__main__":
    what = {"save": of_saves, "fit": of_fits}[sys.argv[1]]
    with tempfile.TemporaryDirectory() as place:
        counts = what(int(sys.argv[2]), int(sys.argv[3]), Path(place))
    sys.stdout.write(json.dumps(counts) + "\n")
