"""Hard rules of several kinds at scale, against the fit without any, in the same run.

    python benchmarks/rules.py [--samples 100000] [--clusters 50] [--links 5000] [--tight 0.05]

Data: overlapping blobs of unequal weight. Rules, all hard: the load of each cluster (whole
numbers from 1 to 19 per sample) within 5 % of the mean, must-link and cannot-link pairs drawn at
random; `--near` draws both ends of a cannot-link from one blob, where they bind. Reported: the time
of the fit as a multiple of the fits without rules (bckm's and scikit-learn's, same start), how long
it took to find any labels that obey, and the gap between cost and bound of every assignment step.
The seconds depend on the machine; ratios and gaps are what counts.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

import bckm


@dataclass(frozen=True)
class Case:
    """An instance: data, rules, and first centers for all fits."""

    X: np.ndarray
    k: int
    rules: bckm.Constraints
    seeds: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """What one run measured."""

    feasible: float  # seconds
    plain: float
    sklearn: float
    fit: float
    inertia: float  # of the inertia without rules
    steps: int
    gap: float  # largest of all steps, relative to the cost
    last_gap: float
    broken: int
    solver: str


def instance(n: int, k: int, links: int, tight: float, near: bool, seed: int) -> Case:
    """Draw data and rules; no sample is in links of both kinds, so no two links contradict."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(k, 3.0))
    blob = rng.choice(k, n, p=share)
    X = 1.5 * rng.normal(size=(k, 10))[blob] + rng.normal(size=(n, 10))
    amounts = rng.integers(1, 20, n).astype(float)
    mean = amounts.sum() / k
    order = rng.permutation(n)
    together, rest = order[: 2 * links].reshape(-1, 2), order[2 * links :]
    if near:
        rest = rest[np.argsort(blob[rest], kind="stable")]
        pairs = rest[: rest.size // 2 * 2].reshape(-1, 2)
        pairs = pairs[blob[pairs[:, 0]] == blob[pairs[:, 1]]]
        apart = pairs[rng.choice(len(pairs), links, replace=False)]
    else:
        apart = rest[: 2 * links].reshape(-1, 2)
    rules = bckm.Constraints(
        together,
        apart,
        capacities={"load": bckm.Capacity(amounts, (1 - tight) * mean, (1 + tight) * mean)},
        size_min=0,
    )
    return Case(X, k, rules, X[rng.choice(n, k, replace=False)])


def measure(case: Case, search: str = "none", max_iter: int = 100) -> Outcome:
    """Fit without and with rules."""
    began = time.perf_counter()
    KMeans(case.k, init=case.seeds, n_init=1, max_iter=max_iter).fit(case.X)
    sklearn = time.perf_counter() - began
    options = {"init": case.seeds, "search": search, "max_iter": max_iter}
    began = time.perf_counter()
    plain = bckm.kmeans(case.X, case.k, **options)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    bckm.check(case.X, case.k, case.rules)
    feasible = time.perf_counter() - began
    began = time.perf_counter()
    found = bckm.kmeans(case.X, case.k, case.rules, **options)
    fit = time.perf_counter() - began
    steps = [step for step in found.history if step.kind == "assign"]
    gaps = [(step.assigned - step.lower_bound) / step.assigned for step in steps]
    return Outcome(
        feasible=feasible,
        plain=seconds,
        sklearn=sklearn,
        fit=fit,
        inertia=found.inertia / plain.inertia,
        steps=len(steps),
        gap=max(gaps),
        last_gap=(found.objective - found.lower_bound) / found.objective,
        broken=len(bckm.verify(found.labels, case.k, case.rules)),
        solver=found.solver,
    )


def table(rows: list[tuple[str, Outcome]]) -> str:
    """The outcomes as Markdown."""
    lines = [
        "| rules | solver | time | ÷ bckm without rules | ÷ scikit-learn | feasible after | "
        "steps | largest gap | last gap | inertia ÷ without | rules broken |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {one.solver} | {one.fit:.1f} s | {one.fit / one.plain:.1f} | "
        f"{one.fit / one.sklearn:.1f} | {one.feasible:.1f} s | {one.steps} | {one.gap:.3%} | "
        f"{one.last_gap:.4%} | {one.inertia:.3f} | {one.broken} |"
        for name, one in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Run and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--links", type=int, default=5_000)
    parser.add_argument("--tight", type=float, default=0.05)
    parser.add_argument("--search", default="none", help="as in bckm.kmeans")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for near in (False, True):
        name = "cannot-links within blobs" if near else "cannot-links at random"
        case = instance(
            options.samples, options.clusters, options.links, options.tight, near, options.seed
        )
        rows.append((name, measure(case, options.search)))
        print(table(rows[-1:]) if len(rows) == 1 else table(rows).splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
