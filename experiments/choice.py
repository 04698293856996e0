"""Which feature map stands for a data set: chosen by looking at k-means alone.

`python -m experiments features` runs k-means on every map and names, for each data set, the one
whose NMI comes nearest to the published k-means, in the mean of the rows of that data set. No other
method is looked at. What it names is written into `experiments.features.CHOSEN`.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from experiments import published, tasks
from experiments.features import MAPS
from experiments.runner import run
from experiments.summary import Row, unique
from experiments.table import markdown


def run_maps(folder: str | None, quick: bool, seeds: int, path: Path) -> list[Row]:
    """K-means on every map."""
    cases = [case for name in MAPS for case in tasks.real(folder, quick, name)]
    return run(cases, seeds, ["KM"], path)


def write(rows: list[Row], path: Path) -> None:
    """A line for each row of the paper and one for each data set, with the nearest map in bold."""
    lines = [["", "published", *MAPS]]
    for group in dict.fromkeys(_group(case) for case in unique(rows, "case")):
        cases = [case for case in unique(rows, "case") if _group(case) == group]
        for case in cases if len(cases) > 1 else []:
            means = _means(rows, [case])
            lines.append([case, _known([case]), *(f"{means[name]:.2f}" for name in MAPS)])
        means, best = _means(rows, cases), nearest(rows, group)
        shown = (f"**{means[n]:.2f}**" if n == best else f"{means[n]:.2f}" for n in MAPS)
        lines.append([f"**{group}**", _known(cases), *shown])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(lines) + "\n", encoding="utf-8")


def nearest(rows: list[Row], group: str) -> str | None:
    """The map whose k-means comes nearest to the published one; None where nothing is published."""
    cases = [case for case in unique(rows, "case") if _group(case) == group]
    if any(case not in published.NMI for case in cases):
        return None
    target = fmean(_published(case) for case in cases)
    means = _means(rows, cases)
    return min(MAPS, key=lambda name: abs(means[name] - target))


def _group(case: str) -> str:
    return case.split(" (")[0]


def _published(case: str) -> float:
    return published.NMI[case][published.METHODS.index("KM")]


def _known(cases: list[str]) -> str:
    known = [_published(case) for case in cases if case in published.NMI]
    return f"{fmean(known):.2f}" if known else "–"


def _means(rows: list[Row], cases: list[str]) -> dict[str, float]:
    return {
        name: fmean(
            float(row["nmi"]) for row in rows if row["space"] == name and row["case"] in cases
        )
        for name in MAPS
    }
