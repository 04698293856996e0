"""Families of instances with tight rules of several kinds.

a: one capacity; b: two or three; c: exact sizes and quotas; d: sizes, quotas, capacities and links;
e: exact sizes and many links; f: a capacity and links of 20,000 to 100,000 samples; g: sizes only,
5,000 to 20,000 samples; h: samples in the plane, some labelled and all pairs of these linked.
Another offset draws others of the same families.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.mixed.instance import Category, Instance, Load

NEAR = 40  # samples around one, among which another is drawn that may not be with it
DATASETS = Path("..", "shared", "datasets")

Draw = Callable[[int], Instance]


def capacities(
    name: str,
    seed: int,
    n: int,
    k: int,
    slack: float,
    *,
    whole: bool = False,
    below: bool = False,
    number: int = 1,
    offset: int,
) -> Instance:
    """Loads at most so much above the mean, and with `below` at least so much below it."""
    rng = np.random.default_rng(seed + offset)
    X = blobs(rng, n, max(4, k // 2), 2, 0.5)
    if whole:
        amounts = rng.integers(1, 21, (n, number)).astype(float)
    else:
        amounts = rng.lognormal(0, 0.6, (n, number)).round(3)
    means = amounts.sum(axis=0) / k
    loads = tuple(
        Load(amount, mean * (1 - slack) if below else 0.0, mean * (1 + slack))
        for amount, mean in zip(amounts.T, means, strict=True)
    )
    return Instance(name, X, k, loads=loads)


def together(
    name: str,
    seed: int,
    n: int,
    k: int,
    d: int,
    *,
    kinds: tuple[int, ...] = (),
    within: float = 0.0,
    loads: int = 0,
    slack: float = 0.0,
    households: int = 0,
    apart: int = 0,
    offset: int,
) -> Instance:
    """Equal sizes, and whatever else is asked; some labels are drawn that obey all of it."""
    rng = np.random.default_rng(seed + offset)
    X = blobs(rng, n, max(4, k // 2), d, 0.8)
    categories = [_category(rng, X, number) for number in kinds]
    groups = _households(rng, n, households)
    amounts = rng.lognormal(0, 0.5, (n, loads)).round(3)
    labels = _planted(rng, n, k, [*map(_shares, categories), amounts], groups)
    each = n / k
    return Instance(
        name,
        X,
        k,
        (n // k, -(-n // k)),
        tuple(_around(amount, labels, k, slack) for amount in amounts.T),
        tuple(_quota(category, labels, k, within * each) for category in categories),
        groups,
        _near_pairs(rng, X, labels, apart),
    )


def large(
    name: str, seed: int, n: int, k: int, links: int, slack: float, *, near: bool, offset: int
) -> Instance:
    """A capacity, must-links at random, and cannot-links at random or between near samples."""
    rng = np.random.default_rng(seed + offset)
    blob = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
    X = 1.5 * rng.normal(size=(k, 10))[blob] + rng.normal(size=(n, 10))
    amount = rng.integers(1, 20, n).astype(float)
    order = rng.permutation(n)
    pairs, rest = order[: 2 * links].reshape(-1, 2), order[2 * links :]
    if near:
        rest = rest[np.argsort(blob[rest], kind="stable")]
        couples = rest[: rest.size // 2 * 2].reshape(-1, 2)
        couples = couples[blob[couples[:, 0]] == blob[couples[:, 1]]]
        away = couples[rng.choice(len(couples), links, replace=False)]
    else:
        away = rest[: 2 * links].reshape(-1, 2)
    mean = amount.sum() / k
    load = Load(amount, mean * (1 - slack), mean * (1 + slack))
    return Instance(name, X, k, loads=(load,), together=_tuples(pairs), apart=_tuples(away))


def sizes(
    name: str, seed: int, n: int, k: int, d: int, *, kind: str, slack: float = 0.0, offset: int
) -> Instance:
    """Sizes within so much of the mean; the kind of data is drawn here, or read from a file."""
    rng = np.random.default_rng(seed + offset)
    X = KINDS[kind](rng, n, d) if kind in KINDS else _real(rng, kind, n, d)
    n = len(X)
    bounds = max(1, int(n / k * (1 - slack))), int(np.ceil(n / k * (1 + slack)))
    return Instance(name, X, k, bounds)


def labelled(name: str, seed: int, n: int, k: int, share: float, *, offset: int) -> Instance:
    """Blobs in the plane; some samples are labelled and all pairs of these linked."""
    rng = np.random.default_rng(seed + offset)
    blob = np.sort(rng.integers(k, size=n))
    X = rng.uniform(0, 1, (k, 2))[blob] + 0.05 * rng.normal(size=(n, 2))
    some = np.sort(rng.choice(n, int(share * n), replace=False))
    groups = [some[blob[some] == label] for label in np.unique(blob[some])]
    first, second = np.triu_indices(some.size, 1)
    away = blob[some[first]] != blob[some[second]]
    pairs = np.stack([some[first[away]], some[second[away]]], axis=1)
    return Instance(
        name,
        X,
        k,
        together=tuple(tuple(group.tolist()) for group in groups if group.size > 1),
        apart=_tuples(pairs),
    )


def blobs(rng: np.random.Generator, n: int, number: int, d: int, spread: float) -> np.ndarray:
    """Blobs of unequal weight in a cube of side four."""
    weight = rng.dirichlet(np.full(number, 2.0))
    blob = rng.choice(number, n, p=weight)
    return 4 * rng.uniform(0, 1, (number, d))[blob] + spread * rng.normal(size=(n, d))


def _heavy_tailed(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_t(2.5, (n, d)) * rng.lognormal(0, 0.5, d)


def _many_blobs(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return blobs(rng, n, 30, d, 0.4)


def _clear_blobs(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return blobs(rng, n, 40, d, 0.1)


KINDS = {
    "clear": _clear_blobs,
    "blobs": _many_blobs,
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "heavy": _heavy_tailed,
}


def _real(rng: np.random.Generator, file: str, n: int, d: int) -> np.ndarray:
    """Some rows of a data set, by their main directions if there are more than asked."""
    with np.load(DATASETS / f"{file}.npz") as data:
        X = data["X"].astype(float)
    X = X[np.sort(rng.choice(len(X), min(n, len(X)), replace=False))]
    if X.shape[1] > d:
        X = X - X.mean(axis=0)
        _, main = np.linalg.eigh(X.T @ X)
        X = X @ main[:, : -d - 1 : -1]
    return X


def _category(rng: np.random.Generator, X: np.ndarray, number: int) -> np.ndarray:
    """Categories that depend on the place, so that quotas bind."""
    along = X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X))
    cuts = rng.uniform(0.25, 0.75, 1) if number == 2 else np.arange(1, number) / number
    return np.searchsorted(np.quantile(along, cuts), along)


def _households(rng: np.random.Generator, n: int, number: int) -> tuple[tuple[int, ...], ...]:
    if number == 0:
        return ()
    order, ends, groups = rng.permutation(n), 0, []
    for _ in range(number):
        size = int(rng.integers(2, 6))
        groups.append(tuple(order[ends : ends + size].tolist()))
        ends += size
    return tuple(groups)


def _shares(category: np.ndarray) -> np.ndarray:
    return np.eye(category.max() + 1)[category]


def _planted(
    rng: np.random.Generator,
    n: int,
    k: int,
    amounts: list[np.ndarray],
    groups: tuple[tuple[int, ...], ...],
) -> np.ndarray:
    """Labels of equal sizes, whole groups, and about equal sums: large units first."""
    scaled = [np.ones((n, 1))]
    for amount in amounts:
        counted = amount.size and set(np.unique(amount)) <= {0.0, 1.0}
        scaled.append(amount if counted else amount / amount.mean(axis=0))
    every = np.concatenate(scaled, axis=1)
    grouped = {sample for group in groups for sample in group}
    units = [list(group) for group in groups]
    units += [[sample] for sample in range(n) if sample not in grouped]
    weight = np.array([every[unit].sum(axis=0) for unit in units])
    first = np.argsort(-weight[:, 0] - 1e-3 * weight.sum(axis=1) + 1e-4 * rng.random(len(units)))
    room = np.full(k, n // k)
    room[: n % k] += 1
    mean, held = every.sum(axis=0) / k, np.zeros((k, every.shape[1]))
    labels = np.full(n, -1)
    for unit in first:
        full = held[:, 0] + weight[unit, 0] > room
        crowded = np.where(full, np.inf, (held / mean) @ (weight[unit] / mean))
        label = int(crowded.argmin())
        held[label] += weight[unit]
        labels[units[unit]] = label
    return labels


def _around(amount: np.ndarray, labels: np.ndarray, k: int, slack: float) -> Load:
    mean, held = amount.sum() / k, np.bincount(labels, amount, k)
    return Load(amount, min(mean * (1 - slack), held.min()), max(mean * (1 + slack), held.max()))


def _quota(category: np.ndarray, labels: np.ndarray, k: int, within: float) -> Category:
    held = np.array(
        [np.bincount(labels[category == at], minlength=k) for at in np.unique(category)]
    )
    mean = np.bincount(category) / k
    lower = np.minimum(np.floor(mean - within), held.min(axis=1))
    upper = np.maximum(np.ceil(mean + within), held.max(axis=1))
    return Category(category, np.maximum(lower, 0), upper)


def _near_pairs(
    rng: np.random.Generator, X: np.ndarray, labels: np.ndarray, number: int
) -> tuple[tuple[int, int], ...]:
    """Pairs of near samples that the planted labels separate."""
    if number == 0:
        return ()
    rng.permutation(len(X))  # drawn where other generators of these families draw
    pairs: list[tuple[int, int]] = []
    while len(pairs) < number:
        one = int(rng.integers(len(X)))
        near = np.argsort(((X - X[one]) ** 2).sum(axis=1))[1:NEAR]
        other = int(rng.choice(near))
        if labels[one] != labels[other]:
            pairs.append((one, other))
    return tuple(pairs)


def _tuples(pairs: np.ndarray) -> tuple[tuple[int, int], ...]:
    return tuple(map(tuple, pairs.tolist()))


def _family(draw: Callable[..., Instance], *rows: tuple[tuple, dict]) -> dict[str, Draw]:
    drawn = {}
    for fixed, options in rows:

        def at(offset: int, fixed=fixed, options=options) -> Instance:
            return draw(*fixed, **options, offset=offset)

        drawn[fixed[0]] = at
    return drawn


def _row(*fixed: object, **options: object) -> tuple[tuple, dict]:
    return fixed, options


INSTANCES: dict[str, Draw] = {
    **_family(
        capacities,
        _row("a1", 1, 50, 5, 0.03, whole=True),
        _row("a2", 2, 100, 10, 0.05),
        _row("a3", 3, 200, 10, 0.01, whole=True),
        _row("a4", 4, 500, 8, 0.03),
        _row("a5", 5, 1000, 20, 0.05, below=True),
        _row("a6", 6, 1000, 60, 0.10, whole=True),
        _row("a7", 7, 3000, 40, 0.02),
        _row("b1", 11, 200, 8, 0.05, number=2),
        _row("b2", 12, 1000, 20, 0.05, whole=True, below=True, number=2),
        _row("b3", 13, 500, 10, 0.03, below=True, number=3),
        _row("b4", 14, 2000, 30, 0.08, number=3),
    ),
    **_family(
        together,
        _row("c1", 21, 120, 5, 4, kinds=(2,)),
        _row("c2", 22, 300, 12, 4, kinds=(2, 3)),
        _row("c3", 23, 1000, 40, 6, kinds=(4,)),
        _row("c4", 24, 3000, 20, 6, kinds=(3,), within=0.01),
        _row("d1", 31, 300, 10, 3, kinds=(2,), within=0.02, loads=1, slack=0.03, households=40,
             apart=60),
        _row("d2", 32, 1000, 20, 4, kinds=(2, 3), within=0.02, loads=1, slack=0.03,
             households=120, apart=200),
        _row("d3", 33, 3000, 20, 4, kinds=(3,), within=0.01, loads=1, slack=0.01),
        _row("d4", 34, 3000, 30, 4, kinds=(2,), within=0.02, loads=2, slack=0.05,
             households=300, apart=600),
        _row("e1", 41, 200, 10, 3, households=25, apart=120),
        _row("e2", 42, 1000, 20, 4, households=120, apart=700),
        _row("e3", 43, 3000, 30, 4, households=350, apart=2500),
    ),
    **_family(
        large,
        _row("f1", 51, 20_000, 30, 1000, 0.03, near=True),
        _row("f2", 52, 50_000, 40, 3000, 0.02, near=True),
        _row("f3", 0, 100_000, 50, 5000, 0.05, near=False),
    ),
    **_family(
        sizes,
        _row("g1", 61, 5_000, 20, 2, kind="blobs"),
        _row("g2", 62, 5_000, 50, 10, kind="blobs", slack=0.1),
        _row("g3", 63, 10_000, 30, 2, kind="uniform"),
        _row("g4", 64, 5_000, 20, 10, kind="uniform"),
        _row("g5", 65, 10_000, 20, 5, kind="heavy"),
        _row("g6", 66, 20_000, 50, 2, kind="blobs"),
        _row("g7", 67, 20_000, 50, 10, kind="heavy", slack=0.2),
        _row("g8", 68, 5_000, 20, 50, kind="mnist"),
        _row("g9", 69, 10_000, 50, 20, kind="fashion_mnist"),
        _row("g10", 70, 5_000, 40, 2, kind="s4"),
        _row("g11", 71, 20_000, 50, 2, kind="birch1"),
        _row("g12", 72, 6_500, 20, 2, kind="unbalance"),
        _row("g13", 73, 5_000, 30, 2, kind="clear"),
        _row("g14", 74, 10_000, 50, 5, kind="clear", slack=0.5),
    ),
    **_family(
        labelled,
        _row("h1", 81, 1_000, 20, 0.1),
        _row("h2", 82, 2_000, 50, 0.1),
        _row("h3", 83, 5_000, 20, 0.05),
        _row("h4", 84, 5_000, 50, 0.1),
        _row("h5", 85, 5_000, 100, 0.2),
    ),
}  # fmt: skip


def chosen(only: list[str]) -> dict[str, Draw]:
    """Instances by name, by the letter of their family, or all but the large ones."""
    if not only:
        return {name: draw for name, draw in INSTANCES.items() if name[0] != "f"}
    picked = {name: draw for name, draw in INSTANCES.items() if name in only or name[0] in only}
    missing = [name for name in only if name not in INSTANCES and name not in "abcdefgh"]
    if missing or not picked:
        raise ValueError(f"no such instance or family: {', '.join(missing) or only}")
    return picked
