"""The same problem at other scales, shifted, permuted, with other threads and instruction sets.

Data are whole numbers, so that scaling by powers of two and shifting up to 10^12 times their spread
change no digit: the partition must stay what it was, its inertia is known exactly, and no bound is
above it. Where squares cannot be represented, a refusal in a sentence will do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import bckm
from campaign.exact import Rows, fractions, inertia, to_centers, weights
from campaign.part import Case, Part

EACH = 17
SPREAD = 1_000
NEAR = 1e-9
SETS = ("baseline", "avx2", "avx512", "pure")
_ONE = Fraction(1)
SOME = 100  # one case in so many tries instruction sets
LARGEST, SMALLEST = 1e300, 1e-290  # squares within them can be represented


class Asked:
    """A drawn problem that can be obeyed."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.n, self.k = int(rng.integers(10, 25)), int(rng.integers(2, 4))
        d = int(rng.integers(1, 4))
        middles = rng.integers(0, SPREAD, (self.k, d))
        self.planted = rng.integers(self.k, size=self.n)
        self.X = middles[self.planted] + rng.integers(-SPREAD // 6, SPREAD // 6, (self.n, d))
        self.weight = rng.integers(1, 5, self.n) if rng.random() < 0.3 else None
        self.values = rng.integers(0, 9, self.n)
        y, held = self.planted, np.bincount(self.planted, minlength=self.k)
        pairs = rng.integers(self.n, size=(8, 2)).tolist()
        kinds = rng.random(4) < 0.5
        self.rules: dict[str, Any] = {}
        if kinds[0]:
            self.rules["size_min"] = np.maximum(held - 2, 0)
            self.rules["size_max"] = held + 2
        if kinds[1]:
            self.rules["must_link"] = [p for p in pairs if y[p[0]] == y[p[1]] and p[0] != p[1]]
            self.rules["cannot_link"] = [p for p in pairs if y[p[0]] != y[p[1]]]
        sums = np.array([self.values[y == i].sum() for i in range(self.k)])
        self.upper = sums + 4 if kinds[2] else None
        self.soft = pairs[:3] if kinds[3] else None
        if (held == 0).any():
            self.rules["size_min"] = np.maximum(held - 2, 0)
        self.seed = int(rng.integers(1000))

    def constraints(
        self, order: Any = None, clusters: Any = None, shuffle: Any = None
    ) -> bckm.Constraints:
        """The rules, of samples in another order, for clusters in another one, told in another."""
        order = np.arange(self.n) if order is None else order
        clusters = np.arange(self.k) if clusters is None else clusters
        where = np.argsort(order)
        asked = dict(self.rules)
        for kind in ("must_link", "cannot_link"):
            links = [[int(where[p]) for p in link] for link in asked.get(kind, [])]
            if shuffle is not None:
                links = [links[at][::-1] for at in shuffle.permutation(len(links))]
            asked[kind] = links
        for side in ("size_min", "size_max"):
            if side in asked:
                asked[side] = asked[side][clusters]
        found = bckm.Constraints(**asked)
        if self.upper is not None:
            load = bckm.Capacity(self.values[order], max=self.upper[clusters])
            part = bckm.Constraints(capacities={"kg": load})
            found = part & found if shuffle is not None else found & part
        if self.soft is not None:
            pairs = [[int(where[a]), int(where[b])] for a, b in self.soft if a != b]
            if pairs:
                found = found & bckm.Constraints(pairs).soft(confidence=0.3)
        return found

    def fit(self, X: Any, rules: bckm.Constraints | None = None, **more: Any) -> bckm.Result:
        """A fit of these data."""
        how = {"random_state": self.seed, "n_init": 1, "sample_weight": self.weight, **more}
        if sp.issparse(X):
            how["search"] = "none"
        return bckm.kmeans(X, self.k, self.constraints() if rules is None else rules, **how)

    def exact(self, labels: Any) -> Fraction:
        """Inertia of labels, of the whole numbers."""
        return inertia(self.rows, labels, weights(self.weight, self.n))

    @property
    def rows(self) -> Rows:
        """The data as fractions."""
        return [[Fraction(int(value)) for value in row] for row in self.X]


def partition(labels: Any) -> list[int]:
    """Labels that do not depend on what clusters are called."""
    seen: dict[int, int] = {}
    return [seen.setdefault(int(one), len(seen)) for one in labels]


def look(case: Case) -> None:
    """One problem, and what must be the same as it."""
    rng = case.rng
    asked = Asked(rng)
    X = asked.X.astype(float)
    dense, sparse = asked.fit(X), asked.fit(sp.csr_array(X))
    _judge(asked, dense, X, asked.exact(dense.labels))
    _judge(asked, sparse, X, asked.exact(sparse.labels))

    wrong: list[str] = []

    def same(name: str, X: Any, base: bckm.Result, factor: Fraction = _ONE, **more: Any) -> None:
        """Fit a variation, and note it if it differs: all of a case are looked at."""
        case.count(PART.what)
        order = more.pop("order", None)
        try:
            found = _tried(asked, X, factor, **more)
            if found is None:
                case.count("refused")
                return
            labels = found.labels
            if order is not None:
                labels = np.empty_like(labels)
                labels[order] = found.labels
            if "sample_weight" not in more:
                _judge(asked, found, X, asked.exact(labels) * factor**2)
            assert partition(labels) == partition(base.labels), (
                f"another partition, {float(asked.exact(labels))} for "
                f"{float(asked.exact(base.labels))}"
            )
            assert "n_jobs" not in more or found.inertia == base.inertia, "another inertia"
        except Exception as error:
            wrong.append(f"{name}: {error!r}")

    for power in (rng.integers(-996, 997), rng.integers(-450, 450), rng.integers(-60, 60)):
        factor = Fraction(2) ** int(power)
        data = X * float(factor)
        same(f"times 2^{power}", data, dense, factor)
        same(f"sparse, times 2^{power}", sp.csr_array(data), sparse, factor)
    for power in (12, int(rng.integers(2, 12))):
        shift = float(SPREAD * 10**power) * rng.choice([-1, 1], X.shape[1])
        same(f"shifted by 1e{power}", X + shift, dense)
        same(f"sparse, shifted by 1e{power}", sp.csr_array(X + shift), sparse)
    one = np.ones(asked.n) if asked.weight is None else asked.weight
    same("heavier", X, dense, sample_weight=one * 2.0 ** rng.integers(-400, 400))
    order = rng.permutation(asked.n)
    weight = None if asked.weight is None else asked.weight[order]
    rules = asked.constraints(order)
    same("rows permuted", X[order], dense, rules=rules, order=order, sample_weight=weight)
    same("rules permuted", X, dense, rules=asked.constraints(shuffle=rng))
    clusters = rng.permutation(asked.k)
    # without search, which draws clusters by their numbers
    plain, moved = asked.fit(X, search="none"), asked.constraints(clusters=clusters)
    same("clusters permuted", X, plain, rules=moved, search="none")
    for jobs in (1, 2):
        same(f"{jobs} threads", X, dense, n_jobs=jobs)
    same("by columns", np.asfortranarray(X), dense)
    assert not wrong, "\n".join(wrong)
    if case.number % SOME == 0:
        _sets(case)


def _tried(asked: Asked, data: Any, factor: Fraction, **more: Any) -> bckm.Result | None:
    """A fit; None where it was refused and may have been."""
    total = float(asked.exact(np.zeros(asked.n, int)))
    squares = Fraction(total) * factor**2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return asked.fit(data, **more)
    except ValueError as error:
        assert type(error) is ValueError, repr(error)
        assert len(str(error)) > 30, error
        assert not Fraction(SMALLEST) < squares < Fraction(LARGEST) / 10**6, (factor, error)
        return None


def _judge(asked: Asked, found: bckm.Result, data: Any, exact: Fraction) -> None:
    """Raise unless inertia is exact and the bound not above it.

    Centers far from zero are told rounded: the inertia may be that of the means or of what is told.
    """
    assert np.isfinite(found.inertia)
    assert found.lower_bound <= found.objective
    if not Fraction(SMALLEST) < exact < Fraction(LARGEST):
        return
    rows = fractions(data.toarray() if sp.issparse(data) else data)
    most = exact
    if len(set(found.labels.tolist())) == asked.k:  # centers of empty clusters are anywhere
        weight = weights(asked.weight, asked.n)
        most = max(most, to_centers(rows, fractions(found.centers), found.labels, weight))
    assert exact * (1 - Fraction(NEAR)) <= Fraction(found.inertia) <= most * (1 + Fraction(NEAR)), (
        found.inertia,
        float(exact),
        float(most),
    )
    if found.penalty == 0:
        assert Fraction(found.lower_bound) <= most, (found.lower_bound, float(most))


# -- instruction sets -----------------------------------------------------------------------------


def _sets(case: Case) -> None:
    """The same fits in processes with other instruction sets, and without compiled kernels."""
    told = {}
    seeds = case.rng.integers(2**31, size=5).tolist()
    for name in SETS:
        set_to = {"BCKM_PURE": "1"} if name == "pure" else {"BCKM_ISA": name}
        done = subprocess.run(
            [sys.executable, "-m", "campaign.scale", *map(str, seeds)],
            env={**os.environ, **set_to},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (name, done.stderr)
        told[name] = json.loads(done.stdout)
        case.count("instruction sets")
    for name, answers in told.items():
        for seed, one, other in zip(seeds, told["baseline"], answers, strict=True):
            asked = Asked(np.random.default_rng(seed))
            assert bckm.verify(other["labels"], asked.k, asked.constraints()) == [], name
            exact = asked.exact(other["labels"])
            assert abs(Fraction(other["inertia"]) - exact) <= Fraction(NEAR) * exact, name
            assert abs(other["step"] - one["step"]) <= NEAR * abs(one["step"]), (name, seed)
            if name != "pure":  # which has no moves
                assert partition(one["labels"]) == partition(other["labels"]), (name, seed)


def main() -> None:
    """Fits of given seeds, for `_sets`: to standard output as JSON."""
    found = []
    for seed in map(int, sys.argv[1:]):
        asked = Asked(np.random.default_rng(seed))
        X = asked.X.astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is slow without kernels
            result = asked.fit(X)
            step = bckm.assign_to(X, X[: asked.k], asked.constraints(), solver="exact")
        told = {"labels": result.labels.tolist(), "inertia": result.inertia}
        found.append({**told, "step": step.objective})
    sys.stdout.write(json.dumps(found))


PART = Part("scale", "variations", 4_000, look, each=EACH, chunk=20)

if __name__ == "__main__":
    main()
