"""The data have changed; how do I cluster again without moving everybody?

1000 customers were put into 6 segments, and people work with them. A year later the customers have
drifted and 100 new ones came. Clustering freely again gives the smallest inertia, but each customer
who changes the segment costs somebody work. `bckm.Stay` takes the previous labels (-1 for new
samples) and either a price for each move or how many may move `at_most`.

What a moved sample *buys* is the inertia it saves, on average, against a refit in which only the
new ones are placed. The first moves buy the most; with a price, a sample moves only where that
saves more than the price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

import bckm

SEGMENTS, OLD, NEW = 6, 1000, 100
PRICE = 2.0


@dataclass(frozen=True)
class Refit:
    """One way to cluster again: who moved, the inertia, and what each move bought."""

    moved: int
    inertia: float
    bought: float


@dataclass(frozen=True)
class Facts:
    """What came out, for each way; `allowed` is one per cent of the old samples.

    The `study` is that of at most so many moves, for pictures and reports.
    """

    nobody: Refit
    free: Refit
    priced: Refit
    few: Refit
    allowed: int
    paid: float
    broken: int
    study: bckm.Study


def draw(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Invent customers before (1000, 2), and the same with new ones a year later (1100, 2)."""
    rng = np.random.default_rng(seed)
    segment = rng.integers(SEGMENTS, size=OLD)
    before = rng.uniform(-4, 4, (SEGMENTS, 2))[segment] + rng.normal(size=(OLD, 2))
    drift = rng.normal(scale=0.6, size=(SEGMENTS, 2))[segment]
    after = before + drift + rng.normal(scale=0.2, size=(OLD, 2))
    return before, np.vstack([after, rng.normal([3, -3], 0.8, (NEW, 2))])


def count_moved(previous: np.ndarray, labels: np.ndarray) -> int:
    """Old samples that moved, if each segment keeps the number under which most know it."""
    pairs = np.zeros((SEGMENTS, SEGMENTS))
    np.add.at(pairs, (previous, labels[:OLD]), 1)
    return int(OLD - pairs[linear_sum_assignment(-pairs)].sum())


def main() -> Facts:
    """Cluster again in four ways and print what each move bought."""
    before, X = draw()
    first = bckm.kmeans(before, SEGMENTS, n_init=10, random_state=0)
    previous = np.concatenate([first.labels, np.full(NEW, -1)])
    allowed = OLD // 100
    asked = {
        "nobody moves": bckm.Constraints(stay=bckm.Stay(previous, at_most=0)),
        "free": bckm.Constraints(),
        f"{PRICE} per move": bckm.Constraints(stay=bckm.Stay(previous, price=PRICE)),
        "at most 1 %": bckm.Constraints(stay=bckm.Stay(previous, at_most=allowed)),
    }
    results = {  # where samples have a place, starts differ little
        way: bckm.kmeans(X, SEGMENTS, rules, n_init=2 if rules.stay else 10, random_state=0)
        for way, rules in asked.items()
    }
    base = results["nobody moves"].inertia
    print(f"{OLD} samples that changed and {NEW} new ones, {SEGMENTS} clusters\n")
    print("refit            moved   inertia   saved   saved by each move")
    refits = []
    for way, result in results.items():
        moved, saved = count_moved(first.labels, result.labels), base - result.inertia
        refits.append(Refit(moved, result.inertia, saved / moved if moved else 0.0))
        each = f"{refits[-1].bought:.2f}" if moved else "-"
        print(f"{way:15}  {moved:5}   {result.inertia:7.1f}  {saved:6.1f}   {each:>18}")
    return Facts(
        *refits,
        allowed=allowed,
        paid=results[f"{PRICE} per move"].penalty,
        broken=sum(
            len(bckm.verify(results[way].labels, SEGMENTS, rules)) for way, rules in asked.items()
        ),
        study=bckm.Study.of(result, X, asked[way], title="Few moves"),
    )


if __name__ == "__main__":
    main()
