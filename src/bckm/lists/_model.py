"""What lists say, whatever form they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bckm._core.names import visible
from bckm.report.words import between, counted, number, share
from bckm.study import Study, views
from bckm.tables import Table

NUMBER = "no."  # people count from 1
FROM = "moved from"
NEW = "new"


@dataclass(frozen=True, eq=False)
class Cluster:
    """A cluster and its members.

    Attributes
    ----------
    name : str
        What people call it.
    size : int
        Number of members.
    held : tuple of str
        What it holds of each bounded quantity, with the bounds, in words.
    rows : list of list
        Cells of each member.
    came, left : int
        Members that were elsewhere before; those that went elsewhere.
    """

    name: str
    size: int
    held: tuple[str, ...]
    rows: list[list[Any]]
    came: int = 0
    left: int = 0


@dataclass(frozen=True, eq=False)
class Lists:
    """All clusters of a result.

    Attributes
    ----------
    title : str
        Title of the result.
    date : str
        When it was made; empty if that is not known.
    header : list of str
        Names of the columns of members.
    amounts : list of views.Amount
        Bounded quantities, sizes first.
    clusters : list of Cluster
        One per cluster.
    moved : bool
        Whether there are previous clusters to compare with.
    """

    title: str
    date: str
    header: list[str]
    amounts: list[views.Amount]
    clusters: list[Cluster]
    moved: bool

    @classmethod
    def of(cls, study: Study, table: Table | None) -> Self:
        """Gather them from a result and its table."""
        labels, k = study.result.labels, study.n_clusters
        columns = _columns(study, table)
        moves = views.moves(study)
        before = {move.sample: move.before for move in moves or ()}
        if moves is not None:
            told = [
                None if i not in before else NEW if before[i] < 0 else name_of(study, before[i])
                for i in range(study.n_samples)
            ]
            columns[FROM if FROM not in columns else f"{FROM} (cluster)"] = told
        amounts = views.amounts(study)
        clusters = []
        for label in range(k):
            members = np.flatnonzero(labels == label).tolist()
            rows = [[at, *(cells[i] for cells in columns.values())] for at, i in _counted(members)]
            came = sum(i in before and before[i] >= 0 for i in members)
            left = sum(old == label for old in before.values())
            held = tuple(told_amount(one, label) for one in amounts)
            clusters.append(Cluster(name_of(study, label), len(members), held, rows, came, left))
        date = study.settings.get("date")
        header = [NUMBER, *columns]
        return cls(
            study.title,
            date if isinstance(date, str) else "",
            header,
            amounts,
            clusters,
            moves is not None,
        )


def _counted(members: list[int]) -> enumerate[int]:
    return enumerate(members, 1)


def _columns(study: Study, table: Table | None) -> dict[str, list[Any]]:
    """What is told of each member, (n,) each."""
    if table is None:
        named = study.sample_id
        found: dict[str, list[Any]] = {"id": list(named)} if named is not None else {}
        if named is None:
            found["row"] = list(range(1, study.n_samples + 1))
        for name, values in zip(study.feature_names, study.X.T.tolist(), strict=True):
            found[name if name not in found else f"{name} (feature)"] = values
        return found
    return {name: table.typed(name) for name in table.names if name not in table.added}


def name_of(study: Study, label: int) -> str:
    """What people call a cluster: its name, or its number, from 1 if it has none of its own."""
    name = study.cluster_names[label]
    if not study.constraints.cluster_names:
        return f"cluster {label + 1}"
    return name if isinstance(name, str) else f"cluster {name}"


def told_amount(amount: views.Amount, label: int) -> str:
    """What a cluster holds, with its bounds: ``kg 580 (at most 600)``."""
    write: Callable[[float], str] = _percent if amount.kind == "share" else number
    low, high = (float(side[label]) for side in amount.limits)
    value = write(float(amount.values[label]))
    what = counted(int(amount.values[label]), "row") if amount.kind == "size" else ""
    told = what or f"{visible(amount.name)} {value}"
    bounds = between(low, high, write) if np.isfinite([low, high]).any() else ""
    return f"{told} ({bounds})" if bounds else told


def _percent(value: float) -> str:
    return share(value, 2)
