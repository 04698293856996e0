"""Time limits of 0, 0.1 and 1 s on small problems of all kinds, in CPU seconds.

The table of large problems is `make bench-limits`. Here: whatever is asked, an answer comes in time
and obeys, or it is said that nothing was decided.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import bckm
from campaign.part import Case, Part
from tests.support.statements import stated

LIMITS = (0.0, 0.1, 1.0)
KINDS = ("sizes", "links", "many links", "sums", "quotas", "soft", "stay", "all", "sparse")
GRACE = 1.0  # CPU seconds beyond the limit, or a tenth of it


def look(case: Case) -> None:
    """One problem with each of the limits."""
    kind = KINDS[case.number % len(KINDS)]
    X, k, rules = drawn(kind, case.rng)
    calls = {
        "kmeans": lambda limit: bckm.kmeans(X, k, rules, time_limit=limit, random_state=0),
        "assign_to": lambda limit: bckm.assign_to(X, _dense(X)[:k], rules, time_limit=limit),
        "check": lambda limit: bckm.check(X, k, rules, time_limit=limit),
    }
    if kind != "sparse":
        calls["global"] = lambda limit: bckm.kmeans(
            X, k, rules, time_limit=limit, random_state=0, search="global"
        )
    for limit in LIMITS:
        for name, call in calls.items():
            began = time.process_time()
            try:
                found: Any = call(limit)
            except bckm.UndecidedError as error:
                found = None
                assert len(str(error)) > 30
            took = time.process_time() - began
            case.count(PART.what)
            # all threads of this process count
            assert took <= limit + max(GRACE, 0.1 * limit), (kind, name, limit, took)
            labels = getattr(found, "labels", None)
            if labels is not None:
                assert bckm.verify(labels, k, rules) == [], (kind, name, limit)
            case.count("undecided", found is None)


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else X


def drawn(kind: str, rng: np.random.Generator) -> tuple[Any, int, bckm.Constraints]:
    """A problem that planted labels obey."""
    n, k = int(rng.integers(200, 1_500)), int(rng.integers(3, 12))
    X, y = rng.normal(size=(n, 4)), np.r_[np.arange(k), rng.integers(k, size=n - k)]
    pairs = rng.integers(n, size=(n * (10 if kind == "many links" else 1), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    asked: dict[str, Any] = {}
    held = np.bincount(y, minlength=k)
    if kind in ("sizes", "all", "sparse"):
        asked |= {"size_min": held - 1, "size_max": held + 1}
    if kind in ("links", "many links", "all"):
        asked |= {"must_link": pairs[same][: n // 4], "cannot_link": pairs[~same]}
    rows: list[Any] = []
    if kind in ("sums", "all"):
        values = rng.integers(1, 20, n)
        sums = np.array([values[y == i].sum() for i in range(k)])
        rows.append(bckm.Capacity(values, min=sums - 5, max=sums + 5))
    if kind in ("quotas", "all"):
        category = rng.integers(3, size=n)
        far = [
            abs((category[y == i] == c).mean() - (category == c).mean())
            for i in range(k)
            for c in range(3)
        ]
        rows.append(bckm.Quota(category.tolist(), min(max(far) + 0.01, 1.0)))
    if kind in ("stay", "all"):
        asked["stay"] = bckm.Stay(y, at_most=n // 10 if kind == "stay" else n)
    rules = bckm.Constraints(**asked, **stated(rows))
    if kind in ("soft", "all"):
        rules = rules & bckm.Constraints(pairs[:40], pairs[40:80]).soft(confidence=0.1)
    if kind == "sparse":
        import scipy.sparse as sp

        X = sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0))
    return X, k, rules


PART = Part("limits", "calls with a limit", 420, look, each=12, chunk=3, limit=300)
