"""What was measured as Markdown tables and a JSON file, with where and when."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.search import balance, compare, known, ratio
from benchmarks.search.methods import METHODS
from benchmarks.sizes.measure import Row
from benchmarks.sizes.report import NONE, seconds, table

SLACK = 0.1  # how far a time may be from what was asked to be told apart from it
Columns = dict[str, Callable[[Row], str]]

KNOWN: Columns = {
    "instance": lambda row: row["instance"],
    "seed": lambda row: str(row["seed"]),
    "best known": lambda row: f"{row['best']:.10g}",
    "global": lambda row: f"{row['global']['inertia']:.10g}",
    "difference": lambda row: f"{row['global']['above']:+.1e}",
    "found after": lambda row: seconds(row["global"]["best_after"]),
    "time": lambda row: seconds(row["global"]["seconds"]),
    "runs": lambda row: f"{row['global']['runs']:,}",
    "default": lambda row: f"{row['default']['auto_inertia']:.10g}",
    "difference of default": lambda row: f"{row['default']['above']:+.1e}",
    "time of default": lambda row: seconds(row["default"]["auto_seconds"]),
    "÷ none (time)": lambda row: f"{row['default']['time_ratio']:.2f}",
    "difference of none": lambda row: f"{row['default']['none_above']:+.1e}",
    "rules hold": lambda row: _kept(row["global"]["broken"] + row["default"]["broken"]),
}
BALANCED: Columns = {
    "instance": lambda row: row["instance"],
    "search": lambda row: row["search"],
    "seed": lambda row: str(row["seed"]),
    "inertia": lambda row: f"{row['inertia']:.9e}",
    "six digits": lambda row: format(row["inertia"], balance.DIGITS),
    "reference": lambda row: (
        NONE if row["reference"] is None else format(row["reference"], balance.DIGITS)
    ),
    "against it": lambda row: NONE if row["reference"] is None else balance.place(row),
    "time": lambda row: seconds(row["seconds"]),
    "found after": lambda row: seconds(row["best_after"]),
    "runs": lambda row: f"{row['runs']:,}",
    "rules hold": lambda row: _kept(row["broken"]),
}
AUTO: Columns = {
    "instance": lambda row: row["instance"],
    "n_init": lambda row: str(row["n_init"]),
    "seeds": lambda row: str(row["seeds"]),
    "none": lambda row: seconds(row["none_seconds"]),
    "auto": lambda row: seconds(row["auto_seconds"]),
    "time ratio": lambda row: f"{row['time_ratio']:.2f}",
    "worst": lambda row: f"{row['worst_time_ratio']:.2f}",
    "inertia ratio": lambda row: f"{row['inertia_ratio']:.6f}",
    "worst inertia ratio": lambda row: f"{row['worst_inertia_ratio']:.6f}",
}


def _kept(broken: list[str]) -> str:
    return "NO" if broken else "yes"


@dataclass(frozen=True)
class Page:
    """Tables and sentences of one mode, all there is to say about its rows."""

    mode: str
    rows: list[Row]
    tables: list[str]
    said: list[str]
    broken: list[str]
    note: str


def known_page(rows: list[Row]) -> Page:
    """Instances with best-known values."""
    return Page(
        "known",
        rows,
        [table(rows, KNOWN)],
        [f"- {line}" for line in known.records(rows)] + known.summary(rows),
        known.check(rows),
        "*Difference* is relative to the best known value; *found after* is the time of the step "
        "that reached the final value; *runs* are starts and children. *default* leaves all "
        'settings as they are; *none* is the same with search="none".',
    )


def balanced_page(rows: list[Row]) -> Page:
    """Strictly balanced sets."""
    return Page(
        "balanced",
        rows,
        [table(rows, BALANCED)],
        [],
        balance.check(rows),
        "*Reference* is the best of 20 starts of the best public code for balanced clusterings "
        "that was tried, known to six digits; *against it* compares six digits.",
    )


def auto_page(rows: list[Row]) -> Page:
    """Cost and worth of search="auto"."""
    return Page(
        "auto",
        rows,
        [table(ratio.together(rows), AUTO)],
        ratio.summary(rows),
        ratio.check(rows),
        'Ratios are search="auto" ÷ search="none" with the same seed and n_init: medians over '
        "seeds, and the worst of them.",
    )


def table_page(rows: list[Row]) -> Page:
    """Inertia against time."""
    cells = compare.cells(rows)
    times = sorted({row["time"] for row in rows if row["time"] is not None})
    tables = [_grid(cells, [None, times[-1]])]
    if len(times) > 1:
        tables.append(_grid(cells, times))
    seeds = len({row["seed"] for row in rows})
    late = [row for row in rows if row["inertia"] is None]
    said = [
        f"- {METHODS[row['method']].title} on {row['instance']}, seed {row['seed']}: "
        f"{row['status']} after {seconds(row['fit_seconds'])} without labels. {row['message']}"
        for row in late
    ]
    said = list(dict.fromkeys(said))
    return Page(
        "table",
        rows,
        tables,
        said,
        compare.check(rows),
        "Inertia above the best of the row in %"
        + (f" (means over {seeds} seeds)" if seeds > 1 else "")
        + "; in brackets seconds, where they are not those of the heading: a global search ends "
        "when it found the same best three times, and a first start may take longer. Every method "
        "ran in a process of its own, on the same data. *none, restarts* are "
        'starts of search="none" until the time is over; peers start again until then, and '
        "finish at least one start. Inertia is computed from the labels by "
        "this program, and rules by `bckm.verify`.",
    )


def _grid(cells: list[Row], times: list[float | None]) -> str:
    """Instances down, methods across, at some of the times."""
    keys = [(name, time) for name in METHODS for time in times]
    by_place = {(row["instance"], row["method"], row["time"]): row for row in cells}
    columns: Columns = {
        "instance": lambda row: row["instance"],
        "N": lambda row: f"{row['n']:,}",
        "d": lambda row: str(row["d"]),
        "k": lambda row: str(row["k"]),
    }
    for name, time in keys:
        title = METHODS[name].title + ("" if time is None else f", {time:g} s")
        columns[title] = lambda row, key=(name, time): _cell(by_place.get((row["instance"], *key)))
    first = {row["instance"]: row for row in reversed(cells)}
    return table(list(reversed(first.values())), columns)


def _cell(row: Row | None) -> str:
    if row is None:
        return NONE
    if row["broken"]:
        return "BROKEN"
    if row["ratio"] is None:
        return f"> {seconds(row['seconds'])}" if row["status"] == "stopped" else row["status"]
    above = f"{100 * (row['ratio'] - 1):.3f}"
    text = "**0**" if float(above) == 0 else above
    took = _shown(row)
    return text if took is None else f"{text} ({seconds(took)})"


def _shown(row: Row) -> float | None:
    """Seconds, unless the title of the column says them."""
    if row["time"] is None or row["seconds"] > (1 + SLACK) * row["time"]:
        return row["seconds"]
    return row["fit_seconds"] if row["fit_seconds"] < (1 - SLACK) * row["time"] else None


def write(page: Page, where: dict[str, Any], settings: dict[str, Any], out: Path) -> str:
    """Write tables and JSON of one mode; returns the Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    asked = ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)
    verdict = [f"- FAILED: {line}" for line in page.broken] or [
        f"All checks passed ({len(page.rows)} rows)." if page.rows else "Nothing was checked."
    ]
    text = "\n".join(
        [
            f"## search: {page.mode}",
            "",
            f"{where['processor']}, {where['cores']} cores, {where['threads']} threads, "
            f"{where['date']}; {versions}; {asked}.",
            "",
            *(f"{one}\n" for one in page.tables),
            *page.said,
            *verdict,
            "",
            page.note,
            "",
        ]
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / f"search-{page.mode}.md").write_text(text, encoding="utf-8")
    whole = {"mode": page.mode, "machine": where, "settings": settings, "broken": page.broken}
    whole |= {"said": page.said, "rows": page.rows}
    (out / f"search-{page.mode}.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return text
