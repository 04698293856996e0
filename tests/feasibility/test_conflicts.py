"""Infeasible rules: the conflict is infeasible, minimal, and in the person's words."""

from itertools import combinations

import numpy as np
import pytest

import bckm
from bckm.feasibility import Verdict
from tests.support.contradictions import (
    chain,
    clique,
    cycle,
    glued_clique,
    groetzsch,
    hide,
    noise,
    wheel,
)
from tests.support.instances import all_labels, draw

PLANTED = {  # name: links, number of clusters, size of the minimal conflict
    "chain": (chain(30), 5, 31),
    "long chain": (chain(300), 4, 301),
    "clique": (clique(5), 5, 15),
    "large clique": (clique(12), 12, 78),
    "glued clique": (glued_clique(5), 5, 19),
    "odd cycle": (cycle(31), 2, 31),
    "wheel": (wheel(7), 3, 14),
    "groetzsch": (groetzsch(), 3, 20),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize(("n", "rules"), [(420, 100), (4000, 5000)])
@pytest.mark.parametrize("sizes", [{}, {"size_min": 20}])
def test_planted_contradiction_is_found_and_minimal(name, n, rules, sizes):
    links, k, size = PLANTED[name]
    rng = np.random.default_rng(n)
    asked = hide(links, noise(rng, 350, n, k, rules), rng, **sizes)
    answer = bckm.check(n, k, asked)
    assert answer.verdict == "infeasible"
    assert answer.error.minimal
    assert len(answer.conflict) == size
    planted = {frozenset(p) for kind in links.values() for p in kind}
    assert {frozenset(rule.samples) for rule in answer.conflict} <= planted
    assert str(answer.conflict[0]) in answer.message


def test_without_one_planted_rule_the_rest_is_feasible():
    """Each rule of a hidden conflict is needed: dropping it alone makes everything feasible."""
    rng = np.random.default_rng(0)
    extra = noise(rng, 50, 500, 3, 300)
    links = wheel(7)["cannot_link"]
    for dropped in range(len(links)):
        rest = {"cannot_link": links[:dropped] + links[dropped + 1 :]}
        asked = hide(rest, extra, rng)
        answer = bckm.check(500, 3, asked)
        assert answer
        assert bckm.verify(answer.labels, 3, asked) == []


def _obeyed(rules, labels, k):
    """Whether labels obey rules, each looked at as it was stated."""
    sizes = np.bincount(labels, minlength=k)
    for rule in rules:
        kind = type(rule).__name__
        held = labels[list(rule.samples)] if hasattr(rule, "samples") else None
        if kind == "MustLink" and len(set(held)) > 1:
            return False
        if kind == "CannotLink" and any(a == b for a, b in combinations(held, 2)):
            return False
        if kind == "NonEmpty" and (sizes == 0).any():
            return False
        if kind in ("SizeMin", "SizeMax", "CapacityBound"):
            at = slice(None) if rule.cluster is None else rule.cluster
            amount = sizes
            if kind == "CapacityBound":
                amount = np.bincount(labels, rule.source.values, k)
            low = kind == "SizeMin" or getattr(rule, "side", "") == "min"
            wrong = amount[at] < rule.value if low else amount[at] > rule.value
            if np.any(wrong):
                return False
        if kind == "RowBound":
            s = (labels[:, None] == np.arange(k)).ravel()
            value = rule.source.A.toarray()[rule.row] @ s
            if value < rule.value if rule.side == "min" else value > rule.value:
                return False
    return True


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(8))
def test_conflicts_of_drawn_instances_are_minimal(batch):
    seen = 0
    for seed in range(batch * 150, (batch + 1) * 150):
        drawn = draw(seed)
        n, k = len(drawn.X), drawn.k
        if n > 7:
            continue
        answer = bckm.check(n, k, drawn.constraints)
        if answer:
            continue
        seen += 1
        labels = all_labels(n, k)
        conflict = answer.conflict
        assert answer.error.minimal
        assert not any(_obeyed(conflict, y, k) for y in labels), (seed, answer.message)
        for part in combinations(conflict, len(conflict) - 1):
            assert any(_obeyed(part, y, k) for y in labels), (seed, answer.message)
    assert seen > 10


def test_message_names_rule_numbers_and_remedy():
    rules = bckm.Constraints(must_link=[(4, 7), (7, 9)], cannot_link=[(4, 9)])
    with pytest.raises(bckm.InfeasibleError) as caught:
        bckm.kmeans(np.random.default_rng(0).normal(size=(20, 2)), 3, rules)
    message = str(caught.value)
    assert "samples 4 and 9 are cannot-linked, but must-links join them (4 - 7 - 9)" in message
    assert "remove one of these links" in message
    assert len(caught.value.conflict) == 3


@pytest.mark.parametrize(
    ("k", "asked", "words"),
    [
        (3, {"size_min": 5}, "add up to 15 samples, but the data have only 12 samples"),
        (3, {"size_max": 3}, "may hold at most 9 samples, but the data have 12"),
        (4, {"must_link": [range(5)], "size_max": 4}, "join 5 samples"),
        (2, {"cannot_link": [(0, 1, 2)]}, "3 samples must be pairwise apart"),
        (3, {"must_link": [range(11)]}, "leave 2 groups of samples for 3 clusters"),
        (2, {"size_max": [0, 12]}, "cluster 0 needs at least 1 and at most 0 samples"),
    ],
)
def test_cheap_proofs_in_words(k, asked, words):
    answer = bckm.check(12, k, bckm.Constraints(**asked))
    assert words in answer.message
    assert answer.error.minimal


def test_sum_bounds_in_words():
    load = bckm.Capacity(np.arange(12), max=20)
    answer = bckm.check(12, 3, bckm.Constraints(capacities={"load": load}))
    assert "may hold at most 60 load, but the data have 66" in answer.message


@pytest.mark.full
def test_chain_of_100000_must_links():
    links = [(p, p + 1) for p in range(99_999)]
    assert bckm.check(100_001, 2, bckm.Constraints(must_link=links))
    answer = bckm.check(100_001, 2, bckm.Constraints(must_link=links, cannot_link=[(0, 99_999)]))
    assert len(answer.conflict) == 100_000
    assert len(answer.message) < 3000


def test_undecided_is_said_honestly():
    """A hard coloring with no time: neither labels nor a claim."""
    rng = np.random.default_rng(0)
    pairs = [p for p in rng.integers(300, size=(1500, 2)).tolist() if p[0] != p[1]]
    rules = bckm.Constraints(cannot_link=pairs)
    answer = bckm.check(300, 4, rules, time_limit=0.0)
    assert answer.verdict == "unknown"
    assert "undecided" in answer.message
    with pytest.raises(bckm.UndecidedError):
        bckm.kmeans(rng.normal(size=(300, 2)), 4, rules, time_limit=0.0)


def test_rows_with_a_large_coefficient_are_not_called_infeasible():
    """Whole numbers stay exact however far apart they are."""
    for large in (1e6, 1e7, 1e9, 1e12):
        A = np.zeros((1, 12))
        A[0, 0], A[0, [2, 4, 6, 8]], A[0, 11] = large, 1, -large
        rows = [
            bckm.LinearRows(A, lower=2, upper=2),
            bckm.LinearRows(np.eye(1, 12), lower=1, name="pin"),
        ]
        asked = bckm.Constraints(linear=rows)
        assert bckm.verify([0, 0, 0, 1, 1, 1], 2, asked) == []
        answer = bckm.check(6, 2, asked)
        assert answer
        assert bckm.verify(answer.labels, 2, asked) == []


def test_a_proof_is_kept_when_time_runs_out_while_it_is_shrunk(monkeypatch):
    from bckm import feasibility
    from bckm.feasibility._decide import Decision

    def slow(self, rules):
        return tuple(rules)

    monkeypatch.setattr(feasibility.Shrinker, "shrink", slow)
    monkeypatch.setattr(feasibility, "decide_rules", lambda *_, **__: Decision(Verdict.UNKNOWN))
    asked = hide(
        wheel(7), noise(np.random.default_rng(0), 50, 100, 3, 30), np.random.default_rng(0)
    )
    answer = bckm.check(100, 3, asked)
    assert answer.verdict == "infeasible"
    assert not answer.error.minimal
    assert "a subset may already be contradictory" in answer.message


def test_a_group_too_heavy_for_every_cluster_in_words():
    kg = bckm.Capacity([300, 300] + [10] * 8, max=500)
    answer = bckm.check(10, 2, bckm.Constraints(must_link=[(0, 1), (3, 4)], capacities={"kg": kg}))
    assert (
        "samples 0 and 1 must stay together and hold 300 kg each, 600 kg in total, more than the "
        "capacity of every cluster (500 kg)"
    ) in answer.message
    assert [str(rule) for rule in answer.conflict] == [
        "must-link: samples 0 and 1 together",
        "capacity kg: at most 500 in every cluster",
    ]
    alone = bckm.check(
        10, 2, bckm.Constraints(capacities={"kg": bckm.Capacity([9] + [1] * 9, max=8)})
    )
    assert "sample 0 holds 9 kg, more than the capacity of every cluster" in alone.message
