"""What the published pump does: how often it ends binary, with its rows and with ours.

The published program has a row for each cannot-linked pair and cluster; ours has one for each
clique and cluster. Both are pumped from plain k-means centers over the steps of one fit. Where a
pump ends without binary shares, the published algorithm rounds them; the table says how often that
breaks a rule. (In a fit the exact engine completes such steps.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from tqdm import tqdm

from bckm._core.deadline import Deadline
from bckm.assign.pump import PumpAssigner
from bckm.feasibility import feasible_start
from bckm.problem.cliques import Cliques
from bckm.problem.problem import Problem
from experiments.objective import Task
from experiments.tasks import Case


def write(cases: list[Case], seeds: int, path: Path) -> None:
    """Count over all cases and write the table."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for case in tqdm(cases, unit="case", disable=None):
        group = case.name.split(" (")[0]
        if case.name == "synthetic":
            group += ", σ < 1" if case.sigma < 1 else ", σ ≥ 10"
        for seed in range(seeds):
            for rows in ("pairs", "cliques"):
                found = counts.setdefault(group, {}).setdefault(rows, Counter())
                found.update(_steps(case.make(seed), seed, rows))
    lines = [
        "| data | rows | steps | ended binary | did not | of these broke a rule when rounded |",
        "|---|---|---|---|---|---|",
    ]
    for group, by_rows in counts.items():
        for rows, found in by_rows.items():
            steps = found["binary"] + found["fractional"]
            lines.append(
                f"| {group} | {rows} | {steps} | {found['binary']} | {found['fractional']} "
                f"| {found['broken']} |"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _steps(task: Task, seed: int, rows: str) -> Iterator[str]:
    """Pump the steps of a fit; yield how each ended."""
    problem = Problem.build(task.X, task.n_clusters, task.constraints)
    if rows == "pairs":
        structure = replace(problem.structure)
        pairs = np.sort(structure.edges, axis=1)
        start = np.arange(0, pairs.size + 1, 2)
        structure.__dict__["cliques"] = Cliques(start, pairs.ravel())  # what the program covers by
        problem = replace(problem, structure=structure)
    assigner = PumpAssigner(problem)
    labels = feasible_start(problem.structure, problem.rules, Deadline())
    first = KMeans(task.n_clusters, n_init=10, max_iter=100, random_state=seed).fit(task.X)
    centers = problem.centers_in(first.cluster_centers_)
    for _ in range(20):
        cost = problem.cost(centers)
        found = assigner.pump(cost, labels, Deadline())
        yield "binary" if found.feasible else "fractional"
        if not found.feasible and not problem.structure.feasible(found.labels):
            yield "broken"
        now = found.labels
        if not found.feasible:
            now = assigner.from_cost(cost, labels, Deadline()).labels
        if np.array_equal(now, labels):
            return
        labels = now
        centers = problem.means(labels, centers)
