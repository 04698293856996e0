"""The exact assignment step against one HiGHS MIP over all columns, in the same run.

    python benchmarks/exact_step.py [--samples 2000 10000] [--clusters 50] [--limit 300]

Data: overlapping blobs. Rules: sizes within 10 % of N / k, 20 % of the samples in must-link
triples, N / 10 cannot-link pairs. Centers: k-means++ seeds. Both solve the same program from the
same feasible labels; the ratio of their times is what counts, the seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bckm
from bckm._core.deadline import Deadline
from bckm.assign.exact import Exact
from bckm.feasibility import feasible_start
from bckm.fit.seeding import spread
from bckm.problem.problem import Problem
from bckm.programs.highs import Model
from bckm.programs.program import Program


def instance(n: int, k: int, seed: int) -> Problem:
    """Draw data and rules."""
    rng = np.random.default_rng(seed)
    X = 1.5 * rng.normal(size=(k, 10))[rng.integers(k, size=n)] + rng.normal(size=(n, 10))
    triples = rng.permutation(n)[: n // 5 // 3 * 3].reshape(-1, 3)
    group = np.arange(n)
    group[triples] = triples[:, :1]
    pairs = rng.integers(n, size=(n, 2))
    pairs = pairs[group[pairs[:, 0]] != group[pairs[:, 1]]][: n // 10]
    rules = bckm.Constraints(
        triples, pairs, size_min=int(0.9 * n / k), size_max=int(np.ceil(1.1 * n / k))
    )
    return Problem.build(X, k, rules)


def main() -> None:
    """Run the comparison and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for the full MIP")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    print("| N | k | seed | exact | status | full MIP | status | ratio | costs agree |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in options.samples:
        for seed in range(options.seeds):
            compare(n, options.clusters, seed, options.limit)


def compare(n: int, k: int, seed: int, limit: float) -> None:
    """Time both on one instance."""
    problem = instance(n, k, seed)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    cost = problem.cost(spread(problem, np.random.default_rng(seed)))
    began = time.perf_counter()
    found = Exact().prepare(problem).from_cost(cost, start, Deadline())
    seconds = time.perf_counter() - began

    began = time.perf_counter()
    least = cost.min(axis=1)
    whole = Program.of(problem.structure).restrict(np.ones(cost.shape, bool))
    model = Model(whole.matrix, whole.lower, whole.upper, integer=True)
    answer = model.solve(
        (cost - least[:, None]).ravel(), Deadline.after(limit), start=whole.indicator(start)
    )
    peer = time.perf_counter() - began
    value = float("nan")
    if answer.values is not None:
        labels = whole.values(answer.values).argmax(axis=1)
        value = float(cost[np.arange(labels.size), labels].sum())
    agree = "yes" if abs(value - found.cost) <= 1e-8 * found.cost else f"{value / found.cost:.6f}"
    status = "optimal" if answer.finished else "time limit"
    at_least = "" if answer.finished else "> "
    print(
        f"| {n} | {k} | {seed} | {seconds:.2f} s | {found.status} | {peer:.2f} s | {status} "
        f"| {at_least}{peer / seconds:.1f} | {agree} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
