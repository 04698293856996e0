"""How the time of exactly balanced steps grows with the rows.

``python -m benchmarks.large.growth [rows ...]`` prints a Markdown table: the CPU of a plain NumPy
pass (distances by matrix product, nearest centers, sums), and, in passes of that kind, of a look at
all rows, of the first step and of later steps over blocks, of a step of the engine in memory, and
of an iteration of dask-ml (without sizes; ``--dask-ml python`` names the interpreter of an
environment that has it). Data are read from a file in ``--folder``, which is written first;
clusters hold the same number of samples within 1 %. Set OMP_NUM_THREADS=1 and
OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bckm
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.coordinator import Coordinator
from bckm.blocks.question import Question
from benchmarks.large.data import BLOCK, written

D, K, STEPS = 16, 100, 5
SAMPLE = 2**17  # rows that the coordinator keeps
IN_MEMORY = 10**7  # rows up to which the engine in memory is run
PEER = """
import json, sys, time
import dask, dask.array as da, numpy as np
from dask_ml.cluster import KMeans
path, centers = sys.argv[1], np.load(sys.argv[4])
n, d, steps = (int(sys.argv[at]) for at in (2, 3, 5))
X = da.from_array(np.memmap(path, np.float32, "r", shape=(n, d)), chunks=(2**18, d))
dask.config.set(scheduler="synchronous")
took = []
for number in (steps, 2 * steps):
    began = time.process_time()
    model = KMeans(len(centers), init=centers, max_iter=number, tol=0).fit(X)
    took.append(time.process_time() - began)
print(json.dumps((took[1] - took[0]) / steps))
"""


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of some work, and what it returns."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def plain_pass(X: np.ndarray, centers: np.ndarray) -> None:
    """What an unconstrained iteration in NumPy does."""
    centers = centers.astype(np.float32)
    squares = np.square(centers).sum(axis=1)
    counts, sums = np.zeros(len(centers)), np.zeros(centers.shape)
    for begin in range(0, len(X), BLOCK // 8):
        rows = X[begin : begin + BLOCK // 8]
        label = (squares - 2 * rows @ centers.T).argmin(axis=1)
        counts += np.bincount(label, minlength=len(centers))
        for t in range(centers.shape[1]):
            sums[:, t] += np.bincount(label, rows[:, t], len(centers))


def measured(path: Path, n: int, peer: str | None) -> dict[str, Any]:
    """One row of the table."""
    X = written(path, n, D)
    lower, upper = np.full(K, int(0.99 * n / K)), np.full(K, int(1.01 * n / K) + 1)
    holder = ArrayHolder(X)
    started, survey = cpu(lambda: holder.survey(SAMPLE / n, 0))
    frame = survey.frame()
    coordinator = Coordinator(holder, survey, frame, lower, upper)
    sample = survey.rows
    share = len(sample) / n
    rules = bckm.Constraints(
        size_min=np.floor(lower * share).astype(int), size_max=np.ceil(upper * share).astype(int)
    )
    found = bckm.kmeans(sample, K, rules, search="none", random_state=0, n_jobs=1)
    centers = frame.inside(found.centers)
    pass_s, _ = cpu(lambda: plain_pass(X, found.centers))
    question = Question(frame, centers, np.zeros(K))
    look_s, _ = cpu(lambda: holder.look(question))
    steps, prices, memory = [], np.zeros(K), None
    for _ in range(STEPS):
        took, step = cpu(lambda c=centers, p=prices, m=memory: coordinator.step(c, p, m))
        steps.append((took, step.passes, step.received))
        assert (step.sizes >= lower).all()
        assert (step.sizes <= upper).all()
        centers, prices, memory = step.means, step.prices, step.memory
    later = np.array(steps[1:])
    row = {
        "rows": n,
        "survey": started / pass_s,
        "plain pass": pass_s,
        "look": look_s / pass_s,
        "first step": steps[0][0] / pass_s,
        "passes": steps[0][1],
        "later step": later[:, 0].mean() / pass_s,
        "later passes": later[:, 1].mean(),
        "MB": later[:, 2].mean() / 1e6,
    }
    if n <= IN_MEMORY:
        exact = bckm.Constraints(size_min=lower, size_max=upper)
        options = {"search": "none", "tol": 0, "init": found.centers, "n_jobs": 1}
        few = more = np.inf  # the least of two: the first one of all reads the file, too
        for _ in range(2):
            took, _ = cpu(lambda: bckm.kmeans(np.asarray(X), K, exact, max_iter=1, **options))
            few = min(few, took)
            took, _ = cpu(
                lambda: bckm.kmeans(np.asarray(X), K, exact, max_iter=1 + STEPS, **options)
            )
            more = min(more, took)
        row["in memory"] = (more - few) / STEPS / pass_s
    if peer:
        np.save(path.with_suffix(".npy"), found.centers)
        asked = [str(path), str(n), str(D), str(path.with_suffix(".npy")), str(STEPS)]
        command = [peer, "-c", PEER, *asked]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            row["dask-ml"] = json.loads(done.stdout) / pass_s
    return row


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=float, nargs="*", default=[1e6, 1e7])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--dask-ml")
    asked = parser.parse_args()
    names = ["plain pass", "look", "survey", "first step", "passes", "later step", "later passes"]
    names += ["MB", "in memory", "dask-ml"]
    print("| rows |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        for n in map(int, asked.rows):
            row = measured(folder / f"{n}.f32", n, asked.dask_ml)
            cells = [f"{row[name]:.3g}" if name in row else "" for name in names]
            print(f"| {n:.0e} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
