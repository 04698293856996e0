"""Rules about samples at the doors of `ConstrainedKMeans`: ids, amounts, groups, labels."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import bckm
from bckm import Capacity, ConstrainedKMeans, Constraints, DroppedRulesWarning

N, K = 24, 3
RNG = np.random.default_rng(0)
X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 8, axis=0) + RNG.normal(size=(N, 2))
NAMES = [f"s{p}" for p in RNG.permutation(N)]  # in no order
SHUFFLED = RNG.permutation(N)  # numbers that are ids, and might be taken for positions
QUICK = {"n_init": 1, "search": "none"}
MODEL = ConstrainedKMeans(K, random_state=0, **QUICK)


def together(model: ConstrainedKMeans, *rows: int) -> bool:
    return len(set(model.labels_[list(rows)])) == 1


# which sample is meant ------------------------------------------------------------------------


def frame(index) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["east", "north"], index=index)


@pytest.mark.parametrize("ids", [NAMES, SHUFFLED], ids=["names", "numbers"])
@pytest.mark.parametrize("data", [X, frame(None), frame(SHUFFLED[::-1]), pl.DataFrame(X)])
def test_pairs_name_the_given_ids(data, ids):
    pairs = {"must_link": [(ids[0], ids[23])], "cannot_link": [{ids[1], ids[2]}]}
    model = clone(MODEL).fit(data, **pairs, sample_id=ids)
    assert together(model, 0, 23)
    assert not together(model, 1, 2)
    at = clone(MODEL).fit(X, must_link=[(0, 23)], cannot_link=[(1, 2)])
    assert model.labels_.tolist() == at.labels_.tolist()
    assert model.n_dropped_ == 0


@pytest.mark.parametrize(
    "index",
    [NAMES, pd.date_range("2026-01-01", periods=N)[::-1], [("a", p) for p in range(N)]],
    ids=["names", "dates", "levels"],
)
def test_pairs_name_the_labels_of_an_index_without_numbers(index):
    if isinstance(index, list) and isinstance(index[0], tuple):
        index = pd.MultiIndex.from_tuples(index)
    data = frame(index)
    label = data.index.tolist()
    model = clone(MODEL).fit(data, must_link=[(label[0], label[23])])
    assert together(model, 0, 23)
    with pytest.raises(ValueError, match="none of the 2 samples in the rules is in X"):
        clone(MODEL).fit(data, must_link=[(0, 23)])


@pytest.mark.parametrize("index", [SHUFFLED, range(5, 5 + N), np.arange(N) + 0.5, [*NAMES[:-1], 0]])
@pytest.mark.parametrize(
    "rules",
    [
        {"must_link": [(5, 6)]},
        {"cannot_link": [(5, 6)]},
        {"constraints": Constraints(must_link=[(5, 6)])},
        {"constraints": Constraints(fixed={5: 0})},
        {"constraints": Constraints(forbidden=[(5, 0)])},
        {"constraints": Constraints(cannot_link=[(5, 6)]).soft(price=1)},
    ],
)
def test_what_could_mean_labels_or_rows_is_refused(index, rules):
    with pytest.raises(ValueError, match=r"the index of X is not 0, 1, 2, .*reset_index"):
        clone(MODEL).fit(frame(index), **rules)
    model = clone(MODEL).fit(frame(None))
    with pytest.raises(ValueError, match=r"the index of X is not 0, 1, 2, .*reset_index"):
        model.assign(frame(index), **rules)


def test_the_remedies_of_that_refusal():
    data = frame(SHUFFLED)
    assert together(clone(MODEL).fit(data.reset_index(drop=True), must_link=[(0, 23)]), 0, 23)
    pair = [(SHUFFLED[0], SHUFFLED[23])]
    assert together(clone(MODEL).fit(data, must_link=pair, sample_id=data.index), 0, 23)
    by_id = Constraints(must_link=pair, by="sample_id")
    assert together(clone(MODEL).fit(data, constraints=by_id), 0, 23)
    located = by_id.locate(data.index).constraints  # positions, but found for these rows
    assert together(clone(MODEL).fit(data, constraints=located), 0, 23)


def test_rules_that_name_no_single_row_do_not_look_at_the_index():
    data = frame(range(100, 100 + N))
    weight = Capacity(np.ones(N), max=9)
    model = clone(MODEL).fit(data, constraints=Constraints(size_max=8, capacities={"kg": weight}))
    assert model.cluster_sizes_.tolist() == [8, 8, 8]
    twice = frame(["x"] * N)  # no ids, and none are needed
    model = clone(MODEL).fit(twice, groups=["a"] * 3 + [None] * (N - 3))
    assert together(model, 0, 1, 2)


def test_pairs_by_id_join_constraints_by_position():
    rules = Constraints(cannot_link=[(1, 2)])
    model = clone(MODEL).fit(
        X, must_link=[(NAMES[0], NAMES[23])], constraints=rules, sample_id=NAMES
    )
    assert together(model, 0, 23)
    assert not together(model, 1, 2)


def test_constraints_by_id_need_ids():
    rules = Constraints(must_link=[("a", "b")], by="sample_id")
    with pytest.raises(ValueError, match="pass sample_id"):
        MODEL.fit(X, constraints=rules)
    with pytest.raises(ValueError, match="polars frame has no index"):
        MODEL.fit(pl.DataFrame(X), constraints=rules)
    with pytest.raises(ValueError, match=r"integers.*'a'.*sample_id"):
        MODEL.fit(X, must_link=[("a", "b")])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (NAMES[1:], "23 ids"),
        ([*NAMES[1:], NAMES[1]], "more than once"),
        ([*NAMES[1:], None], "no id for row 23"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform", "assign"])
def test_wrong_ids(method, wrong, words):
    with pytest.raises(ValueError, match=words):
        getattr(clone(MODEL).fit(X), method)(X, sample_id=wrong)


@pytest.mark.parametrize("data", [X, frame(NAMES)], ids=["given", "index"])
def test_conflicts_name_ids(data):
    ids = {"sample_id": NAMES} if data is X else {}
    with pytest.raises(bckm.InfeasibleError) as caught:
        MODEL.fit(
            data,
            must_link=[(NAMES[0], NAMES[1])],
            groups=[None, "g", "g"] + [None] * (N - 3),
            partial_labels=["x"] + [-1] * (N - 2) + ["y"],
            constraints=Constraints(must_link=[(NAMES[2], NAMES[23])], by="sample_id"),
            **ids,
        )
    lines = sorted(map(str, caught.value.conflict))
    assert lines == sorted(
        [
            f"must-link: samples {NAMES[0]!r} and {NAMES[1]!r} together",
            f"group 'g': samples {NAMES[1]!r} and {NAMES[2]!r} together",
            f"must-link: samples {NAMES[2]!r} and {NAMES[23]!r} together",
            f"labels: samples {NAMES[0]!r} and {NAMES[23]!r} apart",
        ]
    )
    chain = " - ".join(repr(NAMES[p]) for p in (0, 1, 2, 23))
    assert f"({chain})" in str(caught.value)


# samples that are not there -------------------------------------------------------------------


def test_rules_about_absent_samples_are_left_out_and_said():
    rules = Constraints(
        must_link=[(NAMES[0], NAMES[23]), (NAMES[3], "zoe"), (NAMES[4], NAMES[20], "zoe")],
        fixed={"eve": 0},
        by="sample_id",
    )
    wish = Constraints(cannot_link=[("eve", "zoe")], by="sample_id").soft(price=1)
    model = clone(MODEL)
    with pytest.warns(DroppedRulesWarning) as caught:
        model.fit(X, constraints=rules & wish, cannot_link=[(NAMES[1], "joe")], sample_id=NAMES)
    assert together(model, 0, 23)
    assert together(model, 4, 20)  # what is left of a set
    assert model.n_dropped_ == len(model.dropped_rules_) == 5
    assert sorted(model.dropped_rules_) == sorted(
        [
            f"cannot-link of samples {NAMES[1]!r} and 'joe'",
            f"must-link of samples {NAMES[3]!r} and 'zoe'",
            f"must-link of samples {NAMES[4]!r}, {NAMES[20]!r} and 'zoe'",
            "fixed cluster of sample 'eve'",
            "cannot-link of samples 'eve' and 'zoe'",
        ]
    )
    assert len(caught) == 1
    assert str(caught[0].message).startswith("5 rules with samples that are not in X")
    assert model.dropped_rules_[0] in str(caught[0].message)
    assert caught[0].filename == __file__  # where fit was called
    assert clone(model).fit(X).n_dropped_ == 0


def test_a_dropped_rule_can_be_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", DroppedRulesWarning)
        with pytest.raises(DroppedRulesWarning, match="1 rule with samples that are not in X"):
            clone(MODEL).fit(X, must_link=[(NAMES[0], "zoe")], sample_id=NAMES)


@pytest.mark.parametrize(
    "rules",
    [
        {"must_link": [(0, 1)]},  # numbers are not names
        {"constraints": Constraints(fixed={"zoe": 1}, by="sample_id")},
        {"constraints": Constraints(must_link=[("y", "z")], by="sample_id").soft(price=1)},
    ],
)
def test_no_sample_that_is_there_is_an_error(rules):
    with pytest.raises(ValueError, match=r"none of the \d samples in the rules is in X"):
        clone(MODEL).fit(X, **rules, sample_id=NAMES)


# amounts, groups, labels ----------------------------------------------------------------------

KG = np.where(np.arange(N) < 6, 10.0, 1.0)  # 78 in all, 62 in the first group


@pytest.mark.parametrize(
    "amounts",
    [KG, KG.tolist(), pd.Series(KG), pd.Series(KG, NAMES), pl.Series(KG), KG[:, None]],
    ids=["array", "list", "pandas", "index", "polars", "column"],
)
def test_amounts_are_what_capacities_bound(amounts):
    model = ConstrainedKMeans(K, capacity_max=26.5, capacity_min=25, random_state=0, **QUICK)
    model.fit(X, amounts=amounts)
    sums = np.bincount(model.labels_, KG)
    assert sums.min() >= 25
    assert sums.max() <= 26.5
    free = clone(MODEL).fit(X)  # the first group alone holds 62
    assert np.bincount(free.labels_, KG).max() > 60


@pytest.mark.parametrize(
    ("amounts", "capacity_max"),
    [
        (np.c_[KG, KG[::-1]], [27, 40]),
        (np.c_[KG, KG[::-1]], [[27, 40]] * K),
        (pd.DataFrame({"kg": KG, "m3": KG[::-1]}), {"kg": 27, "m3": 40}),
        (pl.DataFrame({"kg": KG, "m3": KG[::-1]}), [27, 40]),
        ({"kg": KG, "m3": KG[::-1]}, {"kg": 27, "m3": 40}),
    ],
)
def test_several_resources(amounts, capacity_max):
    model = ConstrainedKMeans(K, capacity_max=capacity_max, random_state=0, **QUICK)
    model.fit(X, amounts=amounts)
    assert np.bincount(model.labels_, KG).max() <= 27
    assert np.bincount(model.labels_, KG[::-1]).max() <= 40
    assert clone(model).capacity_max is not None


def test_amounts_of_one_are_the_number_of_samples():
    pull = X + np.array([9.0, 0.0]) * (np.arange(N) < 4)[:, None]
    counted = ConstrainedKMeans(K, size_min=7, size_max=9, random_state=0, **QUICK).fit(pull)
    summed = ConstrainedKMeans(
        K, size_min=0, capacity_min=7, capacity_max=9, random_state=0, **QUICK
    ).fit(pull, amounts=np.ones(N))
    assert counted.inertia_ == pytest.approx(summed.inertia_)
    assert sorted(counted.cluster_sizes_) == sorted(summed.cluster_sizes_)
    for n in (5, 10, 17, 40):
        new = np.random.default_rng(n).normal(size=(n, 2)) * 9
        sizes = np.bincount(summed.assign(new, amounts=np.ones(n)), minlength=K)
        assert sizes.min() >= 7 * n // N
        assert sizes.max() <= -(-9 * n // N)


def test_sizes_and_capacities_hold_together():
    model = ConstrainedKMeans(K, size_max=0.35, capacity_max=30, random_state=0, **QUICK)
    model.fit(X, amounts=KG, constraints=Constraints(size_max=12))
    assert model.cluster_sizes_.max() <= 8
    assert np.bincount(model.labels_, KG).max() <= 30


@pytest.mark.parametrize(
    ("params", "asked", "words"),
    [
        ({}, {"amounts": KG}, "amounts are given without bounds"),
        ({"capacity_max": 30}, {}, "capacity_max bounds the sum of amounts.*pass amounts"),
        ({"size_max": 26.5}, {}, "a number of samples .int. or a share"),
        ({"size_max": 1.0}, {}, "a number of samples .int. or a share"),
        ({"capacity_max": 30}, {"amounts": KG[1:]}, "'load' cover 23 samples, but there are 24"),
        ({"capacity_max": 30}, {"amounts": dict(zip(NAMES, KG, strict=True))}, "by='sample_id'"),
        ({"capacity_max": {"kg": 3}}, {"amounts": KG}, "has 'kg', but amounts do not"),
        ({}, {"groups": ["a"] * 23}, "groups has 23 values, but X has 24 rows"),
        ({}, {"groups": np.zeros((N, 1))}, r"groups must be one value per row.*shape \(24, 1\)"),
        ({}, {"groups": dict.fromkeys(NAMES, 1)}, "groups must be one value per row"),
        ({}, {"groups": "region"}, "groups must be one value per row"),
        ({}, {"partial_labels": [-1] * 25}, "partial_labels has 25 values, but X has 24 rows"),
    ],
)
def test_what_does_not_fit_the_rows(params, asked, words):
    with pytest.raises(ValueError, match=words):
        ConstrainedKMeans(K, random_state=0, **params).fit(X, **asked)


GROUPS = ["a", "b", None, np.nan] * 2 + [None] * 15 + ["a"]
LABELS = [0, 0, 1, -1] + [-1] * 19 + [0]


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
@pytest.mark.parametrize(
    "kind", [list, lambda v: np.array(v, object), lambda v: pd.Series(v, dtype=object)]
)
def test_groups_and_partial_labels(method, kind):
    model = clone(MODEL)
    getattr(model, method)(X, groups=kind(GROUPS))
    assert together(model, 0, 4, 23)
    assert together(model, 1, 5)
    model = clone(MODEL)
    getattr(model, method)(X, partial_labels=kind(LABELS))
    assert together(model, 0, 1, 23)
    assert not together(model, 0, 2)


def test_y_is_ignored():
    free = clone(MODEL).fit(X)
    assert clone(MODEL).fit(X, LABELS).labels_.tolist() == free.labels_.tolist()
    labeled = clone(MODEL).fit(X, partial_labels=LABELS)
    assert labeled.labels_.tolist() != free.labels_.tolist()


@pytest.mark.parametrize("what", ["amounts", "groups", "partial_labels"])
def test_values_in_another_order_than_the_rows_are_refused(what):
    bounds = {"capacity_max" if what == "amounts" else "size_max": 20}
    model = ConstrainedKMeans(K, **bounds, random_state=0, **QUICK)
    values = pd.Series(np.arange(N) % 3, NAMES)
    assert clone(model).fit(frame(NAMES), **{what: values})
    assert clone(model).fit(frame(None), **{what: values})  # of another frame: row by row
    with pytest.raises(ValueError, match=rf"{what}\.loc\[X\.index\]"):
        clone(model).fit(frame(NAMES), **{what: values.sort_index()})


# assign ---------------------------------------------------------------------------------------


def test_assign_takes_what_fit_takes():
    model = clone(MODEL).fit(X)
    assert model.assign(X).tolist() == model.labels_.tolist()
    labels = model.assign(X, groups=GROUPS)
    assert len(set(labels[[0, 4, 23]])) == 1
    labels = model.assign(X, partial_labels=LABELS)
    assert labels[0] == labels[23] != labels[2]
    labels = model.assign(X, must_link=[(NAMES[0], NAMES[23])], sample_id=NAMES)
    assert labels[0] == labels[23]
    labels = model.assign(frame(NAMES).to_numpy(), amounts=KG, capacity_max=27)
    assert np.bincount(labels, KG).max() <= 27
    with pytest.warns(DroppedRulesWarning):
        model.assign(X, must_link=[(NAMES[0], "zoe")], sample_id=NAMES)


def test_capacities_scale_with_the_amounts():
    model = ConstrainedKMeans(K, capacity_min=20, capacity_max=30, random_state=0, **QUICK)
    model.fit(X, amounts=KG)
    more = np.repeat(X, 3, axis=0)
    whole = np.repeat(KG, 3)[:50]  # total 221 of 78: bounds 56.7 and 85
    labels = model.assign(more[:50], amounts=whole)
    sums = np.bincount(labels, whole, minlength=K)
    share = whole.sum() / 78
    assert sums.min() >= np.floor(20 * share)
    assert sums.max() <= np.ceil(30 * share)
    # the same batch has the same bounds, not rounded ones
    near = model.assign(X, amounts=KG)
    assert 20 <= np.bincount(near, KG).min() <= np.bincount(near, KG).max() <= 30


def test_scaled_bounds_bind():
    model = ConstrainedKMeans(2, size_min=0, capacity_max=6, random_state=0, **QUICK)
    model.fit([[0.0], [9.0]] * 6, amounts=[1] * 12)
    batch = np.zeros((8, 1))  # all at one center: 16 units, at most 8 each
    assert np.bincount(model.assign(batch, amounts=[2.0] * 8)).tolist() == [4, 4]
    half = model.assign(batch, amounts=[0.5] * 8)  # 4 units, 2 each
    assert np.bincount(half).tolist() == [4, 4]
    loose = model.assign(batch, amounts=[2] * 8, capacity_max=99)
    assert len(set(loose)) == 1


def test_fit_bounds_below_a_whole_number_stay_below_it():
    model = ConstrainedKMeans(2, capacity_max=6.9, random_state=0, **QUICK)
    model.fit([[0.0], [9.0]] * 6, amounts=[1] * 12)
    batch = np.array([[0.0]] * 10 + [[9.0]] * 2)
    assert np.bincount(model.assign(batch, amounts=[1] * 12)).max() == 6


def test_assign_without_the_amounts_of_fit():
    model = ConstrainedKMeans(K, capacity_max=30, random_state=0, **QUICK).fit(X, amounts=KG)
    with pytest.raises(ValueError, match=r"fit bounds the sum of amounts .*: pass amounts"):
        model.assign(X)
    with pytest.raises(
        ValueError, match="fit bounds the sums of 'load', but these amounts are of 'kg'"
    ):
        model.assign(X, amounts=pd.DataFrame({"kg": KG}))


def test_assign_with_amounts_that_fit_did_not_have():
    model = ConstrainedKMeans(K, size_min=6, size_max=9, random_state=0, **QUICK).fit(X)
    labels = model.assign(X, amounts=KG, capacity_max=40)
    assert np.bincount(labels, KG).max() <= 40
    assert np.bincount(labels).min() >= 6  # as in fit
    with pytest.raises(ValueError, match="amounts are given without bounds"):
        model.assign(X, amounts=KG)


def test_shares_are_of_the_samples_at_hand():
    model = ConstrainedKMeans(K, size_min=0.3, size_max=0.4, random_state=0, **QUICK).fit(X)
    assert model.cluster_sizes_.min() >= 8  # 7.2 samples
    assert model.cluster_sizes_.max() <= 9  # 9.6
    sizes = np.bincount(model.assign(np.zeros((10, 2))))
    assert sizes.min() >= 8 * 10 // N
    assert sizes.max() <= -(-9 * 10 // N)
    assert np.bincount(model.assign(np.zeros((10, 2)), size_max=0.5, size_min=0)).max() == 5


# soft rules -----------------------------------------------------------------------------------


def test_penalty_and_violated():
    wish = Constraints(must_link=[(0, 23)], cannot_link=[(8, 16)]).soft(price=2.5)
    model = clone(MODEL).fit(X, constraints=wish)
    assert model.penalty_ == 2.5
    (violated,) = model.violated_
    assert str(violated).startswith("samples 0 and 23 are must-linked, but are in clusters")
    assert model.inertia_ == pytest.approx(clone(MODEL).fit(X).inertia_)
    assert model.lower_bound_ <= model.inertia_ + model.penalty_
    assert model.lower_bound_ == model.result_.lower_bound > model.inertia_
