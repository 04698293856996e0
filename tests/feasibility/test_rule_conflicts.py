"""Contradictions of places, capacities, quotas and previous labels: in words, minimal, quick."""

import time

import numpy as np
import pytest

import bckm
from bckm import Capacity, Constraints, Quota, Stay
from tests.support.statements import stated

KG = [30] * 5 + [10] * 5
COLOR = ["red"] * 4 + ["blue"] * 6


def sums(**bounds):
    return {"kg": Capacity(KG, **bounds)}


TOLD = {  # name: what is asked of 10 samples in 3 clusters, words, rules in the conflict
    "fixed twice": ({"fixed": [(0, 0), (0, 2)]}, "sample 0 is fixed to cluster 0 and cluster 2", 2),
    "a chain of links between two places": (
        {"must_link": [(0, 1), (1, 2), (2, 3, 4), (0, 5)], "fixed": {0: 0, 4: 2, 7: 1}},
        "samples 0 and 4 are fixed to cluster 0 and cluster 2, but must-links join them (0 - 1 -",
        5,
    ),
    "fixed where it is forbidden": (
        {"fixed": {3: 1}, "forbidden": [(3, 1), (3, 0), (4, 1)]},
        "sample 3 is fixed to cluster 1, which is forbidden for it",
        2,
    ),
    "fixed where a linked one is forbidden": (
        {"must_link": [(3, 4)], "fixed": {3: 1}, "forbidden": [(4, 1)]},
        "sample 3 is fixed to cluster 1, which is forbidden for sample 4, but must-links join them",
        3,
    ),
    "forbidden everywhere": (
        {"forbidden": [(3, 0), (3, 1), (3, 2), (4, 0)]},
        "every cluster is forbidden for sample 3",
        3,
    ),
    "linked ones forbidden everywhere": (
        {"must_link": [(3, 4)], "forbidden": [(3, 0), (3, 1), (4, 2), (4, 0)]},
        "every cluster is forbidden for samples 3 and 4, which must-links join",
        4,
    ),
    "apart, but fixed together": (
        {"cannot_link": [(1, 2), (5, 6)], "fixed": {1: 0, 2: 0}},
        "samples 1 and 2 are cannot-linked, but both are fixed to cluster 0",
        3,
    ),
    "apart, but fixed together through links": (
        {"must_link": [(0, 1)], "cannot_link": [(1, 2)], "fixed": {0: 0, 2: 0}},
        "both are fixed to cluster 0 (some through must-links)",
        4,
    ),
    "too many fixed": (
        {"fixed": [(p, 1) for p in range(6)], "size_max": 4},
        "5 samples are fixed to cluster 1, which may hold at most 4",
        6,
    ),
    "too many fixed with their links": (
        {"must_link": [(0, 1, 2, 3)], "fixed": {0: 1, 5: 1}, "size_max": 4},
        "5 samples are fixed, or must-linked to samples fixed, to cluster 1, which may hold at",
        4,
    ),
    "too few left": (
        {
            "fixed": [(p, 1) for p in range(5)],
            "forbidden": [(5, 0), (6, 0)],
            "size_min": [4, 0, 0],
        },
        "cluster 0 needs at least 4 samples, but only 3 of 10 can go there",
        8,
    ),
    "nobody left": (
        {"forbidden": [(p, 0) for p in range(10)]},
        "cluster 0 needs at least 1 sample, but only 0 of 10 can go there",
        11,
    ),
    "too many must move": (
        {"fixed": {0: 1, 1: 1}, "forbidden": [(2, 0)], "stay": Stay([0] * 10, at_most=2)},
        "3 samples must leave their previous cluster",
        4,
    ),
    "an item beyond every capacity": (
        {"must_link": [(0, 1), (1, 2), (2, 3), (3, 4)], "capacities": sums(max=120)},
        "samples 0, 1, 2, 3 and 4 must stay together and hold 30 kg each, 150 kg in total, more "
        "than the capacity of every cluster (120 kg)",
        5,
    ),
    "an item beyond the capacity of its cluster": (
        {"must_link": [(0, 1, 2, 3, 4)], "fixed": {0: 2}, "capacities": sums(max=[500, 500, 120])},
        "more than the capacity of cluster 2 (120 kg)",
        3,
    ),
    "too much fixed": (
        {"fixed": [(p, 2) for p in range(6)], "capacities": sums(max=[500, 500, 120])},
        "5 samples fixed to cluster 2 hold 150 kg, more than its capacity (120 kg)",
        6,
    ),
    "capacities below the total": (
        {"capacities": sums(max=60)},
        "the clusters together may hold at most 180 kg, but the data have 200",
        1,
    ),
    "minima above the total": (
        {"capacities": {"demand": Capacity(KG, min=70)}, "size_min": 0},
        "the clusters together must hold at least 210 demand, but the data have 200",
        1,
    ),
    "too few of a category": (
        {"quotas": Quota(COLOR, count_min=2)},
        "the clusters together must hold at least 6 of 'red', but the data have 4",
        1,
    ),
    "too many of a category": (
        {"quotas": Quota(COLOR, count_max={"red": 1})},
        "the clusters together may hold at most 3 of 'red', but the data have 4",
        1,
    ),
    "shares above the whole": (
        {"quotas": Quota(COLOR, share_min={"red": 0.5, "blue": 0.6})},
        "4 of all 10 samples (40 %) are 'red', but at least 50 % of every cluster must be",
        1,
    ),
    "shares below the whole": (
        {"quotas": Quota(COLOR, share_max={"red": 0.5, "blue": 0.4})},
        "6 of all 10 samples (60 %) are 'blue', but at most 40 % of every cluster must be",
        1,
    ),
    "an item beyond a quota": (
        {"must_link": [(0, 1, 2, 7)], "quotas": Quota(COLOR, count_max={"red": 2})},
        "samples 0, 1, 2 and 7 must stay together and hold 3 of 'red', more than every cluster may "
        "(2 of 'red')",
        2,
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_told_and_minimal(name):
    asked, words, size = TOLD[name]
    answer = bckm.check(10, 3, Constraints(**asked))
    assert words in answer.message
    assert answer.error.minimal
    assert len(answer.conflict) == size
    # in the midst of rules that have nothing to do with it
    more = {"must_link": [(8, 9)], "cannot_link": [(6, 9)]} if "stay" not in asked else {}
    assert bckm.check(10, 3, Constraints(**asked) & Constraints(**more)).verdict == "infeasible"


@pytest.mark.parametrize("name", TOLD)
def test_without_any_rule_the_rest_can_be_obeyed(name):
    from bckm._core.deadline import Deadline
    from bckm.feasibility._decide import decide_rules

    conflict = bckm.check(10, 3, Constraints(**TOLD[name][0])).conflict
    for out in range(len(conflict)):
        rest = [*conflict[:out], *conflict[out + 1 :]]
        assert decide_rules(rest, 10, 3, Deadline()).verdict == "feasible", conflict[out]


def test_kinds_of_rules_are_counted():
    asked = Constraints(
        must_link=[(0, 1), (1, 2)],
        fixed={0: 0, 2: 1},
        forbidden=[(5, 0)],
    )
    assert "(2 must-links, 2 fixed samples)" in bckm.check(10, 3, asked).message
    both = Constraints(quotas=Quota(COLOR, count_min={"red": 1}, count_max={"blue": 2}))
    tight = both & Constraints(must_link=[(4, 5, 6)])
    assert "(1 must-link, 1 quota)" in bckm.check(10, 3, tight).message
    moves = Constraints(stay=Stay([0] * 10, at_most=0), fixed={3: 1})
    assert "(1 fixed sample, 1 stay rule)" in bckm.check(10, 3, moves).message


def test_ids_are_told_instead_of_positions():
    ids = [f"van {p}" for p in range(10)]
    asked = Constraints(
        must_link=[("van 3", "van 4")], fixed={"van 3": 0, "van 4": 1}, by="sample_id"
    )
    message = bckm.check(10, 3, asked.locate(ids).constraints).message
    assert "samples 'van 3' and 'van 4' are fixed to cluster 0 and cluster 1" in message
    assert "('van 3' - 'van 4')" in message


# -- many samples -----------------------------------------------------------------------------


N, K = 100_000, 50


@pytest.fixture(scope="module")
def links():
    rng = np.random.default_rng(0)
    together = rng.permutation(N)[:10_000].reshape(-1, 2)
    apart = rng.integers(N, size=(5_000, 2))
    return {
        "must_link": together.tolist(),
        "cannot_link": apart[apart[:, 0] != apart[:, 1]].tolist(),
    }


def amounts(kind):
    rng = np.random.default_rng(1)
    if kind == "real":
        return rng.lognormal(0, 1, N)
    if kind == "decimal":
        return rng.integers(1, 200, N) / 10
    return np.stack([rng.lognormal(0, 1, N), rng.integers(1, 20, N)], axis=1)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["real", "decimal", "two resources"])
def test_capacities_of_many_samples(links, kind):
    columns = np.atleast_2d(amounts(kind).T)
    within = [Capacity(one, 0.95 * one.sum() / K, 1.05 * one.sum() / K) for one in columns]
    asked = Constraints(**links, **stated(within), size_min=0)
    began = time.process_time()
    answer = bckm.check(N, K, asked)
    assert time.process_time() - began < 20, "sums are to be placed, not searched"
    assert answer
    assert bckm.verify(answer.labels, K, asked) == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "asked",
    [
        {"quotas": Quota(np.arange(N) % 7, "±2%"), "size_min": 1900, "size_max": 2100},
        {"stay": Stay(np.arange(N) % K, at_most=15_000)},
        {
            "forbidden": [(p, p % 7) for p in range(20_000)],
            "fixed": {p: p % K for p in range(N - 10_000, N)},
            "size_max": 2_010,
        },
    ],
    ids=["quotas", "stay", "places"],
)
def test_other_rules_of_many_samples(links, asked):
    if "fixed" in asked:  # links may contradict places
        links = {}
    asked = Constraints(**links, **asked)
    began = time.process_time()
    answer = bckm.check(N, K, asked)
    assert time.process_time() - began < 30
    assert answer
    assert bckm.verify(answer.labels, K, asked) == []


def test_a_conflict_of_many_places_is_minimal_and_quick():
    asked = Constraints(forbidden=[(p, 0) for p in range(20_000)])
    began = time.process_time()
    answer = bckm.check(20_000, K, asked)
    assert time.process_time() - began < 30
    assert len(answer.conflict) == 20_001
    assert answer.error.minimal


@pytest.mark.parametrize(
    ("amounts", "side", "bound", "remedy"),
    [
        ([10, 10, 20, 20, 20, 20], "max", 33, "34"),
        ([10.5, 10, 20, 20, 20, 20], "max", 33, "33.5"),
        ([1.1, 1, 1, 1, 1, 1], "max", 2, "2.03334"),
        ([1.1, 1, 1, 1, 1, 1], "min", 2.1, "2.03333"),
    ],
)
def test_the_remedy_of_a_capacity_is_wide_enough(amounts, side, bound, remedy):
    def answer(value):
        load = bckm.Capacity(amounts, **{side: value})
        return bckm.check(6, 3, bckm.Constraints(capacities={"kg": load}))

    assert f"on average to {remedy}" in answer(bound).message
    again = answer(float(remedy))
    assert again or "on average" not in again.message


def test_totals_are_told_in_few_digits_that_still_differ():
    for total, each, told in (
        (1000, 300, "the data have 1000;"),
        (6189.77528089888, 2000, "the data have 6189.78;"),
        (1234567.125, 400_000, "the data have 1234567.12;"),
        (900.00001, 300, "the data have 900.00001;"),
    ):
        rules = Constraints(capacities={"kg": Capacity([total / 9] * 9, max=each)})
        assert told in bckm.check(9, 3, rules).message
