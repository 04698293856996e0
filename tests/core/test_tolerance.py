"""When a bound counts as kept: one answer, by exact sums of what a cluster holds."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import bckm
from bckm import Capacity, Constraints, LinearRows, Quota
from bckm._core.tolerance import allowed, exact_parts, group_sums, joined, part_sums
from bckm.problem.structure import Structure, contract
from bckm.study import views
from tests.support.exact_sums import draw
from tests.support.statements import stated
from tests.support.studies import study_of

LINE = np.array([[0.0], [1.0], [2.0], [3.0]])


def test_what_lies_in_other_clusters_widens_no_bound():
    rules = Constraints(capacities={"kg": Capacity([1e16, 1, 1, 1], min=[0, 10])}, fixed={0: 0})
    (broken,) = bckm.verify([0, 1, 1, 0], 2, rules)
    assert broken.amount == 8
    assert bckm.check(4, 2, rules).verdict == "infeasible"
    with pytest.raises(bckm.InfeasibleError):
        bckm.kmeans(LINE, 2, rules)
    three = Constraints(capacities={"kg": Capacity([1e16, 1, 1, 1], min=[0, 3])}, fixed={0: 0})
    assert bckm.kmeans(LINE, 2, three).labels.tolist() == [0, 1, 1, 1]


def test_what_cancels_in_a_cluster_is_not_lost():
    rules = Constraints(capacities={"kg": Capacity([1e16, 1, -1e16, 0], max=[0.5, 2])})
    assert not bckm.verify([1, 1, 1, 0], 2, rules)
    # two samples of 1e16 may have been rounded by so much when they were written down
    assert not bckm.verify([0, 0, 0, 1], 2, rules)
    ten = Constraints(capacities={"kg": Capacity([1e16, 100, -1e16, 0], max=[0.5, 200])})
    assert [one.amount for one in bckm.verify([0, 0, 0, 1], 2, ten)] == [99.5]


@pytest.mark.parametrize(
    ("kept", "rows"),
    [
        (True, Capacity([0.1, 0.2, 0, 1], max=[0.3, 9])),
        (True, Capacity([0.1, 0.2, -0.3, 1], max=[0.0, 9])),
        (True, Capacity([1 + 0.9e-9, 0, 0, 1], max=[1, 9])),
        (False, Capacity([1 + 1.1e-9, 0, 0, 1], max=[1, 9])),
        (False, Capacity([1 + 1.1e-9, 0, 0, 1e18], max=[1, 1e19])),
        (True, LinearRows([[0.1, 0, 0.2, 0, -0.3, 0, 0, 0]], lower=0, upper=0)),
        (False, LinearRows([[0.1, 0, 0.2, 0, -0.3, 1e15, 0, 0]], lower=1e-3)),
        (True, Quota(["a", "b", "b", "b"], share_max={"a": 1 / 3 - 1e-12})),
        (False, Quota(["a", "b", "b", "b"], share_max={"a": 1 / 3 - 1e-6})),
    ],
)
def test_how_far_beyond_its_bound_a_sum_may_be(kept, rows):
    labels = [0, 0, 0, 1]
    rules = Constraints(**stated([rows]))
    assert (not bckm.verify(labels, 2, rules)) == kept
    listed = rules.rules(4, 2)
    structure = Structure.compile(listed, contract(listed, 4), 2)
    if structure.feasible(np.array(labels)):
        assert kept


def test_engines_accept_what_is_exactly_kept_and_nothing_that_is_not():
    for seed in range(12):
        drawn = draw(seed)
        listed = drawn.constraints.rules(len(drawn.X), drawn.k)
        item = contract(listed, len(drawn.X))
        structure = Structure.compile(listed, item, drawn.k)
        for labels in drawn.all_labels():
            of_items = np.zeros(structure.n_items, int)
            of_items[item] = labels
            if tuple(of_items[item]) != labels:
                continue
            good = structure.feasible(of_items)
            assert good or not drawn.kept(labels, 0), (seed, labels)
            assert drawn.kept(labels) or not good, (seed, labels)


def test_sums_are_the_nearest_numbers():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = 10 ** rng.uniform(-300, 200, 30) * rng.choice([-1, 1], 30)
        group = rng.integers(3, size=30)
        found = group_sums(values, group, 3)
        parts = exact_parts(values)
        assert sum(map(Fraction, np.sum(parts, axis=0))) == sum(map(Fraction, values))
        left = joined([*part_sums(parts, group, 3), -found])
        for i in range(3):
            mine = values[group == i]
            assert found[i] == math.fsum(mine)
            assert left[i] == float(sum(map(Fraction, mine)) - Fraction(found[i]))
    assert group_sums(np.array([5e-324, 1.0]), np.array([0, 1]), 2).tolist() == [5e-324, 1.0]
    assert group_sums(np.zeros(2), np.array([0, 1]), 2).tolist() == [0, 0]
    assert allowed(-2.0, 1.0, 0.0) == 2e-9


@pytest.mark.parametrize("solver", ["exact", "auto"])
def test_a_large_amount_does_not_hide_small_ones(solver):
    """Cluster 1 must hold five small ones or the large one: HiGHS took 1e-10 for nothing."""
    X = np.concatenate([[[-100.0]], np.linspace(0.1, 0.5, 30)[:, None], [[10.0]]])
    amount = np.concatenate([[1.0], np.full(30, 1e-10), [0.0]])
    rules = Constraints(capacities={"kg": Capacity(amount, min=[0, 5e-10])})
    found = bckm.assign_to(X, [[0.0], [10.0]], rules, solver=solver)
    assert found.status is bckm.Status.OPTIMAL
    assert found.labels.tolist() == [0, *[0] * 25, *[1] * 5, 1]


def test_the_report_marks_what_verify_finds():
    rows = Capacity([1e9, 0.5, 0.25, 0], min=[0, 0.6])
    rules = Constraints(capacities={"kg": rows})
    amount = views.amounts(study_of(LINE, [0, 1, 0, 0], rules))[1]
    assert amount.broken.tolist() == [False, True]
    assert amount.values.tolist() == [1e9 + 0.25, 0.5]


def test_marks_are_the_violations_of_verify():
    for seed in range(12):
        drawn = draw(seed)
        rules = Constraints(**stated(drawn.constraints.capacities))
        for labels in drawn.all_labels()[::7]:
            shown = views.amounts(study_of(drawn.X, labels, rules, k=drawn.k))[1:]
            marks = {(a.name, int(i)) for a in shown for i in np.flatnonzero(a.broken)}
            broken = bckm.verify(labels, drawn.k, rules)
            assert marks == {(one.rule.source.name, one.cluster) for one in broken}


# ------------------------------------------------------------------ overflow


@pytest.mark.parametrize(
    "make",
    [
        lambda: Capacity([1e308] * 4, max=1.5e308),
        lambda: Capacity([1e308, -1e308, 1, 1], min=0),
        lambda: LinearRows(np.full((1, 8), 1e308), upper=1.0),
    ],
)
def test_sums_that_overflow_are_refused(make):
    with pytest.raises(ValueError, match=r"1e\+300, so sums overflow"):
        make()


def test_bounds_that_no_sum_reaches():
    far = Constraints(capacities={"kg": Capacity([1, 2, 3, 4], -1.7e308, [1.7e308, 5])})
    assert len(far.rules(4, 2)) == 2  # no empty cluster, and the 5
    with pytest.raises(ValueError, match=r"which no sum can reach"):
        Capacity([1, 2], min=1e305)
    with pytest.raises(ValueError, match=r"which no sum can reach"):
        LinearRows(np.ones((1, 4)), upper=-1e305)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e280])
def test_sums_of_any_unit(scale):
    rows = Capacity(np.array([5.0, 1, 1, 5]) * scale, max=6.5 * scale)
    labels = bckm.kmeans(LINE, 2, Constraints(capacities={"kg": rows}), random_state=0).labels
    assert labels[0] != labels[3]


# ------------------------------------------------------------------ prices


@pytest.mark.parametrize("how", ["price", "confidence"])
@pytest.mark.parametrize(
    "asked",
    [
        Constraints(must_link=[(0, 3)]),
        Constraints(cannot_link=[(0, 1), (0, 3)]),
        Constraints(fixed={0: 0, 3: 0}),
        Constraints(forbidden=[(0, 0)]),
        Constraints(size_max=1),
        Constraints(capacities={"kg": Capacity([1, 2, 3, 4], max=2)}),
        Constraints(quotas=Quota(["a", "a", "b", "b"], "10%")),
    ],
)
def test_huge_prices_are_refused_and_large_ones_are_paid_without_a_word(asked, how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="infinity to make the rule hard"):
            bckm.kmeans(LINE, 2, asked.soft(**{how: 1e308}), random_state=0)
        for price in (1e15, 1e240):
            rules = asked.soft(**{how: price})
            fit = bckm.kmeans(LINE, 2, rules, n_init=1, search="none", random_state=0)
            assert np.isfinite([fit.inertia, fit.penalty, fit.lower_bound]).all()


def test_huge_prices_of_moves():
    before = [0, 0, 0, 1]
    for price in (1e308, [1.0, 1e308, 1.0, 1.0]):
        with pytest.raises(ValueError, match="infinity to make the rule hard"):
            bckm.kmeans(LINE, 2, Constraints(stay=bckm.Stay(before, price=price)))
    hard = Constraints(stay=bckm.Stay(before, price=np.inf))
    assert bckm.kmeans(LINE, 2, hard, random_state=0).labels.tolist() == before
