"""Is work counted as it costs? Counted work of engines and moves per CPU second.

    python -m benchmarks.mixed.accounting --only a b e --steps 3

A search decides by counted work how much it does of what (`Assigner.work`), so work must stand for
the same time everywhere: within a factor of two over all instances. Each engine makes some steps
from the same centers; moves go on from there, and once more begin at first labels, as annealing
does; a coarse search is made where sizes are all that is asked. All this is repeated until it can
be measured, after a first time that does not count; other processes make it slower, never quicker,
so the quickest repetitions count. The first column that matters is nanoseconds of CPU per unit of
work, the last line of an engine its least and its most, and their ratio.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bckm import Constraints
from bckm._core.deadline import Deadline
from bckm.assign.base import Engine
from bckm.assign.choose import MOST_EFFORT
from bckm.assign.exact import Exact
from bckm.assign.lagrangian import Lagrangian
from bckm.assign.transport import Transport
from bckm.feasibility import feasible_start
from bckm.fit.search.anneal import Annealing
from bckm.fit.search.coarse import CoarseSearch
from bckm.fit.search.local import Descent, LocalSearch
from bckm.problem.problem import Problem
from benchmarks.mixed.families import chosen

LARGEST = 100_000  # costs, items x clusters, of which the exact engine is asked
EFFORT = 3e8  # work of moves, and of annealing, at most
COARSE = 1e8  # work of a coarse search
ROUNDS, ROUND = 5, 0.04  # how often is measured, and for how many seconds at least
LONG = 0.5  # seconds: what takes longer is measured twice only


@dataclass(frozen=True)
class Row:
    """What some calls of one engine took."""

    engine: str
    instance: str
    cpu: float
    work: float

    @property
    def rate(self) -> float:
        """Nanoseconds per unit of work."""
        return 1e9 * self.cpu / self.work


def main(arguments: list[str] | None = None) -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mixed.accounting",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--offset", type=int, default=1000, help="draws the instances")
    parser.add_argument("--only", nargs="+", default=[], help="names, or letters of families")
    parser.add_argument("--steps", type=int, default=3, help="steps of each engine")
    options = parser.parse_args(arguments)
    tiny = Problem.build(np.arange(12.0)[:, None], 3, Constraints(cannot_link=[(0, 1)], size_max=5))
    list(measured("", tiny, 1))  # imports are not what is measured
    rows = []
    for name, draw in chosen(options.only).items():
        instance = draw(options.offset)
        problem = Problem.build(instance.X, instance.k, instance.constraints(), n_jobs=1)
        for row in measured(name, problem, options.steps):
            rows.append(row)
            print(f"{row.engine:<11} {name:<4} {row.cpu:9.4f} s  {row.rate:7.2f} ns", flush=True)
    for engine in dict.fromkeys(row.engine for row in rows):
        rates = [row.rate for row in rows if row.engine == engine]
        low, high = min(rates), max(rates)
        print(f"{engine:<11} {low:.2f} to {high:.2f} ns: a factor of {high / low:.1f}")
    return 0


def measured(name: str, problem: Problem, steps: int) -> Iterator[Row]:
    """Rows of all engines that this problem admits, of moves, and of annealing."""
    s = problem.structure
    start = feasible_start(s, problem.rules, Deadline())
    rng = np.random.default_rng(0)
    first = problem.points[np.sort(rng.choice(s.n_items, s.n_clusters, replace=False))]
    engines: list[Engine] = [Transport(), Lagrangian()]
    if s.n_items * s.n_clusters <= LARGEST:
        engines.append(Exact(MOST_EFFORT))
    labels, centers = start, first
    for engine in engines:
        if problem.features & ~engine.handles:
            continue
        labels, centers = start, first

        def stepped(engine: Engine = engine) -> tuple[float, float]:
            nonlocal labels, centers
            assigner = engine.prepare(problem)
            labels, centers, cpu = start, first, 0.0
            for _ in range(steps):
                before = time.process_time()
                labels = assigner(centers, labels, Deadline()).labels
                cpu += time.process_time() - before
                centers, _ = problem.recentered(labels, centers)
            return cpu, assigner.work

        yield _repeated(engine.name, name, stepped)
    moves, annealing = LocalSearch(problem), Annealing(problem)
    made, where = labels, centers
    effort = min(EFFORT, 3e4 * s.n_items)
    for kind, call in (
        ("moves", lambda: moves(made, where, Deadline(), EFFORT)),
        ("first moves", lambda: moves(start, first, Deadline(), EFFORT)),
        ("annealing", lambda: annealing(start, first, Deadline(), effort, 0)),
    ):
        yield _repeated(kind, name, lambda call=call: _timed(call))
    if s.interchangeable and not problem.features & ~Transport.handles:
        yield _repeated("coarse", name, lambda: _coarse(problem))


def _coarse(problem: Problem) -> tuple[float, float]:
    before = time.process_time()
    search = CoarseSearch(problem, Deadline())
    search(np.random.default_rng(0), COARSE)
    return time.process_time() - before, search.work


def _timed(call: Callable[[], Descent]) -> tuple[float, float]:
    before = time.process_time()
    work = call().work
    return time.process_time() - before, work


def _repeated(kind: str, name: str, call: Callable[[], tuple[float, float]]) -> Row:
    """The same until it can be measured; the quickest round counts."""
    cpu, _ = call()  # memory is claimed, code is loaded
    rounds = []
    for _ in range(ROUNDS if cpu < LONG else 2):
        cpu = work = 0.0
        while cpu < ROUND:
            took, counted = call()
            cpu, work = cpu + took, work + counted
        rounds.append(Row(kind, name, cpu, work))
    return min(rounds, key=lambda row: row.rate)


if __name__ == "__main__":
    sys.exit(main())
