"""One fit of this library: what it found, when, and how long it took."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import bckm
from benchmarks.search.case import Case, Verdict, ratio, verdict

SAME = 1e-9  # relative difference of two inertias that are the same
REPEATS = 3  # of fits that are timed, at most
ENOUGH = 0.5  # seconds after which a fit is timed no more


@dataclass(frozen=True, eq=False)
class Fit:
    """What came out of a fit.

    Attributes
    ----------
    found : Verdict
        The labels as judged from outside.
    seconds : float
        Of the whole call.
    best_after : float
        Seconds until the inertia was as good as in the end.
    runs : int
        Starts and children.
    status : str
        How the fit ended.
    """

    found: Verdict
    seconds: float
    best_after: float
    runs: int
    status: str

    @property
    def facts(self) -> dict[str, Any]:
        """All of it for a row."""
        return {
            "inertia": self.found.inertia,
            "broken": list(self.found.broken),
            "seconds": self.seconds,
            "best_after": self.best_after,
            "runs": self.runs,
            "status": self.status,
        }


def fit(
    case: Case,
    search: str,
    seed: int,
    threads: int,
    *,
    seconds: float | None = None,
    n_init: int | str = "auto",
) -> Fit:
    """Fit once, listening to each step."""
    steps: list[bckm.Step] = []
    began = time.perf_counter()
    result = _call(case, search, seed, threads, seconds, n_init, on_step=steps.append)
    took = time.perf_counter() - began
    good = result.inertia * (1 + SAME)
    return Fit(
        verdict(case, result.labels, result.inertia),
        took,
        next((step.seconds for step in steps if step.objective <= good), took),
        1 + max((step.start for step in steps), default=0),
        str(result.status),
    )


@dataclass(frozen=True)
class Pair:
    """The same fit without search and with search="auto": inertias as judged, and times."""

    none: Verdict
    auto: Verdict
    none_seconds: float
    auto_seconds: float

    @property
    def facts(self) -> dict[str, Any]:
        """All of it for a row."""
        return {
            "none_inertia": self.none.inertia,
            "auto_inertia": self.auto.inertia,
            "none_seconds": self.none_seconds,
            "auto_seconds": self.auto_seconds,
            "time_ratio": self.auto_seconds / self.none_seconds,
            "inertia_ratio": ratio(self.auto.inertia, self.none.inertia),
            "broken": [*self.none.broken, *self.auto.broken],
        }


def pair(case: Case, seed: int, threads: int, n_init: int | str = "auto") -> Pair:
    """Time both in turns, short ones several times: the shortest time counts."""
    times: dict[str, list[float]] = {"none": [], "auto": []}
    found: dict[str, Verdict] = {}
    while len(times["none"]) < REPEATS and sum(times["none"]) < ENOUGH:
        for search, sofar in times.items():
            began = time.perf_counter()
            result = _call(case, search, seed, threads, None, n_init)
            sofar.append(time.perf_counter() - began)
            if search not in found:  # the same seed leads to the same labels
                found[search] = verdict(case, result.labels, result.inertia)
    return Pair(found["none"], found["auto"], min(times["none"]), min(times["auto"]))


def _call(
    case: Case,
    search: str,
    seed: int,
    threads: int,
    seconds: float | None,
    n_init: int | str,
    **rest: Any,
) -> bckm.Result:
    return bckm.kmeans(
        case.X,
        case.k,
        case.rules,
        search=search,
        n_init=n_init,
        time_limit=seconds,
        sample_weight=case.weight,
        n_jobs=threads,
        random_state=seed,
        **rest,
    )


def warm_up(threads: int) -> None:
    """First calls load libraries and start threads: not what is measured."""
    X = np.random.default_rng(0).random((40, 2))
    for rules in (bckm.Constraints(), bckm.Constraints(cannot_link=[(0, 1)], size_max=20)):
        case = Case("warm", X, 3, rules)
        for search in ("none", "auto"):
            _call(case, search, 0, threads, None, 1)
