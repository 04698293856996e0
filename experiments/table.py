"""The table of the paper as Markdown and LaTeX, published numbers beside ours."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from statistics import fmean

from experiments import published
from experiments.summary import Cell, Row, summarize, unique


def write(rows: list[Row], path: Path) -> None:
    """Write NMI, seconds and violations as Markdown, one table each."""
    seeds = len(unique(rows, "seed"))
    nmi, seconds, broken = map(_markdown, _tables(rows))
    parts = [
        f"# Real data\n\nMeans over {seeds} seeds; each seed draws its own subsets and links. "
        "In brackets what the paper published, on subsets that are not known.",
        "## NMI (arithmetic mean)\n\n" + nmi,
        "## Seconds of the fit, on one core\n\n" + seconds,
        "## Rules broken, over all seeds\n\nMust-link sets apart, cannot-linked pairs together and "
        "clusters out of bounds; f: fits that failed.\n\n" + broken,
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_latex(rows: list[Row], path: Path) -> None:
    """Write the same tables for a paper; they need the package booktabs."""
    captions = ("NMI", "Seconds of the fit", "Rules broken, over all seeds")
    parts = [_latex(lines, caption) for lines, caption in zip(_tables(rows), captions, strict=True)]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _tables(rows: list[Row]) -> list[list[list[str]]]:
    """NMI, seconds and violations: a line of cells per case, names of methods above."""
    methods = unique(rows, "method")
    cells = {
        (case, method): cell
        for case in unique(rows, "case")
        for method in methods
        if (cell := _cell(rows, case, method)) is not None
    }
    shown = ((_nmi, published.NMI), (_seconds, published.SECONDS), (_broken, {}))
    return [_table(cells, methods, show, known) for show, known in shown]


def _markdown(lines: list[list[str]]) -> str:
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body])


def _latex(lines: list[list[str]], caption: str) -> str:
    head, *body = [" & ".join(map(_tex, line)) + r" \\" for line in lines]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(lines[0]) - 1)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _tex(text: str) -> str:
    """A cell for LaTeX: Markdown's bold and special characters."""
    bold = text.startswith("**")
    text = text.replace("**", "")
    for char in "&%$#_{}":
        text = text.replace(char, "\\" + char)
    text = text.replace("±", r"$\pm$").replace("–", "--")
    return rf"\textbf{{{text}}}" if bold else text


def _cell(rows: list[Row], case: str, method: str) -> Cell | None:
    clusters = next(row["n_clusters"] for row in rows if row["case"] == case)
    return summarize(rows, case, "nan", clusters, method)


def _nmi(cell: Cell) -> str:
    return "–" if isnan(cell.nmi) else f"{cell.nmi:.2f} ± {cell.nmi_spread:.2f}"


def _seconds(cell: Cell) -> str:
    return f"{cell.seconds:.2f}"


def _broken(cell: Cell) -> str:
    return f"{cell.broken}" + (f", {cell.failed} f" if cell.failed else "")


def _table(cells: dict, methods: list[str], show, known: dict) -> list[list[str]]:
    cases = list(dict.fromkeys(case for case, _ in cells))
    lines = [["", *methods]]
    for case in cases:
        line = [case]
        for method in methods:
            cell = cells.get((case, method))
            text = show(cell) if cell else ""
            if case in known and method in published.METHODS:
                text += f" ({known[case][published.METHODS.index(method)]:.2f})"
            line.append(text)
        lines.append(line)
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
        lines.append(line)
    return lines
