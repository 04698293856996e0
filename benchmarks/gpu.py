"""Clusters of given sizes on a GPU: the pass, the iteration and the memory, in one run.

    python -m benchmarks.gpu [--only pass fit empty cpu large] [--out results/gpu.json] [--rows 1.0]

pass   the best two clusters of each row, proven, against a fused kernel that proves nothing
       (`benchmarks.gpu_probe`), and a whole look, which adds up sums and cost
fit    milliseconds per iteration from the second on: without rules, and with sizes; of these, the
       time in looks and moves and the rest, which is work of the host and of rows that lead to
       prices, and the looks of an iteration
empty  the same from centers that leave half of the clusters empty
cpu    the engine in memory on the cores of the same machine, for a few iterations
large  1e8 rows of 64 features: sizes, and the memory above X

Data are float32: blobs of shares from Dirichlet(1), and uniform. All fits of a kind begin with the
same centers. Each part prints as it ends and is written to the file. `--rows 0.1` takes a tenth of
all rows. Needs CuPy; the probe needs PyTorch with Triton.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import bckm
from bckm.blocks import sources
from bckm.blocks.gpu.arrays import gpu_holder
from bckm.blocks.gpu.holder import GpuHolder
from bckm.blocks.question import Question

PARTS = ("pass", "fit", "empty", "cpu", "large")
PASSES = ((10_000_000, 16, 100), (10_000_000, 64, 1000), (2_000_000, 128, 4096))
FITS = ((10_000_000, 16, 100, 0.0), (10_000_000, 64, 1000, 0.1))  # n, d, k, sizes within +- share
KINDS = ("blobs", "uniform")
LARGE_KINDS = ("uniform", "blobs")  # the quicker one first
ITERATIONS = 8
CPU_ITERATIONS, CPU_SECONDS = 3, 75.0
LARGE = (100_000_000, 64, 1000, 0.1)
PART = 2**22  # rows that are drawn at once


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, default=Path("results/gpu.json"))
    parser.add_argument("--rows", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    options = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "options": vars(options) | {"out": ""}}
    print(json.dumps(found["machine"]), flush=True)
    parts = {"pass": passes, "fit": fits, "empty": empties, "cpu": cpu, "large": large}
    for name in options.only:
        began, found[name] = time.perf_counter(), []
        print(f"\n## {name}\n", flush=True)
        for row in parts[name](options):
            if not found[name]:
                print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|")
            found[name].append(row)
            print("| " + " | ".join(map(_shown, row.values())) + " |", flush=True)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(f"\n{time.perf_counter() - began:.0f} s", flush=True)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def machine() -> dict[str, Any]:
    """What it runs on."""
    import cupy as cp

    properties = cp.cuda.runtime.getDeviceProperties(0)
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "gpu": properties["name"].decode(),
        "memory": int(properties["totalGlobalMem"]),
        "cupy": cp.__version__,
        "cuda": int(cp.cuda.runtime.runtimeGetVersion()),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "bckm": bckm.__version__,
        "cores": len(affinity(0)) if affinity is not None else os.cpu_count(),
    }


def drawn(kind: str, n: int, d: int, seed: int) -> Any:
    """Rows on the GPU, drawn part by part."""
    import cupy as cp

    rng = np.random.default_rng(seed)
    share, middle = rng.dirichlet(np.ones(40)), 10 * rng.random((40, d)) - 5
    there = cp.random.default_rng(seed)
    ends, middles = cp.asarray(np.cumsum(share)[:-1]), cp.asarray(middle.astype(np.float32))
    X = cp.empty((n, d), np.float32)
    for begin in range(0, n, PART):
        rows = X[begin : begin + PART]
        if kind == "uniform":
            rows[:] = there.random(rows.shape, dtype=np.float32)
        else:
            blob = cp.searchsorted(ends, there.random(len(rows)), side="right")
            rows[:] = there.standard_normal(rows.shape, dtype=np.float32)
            rows += middles[blob]
    free()
    return X


def free() -> None:
    """Give back memory that no array uses."""
    import cupy as cp

    cp.get_default_memory_pool().free_all_blocks()


def first_centers(X: Any, k: int, seed: int, *, empty: bool = False) -> Any:
    """Rows drawn at random; or half of them, and as many that are far from all rows."""
    index = np.sort(np.random.default_rng(seed + 1).choice(len(X), k, replace=False))
    import cupy as cp

    centers = X[cp.asarray(index)].get().astype(np.float64)
    if empty:
        middle = centers.mean(axis=0)
        centers[::2] = middle + 4 * (centers[::2] - middle)
    return centers


def sizes_within(n: int, k: int, share: float) -> bckm.Constraints:
    """Sizes as equal as can be, or so much smaller or larger."""
    least, most = int(n / k * (1 - share)), -int(-n / k * (1 + share) // 1)
    return bckm.Constraints(size_min=least, size_max=most)


def timed(work: Callable[[], Any], times: int = 7) -> float:
    """Median of milliseconds; the first time does not count."""
    import cupy as cp

    spent = []
    for _ in range(times + 1):
        cp.cuda.runtime.deviceSynchronize()
        began = time.perf_counter()
        work()
        cp.cuda.runtime.deviceSynchronize()
        spent.append(1e3 * (time.perf_counter() - began))
    return median(spent[1:])


def passes(options: Any) -> Iterator[dict[str, Any]]:
    """The pass against the probe."""
    for n, d, k in PASSES:
        n = int(n * options.rows)
        X = drawn("blobs", n, d, options.seed)
        holder = gpu_holder(X)
        survey = holder.survey(0.001, 0)
        frame = survey.frame()
        centers = frame.inside(first_centers(X, k, options.seed))
        question = Question(frame, centers, np.zeros(k))
        device = holder._passes
        label, slack = device.empty(X, np.int32), device.empty(X, np.float32)

        def best(device: Any = device, X: Any = X, label: Any = label, slack: Any = slack) -> None:
            device.best(X, label, slack)

        def look(holder: Any = holder, question: Any = question) -> None:
            holder._kept = None  # as if it were the first one
            holder.look(question)

        row: dict[str, Any] = {"rows": n, "features": d, "clusters": k}
        row["look, ms"] = timed(look)
        device.ask(question, X.dtype)
        row["pass, ms"] = timed(best)
        row["probe, ms"], other = probed(X, centers, frame)
        row["ratio"] = row["pass, ms"] / row["probe, ms"] if row["probe, ms"] else None
        row["other labels"] = None if other is None else int((other != label).sum())
        yield row
        del X, holder, device, label, slack, other, best, look
        free()


def probed(X: Any, centers: Any, frame: Any) -> tuple[float | None, Any]:
    """Milliseconds of the fused kernel in its best shape, and its labels."""
    import cupy as cp

    try:
        import torch

        from benchmarks.gpu_probe import SHAPES, probe
    except ImportError:
        return None, None
    rows = torch.from_dlpack(X - cp.asarray(frame.origin.astype(np.float32)))
    there = torch.from_numpy((centers * frame.x_scale).astype(np.float32)).cuda()
    label, run = probe(rows, there, torch.zeros(len(centers), device=rows.device))
    spent = {}
    for shape in range(len(SHAPES)):
        try:
            spent[shape] = timed(lambda shape=shape: run(shape), 3)
        except Exception as error:  # a shape that does not fit this card
            print(f"(probe {SHAPES[shape]}: {type(error).__name__})", flush=True)
    least = timed(lambda: run(min(spent, key=spent.__getitem__)))
    return least, cp.from_dlpack(label)


@contextmanager
def watched() -> Iterator[dict[str, list[float]]]:
    """Seconds in looks, and when each of them ended."""
    names = ("look", "limits", "moves", "borders", "tied")
    seen: dict[str, list[float]] = {name: [] for name in names}
    before = {name: getattr(GpuHolder, name) for name in names}

    def watching(name: str, ask: Any) -> Any:
        def asked(self: Any, *args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return ask(self, *args, **options)
            finally:
                seen[name].append(time.perf_counter() - began)

        return asked

    for name, ask in before.items():
        setattr(GpuHolder, name, watching(name, ask))
    try:
        yield seen
    finally:
        for name, ask in before.items():
            setattr(GpuHolder, name, ask)


def iterations(
    X: Any, k: int, rules: bckm.Constraints, centers: Any, number: int
) -> dict[str, Any]:
    """A fit, and what its iterations took, from the second on, by the median."""
    marks: list[tuple[float, int, float]] = []
    with watched() as seen:

        def mark(step: bckm.Step) -> None:
            marks.append((step.seconds, len(seen["look"]), _all(seen)))

        result = bckm.kmeans(
            X, k, rules, init=centers, n_init=1, search="none", tol=0, max_iter=number, on_step=mark
        )
    steps = list(pairwise(marks))
    took = [1e3 * (b[0] - a[0]) for a, b in steps] or [float("nan")]
    looks = [b[1] - a[1] for a, b in steps] or [0]
    card = [1e3 * (b[2] - a[2]) for a, b in steps] or [float("nan")]
    return {
        "result": result,
        "ms": median(took),
        "most": max(took),
        "card": median(card),
        "host": median(one - other for one, other in zip(took, card, strict=True)),
        "looks": looks,
        "seconds": result.seconds,
    }


def _all(seen: dict[str, list[float]]) -> float:
    return sum(map(sum, seen.values()))


def fits(options: Any, *, empty: bool = False) -> Iterator[dict[str, Any]]:
    """Iterations with sizes against those without rules."""
    bckm_warm()
    for n, d, k, share in FITS:
        n = int(n * options.rows)
        for kind in KINDS:
            X = drawn(kind, n, d, options.seed)
            centers = first_centers(X, k, options.seed, empty=empty)
            some = first_centers(X, k, options.seed)  # without rules, empty clusters stay empty
            plain = iterations(X, k, bckm.Constraints(size_min=0), some, options.iterations)
            sized = iterations(X, k, sizes_within(n, k, share), centers, options.iterations)
            result = sized.pop("result")
            yield {
                "data": kind,
                "rows": n,
                "features": d,
                "clusters": k,
                "within": share,
                "no rules, ms": plain["ms"],
                "sizes, ms": sized["ms"],
                "ratio": sized["ms"] / plain["ms"],
                "in looks, ms": sized["card"],
                "rest, ms": sized["host"],
                "looks": "/".join(map(str, sized["looks"])),
                "slowest, ms": sized["most"],
                "fit, s": sized["seconds"],
                "gap": result.gap,
                "sizes": f"{result.sizes.min()}-{result.sizes.max()}",
            }
            del X, result, plain
            free()


def empties(options: Any) -> Iterator[dict[str, Any]]:
    """The same from centers that leave clusters empty."""
    return fits(options, empty=True)


def cpu(options: Any) -> Iterator[dict[str, Any]]:
    """The engine in memory on the cores of this machine, and the GPU after the same iterations."""
    bckm_warm()
    before, sources.LARGE = sources.LARGE, 2**62  # all stays in memory
    try:
        for n, d, k, share in FITS:
            n = int(n * options.rows)
            X = drawn("blobs", n, d, options.seed)
            centers, rules = first_centers(X, k, options.seed), sizes_within(n, k, share)
            there = iterations(X, k, rules, centers, CPU_ITERATIONS + 1)
            here = X.get()
            marks: list[bckm.Step] = []
            del X
            free()
            result = bckm.kmeans(
                here, k, rules, init=centers, n_init=1, search="none", tol=0,
                max_iter=CPU_ITERATIONS + 1, time_limit=CPU_SECONDS,
                on_step=marks.append,
            )  # fmt: skip
            took = np.diff([step.seconds for step in marks])
            slow = 1e3 * (float(np.median(took)) if took.size else result.seconds)
            yield {
                "rows": n,
                "features": d,
                "clusters": k,
                "within": share,
                "CPU, ms": slow,
                "iterations": len(marks),
                "GPU, ms": there["ms"],
                "ratio": slow / there["ms"],
                "first on the CPU, s": result.history[0].seconds if result.history else None,
            }
            del here, result, there
    finally:
        sources.LARGE = before


def large(options: Any) -> Iterator[dict[str, Any]]:
    """As much as a card holds."""
    import cupy as cp

    n, d, k, share = LARGE
    n, pool = int(n * options.rows), cp.get_default_memory_pool()
    for kind in LARGE_KINDS:
        X = drawn(kind, n, d, options.seed)
        centers = first_centers(X, k, options.seed)
        free()
        before = pool.total_bytes()
        found = iterations(X, k, sizes_within(n, k, share), centers, 4)
        result, above = found["result"], pool.total_bytes() - before
        sizes = cp.bincount(result.labels, minlength=k).get()
        yield {
            "data": kind,
            "rows": n,
            "features": d,
            "clusters": k,
            "X, GiB": X.nbytes / 2**30,
            "above X, GiB": above / 2**30,
            "allowed, GiB": (24 * n + 2**30) / 2**30,
            "iteration, ms": found["ms"],
            "fit, s": found["seconds"],
            "looks": "/".join(map(str, found["looks"])),
            "gap": result.gap,
            "sizes": f"{sizes.min()}-{sizes.max()}",
            "as told": bool(np.array_equal(sizes, result.sizes)),
        }
        del X, found, result, sizes
        free()


def bckm_warm() -> None:
    """Import and compile what fits need."""
    for d in {one[1] for one in FITS}:
        X = drawn("uniform", 100_000, d, 1)
        bckm.kmeans(X, 20, bckm.Constraints(size_min=4000), random_state=0, max_iter=3)


if __name__ == "__main__":
    main()
