"""What links cost before anything is clustered: bytes and microseconds a link, by door.

``python -m benchmarks.mixed.links`` measures up to a million pairs, ``--most 24e6`` more. Run it
with the interpreter of another version to compare; it uses what all versions have. Times are CPU
seconds, bytes those that Python asked for at most (tracemalloc), without what the caller holds.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import bckm
from bckm._core.deadline import Deadline
from bckm.feasibility import feasible_start
from bckm.problem.structure import Structure, contract
from bckm.study import views

K = 10  # classes, and clusters

Pairs = np.ndarray[Any, Any]


def from_labels(number: int) -> tuple[int, Pairs, Pairs, Any]:
    """All pairs of as many labeled samples as it takes, which are a tenth; and their labels."""
    rng = np.random.default_rng(0)
    labeled = int((1 + np.sqrt(1 + 8 * number)) / 2)
    n = 10 * labeled
    y = np.full(n, -1)
    known = np.sort(rng.choice(n, labeled, replace=False))
    y[known] = rng.integers(0, K, labeled)
    a, b = (known[side] for side in np.triu_indices(labeled, 1))
    same = y[a] == y[b]
    pairs = np.stack([a, b], axis=1)
    return n, pairs[same], pairs[~same], y


def at_random(number: int) -> tuple[int, Pairs, Pairs, Any]:
    """Random pairs of as many samples, linked as their labels say."""
    rng = np.random.default_rng(0)
    n = number
    y = rng.integers(0, K, n)
    pairs = rng.integers(0, n, (number, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return n, pairs[same], pairs[~same], y


def doors(n: int, same: Pairs, apart: Pairs, y: Any) -> Iterator[tuple[str, Any, Any]]:
    """The ways to state the same links: keywords, and the ids of samples."""
    yield "none", {}, None  # what as many samples cost without links
    yield "array", {"must_link": same, "cannot_link": apart}, None
    told = {
        "must_link": list(map(tuple, same.tolist())),
        "cannot_link": list(map(tuple, apart.tolist())),
    }
    yield "list", told, None
    if len(same) + len(apart) <= 2e6:
        names = [f"s{p}" for p in range(n)]
        by_name = {key: [(names[a], names[b]) for a, b in pairs] for key, pairs in told.items()}
        yield "ids", {**by_name, "by": "sample_id"}, names
    if y is not None and (y < 0).any():
        yield "from_labels", y, None


def stages(asked: Any, names: Any, n: int) -> dict[str, Callable[[Any], Any]]:
    """What happens before a clustering, step by step; each gets what the one before made."""
    steps: dict[str, Callable[[Any], Any]] = {}
    if isinstance(asked, dict):
        steps["state"] = lambda _: bckm.Constraints(**asked)
    else:
        steps["state"] = lambda _: bckm.Constraints.from_labels(asked)
    if names is not None:
        steps["locate"] = lambda c: c.locate(names).constraints

    def rules(c: Any) -> Any:
        return c, c.rules(n, K)

    def compiled(found: Any) -> Any:
        return (*found, Structure.compile(found[1], contract(found[1], n), K))

    def start(found: Any) -> Any:
        return (*found, feasible_start(found[2], found[1], Deadline()))

    return {**steps, "rules": rules, "compile": compiled, "start": start}


def measure(asked: Any, names: Any, n: int, number: int) -> None:
    """One line of the table."""
    line, total, found = [], 0.0, None
    for name, step in stages(asked, names, n).items():
        begin = time.process_time()
        found = step(found)
        took = time.process_time() - begin
        total += took
        line.append(f"{name} {took / number * 1e6:.3f}")
    found = None
    gc.collect()
    tracemalloc.start()
    for step in stages(asked, names, n).values():
        found = step(found)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(
        f"{total:9.2f} s {total / number * 1e6:7.3f} µs {held / number:7.1f} B held "
        f"{peak / number:7.1f} B at most   ({', '.join(line)})",
        flush=True,
    )


def afterwards(n: int, same: Pairs, apart: Pairs, y: Any) -> None:
    """What links cost once there are labels: checking, drawing, saving and loading them."""
    labels = np.where(y < 0, 0, y)
    rules = bckm.Constraints(must_link=same, cannot_link=apart)
    study = bckm.Study.of(bckm.kmeans(np.zeros((n, 1)), 1), np.zeros((n, 1)), rules.soft(price=1.0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "study.bckm")
        for name, call in {
            "verify": lambda: bckm.verify(labels, K, rules),
            "views.links": lambda: views.links(study),
            "save": lambda: bckm.save(study, path),
            "load": lambda: bckm.load(path),
        }.items():
            begin = time.process_time()
            call()
            print(f"{name:12} {time.process_time() - begin:6.2f} s")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=1e6, help="pairs")
    parser.add_argument("--least", type=float, default=1e4, help="pairs")
    parser.add_argument("--only", help="door")
    options = parser.parse_args()
    print(bckm.__file__)
    number = int(options.least)
    sizes = []
    while number < options.most:
        sizes.append(number)
        number *= 10
    for number in [*sizes, int(options.most)]:
        for kind in (from_labels, at_random):
            n, same, apart, y = kind(number)
            for door, asked, names in doors(n, same, apart, y):
                if options.only in (None, door):
                    print(f"{kind.__name__:12} {number:10,} {door:12}", end="")
                    measure(asked, names, n, len(same) + len(apart))
    if options.only is None:
        print(f"links of {number:,} random pairs, with labels:")
        afterwards(n, same, apart, y)


if __name__ == "__main__":
    main()
