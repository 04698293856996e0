"""Do time limits hold? `make bench-limits`, or `python -m benchmarks.limits [--only WORD]`.

Each problem runs in a process of its own, once per limit. When the limit is over, the CPU seconds
that the process has used so far are read from outside; what it uses from then on is *late*. What
it needs to read its input once, as far as that was not done by then, is not counted. A call may be
late by one second, or by a tenth of its limit; one that is later by a minute is ended.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.limits.measure import measure
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
        about = {"date": time.strftime("%Y-%m-%d"), "machine": platform.machine()}
        content = {"about": about, "rows": [asdict(row) for row in rows]}
        (folder / "limits.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    return bool(late)


if __name__ == "__main__":
    sys.exit(main())
