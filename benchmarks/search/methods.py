"""Who is measured in the table: this library's searches and, where they apply, its peers."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import bckm
from benchmarks.search.case import Case
from benchmarks.sizes import judge

BATCH = 16  # starts of the first call of plain restarts; each further call makes four times more
START = 100_003  # seeds of single starts of different fits are this far apart


@dataclass
class Task:
    """What a method is asked to do, and a clock that stands still while labels are judged.

    Attributes
    ----------
    case : Case
        Data and rules.
    seed : int
        Of the fit.
    seconds : float
        When a method that could go on for ever ends.
    threads : int
        That it may use.
    send : callable
        Hears of the first labels and of all better ones: seconds, labels, starts, claimed inertia.
    """

    case: Case
    seed: int
    seconds: float
    threads: int
    send: Callable[[float, np.ndarray, int, float | None], None]
    best: float = np.inf
    starts: int = 0
    began: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds of the method's own work."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds until it is to end."""
        return self.seconds - self.elapsed

    def keep(self, labels: np.ndarray, starts: int = 1, claimed: float | None = None) -> None:
        """Take labels after some more starts; told on if they are better."""
        now = self.elapsed
        self.starts += starts
        labels = np.asarray(labels).astype(np.intp)
        inertia = judge.inertia(self.case.X, labels, self.case.k, self.case.weight)
        if inertia < self.best:
            self.best = inertia
            self.send(now, labels, self.starts, claimed)
        self.began += self.elapsed - now


def _ours(task: Task, search: str, n_init: int | str, limit: float | None, seed: int) -> None:
    runs = 0

    def count(step: bckm.Step) -> None:
        nonlocal runs
        runs = step.start + 1

    result = bckm.kmeans(
        task.case.X,
        task.case.k,
        task.case.rules,
        search=search,
        n_init=n_init,
        time_limit=limit,
        sample_weight=task.case.weight,
        n_jobs=task.threads,
        random_state=seed,
        on_step=count,
    )
    task.keep(result.labels, runs, result.inertia)


def none(task: Task) -> None:
    """One start, no search."""
    _ours(task, "none", 1, None, task.seed)


def local(task: Task) -> None:
    """One start and moves until none helps."""
    _ours(task, "local", 1, None, task.seed)


def auto(task: Task) -> None:
    """As it comes: all settings at their defaults."""
    _ours(task, "auto", "auto", None, task.seed)


def searched(task: Task) -> None:
    """Global search within the time."""
    _ours(task, "global", "auto", task.seconds, task.seed)


def restarts(task: Task) -> None:
    """Plain restarts until the time is over."""
    number, call = BATCH, 0
    while task.left > 0:
        try:
            _ours(task, "none", number, task.left, task.seed + START * call)
        except bckm.UndecidedError:  # too little time was left for feasible labels
            if call == 0:
                raise
            return
        number, call = 4 * number, call + 1


def constrained(task: Task) -> None:
    """k-means-constrained, start after start; at least one."""
    from k_means_constrained import KMeansConstrained

    low, high = task.case.bounds
    while task.starts == 0 or task.left > 0:
        model = KMeansConstrained(
            task.case.k,
            size_min=low,
            size_max=high,
            n_init=1,
            n_jobs=1,  # it runs starts in parallel, nothing else
            random_state=task.seed * START + task.starts,
        )
        task.keep(model.fit(task.case.X).labels_)


def lloyd(task: Task) -> None:
    """scikit-learn, start after start; at least one."""
    from sklearn.cluster import KMeans

    while task.starts == 0 or task.left > 0:
        model = KMeans(task.case.k, n_init=1, random_state=task.seed * START + task.starts)
        task.keep(model.fit(task.case.X, sample_weight=task.case.weight).labels_)


@dataclass(frozen=True)
class Method:
    """A name for the tables, how to call it, and when.

    Attributes
    ----------
    title : str
        Shown in the tables.
    fit : callable
        Does what a `Task` asks.
    module : str
        What it needs.
    timed : bool
        Whether it goes on until its time is over.
    anytime : bool
        Whether one long fit tells what a shorter one would have found.
    fits : callable
        Whether it can do what a case asks.
    """

    title: str
    fit: Callable[[Task], None]
    module: str = "bckm"
    timed: bool = False
    anytime: bool = False
    fits: Callable[[Case], bool] = lambda _: True

    @property
    def installed(self) -> bool:
        """Whether it can be measured here."""
        return importlib.util.find_spec(self.module) is not None


METHODS = {
    "none": Method("none, 1 start", none),
    "local": Method("local, 1 start", local),
    "auto": Method("auto (default)", auto),
    "restarts": Method("none, restarts", restarts, timed=True),
    "global": Method("global", searched, timed=True),
    "constrained": Method(
        "k-means-constrained",
        constrained,
        "k_means_constrained",
        timed=True,
        anytime=True,
        fits=lambda case: case.bounds is not None,
    ),
    "lloyd": Method(
        "scikit-learn", lloyd, "sklearn", timed=True, anytime=True, fits=lambda case: case.free
    ),
}


def warm_up(name: str, case: Case, threads: int) -> None:
    """Cluster a few samples: imports, thread pools and first calls are not what is measured."""
    X = np.random.default_rng(0).random((48, case.X.shape[1]))
    rules = bckm.Constraints() if case.free else bckm.Constraints(size_min=12, size_max=12)
    few = Case("warm", X, 4, rules)
    METHODS[name].fit(Task(few, 0, 0.05, threads, lambda *_: None))
