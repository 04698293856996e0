"""`Constraints`: a frozen value that joins, pickles and says in words what it asks."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from bckm import Capacity, Constraints, LinearRows, check
from bckm.constraints.rules import (
    CannotLink,
    CapacityBound,
    MustLink,
    NonEmpty,
    RowBound,
    SizeMax,
    SizeMin,
)

FIELDS = ("must_link", "cannot_link", "size_min", "size_max", "rows")


def words(constraints, n_samples, n_clusters):
    return [str(rule) for rule in constraints.rules(n_samples, n_clusters)]


# -- reading links ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "links",
    [
        [(0, 1), (2, 3)],
        ((0, 1), (2, 3)),
        [[0, 1], [2, 3]],
        [{1, 0}, {3, 2}],
        [frozenset({0, 1}), range(2, 4)],
        np.array([[0, 1], [2, 3]]),
        np.array([[0, 1], [2, 3]], dtype=np.uint8),
        [np.array([0, 1]), np.array([2, 3], dtype=np.int32)],
        [(np.int64(0), np.int16(1)), (2, 3)],
        pd.DataFrame({"a": [0, 2], "b": [1, 3]}),
        pd.DataFrame({"a": [0, 2], "b": [1, 3]}, dtype="Int64"),
        pl.DataFrame({"a": [0, 2], "b": [1, 3]}),
        pd.Series([(0, 1), (2, 3)]),
    ],
    ids=lambda links: type(links).__name__,
)
@pytest.mark.parametrize("field", ["must_link", "cannot_link"])
def test_links_are_read_from_any_table_of_pairs(field, links):
    read = getattr(Constraints(**{field: links}), field)
    assert read == ((0, 1), (2, 3))
    assert {type(p) for link in read for p in link} == {int}


def test_links_may_come_from_a_generator():
    asked = Constraints(
        must_link=((i, i + 1) for i in range(3)),
        cannot_link=((i for i in pair) for pair in [(0, 5)]),
    )
    assert asked.must_link == ((0, 1), (1, 2), (2, 3))
    assert asked.cannot_link == ((0, 5),)


@pytest.mark.parametrize("nothing", [None, [], (), np.empty((0, 2), int), iter(())])
def test_no_links(nothing):
    assert Constraints(must_link=nothing).must_link == ()


def test_sets_longer_than_a_pair_stay_one_link():
    asked = Constraints(must_link=[{5, 3, 4}], cannot_link=[(9, 7, 8)])
    assert asked.must_link == ((3, 4, 5),)
    assert asked.cannot_link == ((9, 7, 8),)


def test_a_sample_must_linked_to_itself_asks_nothing():
    asked = Constraints(must_link=[(1, 1), (2, 3, 2), (4,)])
    assert [str(rule) for rule in asked.rules(5, 2)[:-1]] == ["must-link: samples 2 and 3 together"]
    with pytest.raises(ValueError, match=r"sample 4\b.*0 to 3"):
        asked.rules(4, 2)


def test_duplicated_links_are_fine():
    asked = Constraints(must_link=[(0, 1), (1, 0), (0, 1)], cannot_link=[(2, 3), (2, 3)])
    assert [rule.samples for rule in asked.rules(4, 2)[:3]] == [(0, 1), (1, 0), (0, 1)]
    assert words(asked, 4, 2).count("cannot-link: samples 2 and 3 apart") == 2


# -- reading sizes ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, np.int32(3), np.uint8(3), np.array(3)])
def test_whole_sizes_of_any_type(size):
    asked = Constraints(size_max=size)
    assert asked.size_max.dtype == np.int64
    assert asked.size_max.tolist() == 3


@pytest.mark.parametrize(
    "sizes", [[2, 3], (2, 3), np.array([2, 3]), pd.Series([2, 3]), pl.Series([2, 3])]
)
def test_size_vectors_of_any_type(sizes):
    assert Constraints(size_min=sizes).size_min.tolist() == [2, 3]


def test_sizes_are_copied():
    mine = np.array([2, 3])
    asked = Constraints(size_max=mine)
    mine[:] = 99
    assert asked.size_max.tolist() == [2, 3]


def test_equal_bounds_are_not_crossed():
    asked = Constraints(size_min=[2, 3], size_max=[2, 3])
    assert words(asked, 5, 2) == [
        "size_min: at least 2 samples in cluster 0",
        "size_min: at least 3 samples in cluster 1",
        "size_max: at most 2 samples in cluster 0",
        "size_max: at most 3 samples in cluster 1",
    ]


# -- a value ----------------------------------------------------------------------------------


@pytest.mark.parametrize("field", FIELDS)
def test_attributes_cannot_be_set(field):
    asked = Constraints(must_link=[(0, 1)], size_max=3)
    before = repr(asked)
    with pytest.raises(AttributeError, match=f"immutable.*&.*{field}"):
        setattr(asked, field, None)
    assert repr(asked) == before


def test_no_new_attributes():
    with pytest.raises(AttributeError, match="immutable"):
        Constraints().size_mim = 3


def test_attributes_cannot_be_deleted():
    asked = Constraints(size_max=3)
    with pytest.raises(AttributeError):
        del asked.size_max
    assert asked.size_max == 3


@pytest.mark.parametrize("field", ["size_min", "size_max"])
def test_size_vectors_cannot_be_written_to(field):
    asked = Constraints(size_min=[1, 1], size_max=[2, 2])
    with pytest.raises(ValueError, match="read-only"):
        getattr(asked, field)[0] = 99


def test_constraints_have_no_length():
    # cross-validation slices whatever has the length of X
    with pytest.raises(TypeError):
        len(Constraints(must_link=[(0, 1), (2, 3)]))


@pytest.mark.parametrize(
    "duplicate", [lambda c: pickle.loads(pickle.dumps(c)), copy.copy, copy.deepcopy]
)
def test_pickle_and_copy_keep_every_rule(duplicate):
    asked = Constraints(
        [(0, 1)],
        [(1, 2, 3)],
        size_min=[1, 2],
        size_max=4,
        capacities={"kg": Capacity([1, 2, 3, 4, 5], max=9)},
        linear=LinearRows(np.arange(10), lower=1, upper=[7], name="any"),
    )
    again = duplicate(asked)
    assert words(again, 5, 2) == words(asked, 5, 2)
    assert repr(again) == repr(asked)
    assert again.linear[0].A.toarray().tolist() == [list(range(10))]
    with pytest.raises(AttributeError, match="immutable"):
        again.must_link = ()


# -- joining ----------------------------------------------------------------------------------


def test_joining_adds_links_and_capacities():
    a = Constraints([(0, 1)], [(2, 3)], capacities={"kg": Capacity([1, 2], max=3)})
    b = Constraints([(4, 5)], [(6, 7)], capacities={"h": Capacity([1, 1])})
    both = a & b
    assert both.must_link == ((0, 1), (4, 5))
    assert both.cannot_link == ((2, 3), (6, 7))
    assert both.capacities == (*a.capacities, *b.capacities)
    assert [one.name for one in both.capacities] == ["kg", "h"]
    assert a.must_link == ((0, 1),), "operands stay as they are"
    assert len(b.capacities) == 1


@pytest.mark.parametrize(
    ("a", "b", "low", "up"),
    [
        ({"size_min": 2, "size_max": 9}, {"size_min": 3, "size_max": 8}, 3, 8),
        ({"size_min": 3, "size_max": 8}, {"size_min": 2, "size_max": 9}, 3, 8),
        ({"size_min": 2}, {"size_max": 5}, 2, 5),
        ({"size_min": 2}, {}, 2, None),
        ({}, {"size_max": 5}, None, 5),
        ({"size_min": [1, 4]}, {"size_min": 2}, [2, 4], None),
        ({"size_max": [1, 4]}, {"size_max": [3, 2]}, None, [1, 2]),
    ],
)
def test_joining_keeps_the_tighter_bounds(a, b, low, up):
    both = Constraints(**a) & Constraints(**b)
    assert (None if both.size_min is None else both.size_min.tolist()) == low
    assert (None if both.size_max is None else both.size_max.tolist()) == up


def test_joined_bounds_may_cross():
    with pytest.raises(ValueError, match="size_min is 5, above size_max, 4"):
        Constraints(size_min=5) & Constraints(size_max=4)


def test_joined_vectors_need_one_length():
    with pytest.raises(ValueError, match="size_max is given for 2 and for 3 clusters"):
        Constraints(size_max=[1, 2]) & Constraints(size_max=[1, 2, 3])


@pytest.mark.parametrize("other", [None, 3, {"size_max": 3}, [(0, 1)]])
def test_joining_with_something_else(other):
    with pytest.raises(TypeError):
        Constraints() & other


# -- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (Constraints(), "Constraints()"),
        (Constraints(size_max=3), "Constraints(size_max=3)"),
        (Constraints(size_min=0), "Constraints(size_min=0)"),
        (Constraints([(0, 1)], size_min=[1, 2]), "Constraints(must_link=1, size_min=[1, 2])"),
        (
            Constraints(
                [(0, 1), (1, 2)],
                [(0, 3)],
                size_min=1,
                size_max=[3, 4],
                capacities={"kg": Capacity([1])},
            ),
            "Constraints(must_link=2, cannot_link=1, size_min=1, size_max=[3, 4], capacities=1)",
        ),
        (Capacity([1, 2], max=3), "Capacity(2 samples, max=3.0)"),
        (LinearRows(np.ones((3, 4)), name="mix"), "LinearRows(3 rows, name='mix')"),
    ],
)
def test_repr(asked, text):
    assert repr(asked) == text


def test_rules_come_in_one_order_and_in_words():
    asked = Constraints(
        [(0, 1)],
        [(1, 2)],
        size_max=3,
        capacities={"kg": Capacity([1, 2, 3, 4], min=[1, 1.5], max=7.25)},
        linear=LinearRows(np.ones((2, 8)), lower=[1, 2], upper=[5, np.inf], name="mix"),
    )
    assert words(asked, 4, 2) == [
        "must-link: samples 0 and 1 together",
        "cannot-link: samples 1 and 2 apart",
        "size_max: at most 3 samples in every cluster",
        "no cluster may be empty (default; size_min=0 allows empty clusters)",
        "capacity kg: at least 1 in cluster 0",
        "capacity kg: at least 1.5 in cluster 1",
        "capacity kg: at most 7.25 in every cluster",
        "mix[0]: at least 1",
        "mix[0]: at most 5",
        "mix[1]: at least 2",
    ]
    kinds = [MustLink, CannotLink, SizeMax, NonEmpty]
    kinds += [*[CapacityBound] * 3, *[RowBound] * 3]
    assert [type(rule) for rule in asked.rules(4, 2)] == kinds


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        ((4, 2), "samples 4 and 2"),
        ((1, 2, 3), "samples 1, 2 and 3"),
        ((1, 2, 3, 4, 5, 6), "samples 1, 2, 3, 4, 5 and 6"),
        (tuple(range(7)), "samples 0, 1, 2, 3, 4 and 2 more"),
        (tuple(range(1000)), "samples 0, 1, 2, 3, 4 and 995 more"),
    ],
)
def test_long_links_are_shortened(samples, text):
    assert str(MustLink(samples)) == f"must-link: {text} together"
    assert str(CannotLink(samples)) == f"cannot-link: {text} apart"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (SizeMin(2), "size_min: at least 2 samples in every cluster"),
        (SizeMin(2, 1), "size_min: at least 2 samples in cluster 1"),
        (SizeMax(3), "size_max: at most 3 samples in every cluster"),
        (SizeMax(3, 0), "size_max: at most 3 samples in cluster 0"),
    ],
)
def test_size_rules_in_words(rule, text):
    assert str(rule) == text


def test_large_bounds_are_said_with_all_their_digits():
    asked = Constraints(size_min=0, capacities={"kg": Capacity([1, 1], max=1234567)})
    assert words(asked, 2, 1) == ["capacity kg: at most 1234567 in every cluster"]


def test_no_cluster_is_empty_unless_size_min_is_stated():
    assert words(Constraints(), 3, 2) == [str(NonEmpty())]
    assert words(Constraints(size_min=0), 3, 2) == []
    assert words(Constraints(size_min=[0, 2]), 3, 2) == [
        "size_min: at least 2 samples in cluster 1"
    ]


def test_bounds_that_cannot_bind_are_no_rules():
    asked = Constraints(size_min=0, size_max=[3, 2])
    assert words(asked, 3, 2) == ["size_max: at most 2 samples in cluster 1"]


def test_one_object_serves_several_shapes():
    asked = Constraints([(0, 1)], size_max=3)
    assert len(asked.rules(4, 2)) == len(asked.rules(400, 20)) == 3


# -- linear rules as values -------------------------------------------------------------------


def test_linear_rows_do_not_share_the_arrays_of_the_caller():
    mine = sp.csr_array(np.ones((1, 4)))
    rows = LinearRows(mine, upper=1)
    mine.data[:] = 7
    assert rows.A.toarray().tolist() == [[1, 1, 1, 1]]


def test_linear_rows_leave_the_matrix_of_the_caller_alone():
    # two entries for column 0, out of order: summing them up in place would reach the caller
    data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 0]), np.array([0, 3])
    mine = sp.csr_array((data, indices, indptr), shape=(1, 4))
    rows = LinearRows(mine, upper=1)
    assert rows.A.toarray().tolist() == [[5, 0, 1, 0]]
    assert mine.indices.tolist() == [2, 0, 0]
    assert mine.data.tolist() == [1, 2, 3]


def test_amounts_are_copied():
    mine = np.array([1.0, 2.0])
    kg = Capacity(mine, max=mine)
    mine[:] = 9
    assert kg.values.tolist() == kg.max.tolist() == [1, 2]


@pytest.mark.parametrize(
    "values", [[1, 2], (1.0, 2.0), np.array([1, 2], np.int8), pd.Series([1, 2]), pl.Series([1, 2])]
)
def test_amounts_of_any_type(values):
    assert Capacity(values).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("make", [np.array, sp.csr_array, sp.coo_array, sp.csc_matrix])
def test_linear_rows_from_dense_and_sparse(make):
    rows = LinearRows(make([[0, 1, 2], [3, 0, 0]]), lower=1, upper=[2, 3])
    assert rows.A.toarray().tolist() == [[0, 1, 2], [3, 0, 0]]
    assert rows.lower.tolist() == [1, 1]
    assert rows.upper.tolist() == [2, 3]


@pytest.mark.parametrize(
    "rules",
    [
        Constraints(groups=["a", "a", None]),
        Constraints.from_labels([0, 0, 1]),
        Constraints.from_labels([0, 0, 1], price=1),
        Constraints.from_labels([0, -1, 1]),
    ],
)
def test_groups_and_labels_of_another_length_are_refused(rules):
    with pytest.raises(ValueError, match=r"comes from 3 values, but there are 4 samples"):
        check(4, 2, rules) if not rules.softened else rules.soft_rules(4, 2)
    assert check(3, 2, rules)
    assert pickle.loads(pickle.dumps(rules)).must_link == rules.must_link
    assert check(2, 1, rules.take([0, 1]))


@pytest.mark.parametrize("by", ["position", "sample_id"])
def test_each_link_keeps_its_own_price_when_others_are_dropped(by):
    wish = Constraints([(0, 1), (2, 3), (4, 5)], [(0, 5), (1, 4)], by=by).soft(
        price=[1, 2, 3, 4, 5]
    )
    some = [5, 4, 3, 1]  # without 0 and 2
    located = wish.locate(some, missing="drop").constraints
    kept = wish.take(some) if by == "position" else located
    found = {one.rule.samples: one.weight for one in kept.soft_rules(4, 2)}
    assert found == {(1, 0): 3.0, (3, 1): 5.0}
