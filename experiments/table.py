"""The table of the paper as Markdown and LaTeX, published numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from pathlib import Path
from statistics import fmean

from experiments import published
from experiments.summary import Cell, Row, summarize, unique

Cells = dict[tuple[str, str], Cell]

PARTS = {
    "raw": "Raw pixels",
    "features": "One standard feature map for each data set",
    "learned": "The metric learned from the links, on raw pixels",
}
EXPLAINED = {
    "raw": "",
    "features": "The map was chosen by looking at k-means alone (`experiments/choice.py`).",
    "learned": "Samples mapped by `bckm.LearnedMetric` before any method sees them (its time is "
    'not counted); only `learned` is `bckm.kmeans(..., metric="learned")` on the pixels '
    "themselves, learning included.",
}
OWN = "learned"  # the method that learns the metric itself; on raw pixels it is shown in that part
ABOUT = {
    "NMI": "NMI (arithmetic mean)",
    "Seconds": "Seconds of the fit, on one core: CPU / wall",
    "Broken": "Rules broken, over all draws: must-link sets apart, cannot-linked pairs together "
    "and clusters out of bounds; f: fits that failed",
}


def write(rows: list[Row], path: Path) -> None:
    """Write NMI, seconds and violations of each part as Markdown, and who is best in each row."""
    draws = len(unique(rows, "seed"))
    parts = [
        f"# Real data\n\n{draws} draws; each draws its own subsets and links. NMI is mean ± spread "
        "over the draws; in brackets what the paper published, on subsets that are not known.",
        "## The best of each row\n\n" + markdown(best(rows)),
    ]
    for space in _spaces(rows):
        parts.append(f"## {PARTS[space]}\n\n{EXPLAINED[space]}".rstrip())
        for title, lines in _tables(rows, space).items():
            parts.append(f"{ABOUT[title]}.\n\n{markdown(lines)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_latex(rows: list[Row], path: Path) -> None:
    """Write the same tables for a paper; they need the package booktabs."""
    parts = [_latex(best(rows), "NMI: the best of each row")]
    for space in _spaces(rows):
        for title, lines in _tables(rows, space).items():
            parts.append(_latex(lines, f"{PARTS[space]}. {ABOUT[title]}"))
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def best(rows: list[Row]) -> list[list[str]]:
    """The highest NMI of each row: published, run again, and by what learns the metric itself."""
    by_part = {space: _cells(rows, space) for space in _spaces(rows)}
    lines = [["", "published", *(PARTS[space] for space in by_part)]]
    for case in unique(rows, "case"):
        known = published.NMI.get(case, ())
        line = [case, _highest(dict(zip(published.METHODS, known, strict=False)))]
        for space, cells in by_part.items():
            mine = {m: cell.nmi for (c, m), cell in cells.items() if c == case}
            if space == "learned" and OWN in mine:
                mine = {OWN: mine[OWN]}
            line.append(_highest(mine))
        lines.append(line)
    return lines


def _highest(nmi: dict[str, float]) -> str:
    nmi = {method: value for method, value in nmi.items() if not isnan(value)}
    if not nmi:
        return "–"
    method = max(nmi, key=nmi.__getitem__)
    return f"{nmi[method]:.2f} {method}"


def _spaces(rows: list[Row]) -> list[str]:
    return [space for space in PARTS if any(row["space"] == space for row in rows)]


def _cells(rows: list[Row], space: str) -> Cells:
    """What is shown in a part: its own fits; learning by itself stands with the learned metric."""
    cells = {}
    for case in unique(rows, "case"):
        for method in unique(rows, "method"):
            of = "raw" if (space, method) == ("learned", OWN) else space
            if (space, method) != ("raw", OWN) and (
                cell := summarize(rows, case=case, space=of, method=method)
            ):
                cells[case, method] = cell
    return cells


def _tables(rows: list[Row], space: str) -> dict[str, list[list[str]]]:
    """NMI, seconds and violations: a line of cells per case, names of methods above."""
    cells = _cells(rows, space)
    return {
        "NMI": _table(cells, _nmi, published.NMI, _mean_nmi),
        "Seconds": _table(cells, _seconds, published.SECONDS, _mean_seconds),
        "Broken": _table(cells, _broken, {}, _all_broken),
    }


def markdown(lines: list[list[str]]) -> str:
    """A table, its head first."""
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


def _nmi(cell: Cell) -> str:
    return "–" if isnan(cell.nmi) else f"{cell.nmi:.2f}{_spread(cell)}"


def _spread(cell: Cell) -> str:
    """The spread over draws, with as many digits as it needs; nothing if there is none."""
    if cell.runs - cell.failed < 2 or cell.nmi_spread < 1e-6:
        return ""
    spread = cell.nmi_spread
    return f" ± {spread:.2f}" if spread >= 0.005 else f" ± {spread:.1g}"


def _seconds(cell: Cell) -> str:
    return f"{cell.cpu_seconds:.2f} / {cell.wall_seconds:.2f}"


def _broken(cell: Cell) -> str:
    return f"{cell.broken}" + (f", {cell.failed} f" if cell.failed else "")


def _mean_nmi(cells: list[Cell]) -> str:
    values = [cell.nmi for cell in cells if not isnan(cell.nmi)]
    return f"{fmean(values):.3f}" if values else "–"


def _mean_seconds(cells: list[Cell]) -> str:
    return " / ".join(
        f"{fmean(getattr(cell, name) for cell in cells):.3f}"
        for name in ("cpu_seconds", "wall_seconds")
    )


def _all_broken(cells: list[Cell]) -> str:
    return str(sum(cell.broken for cell in cells))


def _table(
    cells: Cells,
    show: Callable[[Cell], str],
    known: dict[str, tuple[float, ...]],
    together: Callable[[list[Cell]], str],
) -> list[list[str]]:
    cases, methods = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    lines = [["", *methods]]
    for case in cases:
        line = [show(cells[case, m]) if (case, m) in cells else "" for m in methods]
        beside = [_known(known, [case], m, 2) for m in methods]
        lines.append([case, *map(str.__add__, line, beside)])
    line = [together([cells[c, m] for c in cases if (c, m) in cells]) for m in methods]
    beside = [_known(known, cases, m, 3) for m in methods]
    whole = [f"**{text}**{more}" for text, more in zip(line, beside, strict=True)]
    lines.append(["**all**" if not known else "**mean**", *whole])
    return lines


def _known(known: dict[str, tuple[float, ...]], cases: list[str], method: str, digits: int) -> str:
    """What is published, in brackets."""
    if method not in published.METHODS:
        return ""
    at = published.METHODS.index(method)
    values = [known[case][at] for case in cases if case in known]
    return f" ({fmean(values):.{digits}f})" if values else ""
