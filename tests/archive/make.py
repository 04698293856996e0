"""Writes the files of format 3 that all later versions must read; `v1` and `v2` hold older ones.

They are what somebody saved long ago: NEVER write them again. When the format changes, let this
script write a new folder beside them, and leave them as they are. It refuses to replace files.

    python -m tests.archive.make
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import bckm
from tests.support.as_json import told

HERE = Path(__file__).parent / "v3"

STRANGE = [
    "",
    " ",
    "=1+1",
    'Müller, "Jo"',
    "<script>alert(1)</script>",
    "{{7*7}}",
    "a\nb\tc",
    "\x00\x1b[31m",
    "日本語",
    "\U0001f600",
    "‮reversed",
    "half a pair \ud800",
]


def data(seed: int = 0, n: int = 12, d: int = 2) -> np.ndarray:
    return np.round(np.random.default_rng(seed).normal(size=(n, d)), 2)


def result() -> bckm.Result:
    return bckm.kmeans(data(), 3, bckm.Constraints(size_min=3, size_max=5), random_state=0)


def model() -> bckm.ConstrainedKMeans:
    amounts = {"kg": np.arange(1.0, 13), "m³": np.arange(12.0, 0, -1) / 3}
    found = bckm.ConstrainedKMeans(
        3, capacity_max={"kg": [40.0, 50.0, 60.0], "m³": 20.0}, random_state=4, tol=0.0, max_iter=50
    )
    weight = np.linspace(1, 2, 12)
    names = [f"s{p}" for p in range(12)]
    return found.fit(
        data(1), must_link=[("s0", "s1")], amounts=amounts, sample_weight=weight, sample_id=names
    )


def every_rule(seed: int = 2) -> bckm.Constraints:
    """All kinds of rules, hard and soft; labels p % 3 obey the hard ones."""
    half = np.zeros((2, 36))
    half[0, [0, 3, 6]], half[1, 30:] = 1.0, 0.5
    rng = np.random.default_rng(seed)
    hard = bckm.Constraints(
        must_link=[(0, 3), {6, 9}],
        cannot_link=[(0, 1, 2)],
        size_min=[2, 3, 3],
        size_max=6,
        groups=["a", None, None, "a", "b", None, None, None, None, None, "b", None],
        capacities={"kg": bckm.Capacity(np.arange(12) / 4, min=0.5, max=[20.0, 21.0, np.inf])},
        quotas=[
            bckm.Quota(
                ["x", "y", None] * 4,
                "±90%",
                share_max={"x": 1.0},
                count_min=0,
                count_max={"x": 4, "y": 4.5},
                name="kind",
            ),
        ],
        linear=bckm.LinearRows(half, upper=[3.0, np.inf], lower=[-np.inf, 0.25], name="any"),
        fixed={11: "c"},
        forbidden=[(8, "a"), (8, "b")],
        cluster_names=["a", "b", "c"],
        stay=bckm.Stay(
            [p % 3 if p else -1 for p in range(12)], price=np.arange(12) / 9, at_most=11
        ),
    )
    wishes = [
        bckm.Constraints(must_link=[(1, 2), (4, 5, 7)], cannot_link=[(9, 0)]).soft(
            price=[0.5, 0.25, np.inf if seed < 0 else 0.125]
        ),
        bckm.Constraints(size_max=3, fixed={5: 0}, forbidden=[(7, 1)]).soft(confidence=0.01),
        bckm.Constraints(
            capacities={"soft sum": bckm.Capacity(rng.random(12), max=0.5)},
            quotas=bckm.Quota(["u", "v"] * 6, 0.0, name="soft quota"),
        ).soft(price=0.01),
        bckm.Constraints.from_labels([0, 0, -1, 1, -1, 1] + [-1] * 6, price=0.02),
    ]
    for wish in wishes:
        hard = hard & wish
    return hard


def study() -> bckm.Study:
    rules, X = every_rule(), data(2)
    found = bckm.kmeans(X, 3, rules, random_state=0)
    settings = {"seed": 0, "versions": {"bckm": bckm.__version__}, "$odd": float("nan"), "x": [1]}
    return bckm.Study.of(found, X, rules, title="Every rule", settings=settings)


def haversine() -> bckm.Study:
    places = np.column_stack([np.linspace(-80, 80, 9), np.linspace(-179, 179, 9)])
    rules = bckm.Constraints(size_max=[3, 0.4, 0.5])
    found = bckm.kmeans(places, 3, rules, metric="latlon", random_state=0)
    names = ["latitude", "longitude"]
    return bckm.Study.of(found, places, rules, feature_names=names)


def strange() -> bckm.Study:
    """Ids and names that break other formats; standardized and weighted."""
    X = data(3)
    rules = bckm.Constraints(
        must_link=[(STRANGE[0], STRANGE[1])],
        cannot_link=[STRANGE[2:4]],
        forbidden=[(STRANGE[11], 0)],
        quotas=bckm.Quota(dict(zip(STRANGE, STRANGE[:3] * 4, strict=True)), 0.9, name=STRANGE[4]),
        by="sample_id",
    ) & bckm.Constraints(must_link=[STRANGE[5:8]], by="sample_id").soft(price=1e-6)
    weight = np.linspace(0, 1, 12)
    scaling = bckm.Scaling.of(X, "standard")
    found = bckm.kmeans(
        scaling.apply(X), 3, rules, sample_weight=weight, sample_id=STRANGE, random_state=0
    )
    return bckm.Study.of(
        found,
        X,
        rules,
        feature_names=STRANGE[4:6],
        sample_id=STRANGE,
        sample_weight=weight,
        scaling=scaling,
        title=STRANGE[7],
        settings={name: name for name in STRANGE},
    )


def linked(n: int = 60) -> tuple[np.ndarray, bckm.Constraints]:
    """Three classes that one of three features shows, and links that say so."""
    rng = np.random.default_rng(5)
    kind = np.arange(n) % 3
    X = np.round(rng.normal(size=(n, 3)) * [9.0, 0.3, 4.0] + kind[:, None] * [0, 3, 0], 2)
    known = np.where(np.arange(n) < n // 2, kind, -1)
    return X, bckm.Constraints.from_labels(known)


def learned() -> bckm.Study:
    X, rules = linked()
    found = bckm.kmeans(X, 3, rules, metric="learned", random_state=0)
    return bckm.Study.of(found, X, rules, title="Learned")


ALL = {one.__name__: one for one in (result, model, study, haversine, strange, learned)}


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for name, make in ALL.items():
        path = HERE / f"{name}.bckm"
        if path.exists():
            raise SystemExit(f"{path} is there; it must never be written again.")
        thing = make()
        bckm.save(thing, path)
        (HERE / f"{name}.json").write_text(told(thing), encoding="ascii")


if __name__ == "__main__":
    main()
