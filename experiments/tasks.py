"""The data sets of the experiments, as lists of named tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import bckm
from bckm.datasets import Labeled, links_by_class, load, make_gaussians, take_classes
from experiments.features import CHOSEN, PICTURE, mapped
from experiments.objective import Task

CLUSTERS = (5, 10, 20, 25, 50)
PAPER_SIGMA = (0.1, 0.5, 0.7)
HARD_SIGMA = (10.0, 30.0, 60.0)
SHARE = 0.2


@dataclass(frozen=True)
class Case:
    """A task that is made when it is needed; `make` takes a seed.

    `space` says what the samples are: "raw" (as they come), "features" (by the map chosen for the
    data set), "learned" (by a metric that was learned from the links) or the name of a map.
    """

    name: str
    n_clusters: int
    sigma: float
    make: Callable[[int], Task]
    space: str = "raw"


def task_from(data: Labeled, seed: int) -> Task:
    """Exact balance and 20 % links."""
    k = int(data.y.max()) + 1
    n = data.y.size
    sizes = bckm.Constraints(size_min=n // k, size_max=-(-n // k))
    return Task(data.X, data.y, k, links_by_class(data.y, SHARE, seed) & sizes)


def synthetic(quick: bool) -> list[Case]:
    """The paper's first figure, and beside it a harder family."""
    clusters = (5, 10, 20) if quick else CLUSTERS
    sigmas = (10.0,) if quick else PAPER_SIGMA + HARD_SIGMA

    return [_gaussians("synthetic", k, sigma) for sigma in sigmas for k in clusters]


def cluster_sizes(quick: bool) -> list[Case]:
    """The paper's second figure: sizes found by k-means and by BCKM, and a harder case."""
    clusters = (10,) if quick else (10, 20, 50)
    return [_gaussians("sizes", k, sigma) for sigma in (0.7, 30.0) for k in clusters]


def _gaussians(name: str, k: int, sigma: float) -> Case:
    def make(seed: int) -> Task:
        return task_from(make_gaussians(k, sigma=sigma, random_state=seed), seed)

    return Case(name, k, sigma, make)


# name of the row: file, classes, samples of each. The paper says "10 to 15 clusters" and equal
# sizes, but neither which classes nor how many samples; subsets are drawn anew for each seed.
ROWS = {
    "MNIST (1)": ("mnist", 10, 50),
    "MNIST (2)": ("mnist", 10, 50),
    "MNIST (3)": ("mnist", 10, 50),
    "Yale (1)": ("yale", 15, 11),
    "Yale (2)": ("yale", 12, 11),
    "YaleB (1)": ("yaleb", 10, 50),
    "YaleB (2)": ("yaleb", 12, 50),
    "YaleB (3)": ("yaleb", 15, 50),
    "ORL (1)": ("orl", 15, 10),
    "ORL (2)": ("orl", 10, 10),
    "UMIST": ("umist", 15, 19),
}
BUNDLED_ROWS = {
    "digits (1)": ("digits", 10, 50),
    "digits (2)": ("digits", 10, 100),
    "iris": ("iris", 3, 50),
    "wine": ("wine", 3, 48),
}


def real(folder: str | None, quick: bool, space: str = "raw") -> list[Case]:
    """The paper's table; without a folder of data, what scikit-learn bundles."""
    rows = BUNDLED_ROWS if folder is None else ROWS
    cache: dict[str, Labeled] = {}

    def case(at: int, name: str) -> Case:
        source, classes, each = rows[name]

        def make(seed: int) -> Task:
            if source not in cache:
                data = load(source, folder)
                cache[source] = Labeled(data.X / np.abs(data.X).max(), data.y)
            # each row of the table has subsets of its own
            task = task_from(take_classes(cache[source], classes, each, 1000 * at + seed), seed)
            return replace(task, X=_in_space(task, source, space))

        return Case(name, classes, float("nan"), make, space)

    shown = [
        (at, name)
        for at, name in enumerate(rows)
        if at % 4 == 0 or not quick
        if space in ("raw", "learned") or rows[name][0] in PICTURE
    ]
    return [case(at, name) for at, name in shown]


def _in_space(task: Task, source: str, space: str) -> np.ndarray:
    """Samples as they are, by a map, or by a metric learned from the links."""
    if space == "raw":
        return task.X
    if space == "learned":
        learned = bckm.LearnedMetric(task.n_clusters).fit(task.X, constraints=task.constraints)
        return learned.transform(task.X)
    return mapped(task.X, source, CHOSEN[source] if space == "features" else space)
