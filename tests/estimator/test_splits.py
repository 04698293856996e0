"""Rules in scikit-learn's splits, searches and pipelines: kept, left out and said, or refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import bckm
from bckm import Capacity, ConstrainedKMeans, Constraints, DroppedRulesWarning, Quota, Stay

N, K = 30, 3
RNG = np.random.default_rng(0)
GROUP = RNG.permutation(np.repeat([0, 1, 2], 10))
X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[GROUP] + RNG.normal(size=(N, 2))
IDS = np.array([f"s{p}" for p in RNG.permutation(N)])
QUICK = {"n_init": 1, "search": "none"}
MODEL = ConstrainedKMeans(K, random_state=0, **QUICK)
CV = KFold(3)
FOLDS = list(CV.split(X))

# four pairs of samples of different groups, so that must-links matter; each is cut by some fold
PAIRS = [(a, b) for a, b in [(0, 29), (1, 15), (2, 3), (10, 28), (4, 25)] if GROUP[a] != GROUP[b]]
NAMED = [(IDS[a], IDS[b]) for a, b in PAIRS]
BY_ID = Constraints(must_link=NAMED, by="sample_id")

dropping = pytest.mark.filterwarnings("ignore::bckm.DroppedRulesWarning")


def check_folds(models: list[ConstrainedKMeans]) -> None:
    """Every pair within a fold holds, every other one is counted."""
    assert len(models) == len(FOLDS)
    for model, (train, _) in zip(models, FOLDS, strict=True):
        row = {int(p): at for at, p in enumerate(train)}
        inside = [(row[a], row[b]) for a, b in PAIRS if a in row and b in row]
        assert 0 < len(inside) < len(PAIRS)
        assert bckm.verify(model.labels_, K, Constraints(inside)) == []
        assert model.n_dropped_ == len(model.dropped_rules_) == len(PAIRS) - len(inside)
        free = clone(MODEL).fit(X[train]).labels_
        assert bckm.verify(free, K, Constraints(inside))  # the rules do matter


def frame(index) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["east", "north"], index=index)


# rules that name ids --------------------------------------------------------------------------


@dropping
# an index of texts in Arrow (pandas 3 with pyarrow) cannot be split by scikit-learn 1.9 itself
@pytest.mark.parametrize(
    "ids", [IDS, IDS.tolist(), pd.Series(IDS), pd.Index(IDS, dtype=object), pl.Series(IDS)]
)
@pytest.mark.parametrize("rules", [{"must_link": NAMED}, {"constraints": BY_ID}])
def test_ids_survive_cross_validation(rules, ids):
    asked = {**rules, "sample_id": ids}
    found = cross_validate(MODEL, X, cv=CV, params=asked, return_estimator=True)
    check_folds(found["estimator"])


@dropping
@pytest.mark.parametrize("rules", [{"must_link": NAMED}, {"constraints": BY_ID}])
def test_the_index_of_a_frame_survives_cross_validation(rules):
    found = cross_validate(MODEL, frame(IDS), cv=CV, params=rules, return_estimator=True)
    check_folds(found["estimator"])


@dropping
def test_numbers_as_ids():
    asked = {"must_link": PAIRS, "sample_id": np.arange(N)}
    found = cross_validate(MODEL, X, cv=CV, params=asked, return_estimator=True)
    check_folds(found["estimator"])
    by_id = Constraints(must_link=PAIRS, by="sample_id")
    found = cross_validate(
        MODEL, frame(None), cv=CV, params={"constraints": by_id}, return_estimator=True
    )
    check_folds(found["estimator"])


def test_what_is_left_out_is_said():
    with pytest.warns(DroppedRulesWarning) as caught:
        cross_validate(MODEL, X, cv=CV, params={"constraints": BY_ID, "sample_id": IDS})
    assert len(caught) == len(FOLDS)
    train = FOLDS[0][0]
    cut = [(a, b) for a, b in PAIRS if not {a, b} <= set(train)]
    words = "rule" if len(cut) == 1 else "rules"
    assert f"{len(cut)} {words} with samples that are not in X" in str(caught[0].message)
    assert f"{IDS[cut[0][0]]!s}" in str(caught[0].message)


@dropping
def test_grid_search():
    search = GridSearchCV(MODEL, {"n_clusters": [2, 3]}, cv=CV, error_score="raise")
    search.fit(X, constraints=BY_ID, sample_id=IDS)
    best = search.best_estimator_
    assert best.n_dropped_ == 0  # of all data nothing is left out
    assert bckm.verify(best.labels_, best.n_clusters, BY_ID, sample_id=IDS) == []


def test_ids_none_of_which_is_there_are_an_error():
    train = FOLDS[0][0]
    absent = [p for p in range(N) if p not in train]
    rules = Constraints(must_link=[(IDS[absent[0]], IDS[absent[1]])], by="sample_id")
    with pytest.raises(ValueError, match="none of the 2 samples in the rules is in X"):
        cross_val_score(
            MODEL, X, cv=CV, params={"constraints": rules, "sample_id": IDS}, error_score="raise"
        )


@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_values_by_id_survive(kind):
    heavy = kind(dict(zip(IDS, np.where(GROUP == 0, 3.0, 1.0), strict=True)))
    rules = Constraints(
        capacities={"kg": Capacity(heavy, max=16)},
        quotas=Quota(kind(dict(zip(IDS, GROUP % 2, strict=True))), share_max={1: 0.7}),
        stay=Stay(kind(dict(zip(IDS, GROUP, strict=True))), price=0.1),
        by="sample_id",
    )
    found = cross_validate(
        MODEL,
        X,
        cv=CV,
        params={"constraints": rules, "sample_id": IDS},
        return_estimator=True,
        error_score="raise",
    )
    for model, (train, _) in zip(found["estimator"], FOLDS, strict=True):
        assert bckm.verify(model.labels_, K, rules, sample_id=IDS[train]) == []
        assert model.n_dropped_ == 0
        free = clone(MODEL).fit(X[train]).labels_
        assert bckm.verify(free, K, rules, sample_id=IDS[train])


def test_values_per_row_are_split_with_the_data():
    kg = np.where(GROUP == 0, 3.0, 1.0)
    links = np.where(np.arange(N) < 15, np.arange(N) % 5, np.nan)
    known = np.where(np.arange(N) % 4 == 0, GROUP, -1)
    model = ConstrainedKMeans(K, capacity_max=16, random_state=0, **QUICK)
    for what, values in {"amounts": kg, "groups": links, "partial_labels": known}.items():
        asked = {"amounts": kg, what: values}
        found = cross_validate(
            model, X, cv=CV, params=asked, return_estimator=True, error_score="raise"
        )
        for one, (train, _) in zip(found["estimator"], FOLDS, strict=True):
            assert np.bincount(one.labels_, kg[train]).max() <= 16
            if what == "groups":
                assert bckm.verify(one.labels_, K, Constraints(groups=links[train])) == []
            if what == "partial_labels":
                assert bckm.verify(one.labels_, K, Constraints.from_labels(known[train])) == []


# rules that count rows ------------------------------------------------------------------------

COUNTING = [
    {"must_link": PAIRS},
    {"cannot_link": np.array(PAIRS)},
    {"constraints": Constraints(must_link=PAIRS)},
    {"constraints": Constraints(fixed={0: 1})},
    {"constraints": Constraints(cannot_link=PAIRS).soft(price=1.0)},
    {"constraints": Constraints(capacities={"kg": Capacity(np.ones(N), max=12)})},
    {"constraints": Constraints(stay=Stay(GROUP, at_most=3))},
    # as many pairs as samples: scikit-learn takes these for values per sample and splits them
    {"must_link": np.c_[np.arange(N), np.arange(N)]},
    {"cannot_link": [(p, (p + 1) % N) for p in range(N)]},
]
REMEDY = r"refer to row positions .*by='sample_id'.*sample_id=np\.arange\(n\)"


@pytest.mark.parametrize("asked", COUNTING)
def test_rows_are_not_counted_in_a_split(asked):
    with pytest.raises(ValueError, match=REMEDY):
        cross_val_score(MODEL, X, cv=CV, params=asked, error_score="raise")
    with pytest.raises(ValueError, match=REMEDY):
        GridSearchCV(MODEL, {"n_clusters": [3]}, cv=CV, error_score="raise").fit(X, **asked)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "door",
    [
        lambda model, asked: cross_val_predict(model, X, cv=CV, params=asked),
        lambda model, asked: learning_curve(
            model, X, None, cv=CV, params=asked, error_score="raise"
        ),
        lambda model, asked: cross_validate(
            make_pipeline(StandardScaler(), model),
            X,
            cv=CV,
            params={f"constrainedkmeans__{name}": value for name, value in asked.items()},
            error_score="raise",
        ),
        lambda model, asked: cross_validate(
            model, X, cv=CV, n_jobs=2, params=asked, error_score="raise"
        ),
    ],
    ids=["predict", "curve", "pipeline", "jobs"],
)
def test_rows_are_not_counted_in_any_kind_of_split(door):
    with pytest.raises(ValueError, match=REMEDY):
        door(MODEL, {"must_link": PAIRS})


def test_rows_of_a_part_of_a_frame_are_not_counted():
    for train, _ in FOLDS[:2]:  # a loop of one's own; the last part begins with row 0
        with pytest.raises(ValueError, match="the index of X is not 0, 1, 2"):
            clone(MODEL).fit(frame(None).iloc[train], must_link=PAIRS)


def test_a_refit_with_all_data_is_no_split():
    def fit_again(model):
        return model.fit(X, must_link=PAIRS)

    assert bckm.verify(fit_again(clone(MODEL)).labels_, K, Constraints(PAIRS)) == []
    search = GridSearchCV(MODEL, {"n_clusters": [3]}, cv=CV, refit=False).fit(X)
    model = clone(MODEL).set_params(**search.best_params_)
    assert bckm.verify(fit_again(model).labels_, K, Constraints(PAIRS)) == []


def test_where_the_stack_cannot_be_read_nothing_is_refused(monkeypatch):
    monkeypatch.delattr("sys._getframe")
    from bckm.estimator._rows import inside_split

    assert inside_split() is False


@pytest.mark.parametrize("what", ["must_link", "cannot_link"])
def test_pairs_by_id_that_were_split_like_values_are_refused(what):
    ring = [(IDS[p], IDS[(p + 1) % N]) for p in range(N)]
    asked = {what: ring, "sample_id": IDS}
    words = rf"{what} has as many rows as X.*Constraints\({what}=\.\.\., by='sample_id'\)"
    with pytest.raises(ValueError, match=words):
        cross_val_score(MODEL, X, cv=CV, params=asked, error_score="raise")
    # outside of splits nothing was lost
    model = ConstrainedKMeans(N).fit(X, cannot_link=ring, sample_id=IDS)
    assert model.n_dropped_ == 0


def test_sizes_alone_are_free_to_go_anywhere():
    rules = Constraints(size_max=7)
    found = cross_validate(
        MODEL, X, cv=CV, params={"constraints": rules}, return_estimator=True, error_score="raise"
    )
    assert all(one.cluster_sizes_.max() <= 7 for one in found["estimator"])


# pipelines and routing ------------------------------------------------------------------------


def pipeline(model: ConstrainedKMeans = MODEL) -> Pipeline:
    return Pipeline([("scale", StandardScaler()), ("kmeans", clone(model))])


def test_a_pipeline_hands_everything_on():
    kg = np.where(GROUP == 0, 3.0, 1.0)
    model = pipeline(ConstrainedKMeans(K, capacity_max=18, random_state=0, **QUICK))
    known = np.where(np.arange(N) % 9 == 0, GROUP, -1)
    model.fit(
        X,
        kmeans__must_link=NAMED,
        kmeans__amounts=kg,
        kmeans__partial_labels=known,
        kmeans__sample_id=IDS,
    )
    labels = model["kmeans"].labels_
    assert bckm.verify(labels, K, BY_ID, sample_id=IDS) == []
    assert bckm.verify(labels, K, Constraints.from_labels(known)) == []
    assert np.bincount(labels, kg).max() <= 18


@dropping
def test_a_pipeline_of_frames_keeps_the_ids_of_the_index():
    model = pipeline().set_output(transform="pandas")
    model.fit(frame(IDS), kmeans__must_link=NAMED)
    assert bckm.verify(model["kmeans"].labels_, K, BY_ID, sample_id=IDS) == []
    found = cross_validate(
        model, frame(IDS), cv=CV, params={"kmeans__must_link": NAMED}, return_estimator=True
    )
    check_folds([one["kmeans"] for one in found["estimator"]])
    plain = pipeline()  # without, the index is gone, and names name nothing
    with pytest.raises(ValueError, match="sample_id"):
        plain.fit(frame(IDS), kmeans__must_link=NAMED)


ROUTED = {"constraints": True, "sample_id": True, "amounts": True, "groups": True}


@dropping
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("cv", [KFold(3), GroupKFold(3)], ids=["rows", "groups"])
def test_metadata_routing_through_a_search(piped, cv):
    from sklearn import config_context

    kg, groups = np.where(GROUP == 0, 3.0, 1.0), np.arange(N) // 2
    with config_context(enable_metadata_routing=True):
        model = ConstrainedKMeans(K, capacity_max=40, random_state=0, **QUICK)
        model.set_fit_request(**ROUTED, sample_weight=True)
        model.set_score_request(sample_weight=True)
        name = "n_clusters"
        if piped:
            scale = StandardScaler().set_fit_request(sample_weight=False)
            model, name = Pipeline([("scale", scale), ("kmeans", model)]), "kmeans__n_clusters"
        search = GridSearchCV(model, {name: [2, 3]}, cv=cv, error_score="raise")
        search.fit(
            X,
            constraints=BY_ID,
            sample_id=IDS,
            amounts=kg,
            groups=groups,
            sample_weight=np.ones(N),
        )
    best = search.best_estimator_["kmeans"] if piped else search.best_estimator_
    k = best.n_clusters
    assert bckm.verify(best.labels_, k, BY_ID, sample_id=IDS) == []
    assert bckm.verify(best.labels_, k, Constraints(groups=groups)) == []
    assert np.bincount(best.labels_, kg).max() <= 40


@dropping
def test_metadata_routing_splits_ids_and_not_constraints():
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        model = clone(MODEL).set_fit_request(constraints=True, sample_id=True)
        asked = {"constraints": BY_ID, "sample_id": IDS}
        found = cross_validate(model, X, cv=CV, params=asked, return_estimator=True)
    check_folds(found["estimator"])
