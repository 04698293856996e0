"""The table of the paper as Markdown, published numbers beside ours."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from statistics import fmean

from experiments import published
from experiments.summary import Cell, Row, summarize, unique


def write(rows: list[Row], path: Path) -> None:
    """Write NMI, seconds and violations, one table each."""
    methods = unique(rows, "method")
    cells = {
        (case, method): cell
        for case in unique(rows, "case")
        for method in methods
        if (cell := _cell(rows, case, method)) is not None
    }
    seeds = len(unique(rows, "seed"))
    parts = [
        f"# Real data\n\nMeans over {seeds} seeds; each seed draws its own subsets and links. "
        "In brackets what the paper published, on subsets that are not known.",
        "## NMI (arithmetic mean)\n\n" + _table(cells, methods, _nmi, published.NMI),
        "## Seconds of the fit, on one core\n\n"
        + _table(cells, methods, _seconds, published.SECONDS),
        "## Rules broken, over all seeds\n\nMust-link sets apart, cannot-linked pairs together and "
        "clusters out of bounds; f: fits that failed.\n\n" + _table(cells, methods, _broken, {}),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _cell(rows: list[Row], case: str, method: str) -> Cell | None:
    clusters = next(row["n_clusters"] for row in rows if row["case"] == case)
    return summarize(rows, case, "nan", clusters, method)


def _nmi(cell: Cell) -> str:
    return "–" if isnan(cell.nmi) else f"{cell.nmi:.2f} ± {cell.nmi_spread:.2f}"


def _seconds(cell: Cell) -> str:
    return f"{cell.seconds:.2f}"


def _broken(cell: Cell) -> str:
    return f"{cell.broken}" + (f", {cell.failed} f" if cell.failed else "")


def _table(cells: dict, methods: list[str], show, known: dict) -> str:
    cases = list(dict.fromkeys(case for case, _ in cells))
    lines = ["| | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for case in cases:
        line = [case]
        for method in methods:
            cell = cells.get((case, method))
            text = show(cell) if cell else ""
            if case in known and method in published.METHODS:
                text += f" ({known[case][published.METHODS.index(method)]:.2f})"
            line.append(text)
        lines.append("| " + " | ".join(line) + " |")
    if show is not _broken:
        pick = "nmi" if show is _nmi else "seconds"
        line = ["**mean**"]
        for method in methods:
            values = [
                getattr(cells[case, method], pick) for case in cases if (case, method) in cells
            ]
            values = [value for value in values if not isnan(value)]
            text = f"**{fmean(values):.3f}**" if values else "–"
            mine = [
                known[c][published.METHODS.index(method)]
                for c in cases
                if c in known and method in published.METHODS
            ]
            line.append(text + (f" ({fmean(mine):.3f})" if mine else ""))
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)
