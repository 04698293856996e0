"""Studies of hostile names."""

from __future__ import annotations

import numpy as np
import pytest

import bckm
from tests.support.hostile import HOSTILE


def hostile_study(turn: int = 0) -> bckm.Study:
    """All hostile strings as ids, features, categories, groups, names and settings at once."""
    words = [*HOSTILE[turn:], *HOSTILE[:turn]]
    n, rng = len(words), np.random.default_rng(turn)
    X = rng.normal(size=(n, 12)) * 3 + rng.integers(0, 3, n)[:, None]
    quota = bckm.Quota([words[p % 7] for p in range(n)], share_max=0.9, name=words[50])
    load = bckm.Capacity(np.ones(n), max=90.0)
    rows = bckm.LinearRows(np.ones((1, n * 4)), upper=float(n), name=words[52])
    groups = [words[p] if p < 20 else None for p in range(n)]
    groups[20:40] = groups[:20]
    hard = bckm.Constraints(
        must_link=[(41, 42)],
        cannot_link=[(43, 44, 45)],
        groups=groups,
        capacities={words[51]: load},
        quotas=quota,
        linear=rows,
        fixed={46: words[13]},
        forbidden=[(47, words[14])],
        cluster_names=words[13:17],
        stay=bckm.Stay([p % 4 if p < 12 else -1 for p in range(n)], at_most=12),
    )
    far = np.argsort(X[:, 0])
    lost = [(int(far[p]), int(far[-1 - p])) for p in range(30) if far[p] > 47 < far[-1 - p]]
    soft = bckm.Constraints(must_link=lost, cannot_link=[(48, 49)]).soft(price=0.01)
    tight = bckm.Constraints(capacities={words[53]: bckm.Capacity(X[:, 1], max=-500.0)})
    rules = hard & soft & tight.soft(price=1e-6)
    result = bckm.kmeans(X, 4, rules, random_state=0, n_init=1, search="none")
    return bckm.Study.of(
        result,
        X,
        rules,
        feature_names=words[60:72],
        sample_id=words,
        title=words[2],
        settings={
            "command": words[1],
            words[3]: words[4],
            "list": words[5:9],
            "versions": {words[10]: words[11], "bckm": words[12]},
        },
    )


@pytest.fixture(scope="package")
def studies() -> list[bckm.Study]:
    """Three that have every hostile string in every place."""
    return [hostile_study(turn) for turn in (0, 67, 134)]
