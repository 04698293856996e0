"""Rules about sample ids, at every door that is a function."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bckm
from bckm import Capacity, Constraints, Quota, Stay

IDS = list("hgfedcba")  # sample 'a' is the last row
X = np.array([0.0, 0.1, 0.2, 0.3, 9.0, 9.1, 9.2, 9.3])[:, None]
CENTERS = [[0.0], [9.0]]
LINKS = Constraints(must_link=[("a", "h")], cannot_link=[("b", "c")], by="sample_id")
AT = Constraints(must_link=[(7, 0)], cannot_link=[(6, 5)])  # the same by position
DOORS = {
    "kmeans": lambda X, rules, **ids: bckm.kmeans(X, 2, rules, random_state=0, **ids).labels,
    "assign_to": lambda X, rules, **ids: bckm.assign_to(X, CENTERS, rules, **ids).labels,
    "check": lambda X, rules, **ids: bckm.check(X, 2, rules, **ids).labels,
}


def ids_as(kind: str):
    return {
        "list": IDS,
        "array": np.array(IDS),
        "objects": np.array(IDS, object),
        "pandas series": pd.Series(IDS, index=range(8, 0, -1)),
        "pandas index": pd.Index(IDS),
        "polars series": pl.Series(IDS),
    }[kind]


@pytest.mark.parametrize(
    "kind", ["list", "array", "objects", "pandas series", "pandas index", "polars series"]
)
@pytest.mark.parametrize("door", DOORS)
def test_ids_stand_for_positions(door, kind):
    labels = DOORS[door](X, LINKS, sample_id=ids_as(kind))
    assert labels.tolist() == DOORS[door](X, AT).tolist()
    assert bckm.verify(labels, 2, LINKS, sample_id=ids_as(kind)) == []
    assert bckm.verify(labels, 2, AT) == []


@pytest.mark.parametrize("door", DOORS)
def test_the_index_of_a_pandas_frame_names_its_rows(door):
    frame = pd.DataFrame(X, index=IDS)
    assert DOORS[door](frame, LINKS).tolist() == DOORS[door](X, AT).tolist()
    # given ids are taken before those of the frame
    other = DOORS[door](frame[::-1], LINKS, sample_id=IDS)
    assert other.tolist() == DOORS[door](X[::-1], AT).tolist()


@pytest.mark.parametrize("door", DOORS)
def test_rows_of_several_index_levels_are_named_by_tuples(door):
    index = pd.MultiIndex.from_product([["x", "y"], [1, 2, 3, 4]])
    rules = Constraints(cannot_link=[(("x", 1), ("x", 2))], by="sample_id")
    labels = DOORS[door](pd.DataFrame(X, index=index), rules)
    assert labels[0] != labels[1]


@pytest.mark.parametrize("door", DOORS)
def test_positions_do_not_look_at_ids(door):
    plain = DOORS[door](X, AT).tolist()
    assert DOORS[door](X, AT, sample_id=np.arange(8)[::-1]).tolist() == plain
    assert DOORS[door](pd.DataFrame(X, index=range(7, -1, -1)), AT).tolist() == plain


@pytest.mark.parametrize("door", DOORS)
def test_rules_about_no_sample_need_no_ids(door):
    rules = Constraints(size_max=4, by="sample_id")
    assert np.bincount(DOORS[door](X, rules)).tolist() == [4, 4]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("series", [False, True], ids=["mapping", "series"])
def test_values_by_id(door, series):
    def values(by_letter):
        found = dict(zip("abcdefgh", by_letter, strict=True))
        return pd.Series(found) if series else found

    rules = Constraints(
        capacities={"kg": Capacity(values([5, 5, 1, 1, 1, 1, 1, 1]), max=9)},
        quotas=Quota(values("xyyyyyyx"), count_max={"x": 1}, name="kind"),
        stay=Stay(values([-1, -1, 0, -1, -1, -1, -1, -1]), at_most=0),
        by="sample_id",
    )
    labels = DOORS[door](X, rules, sample_id=IDS)
    assert labels[7] != labels[6]  # a and b are heavy
    assert labels[7] != labels[0]  # a and h are of one kind
    assert labels[5] == 0  # c stays
    assert bckm.verify(labels, 2, rules, sample_id=IDS) == []


@pytest.mark.sampled(30)
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (IDS[:5], "5 ids for 8 samples"),
        ([*IDS[:7], "h"], "contains 'h' more than once"),
        ([*IDS[:7], None], "no id for row 7"),
        (np.array([1, 2, 3, np.nan, 5, 6, 7, 8]), "no id for row 3"),
        (pd.Series([1, 2, 3, pd.NA, 5, 6, 7, 8]), "no id for row 3"),
        ("name", "one id per sample; got 'name'"),
        (5, "one id per sample; got 5"),
        (np.zeros((8, 2)), r"one id per sample; got shape \(8, 2\)"),
        (dict.fromkeys(IDS), "one id per sample"),
        ([[p] for p in IDS], "unhashable"),
    ],
)
@pytest.mark.parametrize("rules", [LINKS, AT], ids=["ids", "positions"])
@pytest.mark.parametrize("door", [*DOORS, "verify"])
def test_wrong_ids(door, rules, wrong, words):
    verify = lambda _, rules, **ids: bckm.verify([0, 1] * 4, 2, rules, **ids)  # noqa: E731
    with pytest.raises(ValueError, match=words):
        DOORS.get(door, verify)(X, rules, sample_id=wrong)


@pytest.mark.parametrize("door", DOORS)
def test_without_ids_there_is_a_remedy(door):
    with pytest.raises(ValueError, match="pass sample_id, or a pandas frame"):
        DOORS[door](X, LINKS)
    with pytest.raises(ValueError, match=r"polars frame has no index: .*sample_id=frame\['name'\]"):
        DOORS[door](pl.DataFrame(X), LINKS)
    with pytest.raises(ValueError, match="the index of X contains 'h' more than once"):
        DOORS[door](pd.DataFrame(X, index=["h"] * 8), LINKS)
    with pytest.raises(ValueError, match="pass sample_id"):
        bckm.verify([0, 1] * 4, 2, LINKS)


@pytest.mark.parametrize("door", DOORS)
def test_unknown_ids_are_refused(door):
    rules = LINKS & Constraints(must_link=[("a", "zoe")], by="sample_id")
    with pytest.raises(ValueError, match="not in the data; first: must-link of samples 'a' and 'z"):
        DOORS[door](X, rules, sample_id=IDS)


def test_a_series_of_labels_names_its_rows():
    labels = pd.Series([0, 1, 1, 0], index=list("dcba"))
    assert bckm.verify(labels, 2, Constraints(must_link=[("a", "d")], by="sample_id")) == []
    (broken,) = bckm.verify(labels, 2, Constraints(must_link=[("a", "c")], by="sample_id"))
    assert str(broken) == "samples 'a' and 'c' are must-linked, but are in clusters 0 and 1."


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (
            {"must_link": [("a", "b"), ("b", "c")], "cannot_link": [("a", "c")]},
            "samples 'c' and 'a' are cannot-linked, but must-links join them ('c' - 'b' - 'a')",
        ),
        (
            {"cannot_link": [("a", "b"), ("b", "c"), ("a", "c")]},
            "samples 'c', 'b' and 'a' are",
        ),
        (
            {"cannot_link": [*zip("abcde", "bcdea", strict=True)]},
            "5 cannot-links form a cycle of odd length (samples 'c', 'd', 'e', 'a' and 'b')",
        ),
        ({"must_link": [list("abcde")], "size_max": 4}, "(including 'e' and 'a')"),
        (
            {
                "capacities": {
                    "kg": Capacity(dict(zip("abcdefgh", range(9, 1, -1), strict=True)), max=8)
                }
            },
            "sample 'a' holds 9 kg",
        ),
    ],
)
def test_a_conflict_names_ids_and_nothing_else(rules, reason):
    message = bckm.check(8, 2, Constraints(**rules, by="sample_id"), sample_id=IDS).message
    assert reason in message
    at = bckm.check(8, 2, Constraints(**rules, by="sample_id").locate(IDS).constraints).message
    assert at == message


def test_a_sample_without_id_is_a_row_among_others_with_one():
    heavy = Capacity([1, 1, 1, 1, 1, 1, 4, 4], max=7)
    rules = Constraints(must_link=[("a", "c")], by="sample_id").locate(IDS).constraints
    rules &= Constraints(must_link=[(5, 6)], capacities={"kg": heavy})
    message = bckm.check(8, 2, rules).message
    assert "samples 'c', row 6 and 'a' must stay together and hold 9 kg" in message


@pytest.mark.parametrize(
    "state",
    [
        lambda: bckm.Constraints(capacities={"kg": bckm.Capacity({1: 5, 0: 1}, max=5)}),
        lambda: bckm.Constraints(quotas=bckm.Quota({1: "a", 0: "b"}, "10%")),
        lambda: bckm.Constraints(stay=bckm.Stay({1: 0, 0: 1}, at_most=1)),
        lambda: bckm.Constraints(groups={1: "a", 0: "a"}),
        lambda: bckm.Constraints.from_labels({1: "a", 0: "b"}),
    ],
    ids=["capacity", "quota", "stay", "groups", "labels"],
)
def test_keys_of_a_mapping_are_never_taken_for_positions(state):
    """The order of the keys of a dict is not the order of rows."""
    with pytest.raises(ValueError, match="mapping"):
        state()
