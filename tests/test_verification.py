"""The checker, rule by rule, against answers written by hand."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bckm import Capacity, Constraints, LinearRows, Violation, verification, verify
from bckm.constraints.rules import (
    CannotLink,
    CapacityBound,
    MustLink,
    NonEmpty,
    RowBound,
    SizeMax,
    SizeMin,
)


def told(labels, constraints, n_clusters):
    return [(v.message, v.amount) for v in verify(labels, n_clusters, constraints)]


def row(n_samples, n_clusters, **coefficients):
    """One row of A from coefficients named ``p<sample>_<cluster>``."""
    A = np.zeros((n_samples, n_clusters))
    for name, value in coefficients.items():
        sample, cluster = name[1:].split("_")
        A[int(sample), int(cluster)] = value
    return A.reshape(1, -1)


ANY = {"size_min": 0}  # nothing implied: only the rule under test speaks


# -- must-link --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 1, 1, 0], []),
        (
            [0, 0, 1, 2],
            [("samples 0, 1 and 2 are must-linked, but are in clusters 0 and 1.", 1.0)],
        ),
        (
            [2, 0, 1, 0],
            [("samples 0, 1 and 2 are must-linked, but are in clusters 0, 1 and 2.", 2.0)],
        ),
    ],
)
def test_must_link(labels, expected):
    assert told(labels, Constraints([(0, 1, 2)], **ANY), 3) == expected


def test_each_broken_must_link_is_told():
    found = verify([0, 1, 1, 0], 2, Constraints([(0, 1), (1, 2), (2, 3)], **ANY))
    assert [v.rule for v in found] == [MustLink((0, 1)), MustLink((2, 3))]


def test_a_must_link_of_sample_zero_with_label_zero_counts():
    # where `> 0` stands for `>= 0`, exactly this slips through
    assert len(verify([0, 1], 2, Constraints([(0, 1)], **ANY))) == 1
    assert len(verify([1, 0], 2, Constraints([(1, 0)], **ANY))) == 1


def test_must_link_over_many_clusters_is_shortened():
    (violation,) = verify(range(9), 9, Constraints([range(9)], **ANY))
    assert violation.message == (
        "samples 0, 1, 2, 3, 4 and 4 more are must-linked, "
        "but are in clusters 0, 1, 2, 3, 4 and 4 more."
    )
    assert violation.amount == 8.0


# -- cannot-link ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 1, 2, 0], []),
        ([1, 1, 2, 0], [("samples 0 and 1 are cannot-linked, but are both in cluster 1.", 1.0)]),
        (
            [2, 2, 2, 0],
            [
                ("samples 0 and 1 are cannot-linked, but are both in cluster 2.", 1.0),
                ("samples 0 and 2 are cannot-linked, but are both in cluster 2.", 1.0),
                ("samples 1 and 2 are cannot-linked, but are both in cluster 2.", 1.0),
            ],
        ),
    ],
)
def test_cannot_link(labels, expected):
    found = verify(labels, 3, Constraints(cannot_link=[(0, 1, 2)], **ANY))
    assert [(v.message, v.amount) for v in found] == expected
    assert all(v.rule == CannotLink((0, 1, 2)) for v in found)


# -- sizes ------------------------------------------------------------------------------------


def test_size_min():
    asked = Constraints(size_min=2)
    assert told([0, 0, 1, 1], asked, 2) == []
    assert told([0, 0, 0, 1], asked, 2) == [("cluster 1 has 1 sample, fewer than size_min=2.", 1.0)]
    assert told([0, 0, 0, 0], asked, 3) == [
        ("cluster 1 has 0 samples, fewer than size_min=2.", 2.0),
        ("cluster 2 has 0 samples, fewer than size_min=2.", 2.0),
    ]


def test_size_max():
    asked = Constraints(size_min=0, size_max=2)
    assert told([0, 0, 1, 1], asked, 2) == []
    assert told([1, 1, 1, 1], asked, 2) == [("cluster 1 has 4 samples, more than size_max=2.", 2.0)]


def test_sizes_belong_to_their_cluster():
    asked = Constraints(size_min=[3, 0], size_max=[3, 1])
    assert told([0, 0, 0, 1], asked, 2) == []
    found = verify([1, 1, 1, 0], 2, asked)
    assert [(v.rule, v.amount) for v in found] == [(SizeMin(3, 0), 2.0), (SizeMax(1, 1), 2.0)]


def test_sizes_count_samples_even_at_the_edge():
    assert told([0], Constraints(size_min=1, size_max=1), 1) == []
    assert told([0, 1], Constraints(size_min=0, size_max=0), 2) == [
        ("cluster 0 has 1 sample, more than size_max=0.", 1.0),
        ("cluster 1 has 1 sample, more than size_max=0.", 1.0),
    ]


def test_empty_clusters():
    found = verify([1, 1], 3, Constraints())
    assert [str(v) for v in found] == ["cluster 0 is empty.", "cluster 2 is empty."]
    assert {(v.rule, v.amount) for v in found} == {(NonEmpty(), 1.0)}
    assert verify([1, 1], 3, Constraints(size_min=0)) == []


# -- capacities -------------------------------------------------------------------------------


def test_capacity_on_both_sides():
    kg = Capacity([5, 1, 2, 4.5], min=3, max=8)
    asked = Constraints(capacities={"kg": kg}, **ANY)
    assert told([0, 0, 1, 1], asked, 2) == []
    assert told([0, 1, 1, 0], asked, 2) == [("the sum of kg in cluster 0 is 9.5, above 8.", 1.5)]
    assert told([0, 1, 0, 0], asked, 2) == [
        ("the sum of kg in cluster 1 is 1, below 3.", 2.0),
        ("the sum of kg in cluster 0 is 11.5, above 8.", 3.5),
    ]


def test_capacity_per_cluster():
    kg = Capacity([1, 1, 1], min=[2, -np.inf], max=[np.inf, 0.5])
    found = verify([0, 1, 1], 2, Constraints(capacities={"kg": kg}, **ANY))
    assert [(v.rule.side, v.rule.cluster, v.amount) for v in found] == [
        ("min", 0, 1.0),
        ("max", 1, 1.5),
    ]
    assert all(isinstance(v.rule, CapacityBound) and v.rule.source.name == "kg" for v in found)


def test_the_load_of_an_empty_cluster_is_zero():
    kg = Capacity([1, 1], min=1)
    assert told([0, 0], Constraints(capacities={"kg": kg}, **ANY), 2) == [
        ("the sum of kg in cluster 1 is 0, below 1.", 1.0)
    ]
    assert told([0, 0], Constraints(capacities={"kg": Capacity([1, 1], max=2)}, **ANY), 2) == []


def test_negative_amounts():
    balance = Capacity([-2, 1, 1], min=0, max=0)
    assert told([1, 1, 1], Constraints(capacities={"balance": balance}, **ANY), 2) == []
    assert told([1, 1, 0], Constraints(capacities={"balance": balance}, **ANY), 2) == [
        ("the sum of balance in cluster 1 is -1, below 0.", 1.0),
        ("the sum of balance in cluster 0 is 1, above 0.", 1.0),
    ]


@pytest.mark.parametrize("side", ["min", "max"])
def test_decimal_sums_are_not_called_broken(side):
    asked = Constraints(
        capacities={"kg": Capacity([0.1] * 3 + [-0.1] * 3, **{side: [0.3, -0.3]})}, **ANY
    )
    assert 0.1 + 0.1 + 0.1 != 0.3
    assert told([0, 0, 0, 1, 1, 1], asked, 2) == []


@pytest.mark.parametrize(("excess", "broken"), [(1e-12, False), (1e-8, True), (1e-6, True)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_tolerance_is_small_and_relative(excess, broken, scale):
    values = np.array([1.0, 1.0 + excess]) * scale
    above = verify(
        [0, 0], 1, Constraints(capacities={"kg": Capacity(values, max=2 * scale)}, **ANY)
    )
    below = verify(
        [0, 0], 1, Constraints(capacities={"kg": Capacity(-values, min=-2 * scale)}, **ANY)
    )
    assert [bool(above), bool(below)] == [broken, broken]
    if broken:
        assert above[0].amount == pytest.approx(excess * scale, rel=1e-6)


def test_a_huge_value_elsewhere_does_not_loosen_a_sum():
    # sample 0 lies in cluster 0; that cluster 1 holds 3 instead of 2 is no round-off
    kg = Capacity([1e12, 1, 1, 1], max=[2e12, 2])
    assert [
        v.amount for v in verify([0, 1, 1, 1], 2, Constraints(capacities={"kg": kg}, **ANY))
    ] == [1.0]


def test_numbers_in_a_message_can_be_told_apart():
    kg = Capacity([1234568, 0], max=1234567)
    (violation,) = verify([0, 1], 2, Constraints(capacities={"kg": kg}, **ANY))
    assert violation.message == "the sum of kg in cluster 0 is 1234568, above 1234567."


# -- general rows -----------------------------------------------------------------------------


def test_linear_rows_on_both_sides():
    A = np.vstack([row(3, 2, p0_0=1, p1_1=2, p2_0=-1), row(3, 2, p0_1=1)])
    rows = LinearRows(A, lower=[1, -np.inf], upper=[2, 0], name="mix")
    asked = Constraints(linear=rows, **ANY)
    assert told([0, 0, 1], asked, 2) == []
    assert told([0, 1, 1], asked, 2) == [("mix[0] is 3, above 2.", 1.0)]
    assert told([1, 0, 0], asked, 2) == [
        ("mix[0] is -1, below 1.", 2.0),
        ("mix[1] is 1, above 0.", 1.0),
    ]
    (violation,) = verify([0, 1, 1], 2, asked)
    assert isinstance(violation.rule, RowBound)
    assert (violation.rule.source, violation.rule.row, violation.rule.side) == (rows, 0, "max")


def test_linear_rows_read_sample_times_clusters_plus_label():
    n, k = 4, 3
    for labels in product(range(k), repeat=n):
        s = np.zeros(n * k)
        s[[p * k + i for p, i in enumerate(labels)]] = 1
        A = sp.csr_array(np.arange(1.0, n * k + 1)[None])
        value = float((A @ s)[0])
        kept = Constraints(linear=LinearRows(A, value, value), **ANY)
        assert verify(labels, k, kept) == []
        (broken,) = verify(labels, k, Constraints(linear=LinearRows(A, upper=value - 1), **ANY))
        assert broken.amount == 1.0


def test_an_empty_row_is_zero():
    assert told([0, 1], Constraints(linear=LinearRows(np.zeros((1, 4)), 0, 0), **ANY), 2) == []
    assert told([0, 1], Constraints(linear=LinearRows(np.zeros((1, 4)), 1), **ANY), 2) == [
        ("row[0] is 0, below 1.", 1.0)
    ]


def test_decimal_rows_are_not_called_broken():
    rows = LinearRows(np.full((1, 3), 0.1), lower=0.3, upper=0.3)
    assert verify([0, 0, 0], 1, Constraints(linear=rows, **ANY)) == []


# -- together ---------------------------------------------------------------------------------


def test_violations_come_in_the_order_of_the_rules():
    asked = Constraints(
        [(0, 1)],
        [(1, 2)],
        size_max=2,
        capacities={"kg": Capacity([1, 1, 1, 1], max=2)},
    )
    found = verify([0, 1, 1, 1], 3, asked)
    kinds = [MustLink, CannotLink, SizeMax, NonEmpty, CapacityBound]
    assert [type(v.rule) for v in found] == kinds
    assert all(isinstance(v, Violation) and str(v) == v.message for v in found)


# -- labels -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2], "sample 2 has label 2; labels must be 0 to 1"),
        ([0, -1, 1], "sample 1 has label -1; labels must be 0 to 1"),
        ([0.0, 1.0, 1.0], "integers; got dtype float64"),
        ([True, False, True], "integers; got dtype bool"),
        (["0", "1", "1"], "integers; got dtype"),
        ([0, None, 1], "integers; got dtype object"),
        ([[0, 1, 1]], r"one integer per sample; got shape \(1, 3\)"),
        (1, r"one integer per sample; got shape \(\)"),
        ([], r"one integer per sample; got shape \(0,\)"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        verify(labels, 2, Constraints())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Constraints([(0, 3)]), "must_link refers to samples 0 and 3.*0 to 2"),
        (Constraints(size_max=[1, 2, 3]), "size_max has 3 values"),
        (Constraints(capacities={"kg": Capacity([1, 2])}), "2 samples, but there are 3"),
        (Constraints(linear=LinearRows(np.ones((1, 5)))), "5 columns.*6"),
    ],
)
def test_rules_that_do_not_fit_the_labels(asked, message):
    with pytest.raises(ValueError, match=message):
        verify([0, 1, 1], 2, asked)


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 1],
        (0, 1, 1),
        np.array([0, 1, 1], np.int32),
        np.array([0, 1, 1], np.uint8),
        pd.Series([0, 1, 1], index=[7, 8, 9]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_of_any_integer_type(labels):
    assert [v.message for v in verify(labels, 2, Constraints([(0, 2)]))] == [
        "samples 0 and 2 are must-linked, but are in clusters 0 and 1."
    ]


@pytest.mark.parametrize("k", [0, -1, 2.0, "2", None])
def test_number_of_clusters_is_checked(k):
    with pytest.raises((TypeError, ValueError), match="n_clusters"):
        verify([0, 0, 0], k, Constraints())


@pytest.mark.parametrize("part", [1, 4, 1000])
def test_many_links_are_checked_like_each_alone(monkeypatch, part):
    monkeypatch.setattr(verification, "_PART", part)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n, k = 12, 3
        labels = rng.integers(0, k, n)
        sets = [
            rng.choice(n, int(rng.integers(2, 5 if seed % 2 else 3)), replace=False).tolist()
            for _ in range(12)
        ]
        links = {"must_link": sets[:6], "cannot_link": sets[6:]}
        alone = [
            str(found)
            for kind, those in links.items()
            for link in those
            for found in verify(labels, k, Constraints(**{kind: [link]}, size_min=0))
        ]
        assert list(map(str, verify(labels, k, Constraints(**links, size_min=0)))) == alone
        pairs = [
            str(found)
            for kind, those in links.items()
            for link in those
            for pair in combinations(link, 2)
            for found in verify(labels, k, Constraints(**{kind: [pair]}, size_min=0))
        ]
        wishes = Constraints(**links).soft(price=1.0)
        assert list(map(str, verify(labels, k, wishes, soft=True))) == pairs
