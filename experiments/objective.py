"""The objective: every method is timed and judged by the same code."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import bckm
from bckm.constraints.rules import CannotLink, MustLink


@dataclass(frozen=True)
class Task:
    """One clustering task: data, classes, rules.

    `constraints` holds links and sizes; a method takes from it what it can use.
    """

    X: np.ndarray
    y: np.ndarray
    n_clusters: int
    constraints: bckm.Constraints


Fit = Callable[[Task, int], np.ndarray]


def measure(fit: Fit, task: Task, seed: int) -> dict[str, object]:
    """Time the fit alone, then judge its labels; a failure is a row that says so."""
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        labels, error = fit(task, seed), ""
    except Exception as failure:
        labels, error = None, f"{type(failure).__name__}: {failure}".splitlines()[0]
    row = {
        "cpu_seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - wall,
        "error": error,
    }
    return row if labels is None else row | judge(labels, task)


def judge(labels: np.ndarray, task: Task) -> dict[str, object]:
    """Judge labels: agreement with the classes, inertia, violations by kind, sizes."""
    k = task.n_clusters
    sizes = np.bincount(labels, minlength=k)
    violations = bckm.verify(labels, k, task.constraints)
    broken = [violation.rule for violation in violations]
    means = np.stack(
        [task.X[labels == i].mean(axis=0) if sizes[i] else task.X[0] for i in range(k)]
    )
    return {
        "nmi": normalized_mutual_info_score(task.y, labels),
        "nmi_geometric": normalized_mutual_info_score(task.y, labels, average_method="geometric"),
        "ari": adjusted_rand_score(task.y, labels),
        "inertia": float(np.square(task.X - means[labels]).sum()),
        "broken_must_link": sum(isinstance(rule, MustLink) for rule in broken),
        "broken_cannot_link": sum(isinstance(rule, CannotLink) for rule in broken),
        "broken_size": sum(not isinstance(rule, MustLink | CannotLink) for rule in broken),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "sizes": " ".join(map(str, sizes)),
    }
