"""The problems: each a function that makes its data outside the clock and returns the call."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import bckm
from bckm.metric.named import read_metric
from bckm.problem.problem import Problem

Call = Callable[[float], Any]  # the call to be judged, given its time limit
Read = Callable[[], Any]  # what it needs at least: the input, read once
Make = Callable[[], tuple[Call, Read]]

PROBLEMS: dict[str, Make] = {}


def _listed(name: str) -> Callable[[Make], Make]:
    def listed(make: Make) -> Make:
        PROBLEMS[name] = make
        return make

    return listed


def _blobs(n: int, d: int, k: int, spread: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping blobs of unequal shares, and which blob each sample is from."""
    rng = np.random.default_rng(0)
    blob = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
    return spread * rng.normal(size=(k, d))[blob] + rng.normal(size=(n, d)), blob


def _fit(X: Any, k: int, rules: Any = None, **options: Any) -> tuple[Call, Read]:
    """A fit with one thread, so that its CPU seconds compare with those of the clock."""
    points = read_metric(options.get("metric", "euclidean")).embedded(X)
    return (
        lambda limit: bckm.kmeans(
            X, k, rules, time_limit=limit, n_jobs=1, random_state=0, **options
        ),
        lambda: Problem.build(points, k, rules),
    )


def _balanced(n: int, k: int, slack: float = 0.0) -> bckm.Constraints:
    low, up = int(np.floor(n / k * (1 - slack))), int(np.ceil(n / k * (1 + slack)))
    return bckm.Constraints(size_min=low, size_max=up)


def _sized(name: str, n: int, d: int, k: int, kind: type = np.float64, **options: Any) -> None:
    def make() -> tuple[Call, Read]:
        return _fit(_blobs(n, d, 40)[0].astype(kind), k, _balanced(n, k), **options)

    _listed(name)(make)


_sized("sizes, 20,000 x 2, k = 50", 20_000, 2, 50)
_sized("sizes, 100,000 x 10, k = 2,000", 100_000, 10, 2_000)
_sized("sizes, 500,000 x 16, k = 1,000", 500_000, 16, 1_000)
_sized("sizes, 1,000,000 x 16, k = 100", 1_000_000, 16, 100)
_sized("sizes, 100,000 x 384 float32, k = 1,024", 100_000, 384, 1_024, np.float32)
_sized("sizes, 20,000 x 2, k = 5,000", 20_000, 2, 5_000)
_sized("sizes, global search, 20,000 x 8, k = 50", 20_000, 8, 50, search="global")
_sized("sizes, local search, 200,000 x 8, k = 100", 200_000, 8, 100, search="local")
_sized("sizes, exact solver, 10,000 x 4, k = 40", 10_000, 4, 40, solver="exact")
_sized("sizes, random starts, 200,000 x 8, k = 200", 200_000, 8, 200, init="random")


@_listed("no rules, 500,000 x 16, k = 500")
def _plain() -> tuple[Call, Read]:
    return _fit(_blobs(500_000, 16, 40)[0], 500)


@_listed("unequal sizes, 50,000 x 4, k = 60")
def _unequal() -> tuple[Call, Read]:
    shares = np.random.default_rng(1).dirichlet(np.full(60, 2.0))
    upper = np.ceil(50_000 * shares * 1.05).astype(int) + 1
    return _fit(_blobs(50_000, 4, 40)[0], 60, bckm.Constraints(size_max=upper))


@_listed("sizes, masses of duplicates, 200,000, k = 100")
def _duplicates() -> tuple[Call, Read]:
    X = np.random.default_rng(0).integers(0, 20, (200_000, 2)).astype(float)
    return _fit(X, 100, _balanced(len(X), 100))


def _pairs(blob: np.ndarray, number: int, same: bool) -> np.ndarray:
    """Random pairs of the same blob, or of different ones."""
    rng = np.random.default_rng(2)
    drawn = rng.integers(blob.size, size=(20 * number, 2))
    right = (blob[drawn[:, 0]] == blob[drawn[:, 1]]) == same
    return drawn[right & (drawn[:, 0] != drawn[:, 1])][:number]


def _linked(name: str, n: int, k: int, together: int, apart: int, **options: Any) -> None:
    def make() -> tuple[Call, Read]:
        X, blob = _blobs(n, 8, k)
        rules = bckm.Constraints(_pairs(blob, together, True), _pairs(blob, apart, False))
        if options.pop("balanced", False):
            rules &= _balanced(n, k, 0.1)
        return _fit(X, k, rules, **options)

    _listed(name)(make)


_linked("links, 2,000, k = 100, 61,000 cannot-links", 2_000, 100, 0, 61_000)
_linked("links, 20,000, k = 50, sizes and 100 of each", 20_000, 50, 100, 100, balanced=True)
_linked("links, 20,000, k = 20, 5,000 of each", 20_000, 20, 5_000, 5_000)
_linked("links, pump, 2,000, k = 10, 500 of each", 2_000, 10, 500, 500, solver="pump")
_linked("links, greedy, 20,000, k = 20", 20_000, 20, 5_000, 5_000, solver="greedy")
_linked("links, global search, 3,000, k = 30", 3_000, 30, 1_000, 1_000, search="global")


def _labeled(
    name: str, n: int, k: int, share: float, *, apart: bool = False, **options: Any
) -> None:
    """Samples in the plane, some of them labeled, all pairs of these linked, or those apart."""

    def make() -> tuple[Call, Read]:
        X, blob = _blobs(n, 2, k, 3.0)
        known = np.random.default_rng(3).choice(n, int(share * n), replace=False)
        a, b = np.triu_indices(known.size, 1)
        pairs = np.stack([known[a], known[b]], axis=1)
        same = blob[pairs[:, 0]] == blob[pairs[:, 1]]
        together = None if apart else pairs[same]
        return _fit(X, k, bckm.Constraints(together, pairs[~same]), **options)

    _listed(name)(make)


_labeled("labeled pairs, 5,000, k = 20, 5 %", 5_000, 20, 0.05)
_labeled("labeled pairs apart, 2,000, k = 100, 18 %", 2_000, 100, 0.18, apart=True)
_labeled("labeled pairs apart, 5,000, k = 20, 5 %", 5_000, 20, 0.05, apart=True)
_labeled("labeled pairs, 5,000, k = 100, 10 %", 5_000, 100, 0.10)
_labeled("labeled pairs, exact solver, 5,000, k = 20, 5 %", 5_000, 20, 0.05, solver="exact")


@_listed("groups, 200,000 in 80,000, sizes, k = 50")
def _groups() -> tuple[Call, Read]:
    X, _ = _blobs(200_000, 4, 40)
    household = np.random.default_rng(4).integers(80_000, size=len(X))
    rules = bckm.Constraints(groups=household) & _balanced(len(X), 50, 0.05)
    return _fit(X, 50, rules)


@_listed("stay at most 1,000 of 100,000, k = 50")
def _stay() -> tuple[Call, Read]:
    X, _ = _blobs(100_000, 4, 40)
    before = np.random.default_rng(5).permutation(100_000) % 50
    rules = bckm.Constraints(stay=bckm.Stay(before, at_most=1_000)) & _balanced(len(X), 50)
    return _fit(X, 50, rules)


def _capacities(n: int, k: int, links: int, resources: int, **options: Any) -> tuple[Call, Read]:
    rng = np.random.default_rng(6)
    X, blob = _blobs(n, 4, k)
    amounts = {f"r{at}": rng.integers(1, 20, n).astype(float) for at in range(resources)}
    capacities = {
        name: bckm.Capacity(values, max=1.03 * values.sum() / k) for name, values in amounts.items()
    }
    rules = bckm.Constraints(_pairs(blob, links, True), capacities=capacities)
    return _fit(X, k, rules, **options)


@_listed("capacities, 100,000, k = 50, 5,000 must-links")
def _capacities_large() -> tuple[Call, Read]:
    return _capacities(100_000, 50, 5_000, 1)


@_listed("capacities, three resources, 2,000, k = 30")
def _capacities_three() -> tuple[Call, Read]:
    return _capacities(2_000, 30, 0, 3)


@_listed("capacities, exact solver, 300, k = 8")
def _capacities_exact() -> tuple[Call, Read]:
    return _capacities(300, 8, 0, 2, solver="exact")


@_listed("capacities, global search, 1,000, k = 20")
def _capacities_global() -> tuple[Call, Read]:
    return _capacities(1_000, 20, 0, 1, search="global")


@_listed("quotas within 1 %, exact sizes, 3,000, k = 20")
def _quotas() -> tuple[Call, Read]:
    rng = np.random.default_rng(7)
    X, _ = _blobs(3_000, 4, 20)
    quota = bckm.Quota(rng.integers(4, size=3_000), "±1%")
    return _fit(X, 20, bckm.Constraints(quotas=quota) & _balanced(3_000, 20))


@_listed("linear rows, 2,000, k = 10")
def _rows() -> tuple[Call, Read]:
    rng = np.random.default_rng(8)
    X, _ = _blobs(2_000, 4, 10)
    A = sp.random_array((40, 20_000), density=0.05, rng=rng, format="csr")
    upper = np.asarray(A.sum(axis=1)).ravel() / 10 * 1.1
    return _fit(X, 10, bckm.Constraints(linear=bckm.LinearRows(A, upper=upper)))


@_listed("half of all places forbidden, 5,000, k = 50")
def _forbidden() -> tuple[Call, Read]:
    rng = np.random.default_rng(9)
    X, _ = _blobs(5_000, 4, 50)
    shut = np.argwhere(rng.random((5_000, 50)) < 0.5)
    return _fit(X, 50, bckm.Constraints(forbidden=shut) & _balanced(5_000, 50, 0.1))


@_listed("soft links and soft sizes, 20,000, k = 20")
def _soft() -> tuple[Call, Read]:
    X, blob = _blobs(20_000, 4, 20)
    links = bckm.Constraints(_pairs(blob, 5_000, True), _pairs(blob, 5_000, False))
    return _fit(X, 20, links.soft(confidence=1) & _balanced(20_000, 20).soft(confidence=0.5))


@_listed("sparse, 20,000 x 100,000, sizes, k = 50")
def _sparse() -> tuple[Call, Read]:
    rng = np.random.default_rng(10)
    X = sp.random_array((20_000, 100_000), density=1e-3, rng=rng, format="csr")
    return _fit(X, 50, _balanced(20_000, 50))


@_listed("latlon, 100,000, sizes, k = 100")
def _globe() -> tuple[Call, Read]:
    rng = np.random.default_rng(11)
    X = np.stack([rng.uniform(-60, 60, 100_000), rng.uniform(-180, 180, 100_000)], axis=1)
    return _fit(X, 100, _balanced(100_000, 100), metric="latlon")


@_listed("cosine, 100,000 x 64, k = 200")
def _cosine() -> tuple[Call, Read]:
    return _fit(_blobs(100_000, 64, 40)[0], 200, metric="cosine")


@_listed("checkpoint, global search with links, 2,000, k = 20")
def _checkpoint() -> tuple[Call, Read]:
    X, blob = _blobs(2_000, 4, 20)
    rules = bckm.Constraints(_pairs(blob, 300, True)) & _balanced(2_000, 20, 0.1)
    path = Path(tempfile.mkdtemp()) / "fit.ckpt"
    return _fit(X, 20, rules, search="global", checkpoint=path)


@_listed("estimator, links, 5,000, k = 20")
def _estimator() -> tuple[Call, Read]:
    X, blob = _blobs(5_000, 4, 20)
    pairs = _pairs(blob, 2_000, True)
    estimator = bckm.ConstrainedKMeans  # imports scikit-learn, before the clock runs

    def call(limit: float) -> Any:
        model = estimator(20, size_min=100, time_limit=limit, n_jobs=1, random_state=0)
        return model.fit(X, must_link=pairs)

    return call, lambda: Problem.build(X, 20, bckm.Constraints(pairs))


def _checked(n: int, k: int, rules: bckm.Constraints) -> tuple[Call, Read]:
    return lambda limit: bckm.check(n, k, rules, time_limit=limit), lambda: rules.rules(n, k)


@_listed("check, 2,000, k = 20, 60,000 cannot-links")
def _check_links() -> tuple[Call, Read]:
    blob = np.random.default_rng(0).integers(20, size=2_000)
    return _checked(2_000, 20, bckm.Constraints(cannot_link=_pairs(blob, 60_000, False)))


@_listed("check, infeasible: 2,000, k = 20, one clique too large")
def _check_clique() -> tuple[Call, Read]:
    blob = np.random.default_rng(0).integers(20, size=2_000)
    links = _pairs(blob, 60_000, False)
    a, b = np.triu_indices(21, 1)
    return _checked(2_000, 20, bckm.Constraints(cannot_link=np.vstack([links, np.c_[a, b]])))


@_listed("check, infeasible: packing 60 into 12")
def _check_packing() -> tuple[Call, Read]:
    weight = 2.0 * np.random.default_rng(12).integers(1000, 2500, 60)
    odd = np.ceil(weight.sum() / 12)  # all full to the last unit
    capacity = bckm.Capacity(weight, max=odd + 1)
    return _checked(60, 12, bckm.Constraints(capacities={"weight": capacity}))


@_listed("check, infeasible: exact sizes and 5,000 groups of three")
def _check_groups() -> tuple[Call, Read]:
    rules = bckm.Constraints(groups=np.arange(15_000) // 3) & _balanced(15_000, 16)
    return _checked(15_000, 16, rules & bckm.Constraints(size_max=938, size_min=937))


@_listed("assign_to, capacities and links, 20,000, k = 50")
def _assign() -> tuple[Call, Read]:
    rng = np.random.default_rng(13)
    X, blob = _blobs(20_000, 4, 50)
    weight = rng.integers(1, 20, len(X)).astype(float)
    capacity = bckm.Capacity(weight, max=1.05 * weight.sum() / 50)
    rules = bckm.Constraints(_pairs(blob, 1_000, True), capacities={"weight": capacity})
    centers = X[rng.choice(len(X), 50, replace=False)]
    return (
        lambda limit: bckm.assign_to(X, centers, rules, time_limit=limit, n_jobs=1),
        lambda: Problem.build(X, 50, rules),
    )


@_listed("certify, 400 samples, sizes and links, k = 8")
def _certify() -> tuple[Call, Read]:
    X, blob = _blobs(400, 3, 8)
    rules = bckm.Constraints(_pairs(blob, 40, True)) & _balanced(400, 8, 0.1)
    result = bckm.kmeans(X, 8, rules, random_state=0, n_jobs=1)
    return lambda limit: bckm.certify(result, X, rules, time_limit=limit), lambda: None


def _command(n: int, *words: str) -> tuple[Call, Read]:
    """The command `bckm fit` with all its outputs, in this process.

    Reading is that of the file, of its ids and of its numbers.
    """
    from bckm.cli import main
    from bckm.tables import read_table

    folder = Path(tempfile.mkdtemp())
    data, rng = folder / "stops.csv", np.random.default_rng(14)
    X, blob = _blobs(n, 2, 20)
    names = [f"stop {row:07d}" for row in range(n)]
    lines = zip(names, X[:, 0], X[:, 1], rng.integers(1, 20, n), blob, strict=True)
    rows = "".join(f"{name},{x:.6f},{y:.6f},{kg},{kind}\n" for name, x, y, kg, kind in lines)
    data.write_text("stop,x,y,kg,kind\n" + rows, encoding="utf-8")
    outputs = [
        *("--out", str(folder / "out.csv"), "--save", str(folder / "fit.bckm")),
        *("--report", str(folder / "report.html"), "--summary", str(folder / "summary.csv")),
    ]

    def call(limit: float) -> Any:
        fixed = [str(data), "--id", "stop", "--columns", "x,y", "--jobs", "1"]
        limited = ["--time-limit", str(max(limit, 0.01))]
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            try:
                main(["fit", *fixed, *limited, *outputs, *words, "--quiet"])
            except SystemExit as end:
                return f"exit code {end.code}"

    def read() -> None:
        table = read_table(data)
        table.ids("stop")
        Problem.build(np.column_stack([table.numbers("x"), table.numbers("y")]), 20)

    return call, read


@_listed("command line, 100,000 rows, sizes, all outputs")
def _command_sizes() -> tuple[Call, Read]:
    return _command(100_000, "--clusters", "50", "--size", "1950:2050")


@_listed("command line, 20,000 rows, capacities, all outputs")
def _command_capacities() -> tuple[Call, Read]:
    return _command(20_000, "--clusters", "20", "--capacity", "kg::10300", "--size", "950:1050")
