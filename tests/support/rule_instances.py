"""Small instances of all kinds of rules, as they were drawn and as `Constraints`.

A drawn rule is kept beside the `Constraints` it went into; `tests.support.oracle` reads the former.
Numbers are drawn as whole ones and divided only for the library, so that brute force needs no
tolerance: 0.3 is 3 / 10.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

import bckm
from tests.support.statements import stated

Hard = None


@dataclass
class Ask:
    """A rule as it was drawn; `price` is None for a hard one, else a kind and a number."""

    kind: str
    data: Any
    price: tuple[str, float] | None = Hard
    pairs: bool = False  # a set of samples stands for all its pairs
    labels: bool = False  # a link that comes from labels


@dataclass
class Drawn:
    X: np.ndarray
    k: int
    weight: np.ndarray | None
    constraints: bckm.Constraints = field(default_factory=bckm.Constraints)
    asks: list[Ask] = field(default_factory=list)
    nonempty: bool = True
    labeled: bool = False  # hard links from labels

    @property
    def hard(self) -> list[Ask]:
        implied = [Ask("nonempty", [1] * self.k)] if self.nonempty else []
        return [ask for ask in self.asks if ask.price is Hard] + implied

    @property
    def soft(self) -> list[Ask]:
        return [ask for ask in self.asks if ask.price is not Hard]


# -- drawing ----------------------------------------------------------------------------------


def draw(seed: Any, samples: int = 8, clusters: int = 3) -> Drawn:
    """Draw an instance of so many samples and clusters at most; most can be obeyed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, samples + 1))
    k = int(rng.integers(1, min(n, clusters) + 1))
    X = _points(rng, n)
    weight = rng.integers(0, 4, n).astype(float) if rng.random() < 0.3 else None
    drawn = Drawn(X, k, None if weight is None or not weight.any() else weight)
    # labels that all rules drawn after them obey; without them most draws would contradict
    pen = _Pen(rng, n, k, rng.integers(k, size=n) if rng.random() < 0.5 else None)
    parts = [_hard_part(pen, drawn)]
    if rng.random() < 0.4:
        parts.append(_capacities_part(pen, drawn))
    for _ in range(int(rng.integers(0, 4))):
        parts.append(_soft_part(pen, drawn))
    rng.shuffle(parts)
    for part in parts:
        drawn.constraints = drawn.constraints & part
    return drawn


def _points(rng: np.random.Generator, n: int) -> np.ndarray:
    d, kind = int(rng.integers(1, 4)), rng.integers(8)
    if kind == 0:
        return np.repeat(rng.normal(size=(1, d)), n, axis=0)  # all alike
    if kind < 4:
        return rng.integers(0, 3, (n, d)).astype(float)  # ties and duplicates
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)


class _Pen:
    """Draws single rules: any, or such that planted labels obey them."""

    def __init__(self, rng: np.random.Generator, n: int, k: int, planted: Any) -> None:
        self.rng, self.n, self.k, self.planted = rng, n, k, planted

    def some(self, most: int) -> int:
        return int(self.rng.integers(1, most + 1))

    def links(self, together: bool) -> list[tuple[int, ...]]:
        found = []
        for _ in range(self.some(3)):
            size = int(self.rng.integers(2, min(self.n, 3) + 1))
            link = tuple(self.rng.choice(self.n, size, replace=False).tolist())
            if self.planted is not None:
                different = len({int(self.planted[p]) for p in link})
                if different != (1 if together else size):
                    continue
            found.append(link)
        return found

    def labels(self) -> list[int]:
        """Partial labels; -1 is unknown."""
        y = self.rng.integers(self.k, size=self.n) if self.planted is None else self.planted
        return np.where(self.rng.random(self.n) < 0.4, y, -1).tolist()

    def places(self, fixed: bool) -> list[tuple[int, int]]:
        found = []
        for p in self.rng.choice(self.n, self.some(min(3, self.n)), replace=False).tolist():
            i = int(self.rng.integers(self.k))
            if self.planted is not None:
                i = int(self.planted[p])
                if not fixed:
                    i = (i + self.some(max(self.k - 1, 1))) % self.k
            if self.planted is None or fixed or i != self.planted[p]:
                found.append((p, i))
        return found

    def sums(self, values: np.ndarray) -> np.ndarray:
        """What clusters hold, about; the middle of drawn bounds."""
        y = self.rng.integers(self.k, size=self.n) if self.planted is None else self.planted
        return np.array([int(values[y == i].sum()) for i in range(self.k)])

    def bounds(self, held: np.ndarray, room: int) -> tuple[Any, Any]:
        """Whole bounds around sums, on both sides or one, for each cluster or for all."""
        low = held - self.rng.integers(0, room + 1, held.shape)
        up = held + self.rng.integers(0, room + 1, held.shape)
        if self.rng.random() < 0.5:
            low, up = np.full_like(low, low.min()), np.full_like(up, up.max())
        side = self.rng.integers(3)
        return (None if side == 0 else low), (None if side == 1 else up)


def _given(bounds: Any, scale: int = 1) -> Any:
    """Bounds for the library: one number where all are equal."""
    if bounds is None:
        return None
    return bounds[0] / scale if len(set(bounds.tolist())) == 1 else bounds / scale


def _draw_sum(pen: _Pen, asks: list[Ask], low_from: int = -2) -> tuple[Any, Any, Any]:
    scale = (1, 4, 10)[pen.rng.integers(3)]
    values = pen.rng.integers(low_from, 8, pen.n)
    low, up = pen.bounds(pen.sums(values), 4)
    asks.append(Ask("sum", (values, scale, low, up)))
    return values / scale, _given(low, scale), _given(up, scale)


def _draw_quota(pen: _Pen, asks: list[Ask]) -> bckm.Quota:
    names = np.array(["a", "b", None], object)[pen.rng.integers(0, 3, pen.n)]
    if all(name is None for name in names):
        names[0] = "a"
    stated: dict[str, Any] = {}
    held = {c: pen.sums((names == c).astype(int)) for c in ("a", "b") if (names == c).any()}
    sizes = np.maximum(pen.sums(np.ones(pen.n, int)), 1)
    kind = pen.rng.integers(4)
    if kind == 0:
        percent = int(pen.rng.integers(0, 10)) * 10
        asks.append(Ask("within", (names, percent)))
        return bckm.Quota(names, f"{percent}%", name="class")
    for side, pick in (("min", np.min), ("max", np.max)):
        if kind < 3 and pen.rng.random() < 0.5 and stated:
            continue
        loose = int(pen.rng.integers(0, 2)) * (1 if side == "max" else -1)
        if kind == 1:
            bound = {c: max(int(pick(h)) + loose, 0) for c, h in held.items()}
            asks.append(Ask(f"count_{side}", (names, bound)))
            stated[f"count_{side}"] = bound
        else:
            tenth = {}
            for c, h in held.items():
                share = int(
                    pick(np.floor(10 * h / sizes) if side == "min" else -(-10 * h // sizes))
                )
                tenth[c] = min(max(share + loose, 0), 10)
            asks.append(Ask(f"share_{side}", (names, tenth)))
            stated[f"share_{side}"] = {c: t / 10 for c, t in tenth.items()}
    return bckm.Quota(names.tolist(), **stated, name="class")


def _draw_rows(pen: _Pen, asks: list[Ask]) -> bckm.LinearRows:
    A = pen.rng.integers(-1, 3, (pen.some(2), pen.n * pen.k))
    y = pen.rng.integers(pen.k, size=pen.n) if pen.planted is None else pen.planted
    held = A @ (y[:, None] == np.arange(pen.k)).ravel()
    low, up = held - pen.rng.integers(0, 5, held.size), held + pen.rng.integers(0, 5, held.size)
    asks.append(Ask("rows", (A, low, up)))
    return bckm.LinearRows(A, low, up)


def _draw_stay(pen: _Pen, asks: list[Ask]) -> bckm.Stay:
    labels = pen.rng.integers(-1, pen.k, pen.n)
    if pen.planted is not None:
        labels = np.where(pen.rng.random(pen.n) < 0.6, pen.planted, labels)
    stated: dict[str, Any] = {}
    if pen.rng.random() < 0.5:
        moved = 0 if pen.planted is None else int(((labels >= 0) & (labels != pen.planted)).sum())
        stated["at_most"] = moved + int(pen.rng.integers(0, 3))
        asks.append(Ask("at_most", (labels, stated["at_most"])))
    if not stated or pen.rng.random() < 0.5:
        kind = ("price", "confidence")[pen.rng.integers(2)]
        prices = pen.rng.choice([0, 1, 5, 20], pen.n)
        if pen.rng.random() < 0.5:
            prices = np.full(pen.n, prices[0])
            stated[kind] = prices[0] / 10
        else:
            stated[kind] = prices / 10
        if pen.rng.random() < 0.2 and np.ndim(stated[kind]):
            tied = pen.rng.random(pen.n) < 0.2
            stated[kind] = np.where(tied, np.inf, stated[kind])
            asks += [
                Ask("fixed", (p, int(labels[p]))) for p in np.flatnonzero(tied) if labels[p] >= 0
            ]
            labels_paid = np.where(tied, -1, labels)
        else:
            labels_paid = labels
        asks.append(Ask("moved", (labels_paid, prices, 10), (kind, 1.0)))
    return bckm.Stay(labels, **stated)


def _rules(pen: _Pen, asks: list[Ask], share: float, pairs: bool) -> dict[str, Any]:
    """Rules that may be hard or soft, each kind with a chance."""
    asked: dict[str, Any] = {}
    rng = pen.rng
    if rng.random() < share:
        asked["must_link"] = pen.links(together=True)
        asks += [Ask("must", link, pairs=pairs) for link in asked["must_link"]]
    if rng.random() < share:
        asked["cannot_link"] = pen.links(together=False)
        asks += [Ask("cannot", link, pairs=pairs) for link in asked["cannot_link"]]
    if rng.random() < share:
        asked["fixed"] = pen.places(fixed=True)
        asks += [Ask("fixed", place) for place in asked["fixed"]]
    if rng.random() < share:
        asked["forbidden"] = pen.places(fixed=False)
        asks += [Ask("forbidden", place) for place in asked["forbidden"]]
    if rng.random() < share:
        low, up = pen.bounds(pen.sums(np.ones(pen.n, int)), 2)
        if low is not None:
            low = np.maximum(low, 0)
            asks.append(Ask("size_min", low))
            asked["size_min"] = low if rng.random() < 0.5 or low.min() < low.max() else int(low[0])
        if up is not None:
            asks.append(Ask("size_max", up))
            asked["size_max"] = up if rng.random() < 0.5 or up.min() < up.max() else int(up[0])
    rows: list[Any] = []
    if rng.random() < share:
        rows.append(bckm.Capacity(*_draw_sum(pen, asks)))
    if rng.random() < share:
        rows.append(_draw_quota(pen, asks))
    return asked | stated(rows)


def _hard_part(pen: _Pen, drawn: Drawn) -> bckm.Constraints:
    asked = _rules(pen, drawn.asks, 0.3, pairs=False)
    if pen.rng.random() < 0.25:
        asked["linear"].append(_draw_rows(pen, drawn.asks))
    if pen.rng.random() < 0.25:
        asked["groups"] = [None if y < 0 else f"g{y}" for y in pen.labels()]
        drawn.asks += [Ask("must", link) for link in _classes(asked["groups"], None)]
    if pen.rng.random() < 0.25:
        asked["stay"] = _draw_stay(pen, drawn.asks)
    if "size_min" in asked:
        drawn.nonempty = False
    elif pen.rng.random() < 0.5:
        asked["size_min"] = 0
        drawn.nonempty = False
    found = bckm.Constraints(**asked)
    if pen.rng.random() < 0.25:
        y = pen.labels()
        drawn.asks += _label_asks(y)
        drawn.labeled = True
        found = found & bckm.Constraints.from_labels(y)
    return found


def _classes(values: list[Any], unknown: Any) -> list[tuple[int, ...]]:
    classes: dict[Any, list[int]] = {}
    for p, value in enumerate(values):
        if value != unknown:
            classes.setdefault(value, []).append(p)
    return [tuple(part) for part in classes.values() if len(part) > 1]


def _label_asks(y: list[int], price: Any = Hard) -> list[Ask]:
    found = []
    for p, q in combinations(range(len(y)), 2):
        if min(y[p], y[q]) >= 0:
            kind = "must" if y[p] == y[q] else "cannot"
            found.append(Ask(kind, (p, q), price, labels=True))
    return found


def _capacities_part(pen: _Pen, drawn: Drawn) -> bckm.Constraints:
    """One or two resources; where one has a lower bound, even zero, clusters may be empty."""
    found = {"kg": _draw_sum(pen, drawn.asks, low_from=0)}
    if pen.rng.random() >= 0.5:
        found["m3"] = _draw_sum(pen, drawn.asks, low_from=0)
    may_be_empty = any(one[1] is not None for one in found.values())
    drawn.nonempty &= not may_be_empty
    return bckm.Constraints(
        capacities={name: bckm.Capacity(*one) for name, one in found.items()},
        size_min=0 if may_be_empty else None,
    )


def _soft_part(pen: _Pen, drawn: Drawn) -> bckm.Constraints:
    kind = ("price", "confidence")[pen.rng.integers(2)]
    number = float(pen.rng.choice([0, 0.25, 1, 3, 40, np.inf], p=[0.1, 0.2, 0.3, 0.2, 0.1, 0.1]))
    # wishes need not fit together; what is as good as hard should
    loose = _Pen(pen.rng, pen.n, pen.k, pen.planted if number == np.inf else None)
    asks: list[Ask] = []
    how = pen.rng.integers(4)
    if how == 0:
        y = loose.labels()
        asks = _label_asks(y)
        found = bckm.Constraints.from_labels(y, **{kind: number})
    elif how == 1:
        together, apart = loose.links(together=True), loose.links(together=False)
        prices = pen.rng.choice([0.0, 0.5, 2.0, 5.0], len(together) + len(apart))
        for link, name, price in zip(
            together + apart,
            ["must"] * len(together) + ["cannot"] * len(apart),
            prices.tolist(),
            strict=True,
        ):
            drawn.asks.append(Ask(name, link, (kind, price), pairs=True))
        return bckm.Constraints(together, apart).soft(**{kind: prices})
    else:
        asked = _rules(loose, asks, 0.4, pairs=True)
        found = bckm.Constraints(**asked).soft(**{kind: number})
    for ask in asks:
        ask.price = Hard if number == np.inf else (kind, number)
    drawn.asks += asks
    return found
