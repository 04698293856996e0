"""Little memory (`RLIMIT_AS`): an answer that is right, or MemoryError.

Each case is a process of its own with so much address space beyond what it has after its start.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

import bckm
from campaign.part import Case, Part

SIZES = (1, 4, 16, 48, 128, 512)  # MB beyond the start
WORK = ("sizes", "links", "sums", "soft", "sparse", "global", "certify", "check", "table", "save")


def look(case: Case) -> None:
    """Try one kind of work with so much memory."""
    what = WORK[case.number % len(WORK)]
    room = SIZES[case.number // len(WORK) % len(SIZES)] * 2**20
    room += int(case.rng.integers(room))
    seed = int(case.rng.integers(2**31))
    done = subprocess.run(
        [sys.executable, "-m", "campaign.memory", what, str(room), str(seed), str(case.folder)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    case.count(PART.what)
    where = (what, room, seed, done.returncode, done.stdout[-500:], done.stderr[-2000:])
    assert done.returncode == 0, where
    told = json.loads(done.stdout.strip().splitlines()[-1])
    case.count(told["outcome"])


def main() -> None:
    """Do the work in this process, with little memory."""
    what, room, seed, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    rng = np.random.default_rng(seed)
    _warm(folder)
    work = _WORK[what](rng, folder)  # data are there before the limit
    with open("/proc/self/statm", "rb") as handle:
        used = int(handle.read().split()[0]) * resource.getpagesize()
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (used + room, most))
    try:
        answer = work()
    except MemoryError as error:
        answer, told = None, {"outcome": "refused", "message": str(error)}
    else:
        told = {"outcome": "answered"}
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if answer is not None:
        answer()
    sys.stdout.write(json.dumps(told) + "\n")


def _warm(folder: Path) -> None:
    """Import what is imported only when it is needed: Python itself is not what is tried here."""
    from bckm.tables import Table, read_table, write_table

    scipy.linalg.eigh(np.eye(300))  # buffers of BLAS, which waits long where it gets none
    np.linalg.eigh(np.eye(300))
    X = np.arange(12.0).reshape(6, 2)
    rules = bckm.Constraints(
        capacities={"kg": bckm.Capacity(np.ones(6), max=4)}, must_link=[(0, 5)]
    )
    for solver in ("exact", "lagrangian"):
        found = bckm.kmeans(X, 2, rules, solver=solver, random_state=0)
    bckm.certify(found, X, rules)
    for kind in ("csv", "parquet", "xlsx", "jsonl", "npz"):
        write_table(Table.of({"x": [1.5, 2.5]}), folder / f"warm.{kind}")
        read_table(folder / f"warm.{kind}").numbers("x")
    bckm.save(bckm.Study.of(found, X, rules), folder / "warm.bckm")
    bckm.load(folder / "warm.bckm")


def _points(rng: np.random.Generator, n: int, d: int = 4) -> np.ndarray:
    return rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, (n, 1))


def _fit(X: Any, k: int, rules: bckm.Constraints, **how: Any) -> Any:
    def work() -> Any:
        found = bckm.kmeans(X, k, rules, random_state=0, n_init=1, **how)

        def judge() -> None:
            assert bckm.verify(found.labels, k, rules) == []
            rows = X.toarray() if hasattr(X, "toarray") else X
            means = np.array([rows[found.labels == i].mean(axis=0) for i in range(k)])
            inertia = np.square(rows - means[found.labels]).sum()
            assert abs(found.inertia - inertia) <= 1e-9 * inertia, (found.inertia, inertia)
            assert found.lower_bound <= found.objective

        return judge

    return work


def _sizes(rng: np.random.Generator, _: Path) -> Any:
    n, k = int(rng.integers(2_000, 30_000)), int(rng.integers(3, 20))
    return _fit(_points(rng, n), k, bckm.Constraints(size_min=n // k - 5), max_iter=5)


def _links(rng: np.random.Generator, _: Path) -> Any:
    n = int(rng.integers(300, 1_500))
    planted = rng.integers(4, size=n)
    pairs = rng.integers(n, size=(n, 2))
    same = planted[pairs[:, 0]] == planted[pairs[:, 1]]
    pairs, same = pairs[pairs[:, 0] != pairs[:, 1]], same[pairs[:, 0] != pairs[:, 1]]
    rules = bckm.Constraints(pairs[same], pairs[~same])
    return _fit(_points(rng, n), 4, rules, max_iter=4, search="none")


def _sums(rng: np.random.Generator, _: Path) -> Any:
    n = int(rng.integers(100, 500))
    load = bckm.Capacity(rng.integers(1, 9, n), max=n * 1.8)
    return _fit(
        _points(rng, n),
        4,
        bckm.Constraints(capacities={"kg": load}),
        max_iter=4,
        search="none",
    )


def _soft(rng: np.random.Generator, _: Path) -> Any:
    n = int(rng.integers(30, 80))
    pairs = [p for p in rng.integers(n, size=(n, 2)).tolist() if p[0] != p[1]]
    rules = bckm.Constraints(pairs).soft(confidence=0.1)
    return _fit(_points(rng, n), 3, rules, max_iter=3, search="none")


def _sparse(rng: np.random.Generator, _: Path) -> Any:
    import scipy.sparse as sp

    n = int(rng.integers(1_000, 5_000))
    X = sp.random_array((n, 50), density=0.1, rng=rng, format="csr")
    return _fit(X, 5, bckm.Constraints(size_min=n // 5 - 50), max_iter=4)


def _global(rng: np.random.Generator, _: Path) -> Any:
    n = int(rng.integers(200, 2_000))
    rules = bckm.Constraints(size_max=n // 3)
    return _fit(_points(rng, n), 5, rules, search="global", time_limit=0.3)


def _certify(rng: np.random.Generator, _: Path) -> Any:
    X = _points(rng, int(rng.integers(40, 150)))
    rules = bckm.Constraints(size_min=5)
    found = bckm.kmeans(X, 3, rules, random_state=0, n_init=1)

    def work() -> Any:
        proof = bckm.certify(found, X, rules, time_limit=0.3)

        def judge() -> None:
            assert proof.lower_bound <= found.inertia * (1 + 1e-9)

        return judge

    return work


def _check(rng: np.random.Generator, _: Path) -> Any:
    n = int(rng.integers(1_000, 20_000))
    rules = bckm.Constraints(rng.permutation(n)[: n // 2 * 2].reshape(-1, 2), size_max=n // 4)

    def work() -> Any:
        found = bckm.check(n, 6, rules)

        def judge() -> None:
            assert bckm.verify(found.labels, 6, rules) == []

        return judge

    return work


def _table(rng: np.random.Generator, folder: Path) -> Any:
    from bckm.tables import Table, read_table, write_table

    kind = ("csv", "parquet", "xlsx", "jsonl", "npz")[int(rng.integers(5))]
    n = int(rng.integers(1_000, 8_000))
    values = np.round(rng.normal(size=n), 3).tolist()
    path = folder / f"data.{kind}"
    write_table(Table.of({"id": [f"n{p}" for p in range(n)], "x": values}), path)

    def work() -> Any:
        table = read_table(path)
        numbers = table.numbers("x")

        def judge() -> None:
            assert np.allclose(numbers, values)

        return judge

    return work


def _save(rng: np.random.Generator, folder: Path) -> Any:
    X = _points(rng, int(rng.integers(1_000, 100_000)))
    found = bckm.kmeans(X, 2, random_state=0, n_init=1, max_iter=1, search="none")
    study, path = bckm.Study.of(found, X), folder / "x.bckm"
    bckm.save(study, path)

    def work() -> Any:
        bckm.save(study, path)
        again = bckm.load(path)

        def judge() -> None:
            assert np.array_equal(again.X, X)

        return judge

    return work


_WORK = {
    "sizes": _sizes,
    "links": _links,
    "sums": _sums,
    "soft": _soft,
    "sparse": _sparse,
    "global": _global,
    "certify": _certify,
    "check": _check,
    "table": _table,
    "save": _save,
}

PART = Part("memory", "processes with little memory", 60, look, chunk=10, limit=180)

if __name__ == "__main__":
    main()
