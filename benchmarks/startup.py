"""How long the command line takes to answer: CPU seconds of whole processes, in one run.

`make bench-startup`. Compared with what Python, NumPy and scikit-learn take to start, since no
program that needs them can be quicker.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

LIMIT = 1.0  # CPU seconds that help and check may take


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one process, that of its children included."""
    # an installed package is compiled to bytecode; one that runs from its source may not be
    env = {name: one for name, one in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def commands(folder: Path) -> dict[str, list[str]]:
    """What is measured; the first is the peer of all."""
    data = folder / "customers.csv"
    rng = np.random.default_rng(0)
    with data.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["customer", "x", "y", "kg", "household"])
        for row in range(300):
            writer.writerow([f"c{row}", *rng.normal(size=2), rng.integers(1, 9), f"h{row // 2}"])
    python, bckm = [sys.executable, "-c"], [sys.executable, "-m", "bckm"]
    rules = ["--clusters", "6", "--size", "45:55", "--together", "household", "--id", "customer"]
    return {
        "python": [*python, "pass"],
        "import numpy": [*python, "import numpy"],
        "import sklearn.cluster": [*python, "import sklearn.cluster"],
        "import bckm": [*python, "import bckm"],
        "bckm --help": [*bckm, "--help"],
        "bckm fit --help": [*bckm, "fit", "--help"],
        "bckm check, sizes and households": [*bckm, "check", str(data), *rules],
        "bckm check, capacity too": [*bckm, "check", str(data), *rules, "--capacity", "kg::300"],
        "bckm fit, sizes and households": [
            *[*bckm, "fit", str(data), *rules, "--columns", "x,y", "--quiet"],
            *["--out", str(folder / "labels.csv")],
        ],
    }


def main() -> None:
    """Measure, and write a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        table = commands(Path(name))
        seconds: dict[str, list[float]] = {what: [] for what in table}
        for run in range(runs + 1):  # the first one compiles and fills caches
            for what, command in table.items():
                spent = cpu_seconds(command)
                if run:
                    seconds[what].append(spent)
    base = statistics.median(seconds["python"])
    print(f"| command | CPU seconds, median of {runs} | slowest | ÷ python |\n|---|---|---|---|")
    for what, found in seconds.items():
        middle = statistics.median(found)
        print(f"| {what} | {middle:.2f} | {max(found):.2f} | {middle / base:.1f} |")
    for what in ("bckm --help", "bckm check, sizes and households", "bckm check, capacity too"):
        if statistics.median(seconds[what]) > LIMIT:
            sys.exit(f"{what} takes more than {LIMIT:g} s of CPU")


if __name__ == "__main__":
    main()
