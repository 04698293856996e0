"""Sizes as shares of the samples; clusters with names."""

import pickle

import numpy as np
import pytest

import bckm
from bckm import Capacity, Constraints, Quota

VANS = ["van 1", "van 2", "van 3"]


def sizes(asked, n, k):
    return [str(rule) for rule in asked.rules(n, k) if "size" in str(rule)]


@pytest.mark.parametrize(
    ("n", "share", "least", "most"),
    [(10, 0.25, 3, 2), (30, 0.1, 3, 3), (3, 1 / 3, 1, 1), (7, 0.01, 1, 0), (1000, 0.999, 999, 999)],
)
def test_a_share_is_rounded_inwards(n, share, least, most):
    found = Constraints(size_min=share).resolved(n), Constraints(size_max=share).resolved(n)
    assert found[0].size_min.tolist() == least
    assert found[1].size_max.tolist() == most
    assert found[0].size_min.dtype == np.int64


def test_shares_and_numbers_side_by_side():
    asked = Constraints(size_min=[0.1, 2, 0], size_max=[0.5, 9, 0.25])
    assert sizes(asked, 20, 3) == [
        "size_min: at least 2 samples in cluster 0",
        "size_min: at least 2 samples in cluster 1",
        "size_max: at most 10 samples in cluster 0",
        "size_max: at most 9 samples in cluster 1",
        "size_max: at most 5 samples in cluster 2",
    ]
    assert repr(asked) == "Constraints(size_min=[0.1, 2.0, 0.0], size_max=[0.5, 9.0, 0.25])"


def test_joined_shares():
    both = Constraints(size_max=0.5) & Constraints(size_max=[0.4, 0.6])
    assert both.size_max.tolist() == [0.4, 0.5]
    assert (Constraints(size_min=0.5) & Constraints(size_min=0)).size_min.tolist() == 0.5
    with pytest.raises(ValueError, match="a share of the samples on one side of &"):
        Constraints(size_max=0.5) & Constraints(size_max=5)
    with pytest.raises(ValueError, match=r"size_min is 0\.5, above size_max, 0\.4"):
        Constraints(size_min=0.5, size_max=0.4)


def test_shares_that_leave_no_whole_number():
    answer = bckm.check(10, 3, Constraints(size_min=[0, 0, 0.42], size_max=[5, 5, 0.48]))
    assert "cluster 2 needs at least 5 and at most 4 samples" in answer.message


def test_a_fit_and_its_soft_rules_obey_shares():
    X = np.random.default_rng(0).normal(size=(40, 2))
    rules = Constraints(size_min=0.2, size_max=0.3)
    result = bckm.kmeans(X, 4, rules, random_state=0)
    assert result.sizes.min() >= 8
    assert result.sizes.max() <= 12
    assert bckm.verify(result.labels, 4, rules) == []
    told = bckm.verify([0] * 40, 4, rules.soft(price=1), soft=True)
    assert told[0].message == "cluster 1 has 0 samples, fewer than size_min=8."
    taken = rules.take(np.arange(20)).rules(20, 4)
    assert str(taken[0]) == "size_min: at least 4 samples in every cluster"


# ------------------------------------------------------------------ names


def test_rules_and_violations_carry_names():
    asked = Constraints(
        must_link=[(4, 5)],
        cannot_link=[(0, 1)],
        size_max=[2, 9, 9],
        capacities={"kg": Capacity(np.ones(6), max=[1, 9, 9])},
        quotas=Quota("aabbbb", count_max={"a": 1}),
        fixed={2: "van 2"},
        forbidden=[(3, "van 1")],
        cluster_names=VANS,
    )
    assert [str(rule) for rule in asked.rules(6, 3)][2:8] == [
        "size_max: at most 2 samples in cluster 'van 1'",
        "no cluster may be empty (default; size_min=0 allows empty clusters)",
        "fixed: sample 2 in cluster 'van 2'",
        "forbidden: sample 3 not in cluster 'van 1'",
        "capacity kg: at most 1 in cluster 'van 1'",
        "capacity kg: at most 9 in cluster 'van 2'",
    ]
    told = [one.message for one in bckm.verify([0, 0, 0, 0, 0, 1], 3, asked)]
    assert told == [
        "samples 4 and 5 are must-linked, but are in clusters 'van 1' and 'van 2'.",
        "samples 0 and 1 are cannot-linked, but are both in cluster 'van 1'.",
        "cluster 'van 1' has 5 samples, more than size_max=2.",
        "cluster 'van 3' is empty.",
        "sample 2 is fixed to cluster 'van 2', but is in cluster 'van 1'.",
        "sample 3 is in cluster 'van 1', which is forbidden for it.",
        "the sum of kg in cluster 'van 1' is 5, above 1.",
        "the number of attribute 'a' in cluster 'van 1' is 2, above 1.",
    ]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"fixed": [(0, "van 1"), (0, "van 3")]}, "fixed to cluster 'van 1' and cluster 'van 3'"),
        (
            {"fixed": {0: "van 2"}, "forbidden": [(0, "van 2")]},
            "fixed to cluster 'van 2', which is forbidden",
        ),
        (
            {"fixed": dict.fromkeys(range(3), "van 2"), "size_max": 2},
            "3 samples are fixed to cluster 'van 2', which may hold at most 2",
        ),
        (
            {"forbidden": [(p, "van 3") for p in range(6)]},
            "cluster 'van 3' needs at least 1 sample",
        ),
        ({"size_max": [0, 9, 9]}, "cluster 'van 1' needs at least 1 and at most 0 samples"),
        (
            {
                "fixed": dict.fromkeys(range(3), "van 2"),
                "capacities": {"kg": Capacity(np.ones(6), max=2)},
            },
            "3 samples fixed to cluster 'van 2' hold 3 kg",
        ),
        (
            {"fixed": dict.fromkeys((0, 1), "van 3"), "cannot_link": [(0, 1)]},
            "both are fixed to cluster 'van 3'",
        ),
    ],
)
def test_conflicts_carry_names(asked, reason):
    assert reason in bckm.check(6, 3, Constraints(**asked, cluster_names=VANS)).message


def test_names_are_joined_and_kept():
    named = Constraints(cluster_names=VANS)
    wish = Constraints(fixed={0: 2}).soft(price=1.0)
    for both in (named & wish, wish & named, pickle.loads(pickle.dumps(named & wish))):
        assert both.cluster_names == tuple(VANS)
        (rule,) = both.soft_rules(3, 3)
        assert str(rule) == "fixed: sample 0 in cluster 'van 3' (soft, price 1)"
    assert (named & named).cluster_names == tuple(VANS)
    with pytest.raises(ValueError, match="conflicting cluster_names"):
        named & Constraints(cluster_names=["a", "b", "c"])
    ids = Constraints(fixed={"x": "van 2"}, by="sample_id", cluster_names=VANS)
    located = ids.locate(["y", "x"]).constraints
    assert str(located.rules(2, 3)[-1]) == "fixed: sample 'x' in cluster 'van 2'"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"fixed": {0: "van 1"}}, "refers to cluster 'van 1', but cluster_names"),
        ({"fixed": {0: "van 9"}, "cluster_names": VANS}, "cluster names are 'van 1', 'van 2'"),
        ({"fixed": {0: 0}, "cluster_names": VANS}, "refers to cluster 0"),
        ({"forbidden": [(0, True)], "cluster_names": [1, 2]}, "refers to cluster True"),
        ({"cluster_names": ["a", "a"]}, "'a' more than once"),
        ({"cluster_names": []}, "empty"),
    ],
)
def test_names_that_do_not_fit(asked, words):
    with pytest.raises(ValueError, match=words):
        Constraints(**asked)


def test_one_name_for_each_cluster():
    with pytest.raises(ValueError, match="cluster_names has 3 names for 2 clusters"):
        bckm.check(4, 2, Constraints(cluster_names=VANS))
    for wrong in ("abc", 3, [1.5], {"a": 1}):
        with pytest.raises(TypeError, match="cluster_names must be"):
            Constraints(cluster_names=wrong)


def test_numbers_as_names():
    asked = Constraints(fixed={0: 1}, cluster_names=range(1, 4))
    assert asked.fixed[0].cluster == 0
    assert str(asked.rules(3, 3)[-1]) == "fixed: sample 0 in cluster 1"
