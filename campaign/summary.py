"""The numbers of a run as JSON and Markdown, and the latter in docs/reliability.md.

``python -m campaign.summary`` puts results/campaign.md into the page; it refuses a run that was not
whole or had failures.
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
from campaign.runner import Tally, part_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"


def commit() -> str:
    """The commit that was looked at; with a plus if files have changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    return git("rev-parse", "--short", "HEAD") + "+" * bool(git("status", "--porcelain"))


def write(found: dict[str, Tally], seed: int, seconds: float, place: Path, *, whole: bool) -> Path:
    """Write campaign.json and campaign.md; those of single parts have their names."""
    place.mkdir(parents=True, exist_ok=True)
    name = "campaign" if whole else "-".join(["campaign", *found])
    told = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(),
        "seed": seed,
        "minutes": round(seconds / 60, 1),
        "versions": {
            "bckm": bckm.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "machine": platform.machine(),
        },
        "parts": [_part(one) for one in found.values()],
    }
    path = place / f"{name}.json"
    path.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    path.with_suffix(".md").write_text(markdown(told), "utf-8")
    return path


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


def markdown(told: dict[str, Any]) -> str:
    """The table of a run."""
    lines = [
        f"Run of {told['date']} at commit {told['commit']}, seed {told['seed']}: "
        f"{told['minutes']:g} minutes on two processes, Python {told['versions']['python']}, "
        f"NumPy {told['versions']['numpy']}.",
        "",
        "| part | counted | among these | failures | seconds |",
        "|---|---|---|---|---|",
    ]
    for part in told["parts"]:
        others = "; ".join(f"{number:,} {what}" for what, number in part["others"].items())
        counted = f"{part['count']:,} {part['what']}"
        lines.append(
            f"| {part['name']} | {counted} | {others} | {part['failed']} | {part['seconds']:,} |"
        )
    return "\n".join(lines) + "\n"


def publish(told: dict[str, Any], page: str) -> str:
    """The page with the table of a whole run without failures."""
    wrong = [
        f"{part['name']}: {part['count']:,} of {part['promised']:,}, {part['failed']} failures"
        for part in told["parts"]
        if part["failed"] or part["count"] < part["promised"]
    ]
    if wrong:
        raise ValueError(f"this run proves less than the page promises: {'; '.join(wrong)}.")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{markdown(told)}{END}{after}"


def main() -> int:
    """Put the last whole run into the page."""
    told = json.loads((ROOT / "results" / "campaign.json").read_text("utf-8"))
    try:
        PAGE.write_text(publish(told, PAGE.read_text("utf-8")), "utf-8")
    except ValueError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
