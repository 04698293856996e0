"""Covers of conflicts by cliques, compiled and not."""

from itertools import combinations

import numpy as np
import pytest

from bckm.kernels import missing
from bckm.problem import cliques as _cliques
from tests.support.local_search import compiled


def covers(cliques, edges):
    adjacent = set(map(tuple, edges.tolist()))
    inside = [pair for clique in cliques for pair in combinations(clique.tolist(), 2)]
    return set(inside) == adjacent


@pytest.mark.parametrize("growth", [_cliques.GROWTH, 0, 40, "pure", "pure, many"])
def test_cliques_cover_all_conflicts_and_nothing_else(monkeypatch, growth):
    if isinstance(growth, str):
        monkeypatch.setattr(_cliques, "missing", "left out")
        monkeypatch.setattr(_cliques, "MOST", 0 if "many" in growth else _cliques.MOST)
    else:
        monkeypatch.setattr(_cliques, "GROWTH", growth)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 16))
        number = seed % 3 if n > 3 else 0
        sets = {tuple(sorted(rng.choice(n, 3, replace=False).tolist())) for _ in range(number)}
        pairs = combinations(range(n), 2)
        sets |= {pair for pair in pairs if rng.random() < rng.random()}
        both = sorted(sets, key=lambda each: (-len(each), each))
        edges = sorted({pair for each in both for pair in combinations(each, 2)})
        edges = 3 * np.array(edges, np.int64).reshape(-1, 2)
        larger = [[3 * p for p in each] for each in both if len(each) > 2]
        found = _cliques.clique_cover(larger, edges)
        assert covers(found, edges)
        assert found.sizes.tolist() == [clique.size for clique in found]
        assert found.heaviest().size == max(map(len, found), default=0)
        weight = rng.integers(1, 9, 3 * n)
        heaviest = max((int(weight[clique].sum()) for clique in found), default=0)
        assert weight[found.heaviest(weight)].sum() == heaviest


@pytest.mark.parametrize("pure", [False, True])
def test_many_conflicts_become_few_cliques(monkeypatch, pure):
    """All pairs of 100 samples of 25 classes: one of each class at a time is all it takes."""
    monkeypatch.setattr(_cliques, "missing", "left out" if pure else missing)
    kind = np.arange(100) % 25
    a, b = np.triu_indices(100, 1)
    edges = np.stack([a, b], axis=1)[kind[a] != kind[b]]
    cliques = _cliques.clique_cover((), edges)
    assert covers(cliques, edges)
    assert len(cliques) < (300 if pure or missing else 60)
    assert cliques.sizes.max() == 25


@compiled
@pytest.mark.parametrize(
    ("edges", "sets"),
    [
        ([[1, 0]], []),
        ([[0, 2], [0, 1]], []),
        ([[0, 1], [0, 1]], []),
        ([[0, 1], [1, 2]], [(0, 1, 2)]),
        ([[0, 1]], [(0, 1, 7)]),
    ],
)
def test_what_makes_no_sense_is_refused(edges, sets):
    with pytest.raises(ValueError, match=r"pairs|set"):
        _cliques.clique_cover(sets, np.array(edges))
