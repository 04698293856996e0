"""From the tidy table to numbers: means and spreads over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, pstdev

Row = dict[str, str]


@dataclass(frozen=True)
class Cell:
    """A method on a case, over its seeds."""

    nmi: float
    nmi_spread: float
    cpu_seconds: float
    wall_seconds: float
    broken: int
    failed: int
    runs: int


def summarize(rows: list[Row], **wanted: str) -> Cell | None:
    """Mean and spread over the rows that have the wanted values; None when there are none."""
    mine = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    if not mine:
        return None
    good = [row for row in mine if not row["error"]]
    nmi = [float(row["nmi"]) for row in good]
    return Cell(
        nmi=fmean(nmi) if nmi else float("nan"),
        nmi_spread=pstdev(nmi) if nmi else float("nan"),
        cpu_seconds=fmean(float(row["cpu_seconds"]) for row in mine),
        wall_seconds=fmean(float(row["wall_seconds"]) for row in mine),
        broken=sum(violations(row) for row in good),
        failed=len(mine) - len(good),
        runs=len(mine),
    )


def violations(row: Row) -> int:
    """Rules that a run broke."""
    kinds = ("broken_must_link", "broken_cannot_link", "broken_size")
    return sum(int(row[kind]) for kind in kinds)


def unique(rows: list[Row], column: str) -> list[str]:
    """Values of a column in the order of their first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))
