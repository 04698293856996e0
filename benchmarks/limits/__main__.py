"""Do time limits hold? `make bench-limits`, or `python -m benchmarks.limits [--only WORD]`.

Each problem runs in a process of its own, once per limit. When the limit is over, the CPU seconds
that the process has used so far are read from outside; what it uses from then on is *late*. What
it needs to read its input once, as far as that was not done by then, is not counted. A call may be
late by one second, or by a tenth of its limit; one that is later by a minute is ended.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import platform
import sys
import time
from pathlib import Path

from benchmarks.limits.measure import Row, measure
from benchmarks.limits.problems import PROBLEMS

LIMITS = (0.0, 0.1, 1.0, 10.0)  # seconds


def main() -> int:
    """Measure, print a table, and write it to results/."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--limits", type=float, nargs="+", default=LIMITS)
    parser.add_argument("--trace", action="store_true", help="show where a late call is")
    options = parser.parse_args()
    for name in ("OMP", "OPENBLAS", "MKL"):  # one thread: CPU seconds are those of the clock
        os.environ[f"{name}_NUM_THREADS"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    mp.set_start_method("spawn")
    rows = []
    names = [name for name in PROBLEMS if options.only in name]
    for name in names:
        for limit in options.limits:
            row = measure(name, limit, options.trace)
            rows.append(row)
            mark = "" if row.holds else "   <-- late"
            print(
                f"{name:58s} {limit:5g} s: read {row.reading:6.2f}, late {row.late:6.2f}, "
                f"wall {row.wall:6.2f}, {row.outcome}{mark}",
                flush=True,
            )
    late = [row for row in rows if not row.holds]
    print(f"{len(names)} problems, {len(rows)} calls, {len(late)} late")
    if not options.only:
        folder = Path("results")
        folder.mkdir(exist_ok=True)
        (folder / "limits.md").write_text(table(rows), encoding="utf-8")
    return bool(late)


def table(rows: list[Row]) -> str:
    """The rows as Markdown: a problem a line, how late it was under each limit."""
    limits = sorted({row.limit for row in rows})
    head = ["problem", "reading", *(f"{limit:g} s" for limit in limits), "answer at the last limit"]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for name in dict.fromkeys(row.problem for row in rows):
        own = {row.limit: row for row in rows if row.problem == name}
        cells = [f"{own[limit].late:.2f}" if limit in own else "" for limit in limits]
        marked = [
            f"**{cell}**" if limit in own and not own[limit].holds else cell
            for limit, cell in zip(limits, cells, strict=True)
        ]
        reading = f"{max(row.reading for row in own.values()):.2f}"
        lines.append(" | ".join([name, reading, *marked, own[limits[-1]].outcome]))
    late = sum(not row.holds for row in rows)
    made = (
        f"{time.strftime('%Y-%m-%d')}, {platform.machine()}, Python {platform.python_version()}: "
        f"{len(rows)} calls, {late} late.\n\n"
    )
    return made + "".join(f"| {line} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
