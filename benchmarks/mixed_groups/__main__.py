"""Mixed groups against the exchange method, in as much CPU time, and against random groups.

A number is the sum of squares between groups as a share of all, in the mean of the seeds. The
exchange method gets as much CPU time as `bckm.kmeans(..., objective="mixed")` took, and then ten
times as much; it is repeated from new random groups as long as time allows, and always ends at
least once. One thread each.

    python -m benchmarks.mixed_groups [--data FOLDER] [--sets NAME,...] [--seeds 3]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import bckm
from benchmarks.mixed_groups.data import drawn, real, scaled
from benchmarks.mixed_groups.exchange import between, exchanged
from benchmarks.mixed_groups.exchange import drawn as random_labels

DATA = Path(__file__).parents[3] / "shared" / "datasets"
MORE = 10  # times the CPU seconds
ROUNDING = 1e-9  # relative difference that counts as none
NONE = 1e-16  # shares below are rounding: a twentieth of a billionth of a standard deviation


def compare(X: np.ndarray, k: int, seeds: int, more: bool) -> tuple[list[float], float, int]:
    """Shares between groups (ours, exchange, exchange with more time, random), seconds, losses."""
    total = float(np.square(X - X.mean(axis=0)).sum())
    found = np.zeros((seeds, 4))
    spent = 0.0
    for seed in range(seeds):
        began = time.process_time()
        result = bckm.kmeans(X, k, objective="mixed", n_jobs=1, random_state=seed)
        seconds = time.process_time() - began
        spent += seconds / seeds
        rng = np.random.default_rng(seed)
        runs = [result.labels, exchanged(X, k, seconds, rng)[0]]
        runs.append(exchanged(X, k, MORE * seconds, rng)[0] if more else runs[1])
        runs.append(random_labels(len(X), k, rng))
        found[seed] = [between(X, labels, k) / total for labels in runs]
    lost = int((found[:, 0] > found[:, 1] * (1 + ROUNDING) + NONE).sum())
    return found.mean(axis=0).tolist(), spent, lost


def main() -> int:
    """Print a row per data set; 1 if the exchange method was better anywhere in equal time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sets", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--less", action="store_true", help="leave out ten times the time")
    given = parser.parse_args()
    wanted = set(filter(None, given.sets.split(",")))
    sys.stdout.write(
        "| data | samples × features, k | CPU s "
        "| bckm | exchange | exchange, 10 × | random | lost |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    losses = 0
    for name, X, k in (*drawn(), *real(given.data)):
        if wanted and name not in wanted:
            continue
        shares, seconds, lost = compare(scaled(X), k, given.seeds, not given.less)
        losses += lost
        numbers = " | ".join(f"{share:.2e}" for share in shares)
        shape = f"{len(X):,} × {X.shape[1]}, {k}"
        sys.stdout.write(f"| {name} | {shape} | {seconds:.2f} | {numbers} | {lost} |\n")
        sys.stdout.flush()
    return int(losses > 0)


if __name__ == "__main__":
    sys.exit(main())
