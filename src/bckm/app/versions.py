"""Versions: what was found or changed by hand, kept for good, and told to the page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bckm._core.note import Note
from bckm._core.status import Status
from bckm._core.terminal import clean
from bckm._core.tolerance import group_sums
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import resolve_sizes
from bckm.app.conflicts import Cards, broken_tree, said, samples_of
from bckm.app.costs import Cost, Costs
from bckm.app.errors import Refused
from bckm.app.jobs import Task
from bckm.app.words import note_tree
from bckm.constraints import Constraints
from bckm.constraints.statements import Capacity, Quota
from bckm.study import Study, views
from bckm.tables import Table

MOST_MOVES = 20_000


@dataclass(frozen=True, eq=False)
class Version:
    """A clustering with the task it answers.

    Attributes
    ----------
    number : int
        From 1.
    made : {"solve", "change", "opened"}
        How it came about.
    study : Study
        The clustering, its data and rules.
    task, table : Task, Table
        What was asked, about which table (with the columns that the task adds).
    moved : tuple of (sample, from, to)
        Samples that were moved by hand.
    """

    number: int
    made: str
    study: Study
    task: Task
    table: Table
    note: str | None = None
    moved: tuple[tuple[int, int, int], ...] = ()
    time: float = field(default_factory=time.time)

    @cached_property
    def cards(self) -> Cards:
        """Finds the card behind a rule."""
        return Cards(self.task.asked, self.table)

    @cached_property
    def costs(self) -> Costs:
        """What other labels would cost."""
        return Costs(self.study)

    @cached_property
    def cost(self) -> Cost:
        """What its own labels cost."""
        return self.costs.of(self.study.result.labels)

    def prepare(self) -> None:
        """Do beforehand what the first try needs."""
        self.cards.prepare()
        _ = self.cost

    @cached_property
    def broken(self) -> list[dict[str, Any]]:
        """Hard rules that are violated; none, unless somebody moved samples."""
        if self.made == "solve":
            return []
        return broken_tree(self.cost.broken, self.cards, self.names)

    @property
    def names(self) -> list[str]:
        """Names of the clusters."""
        return [self.study.cluster(i) for i in range(self.study.n_clusters)]

    @property
    def stopped(self) -> bool:
        """Whether somebody ended the search: this is the best until then."""
        return self.made == "solve" and self.study.result.status is Status.INTERRUPTED

    @property
    def objective(self) -> float:
        """What is minimized."""
        return float(self.study.result.objective)

    def line(self) -> dict[str, Any]:
        """A line in the list of versions."""
        return {
            "version": self.number,
            "made": "stopped" if self.stopped else self.made,
            "objective": self.objective,
            "inertia": self.study.result.inertia,
            "broken": len(self.broken),
            "time": self.time,
            "note": None if self.note is None else note_tree(self.note),
        }

    def tree(self) -> dict[str, Any]:
        """All that the page shows."""
        study, result = self.study, self.study.result
        proven = self.made == "solve" and result.mixed is None
        return {
            "version": self.number,
            "made": self.made,
            "labels": result.labels.tolist(),
            "centers": study.centers.tolist(),
            "clusters": self._clusters(),
            "objective": self.objective,
            "inertia": result.inertia,
            "penalty": result.penalty,
            "gap": result.gap if proven else None,
            "status": result.status.value,
            "given_up": [
                {
                    "text": clean(one.message),
                    "cost": one.penalty,
                    "card": self.cards.of(one.rule),
                    "samples": samples_of(one.rule),
                    **said(one.rule),
                }
                for one in result.violated
            ],
            "broken": self.broken,
            "moved": self._moved(),
            "seconds": result.seconds,
            "steps": [step.objective for step in result.history],
            "mixed": _mixed(study),
        }

    def _moved(self) -> list[dict[str, int]]:
        if self.moved:
            return [{"sample": s, "from": a, "to": b} for s, a, b in self.moved]
        labels, found = self.study.result.labels, []
        for stay in _all(self.study.constraints, "stay"):
            gone = np.flatnonzero((stay.values >= 0) & (stay.values != labels))
            found += [
                {"sample": int(s), "from": int(stay.values[s]), "to": int(labels[s])} for s in gone
            ]
        return found

    def _clusters(self) -> list[dict[str, Any]]:
        study, result = self.study, self.study.result
        k, labels = study.n_clusters, result.labels
        points = result.metric.embedded(study.scaled)
        weight = np.ones(labels.size) if study.sample_weight is None else study.sample_weight
        square = np.square(points - result.embedded[labels]).sum(axis=1)
        costs = np.bincount(labels, weight * square, k)
        low, high = _sizes(study)
        loads = list(_loads(study))
        quotas = list(_quotas(study))
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(result.sizes)
        return [
            {
                "name": study.cluster(i),
                "size": int(result.sizes[i]),
                "size_min": low[i],
                "size_max": high[i],
                "loads": [one[i] for one in loads],
                "quotas": [one[i] for one in quotas],
                "cost": float(costs[i]),
                "members": order[ends[i] - result.sizes[i] : ends[i]].tolist(),
            }
            for i in range(k)
        ]


def _all(constraints: Constraints, name: str) -> list[Any]:
    """Statements of hard and of soft rules."""
    parts = [constraints, *(part.constraints for part in constraints.softened)]
    return [one for part in parts for one in getattr(part, name)]


def _bounds(bound: Any, k: int, free: float) -> list[float | None]:
    if bound is None:
        return [None] * k
    each = np.broadcast_to(np.asarray(bound, float), k)
    return [None if one == free or np.isinf(one) else float(one) for one in each.tolist()]


def _sizes(study: Study) -> tuple[list[float | None], list[float | None]]:
    k, n = study.n_clusters, study.n_samples
    low: list[float | None] = [None] * k
    high: list[float | None] = [None] * k
    soft = [part.constraints for part in study.constraints.softened]
    for part in (*soft, study.constraints):  # hard ones last: they count
        if part.size_min is not None:
            low = _bounds(resolve_sizes(part.size_min, n, "size_min"), k, 0.0)
        if part.size_max is not None:
            high = _bounds(resolve_sizes(part.size_max, n, "size_max"), k, float(n))
    return low, high


def _loads(study: Study) -> Any:
    k = study.n_clusters
    for one in _all(study.constraints, "capacities"):
        assert isinstance(one, Capacity)
        values = group_sums(one.values, study.result.labels, k)
        low, high = _bounds(one.min, k, -np.inf), _bounds(one.max, k, np.inf)
        yield [
            {"column": one.name, "value": float(values[i]), "min": low[i], "max": high[i]}
            for i in range(k)
        ]


def _quotas(study: Study) -> Any:
    """For each category the numbers in each cluster, and bounds as numbers."""
    k, sizes = study.n_clusters, study.result.sizes
    for one in _all(study.constraints, "quotas"):
        assert isinstance(one, Quota)
        for at, category in enumerate(one.categories):
            mine = [(side, value, share) for c, side, value, share in one.bounds() if c == at]
            counts = np.bincount(study.result.labels[one.values == at], minlength=k)
            rows = []
            for i in range(k):
                size = int(sizes[i])
                scaled = [(side, v * size if share else v) for side, v, share in mine]
                lows = [value for side, value in scaled if side == "min"]
                highs = [value for side, value in scaled if side == "max"]
                rows.append(
                    {
                        "column": one.name,
                        "category": str(category),
                        "count": int(counts[i]),
                        "share": float(counts[i] / size) if size else None,
                        "min": max(lows) if lows else None,
                        "max": min(highs) if highs else None,
                    }
                )
            yield rows


def _mixed(study: Study) -> dict[str, Any] | None:
    """How alike mixed groups are, feature by feature."""
    found = views.mixing(study)
    if found is None:
        return None
    return {
        "features": [
            {
                "name": name,
                "means": found.means[:, j].tolist(),
                "overall": float(found.overall[j]),
                "deviation": float(found.deviation[j]),
                "spread": float(found.spread[j]),
                "best_known": float(found.least_spread[j]),
            }
            for j, name in enumerate(found.features)
        ]
    }


def moved_labels(version: Version, moves: Any) -> IntArray:
    """Labels of a version after moves of the page."""
    labels = version.study.result.labels.copy()
    k = version.study.n_clusters
    if not isinstance(moves, list):
        raise Refused("malformed", "moves must be a list.")
    if len(moves) > MOST_MOVES:
        text = f"at most {MOST_MOVES} points can be moved at once."
        raise Refused("bad_input", Note(text, "too_many_moves", n=len(moves), most=MOST_MOVES))
    for move in moves:
        sample, cluster = (
            (move.get("sample"), move.get("cluster")) if isinstance(move, dict) else (None, None)
        )
        if not _within(sample, labels.size) or not _within(cluster, k):
            raise Refused("malformed", "a move names a sample and a cluster.")
        labels[sample] = int(cluster)  # type: ignore[arg-type]
    return labels


def _within(value: Any, end: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end


def tried(version: Version, moves: Any) -> dict[str, Any]:
    """What moves would cost, and which rules they violate."""
    labels = moved_labels(version, moves)
    costs = version.costs
    after = costs.of(labels)
    before = version.cost
    delta = costs.objective(after) - costs.objective(before)
    whole = costs.objective(before)
    old = {one["text"] for one in version.broken}
    broken = broken_tree(after.broken, version.cards, version.names)
    now = {one["text"] for one in broken}
    k = version.study.n_clusters
    loads: Mapping[str, FloatArray] = {
        one.name: group_sums(one.values, labels, k)
        for one in _all(version.study.constraints, "capacities")
    }
    return {
        "delta": delta,
        "delta_percent": 100 * delta / whole if whole > 0 else 0.0,
        "broken": broken,
        "mended": [one for one in version.broken if one["text"] not in now],
        "new": [one for one in broken if one["text"] not in old],
        "sizes": np.bincount(labels, minlength=k).tolist(),
        "loads": {name: values.tolist() for name, values in loads.items()},
    }


def changed(version: Version, moves: Any, number: int) -> Version:
    """A new version after moves."""
    labels = moved_labels(version, moves)
    costs, before = version.costs, version.study.result.labels
    study = replace(version.study, result=costs.result(costs.of(labels)))
    gone = np.flatnonzero(labels != before)
    moved = tuple((int(s), int(before[s]), int(labels[s])) for s in gone)
    if not moved:
        raise Refused("bad_input", Note("nothing was moved.", "nothing_moved"))
    return Version(number, "change", study, version.task, version.table, None, moved)
