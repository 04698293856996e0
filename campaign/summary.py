"""The numbers of each part as JSON, and a table of all parts in docs/reliability.md.

``python -m campaign.summary`` puts the last run of each part into the page; it refuses parts that
had failures, and marks those that were cut short.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import bckm
from campaign.runner import PARTS, Tally, part_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"


def commit() -> str:
    """The commit that was looked at; with a plus if files have changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    return git("rev-parse", "--short", "HEAD") + "+" * bool(git("status", "--porcelain"))


def write(found: dict[str, Tally], seed: int, place: Path) -> None:
    """Write a file for each part: campaign-NAME.json."""
    place.mkdir(parents=True, exist_ok=True)
    about = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(),
        "seed": seed,
        "versions": {
            "bckm": bckm.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "machine": platform.machine(),
        },
    }
    for name, one in found.items():
        text = json.dumps({**about, **_part(one)}, indent=1) + "\n"
        (place / f"campaign-{name}.json").write_text(text, "utf-8")


def _part(found: Tally) -> dict[str, Any]:
    part = part_of(found.name)
    counts = dict(sorted(found.counts.items()))
    return {
        "name": found.name,
        "what": part.what,
        "promised": part.count,
        "count": counts.pop(part.what, 0),
        "others": counts,
        "cases": found.cases,
        "failed": found.failed,
        "seconds": round(found.seconds),
        "cpu": round(found.cpu),
        "failures": found.failures,
    }


def markdown(parts: list[dict[str, Any]]) -> str:
    """The table of the last run of each part."""
    versions = parts[0]["versions"]
    lines = [
        f"Python {versions['python']}, NumPy {versions['numpy']}, two processes.",
        "",
        "| part | counted | among these | failures | seed | seconds | date | commit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for part in parts:
        others = "; ".join(f"{number:,} {what}" for what, number in part["others"].items())
        cells = [
            part["name"],
            f"{part['count']:,} {part['what']}" + _of(part),
            others,
            part["failed"],
            part["seed"],
            f"{part['seconds']:,}",
            part["date"],
            part["commit"],
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def _of(part: dict[str, Any]) -> str:
    """How many it should be, where a run was cut short."""
    return "" if part["count"] >= part["promised"] else f" (of {part['promised']:,})"


def publish(parts: list[dict[str, Any]], page: str) -> str:
    """The page with the table of runs without failures."""
    wrong = [f"{part['name']}: {part['failed']} failures" for part in parts if part["failed"]]
    if wrong:
        raise ValueError(f"promises that did not hold: {'; '.join(wrong)}.")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{markdown(parts)}{END}{after}"


def main() -> int:
    """Put the last run of each part into the page."""
    files = [ROOT / "results" / f"campaign-{name}.json" for name in PARTS]
    missing = [path.name for path in files if not path.exists()]
    if missing:
        print(f"not run yet: {', '.join(missing)}")
        return 1
    parts = [json.loads(path.read_text("utf-8")) for path in files]
    try:
        PAGE.write_text(publish(parts, PAGE.read_text("utf-8")), "utf-8")
    except ValueError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
