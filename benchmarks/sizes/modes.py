"""What each mode measures, in full and in small."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.sizes.data import Case

LLOYDS = ("ours", "lloyd", "faiss")


def main(small: bool) -> list[Case]:
    """All methods until the centers stand still."""
    n, k = (400, 8) if small else (20_000, 100)
    return [
        Case(
            family, family, n, k, max_iter=300, tol=1e-4,
            methods=("ours", "constrained", "lloyd", "faiss"),
        )
        for family in _families(small)
    ]  # fmt: skip


def step(small: bool) -> list[Case]:
    """One assignment step at the same centers, compared by squared distances."""
    n, k = (400, 8) if small else (20_000, 100)
    return [
        Case(
            f"{family}, centers {start}", family, n, k, start=start, max_iter=1,
            bounds=("balanced",) if small else ("balanced", "slack"),
            methods=("ours", "constrained step"),
        )
        for family in _families(small)
        for start in (("settled",) if small else ("k-means++", "settled"))
    ]  # fmt: skip


def million(small: bool) -> list[Case]:
    """Time per iteration at a million samples."""
    n, k = (1000, 8) if small else (1_000_000, 100)
    iterations = 5 if small else 50
    return [
        Case(family, family, n, k, max_iter=iterations, methods=LLOYDS)
        for family in _families(small)
    ]


def duplicates(small: bool) -> list[Case]:
    """Samples that cannot be told apart."""
    n, k = (600, 60) if small else (100_000, 200)
    bounds = ("balanced",) if small else ("balanced", "slack")
    named = {"identical": "all samples identical", "few": "50 distinct points"}
    return [Case(name, family, n, k, start="rows", bounds=bounds) for family, name in named.items()]


def memory(small: bool) -> list[Case]:
    """Peak memory where a matrix of samples by clusters would take gigabytes."""
    n, k = (1000, 20) if small else (1_000_000, 500)
    bounds = ("balanced",) if small else ("balanced", "slack")
    return [
        Case(family, family, n, k, max_iter=10, bounds=bounds, methods=LLOYDS)
        for family in _families(small)
    ]


def grow(small: bool) -> list[Case]:
    """Time per iteration against N and against k; the first iterations, which are the longest."""
    decades = [first * 10**power for power in (4, 5, 6) for first in (1, 3)] + [10**7]
    samples = [500, 1000] if small else decades
    clusters = (4, 16) if small else (10, 30, 100, 300, 1000)
    fixed_k, fixed_n = (8, 1000) if small else (100, 10**5)
    bounds = ("balanced",) if small else ("balanced", "slack")
    iterations = 3 if small else 10
    sizes = [(f"N = {n:,}", n, fixed_k) for n in samples]
    sizes += [(f"k = {k:,}", fixed_n, k) for k in clusters]
    return [Case(name, "blobs", n, k, max_iter=iterations, bounds=bounds) for name, n, k in sizes]


def hard(small: bool) -> list[Case]:
    """Where an engine for size bounds may suffer."""
    unit = 1 if small else 50
    n, k = 400 * unit, 2 * unit
    bounds = ("balanced",) if small else ("balanced", "slack")
    common = {"max_iter": 3 if small else 20, "bounds": bounds}
    crowded = [("blobs", 20, 10 * unit), ("uniform", 4, 10 * unit), ("blobs", 20, 20 * unit)]
    cases = [
        *(
            Case(f"{each} samples per cluster, k = {many}", family, each * many, many, **common)
            for family, each, many in crowded
        ),
        Case("one sample far away", "outlier", n, k, **common),
        Case("half of the centers far away", "blobs", n, k, start="half far", **common),
        Case("all centers far away", "blobs", n, k, start="all far", **common),
        Case("whole numbers, 10 × 10 grid", "grid", n, k, d=2, start="rows", **common),
        Case("whole numbers, 10^16 grid", "grid", n, k, **common),
    ]
    return cases[::2] if small else cases


def _families(small: bool) -> tuple[str, ...]:
    return ("blobs",) if small else ("blobs", "uniform")


MODES: dict[str, Callable[[bool], list[Case]]] = {
    "main": main,
    "step": step,
    "million": million,
    "duplicates": duplicates,
    "memory": memory,
    "grow": grow,
    "hard": hard,
}
