"""Conflicts between items, against sets of tuples."""

from itertools import combinations

import numpy as np
import pytest

from bckm import Constraints
from bckm.problem import conflicts, structure
from bckm.problem.conflicts import ConflictSets, distinct_pairs, lift, symmetric
from bckm.problem.structure import contract


@pytest.mark.parametrize("table", [0, 100])
@pytest.mark.parametrize("part", [1, 3, 1000])
def test_distinct_pairs(monkeypatch, table, part):
    monkeypatch.setattr(conflicts, "TABLE", table)
    monkeypatch.setattr(conflicts, "PART", part)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 12))
        item = rng.integers(0, 5, n)
        pairs = [rng.integers(0, n, (size, 2)) for size in rng.integers(0, 9, 3)]
        every = np.concatenate(pairs).tolist()
        wanted = {tuple(sorted((p, q))) for p, q in every if p != q}
        assert distinct_pairs(pairs).tolist() == sorted(map(list, wanted))
        of_items = {tuple(sorted((item[p], item[q]))) for p, q in every if item[p] != item[q]}
        assert distinct_pairs(pairs, item).tolist() == sorted(map(list, of_items))


def drawn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 15))
    sets = [rng.choice(n, int(rng.integers(2, min(n, 5) + 1)), replace=False) for _ in range(6)]
    together = rng.integers(0, n, (int(rng.integers(0, n)), 2)).tolist()
    asked = Constraints([*together, [0, 1, 2][: n // 4]] if n > 3 else None, sets)
    return n, asked.rules(n, 3)


@pytest.mark.parametrize("part", [1, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_contraction_and_lifting(monkeypatch, seed, part):
    monkeypatch.setattr(structure, "PART", part)
    monkeypatch.setattr(conflicts, "PART", part)
    n, rules = drawn(seed)
    group = list(range(n))
    for rule in rules.must_links:
        joined = {group[p] for p in rule.samples}
        group = [min(joined) if one in joined else one for one in group]
    place = {first: at for at, first in enumerate(dict.fromkeys(group))}
    item = contract(rules, n)
    assert item.tolist() == [place[one] for one in group]
    sets, contradictions = lift(rules, item)
    lifted = [(rule, sorted({int(item[p]) for p in rule.samples})) for rule in rules.cannot_links]
    assert list(contradictions) == [r for r, items in lifted if len(items) < len(r.samples)]
    wanted = {tuple(items) for _, items in lifted if len(items) > 1}
    assert list(sets) == sorted(wanted, key=lambda s: (-len(s), s))
    edges = {pair for items in wanted for pair in combinations(items, 2)}
    assert sets.edges().tolist() == sorted(map(list, edges))


def test_conflict_sets_are_a_sequence():
    sets = ConflictSets([(0, 1, 4), (1, 2, 3)], np.array([[0, 5], [3, 4]]))
    listed = [(0, 1, 4), (1, 2, 3), (0, 5), (3, 4)]
    assert (list(sets), len(sets), sets[2], sets[-4]) == (listed, 4, (0, 5), (0, 1, 4))
    assert sets[1:3] == ((1, 2, 3), (0, 5))
    assert sets == tuple(listed)
    assert not ConflictSets()
    moved = sets.among(np.array([-1, 2, 0, 1, 3, -1]))
    assert list(moved) == [(2, 0, 1), (1, 3), (2, 3)]


def test_symmetric():
    found = symmetric(np.array([0, 0, 2]), np.array([1, 3, 3]), np.array([5.0, -1.0, 2.0]), 4)
    assert found.toarray().tolist() == [[0, 5, 0, -1], [5, 0, 0, 0], [0, 0, 0, 2], [-1, 0, 2, 0]]
    assert found.has_sorted_indices
