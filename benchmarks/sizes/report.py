"""What was measured as a Markdown table and a JSON file, with where and when."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.sizes.measure import ROOT, Row
from benchmarks.sizes.methods import METHODS

PACKAGES = ("bckm", "k-means-constrained", "ortools", "scikit-learn", "faiss-cpu", "numpy", "scipy")
NONE = "–"

NOTES = """\
Every fit ran in a process of its own, from the same centers on the same data. *Time per iteration*
is time by assignment steps: a peer that stops before nothing changes assigns once more at the end,
and that step is counted. *÷ scikit-learn* and *÷ faiss* divide times per iteration; *÷ bckm*
divides by this library under the same bounds. *Memory* is the peak of the fit above what was in use
before it, when the data was loaded already. Faiss has no stopping rule. Inertia, step cost and
sizes are computed from the labels by this program, in double precision. *Gap* is the largest
(cost - proven bound) / cost over all steps.
"""


def seconds(value: float) -> str:
    """Three digits, in a unit that reads well."""
    if value < 0.1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


def _at_least(row: Row, text: str) -> str:
    return f"> {text}" if row["status"] == "stopped" else text


def _time(row: Row) -> str:
    if row["status"] == "failed":
        return "failed"
    return _at_least(row, seconds(row["seconds"]))


def _value(key: str, form: Callable[[Any], str]) -> Callable[[Row], str]:
    return lambda row: NONE if row.get(key) is None else form(row[key])


def _bound(key: str, form: Callable[[Any], str]) -> Callable[[Row], str]:
    """Format a number which is only a lower bound where the fit was stopped."""
    return lambda row: NONE if row.get(key) is None else _at_least(row, form(row[key]))


# heading and cell; what is empty everywhere is left out, as is what the settings say already
COLUMNS: dict[str, Callable[[Row], str]] = {
    "data": lambda row: row["case"],
    "N": lambda row: f"{row['settings']['n']:,}",
    "k": lambda row: f"{row['settings']['k']:,}",
    "bounds": lambda row: row["bounds"],
    "method": lambda row: METHODS[row["method"]].title,
    "time": _time,
    "÷ bckm (time)": _bound("seconds_over_ours", "{:.3g}".format),
    "iterations": _bound("iterations", "{:d}".format),
    "time per iteration": _bound("per_iteration", seconds),
    "÷ scikit-learn": _bound("over_lloyd", "{:.2f}".format),
    "÷ faiss": _bound("over_faiss", "{:.2f}".format),
    "memory": _value("memory", lambda value: f"{value / 2**20:,.0f} MiB"),
    "inertia": _value("inertia", "{:.7g}".format),
    "÷ bckm (inertia)": _value("inertia_over_ours", "{:.5f}".format),
    "sizes kept": _value("sizes_kept", lambda value: "yes" if value else "NO"),
    "gap": _value("gap", "{:.1e}".format),
}
STEP_COLUMNS = {
    name: cell
    for name, cell in COLUMNS.items()
    if name in ("data", "bounds", "method", "time", "÷ bckm (time)", "memory", "sizes kept", "gap")
} | {
    "cost of the step": _value("start_cost", "{:.9g}".format),
    "÷ bckm (cost)": _value("start_cost_over_ours", "{:.7f}".format),
}


def table(rows: list[Row], columns: dict[str, Callable[[Row], str]]) -> str:
    """Rows as Markdown."""
    cells = {name: [cell(row) for row in rows] for name, cell in columns.items()}
    cells = {name: column for name, column in cells.items() if not _said(name, column)}
    lines = [list(cells), ["---"] * len(cells), *zip(*cells.values(), strict=True)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _said(name: str, column: list[str]) -> bool:
    return set(column) == {NONE} or (name in ("N", "k") and len(set(column)) == 1)


def machine(threads: int) -> dict[str, Any]:
    """Where, when and with what."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), "commit": _commit()}
        | {name: version for name in PACKAGES if (version := _version(name))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str:
    """Which code was measured; a star says that it had changes that are in no commit."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def write(mode: str, rows: list[Row], broken: list[str], where: dict, out: Path) -> str:
    """Write table and JSON of one mode; returns the Markdown."""
    columns = STEP_COLUMNS if mode == "step" else COLUMNS
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    verdict = [f"- FAILED: {line}" for line in broken] or [_passed(mode, rows)]
    verdict += [
        f"- {METHODS[row['method']].title} failed on {row['case']}: {row['message']}"
        for row in rows
        if row["status"] == "failed"
    ]
    text = "\n".join(
        [
            f"## {mode}",
            "",
            f"{where['processor']}, {where['cores']} cores, {where['threads']} threads, "
            f"{where['date']}; {versions}.",
            f"{_settings(rows)}",
            "",
            table(rows, columns),
            "",
            *verdict,
            "",
            NOTES,
        ]
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / f"sizes-{mode}.md").write_text(text, encoding="utf-8")
    whole = {"mode": mode, "machine": where, "broken": broken, "rows": rows}
    (out / f"sizes-{mode}.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return text


def _passed(mode: str, rows: list[Row]) -> str:
    """Say how much was checked: no check passes because nothing was measured."""
    own = sum(row["method"] == "ours" for row in rows)
    text = f"All checks passed ({own} fits of bckm)." if own else "Nothing was checked."
    if mode == "step":
        steps = sum(row.get("start_cost_over_ours") is not None for row in rows)
        text += f" Steps of k-means-constrained compared: {steps}, better than ours: 0."
    return text


def _settings(rows: list[Row]) -> str:
    """Say what differs between the cases as a range, what does not as a value."""
    said = []
    for key, name in (("n", "N"), ("d", "d"), ("k", "k"), ("max_iter", "at most iterations")):
        values = sorted({row["settings"][key] for row in rows})
        ends = f"{values[0]:,}" if len(values) == 1 else f"{values[0]:,} to {values[-1]:,}"
        said.append(f"{name} = {ends}")
    tols = sorted({row["settings"]["tol"] for row in rows})
    return ", ".join([*said, "tol = " + " and ".join(f"{tol:g}" for tol in tols)]) + "."
