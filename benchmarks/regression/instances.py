"""The fits whose answers are compared, and the only module here that uses names of the library.

Names of families, fits and fields in the file must stay as they are when names of the library
change: files of two versions are compared by them.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import bckm
from benchmarks.regression.answers import Answer, digest, pack, plain
from benchmarks.search import known
from benchmarks.search.data import Folders, blobs
from examples import (
    delivery_tours,
    few_known_labels,
    inverted_file_index,
    mixed_classes,
    refit_with_little_churn,
    sales_territories,
    school_classes,
)
from tests.support import instances, rule_instances

ENGINES = {  # the name in the file, and the one of the library
    "auto": "auto",
    "nearest": "nearest",
    "transport": "transport",
    "exact": "exact",
    "lagrangian": "lagrangian",
    "pump": "pump",
    "greedy": "greedy",
}
ONCE = {"search": "none", "n_init": 1}  # one start: an engine shows in the first, and time is short


@dataclass(frozen=True)
class Fit:
    """A name within a family, and how to get the answer."""

    family: str
    name: str
    run: Callable[[], Answer]


def fits(folder: Path) -> Iterator[Fit]:
    """All fits; `folder` holds known.json."""
    yield from _known(folder)
    yield from _drawn()
    yield from _medium()
    yield from _doors()
    yield from _examples()


# -- answers of the library -------------------------------------------------------------------


def _told(result: Any) -> Answer:
    """What a result says, under names that stay."""
    return {
        "labels": pack(result.labels),
        "inertia": float(result.inertia),
        "penalty": float(result.penalty),
        "lower_bound": float(result.lower_bound),
        "violated": len(result.violated),
        "status": plain(result.status),
        "assignment": plain(result.assignment_status),
    }


def _fit(
    X: Any, k: int, rules: Any, solver: str = "auto", weight: Any = None, **rest: Any
) -> Answer:
    asked = {"random_state": 0, "n_jobs": 1} | rest
    answer = {"data": digest(X, weight)}
    try:
        result = bckm.kmeans(X, k, rules, solver=ENGINES[solver], sample_weight=weight, **asked)
    except bckm.InfeasibleError as error:
        return answer | {"status": "infeasible", "conflict": len(error.conflict)}
    except bckm.UnsupportedError:
        return answer | {"status": "unsupported"}
    return answer | _told(result)


# -- known instances --------------------------------------------------------------------------


def _known(folder: Path) -> Iterator[Fit]:
    for one in known.read(Folders(folder, folder)):

        def run(one: known.Known = one, **asked: Any) -> Answer:
            case = one.source.make()
            return _fit(case.X, case.k, case.rules, **asked)

        yield Fit("known, default", one.name, run)
        yield Fit("known, global", one.name, lambda run=run: run(search="global"))


# -- small drawn instances of all rules -------------------------------------------------------


def _drawn() -> Iterator[Fit]:
    for seed in range(24):
        for solver in ANY:

            def run(seed: int = seed, solver: str = solver) -> Answer:
                one = rule_instances.draw([15, seed], samples=10)
                return _fit(one.X, one.k, one.constraints, solver, one.weight, **_once(solver))

            yield Fit(f"drawn, {solver}", f"{seed}", run)
    for seed in range(40):

        def hard(seed: int = seed) -> Answer:
            one = instances.draw(seed)
            return _fit(one.X, one.k, one.constraints, weight=one.weight, n_init=2)

        yield Fit("drawn, hard rules", f"{seed}", hard)


def _once(solver: str) -> dict[str, Any]:
    return {} if solver == "auto" else ONCE


# -- 300 to 2,000 samples, one kind of rules each ---------------------------------------------


@dataclass(frozen=True)
class Planted:
    """Samples, labels that obey what is drawn from them, and the generator."""

    X: np.ndarray
    y: np.ndarray
    k: int
    rng: np.random.Generator

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.X)

    @property
    def sizes(self) -> np.ndarray:
        """Of the planted clusters."""
        return np.bincount(self.y, minlength=self.k)

    def links(self, number: int, together: bool) -> list[tuple[int, int]]:
        """Pairs of one planted cluster, or of two."""
        pairs = self.rng.integers(self.n, size=(40 * number, 2))
        same = self.y[pairs[:, 0]] == self.y[pairs[:, 1]]
        good = pairs[(same == together) & (pairs[:, 0] != pairs[:, 1])]
        return [(int(p), int(q)) for p, q in good[:number]]

    def places(self, number: int, fixed: bool) -> dict[int, int]:
        """Planted clusters of some samples, or others."""
        chosen = self.rng.choice(self.n, number, replace=False)
        return {int(p): int(self.y[p] if fixed else (self.y[p] + 1) % self.k) for p in chosen}

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Of values in the planted clusters."""
        return np.bincount(self.y, values, self.k)


def plant(n: int, k: int, d: int, seed: int) -> Planted:
    """Blobs that overlap; a few samples are planted elsewhere, so that rules cost something."""
    drawn = blobs(n, k, d, seed)
    y = np.where(drawn.rng.random(n) < 0.1, drawn.rng.integers(k, size=n), drawn.y)
    return Planted(drawn.X, y, k, drawn.rng)


def _capacity(values: np.ndarray, low: Any, up: Any, name: str) -> bckm.Constraints:
    return bckm.Constraints(capacities={name: bckm.Capacity(values, low, up)})


def none(_: Planted) -> bckm.Constraints:
    """Nothing."""
    return bckm.Constraints()


def balanced(p: Planted) -> bckm.Constraints:
    """Sizes as equal as they can be."""
    return bckm.Constraints(size_min=p.n // p.k, size_max=-(-p.n // p.k))


def uneven(p: Planted) -> bckm.Constraints:
    """A size for each cluster."""
    return bckm.Constraints(size_min=p.sizes, size_max=p.sizes)


def slack(p: Planted) -> bckm.Constraints:
    """Sizes within bounds, and clusters that may be empty."""
    return bckm.Constraints(size_min=0, size_max=int(1.1 * p.n / p.k))


def must(p: Planted) -> bckm.Constraints:
    """Must-links."""
    return bckm.Constraints(must_link=p.links(p.n // 4, True))


def cannot(p: Planted) -> bckm.Constraints:
    """Cannot-links."""
    return bckm.Constraints(cannot_link=p.links(p.n // 3, False))


def linked(p: Planted) -> bckm.Constraints:
    """Links of both kinds, groups and sizes."""
    groups = np.where(p.rng.random(p.n) < 0.05, p.y, -1)
    return bckm.Constraints(
        must_link=p.links(p.n // 10, True),
        cannot_link=p.links(p.n // 10, False),
        groups=[None if y < 0 else f"g{y}" for y in groups],
        size_min=p.sizes.min(),
        size_max=p.sizes.max(),
    )


def labelled(p: Planted) -> bckm.Constraints:
    """Partial labels."""
    return bckm.Constraints.from_labels(np.where(p.rng.random(p.n) < 0.05, p.y, -1))


def capacity(p: Planted) -> bckm.Constraints:
    """One resource, three per cent of room."""
    kg = p.rng.integers(1, 20, p.n)
    return _capacity(kg, None, int(1.03 * kg.sum() / p.k) + 1, "kg")


def capacities(p: Planted) -> bckm.Constraints:
    """Two resources, bounds for each cluster, on both sides."""
    kg, volume = p.rng.integers(1, 20, p.n), p.rng.lognormal(0, 0.5, p.n).round(3)
    return _capacity(kg, p.sums(kg) - 5, p.sums(kg) + 5, "kg") & _capacity(
        volume, None, p.sums(volume) + 1, "m3"
    )


def quota(p: Planted) -> bckm.Constraints:
    """Classes mixed as in the whole, and sizes."""
    kind = np.array(["a", "b", "c"])[p.rng.choice(3, p.n, p=[0.5, 0.3, 0.2])]
    return bckm.Constraints(quotas=[bckm.Quota(kind.tolist(), "±5%", name="kind")]) & balanced(p)


def counted(p: Planted) -> bckm.Constraints:
    """Counts and shares of classes."""
    kind = np.where(p.rng.random(p.n) < 0.3, "a", "b")
    most = int(p.sums(kind == "a").max())
    return bckm.Constraints(
        quotas=[bckm.Quota(kind.tolist(), count_max={"a": most}, share_min={"b": 0.5}, name="kind")]
    )


def linear(p: Planted) -> bckm.Constraints:
    """Rows of coefficients."""
    A = sparse.random(4, p.n * p.k, 0.05, random_state=p.rng.integers(2**31), format="csr")
    held = A @ (p.y[:, None] == np.arange(p.k)).ravel()
    return bckm.Constraints(linear=[bckm.LinearRows(A, held - 0.5, held + 0.5)])


def placed(p: Planted) -> bckm.Constraints:
    """Fixed and forbidden clusters."""
    return bckm.Constraints(
        fixed=p.places(p.n // 20, True), forbidden=p.places(p.n // 20, False), size_max=p.n // 2
    )


def stay(p: Planted) -> bckm.Constraints:
    """A price for each move."""
    return bckm.Constraints(stay=bckm.Stay(p.y, price=0.5)) & slack(p)


def moved(p: Planted) -> bckm.Constraints:
    """So many moves at most."""
    return bckm.Constraints(stay=bckm.Stay(p.y, at_most=p.n // 50))


def soft_links(p: Planted) -> bckm.Constraints:
    """Wishes that contradict each other now and then, beside hard sizes."""
    wishes = bckm.Constraints(
        must_link=p.links(p.n // 5, True), cannot_link=p.links(p.n // 5, False)
    )
    wrong = bckm.Constraints(must_link=p.links(p.n // 50, False))
    return wishes.soft(confidence=2) & wrong.soft(price=1.0) & balanced(p)


def soft_bounds(p: Planted) -> bckm.Constraints:
    """Sizes, a capacity, a quota and places that may be broken at a price."""
    return (
        balanced(p).soft(price=0.3) & capacity(p).soft(confidence=0.5) & placed(p).soft(price=2.0)
    )


def mixed(p: Planted) -> bckm.Constraints:
    """Nearly everything at once."""
    kg = p.rng.integers(1, 20, p.n)
    hard = bckm.Constraints(
        must_link=p.links(p.n // 20, True),
        cannot_link=p.links(p.n // 20, False),
        fixed=p.places(5, True),
        size_max=p.sizes.max(),
    )
    wishes = bckm.Constraints(must_link=p.links(10, False), forbidden=p.places(20, True))
    return hard & _capacity(kg, None, p.sums(kg).max(), "kg") & wishes.soft(confidence=1)


ANY = ("auto", "exact", "lagrangian", "pump", "greedy")
WISHES = ("auto", "exact", "lagrangian", "greedy")  # the pump knows none
KINDS: dict[Callable[[Planted], bckm.Constraints], tuple[str, ...]] = {
    none: ("auto", "nearest", *ANY[1:]),
    balanced: ("auto", "transport", *ANY[1:]),
    uneven: ("auto", "transport", *ANY[1:]),
    slack: ("auto", "transport", *ANY[1:]),
    must: ANY,
    cannot: ANY,
    linked: ANY,
    labelled: ANY,
    capacity: ANY,
    capacities: ANY,
    quota: ANY,
    counted: ANY,
    linear: ANY,
    placed: ANY,
    moved: ANY,
    stay: WISHES,
    soft_links: WISHES,
    soft_bounds: WISHES,
    mixed: WISHES,
}
SUMS = (capacity, capacities, quota, counted, linear, moved, soft_bounds, mixed)
PROVING = ("exact", "pump")  # take long where sums are bounded; auto chooses them for rows
VARIANTS: dict[str, dict[str, Any]] = {
    "weights": {},
    "sparse": {},
    "cosine": {"metric": "cosine"},
    "globe": {"metric": "latlon"},
    "local": {"search": "local"},
    "none": {"search": "none", "n_init": 3},
    "random": {"init": "random", "n_init": 2},
    "given": {"label_bounds": "given", "search": "none"},
}
VARIED = (balanced, uneven, linked, capacity, soft_links, mixed)


def _medium() -> Iterator[Fit]:
    for number, (kind, solvers) in enumerate(KINDS.items()):
        for solver in solvers:
            slow = (kind in SUMS and solver in PROVING) or (kind is linear and solver == "auto")
            n = 36 if slow else 300
            yield _planted(kind, solver, n, 3, number)
        yield _planted(kind, "lagrangian" if kind in SUMS else "auto", 1000, 6, number)
    for kind in (balanced, uneven, must):
        yield _planted(kind, "auto", 2000, 10, 99)
    for kind in VARIED:
        for variant in VARIANTS:
            yield Fit(
                "medium, variants",
                f"{kind.__name__} {variant}",
                lambda kind=kind, variant=variant: _variant(kind, variant),
            )


def _planted(kind: Callable[[Planted], Any], solver: str, n: int, k: int, seed: int) -> Fit:
    def run() -> Answer:
        p = plant(n, k, 3, seed)
        return _fit(p.X, p.k, kind(p), solver, **_once(solver))

    return Fit(f"medium, {solver}", f"{kind.__name__} {n}", run)


def _variant(kind: Callable[[Planted], Any], variant: str) -> Answer:
    p = plant(400, 4, 2, 99)
    rules, X, weight, asked = kind(p), p.X, None, dict(VARIANTS[variant])
    if variant == "weights":
        weight = p.rng.lognormal(0, 1, p.n)
    elif variant == "sparse":
        X = sparse.csr_array(np.where(X > 0, X, 0.0))
    elif variant == "globe":
        X = np.clip(5 * X, [-80, -170], [80, 170])
    elif variant == "given":
        asked["init"] = X[:: p.n // p.k][: p.k]
    return _fit(X, p.k, rules, weight=weight, **asked)


# -- other doors ------------------------------------------------------------------------------


def _doors() -> Iterator[Fit]:
    for kind in (none, balanced, linked, capacity, soft_links):

        def assign(kind: Callable[[Planted], Any] = kind) -> Answer:
            p = plant(400, 4, 3, 7)
            return {"data": digest(p.X)} | _told(bckm.assign_to(p.X, p.X[:4], kind(p), n_jobs=1))

        yield Fit("assign_to", kind.__name__, assign)
    for kind in (none, balanced, linked):

        def bound(kind: Callable[[Planted], Any] = kind) -> Answer:
            p = plant(40, 3, 2, 8)
            rules = kind(p)
            result = bckm.kmeans(p.X, p.k, rules, random_state=0, n_jobs=1)
            proof = bckm.certify(result, p.X, rules)
            return {"data": digest(p.X), "lower_bound": float(proof.lower_bound)}

        yield Fit("certify", kind.__name__, bound)
    for kind in (none, balanced, linked, capacity, soft_links):

        def predict(kind: Callable[[Planted], Any] = kind) -> Answer:
            p, new = plant(120, 4, 3, 9), plant(100, 4, 3, 10)
            model = bckm.ConstrainedKMeans(p.k, random_state=0, n_jobs=1)
            model.fit(p.X, constraints=kind(p))
            labels = np.concatenate([model.labels_, model.predict(new.X)])
            return {
                "data": digest(p.X, new.X),
                "labels": pack(labels),
                "inertia": float(model.inertia_),
            }

        yield Fit("estimator", kind.__name__, predict)


# -- the examples -----------------------------------------------------------------------------


def _examples() -> Iterator[Fit]:
    for main, asked in (
        (delivery_tours.main, {}),
        (few_known_labels.main, {}),
        (mixed_classes.main, {}),
        (inverted_file_index.main, {"n": 5_000, "k": 20}),
        (refit_with_little_churn.main, {}),
        (sales_territories.main, {"n": 200}),
        (school_classes.main, {}),
    ):

        def run(main: Callable[..., Any] = main, asked: dict[str, int] = asked) -> Answer:
            with contextlib.redirect_stdout(io.StringIO()):
                facts = main(**asked)
            return _told(facts.study.result) | {"numbers": list(_numbers(facts))}

        yield Fit("examples", main.__module__.removeprefix("examples."), run)


def _numbers(facts: Any) -> Iterator[float]:
    """All numbers of an example's answer in their order; words may change, of texts the count."""
    if is_dataclass(facts):
        for field in fields(facts):
            if field.name not in ("study", "seconds"):
                yield from _numbers(getattr(facts, field.name))
    elif isinstance(facts, dict):
        for value in facts.values():
            yield from _numbers(value)
    elif isinstance(facts, str):
        yield 1.0
    elif isinstance(facts, (tuple, list, np.ndarray)):
        for value in facts:
            yield from _numbers(value)
    else:
        yield float(facts)
