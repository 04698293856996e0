"""What `ConstrainedKMeans` adds to `kmeans`: scikit-learn's manners, and nothing else."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import bckm
from bckm import Capacity, ConstrainedKMeans, Constraints
from tests.support.waiting import SECONDS

N, K = 30, 3
SOLVERS = ["auto", "exact", "pump", "greedy"]


@pytest.fixture(name="X", scope="module")
def three_groups() -> np.ndarray:
    """Three groups of 3, 12 and 15 samples in the plane, far from each other."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [3, 12, 15])
    return np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 30.0]])[group] + rng.normal(size=(N, 2))


# each rule breaks what the data alone would give
HEAVY = np.isin(np.arange(N), range(15, 21)).astype(float)  # six samples of one group
ASKED = {
    "size_min": 9,
    "size_max": 11,
    "must_link": [(2, 22)],
    "cannot_link": [{6, 7, 8}],
    "constraints": Constraints(capacities={"heavy": Capacity(HEAVY, max=2)}),
}


def joined(asked: dict) -> Constraints:
    rest = {name: value for name, value in asked.items() if name != "constraints"}
    return Constraints(**rest) & asked.get("constraints", Constraints())


def fitted(X, asked: dict, **params) -> ConstrainedKMeans:
    sizes = {name: value for name, value in asked.items() if name.startswith("size_")}
    rules = {name: value for name, value in asked.items() if name not in sizes}
    model = ConstrainedKMeans(K, random_state=0, **sizes, **params)
    assert model.fit(X, **rules) is model
    assert bckm.verify(model.labels_, K, joined(asked)) == []
    return model


# rules ----------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("solver", SOLVERS)
def test_rules_from_all_sources_hold_together(X, solver):
    model = fitted(X, ASKED, solver=solver)
    assert model.cluster_sizes_.tolist() == np.bincount(model.labels_, minlength=K).tolist()


@pytest.mark.parametrize("left_out", ASKED)
def test_each_rule_matters_in_the_test_above(X, left_out):
    model = fitted(X, {name: value for name, value in ASKED.items() if name != left_out})
    assert bckm.verify(model.labels_, K, joined(ASKED))


@pytest.mark.parametrize(("own", "further"), [(10, 12), (12, 10)])
def test_the_tighter_of_two_bounds_holds(X, own, further):
    model = ConstrainedKMeans(K, size_max=own, random_state=0)
    model.fit(X, constraints=Constraints(size_max=further))
    assert model.cluster_sizes_.tolist() == [10, 10, 10]


def test_one_bound_per_cluster(X):
    sizes = [15, 3, 12]
    model = ConstrainedKMeans(K, size_min=sizes, size_max=sizes, random_state=0).fit(X)
    assert model.cluster_sizes_.tolist() == sizes
    # the groups have these sizes, so that the bounds cost nothing
    assert model.inertia_ == pytest.approx(ConstrainedKMeans(K, random_state=0).fit(X).inertia_)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("method", ["fit_predict", "fit_transform"])
@pytest.mark.parametrize(
    "rule",
    [
        {"must_link": [(0, 29), (0, 10)]},
        {"cannot_link": [(0, 1)]},
        {"constraints": Constraints(size_max=10)},
        {"sample_weight": np.where(np.arange(N) < 20, 1e-6, 1.0)},
    ],
    ids=lambda rule: next(iter(rule)),
)
def test_every_way_to_fit_takes_every_rule(X, method, rule):
    model = ConstrainedKMeans(K, random_state=0)
    free = model.fit(X).labels_
    asked = clone(model).fit(X, **rule)
    getattr(model, method)(X, **rule)
    assert not np.array_equal(asked.labels_, free)
    assert np.array_equal(model.labels_, asked.labels_)


def test_infeasible_rules_name_their_conflict(X):
    model = ConstrainedKMeans(K, size_max=11)
    with pytest.raises(bckm.InfeasibleError) as caught:
        model.fit(X, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    assert len(caught.value.conflict) == 3


def test_size_bounds_that_no_data_of_this_length_can_obey(X):
    with pytest.raises(bckm.InfeasibleError, match="size_max"):
        ConstrainedKMeans(K, size_max=9).fit(X)


# parameters -----------------------------------------------------------------------------------

PARAMETERS = {
    "n_clusters": 8,
    "size_min": None,
    "size_max": None,
    "capacity_min": None,
    "capacity_max": None,
    "solver": "auto",
    "init": "k-means++",
    "n_init": "auto",
    "search": "auto",
    "metric": "euclidean",
    "objective": "compact",
    "label_bounds": "matched",
    "max_iter": 300,
    "tol": 1e-4,
    "time_limit": None,
    "n_jobs": None,
    "random_state": None,
    "verbose": 0,
}


def test_parameters_and_their_defaults():
    assert ConstrainedKMeans().get_params() == PARAMETERS
    kinds = [p.kind for p in inspect.signature(ConstrainedKMeans).parameters.values()]
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert kinds == [positional] + [inspect.Parameter.KEYWORD_ONLY] * (len(PARAMETERS) - 1)


def test_init_neither_checks_nor_changes(X):
    odd = {name: [name] for name in PARAMETERS}
    model = ConstrainedKMeans(**odd)
    assert all(model.get_params()[name] is value for name, value in odd.items())
    sizes = [15, 12, 3]
    model = ConstrainedKMeans(K, size_max=sizes, random_state=0).fit(X)
    assert model.size_max is sizes
    assert sizes == [15, 12, 3]


def test_everything_reaches_kmeans(X, monkeypatch):
    heard = {}

    def listen(data, n_clusters, constraints, **rest):
        heard.update(rest, n_clusters=n_clusters, constraints=constraints)
        return bckm.kmeans(data, n_clusters, constraints)

    monkeypatch.setattr("bckm.estimator._estimator.kmeans", listen)
    given = {
        "n_clusters": 2,
        "solver": "pump",
        "init": X[:2],
        "n_init": 7,
        "search": "local",
        "metric": "cosine",
        "objective": "mixed",
        "label_bounds": "given",
        "max_iter": 11,
        "tol": 0.5,
        "time_limit": 60.0,
        "n_jobs": 3,
        "random_state": 5,
    }
    weight = np.arange(1.0, N + 1)
    ConstrainedKMeans(**given, size_min=3, size_max=27).fit(X, sample_weight=weight)
    assert repr(heard.pop("constraints")) == "Constraints(size_min=3, size_max=27)"
    assert heard.pop("sample_weight") is weight
    assert heard.pop("on_step") is None
    assert heard.keys() == given.keys()
    assert all(heard[name] is value for name, value in given.items())


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters"),
        ({"n_clusters": 2.5}, TypeError, "n_clusters"),
        ({"n_clusters": N + 1}, ValueError, f"n_samples={N}"),
        ({"size_min": 2.5}, ValueError, "size_min"),
        ({"size_min": 5, "size_max": 4}, ValueError, "size_min"),
        ({"size_max": [10, 20]}, ValueError, "size_max has 2 values"),
        ({"solver": "gurobi"}, ValueError, "unknown solver 'gurobi'"),
        ({"solver": "nearest", "size_max": 11}, bckm.UnsupportedError, "size bounds"),
        ({"init": "spread"}, ValueError, "init"),
        ({"init": [[0.0, 0.0]]}, ValueError, "init has shape"),
        ({"n_init": 0}, ValueError, "n_init"),
        ({"label_bounds": "loose"}, ValueError, "label_bounds"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": -1}, ValueError, "tol"),
        ({"time_limit": -1}, ValueError, "time_limit"),
        ({"random_state": "luck"}, ValueError, "random_state"),
    ],
)
def test_wrong_parameters_are_refused_by_fit(X, wrong, error, words):
    model = ConstrainedKMeans(**{"n_clusters": K, **wrong})
    with pytest.raises(error, match=words):
        model.fit(X)


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_unknown_keywords_are_refused(X, method):
    with pytest.raises(TypeError, match="mustlink"):
        getattr(ConstrainedKMeans(K), method)(X, mustlink=[(0, 1)])


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_rules_are_named_and_not_counted(X, method):
    with pytest.raises(TypeError, match="positional"):
        getattr(ConstrainedKMeans(K), method)(X, None, [(0, 1)])


def test_constraints_of_another_type_are_refused(X):
    with pytest.raises(TypeError, match=r"bckm\.Constraints; got \["):
        ConstrainedKMeans(K).fit(X, constraints=[(0, 1)])


# attributes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, ASKED], ids=["free", "asked"])
def test_attributes_are_those_of_kmeans(X, asked):
    model = fitted(X, asked)
    same = bckm.kmeans(X, K, joined(asked), random_state=0)
    assert model.labels_.dtype == np.int32
    assert model.labels_.tolist() == same.labels.tolist() == model.result_.labels.tolist()
    assert model.cluster_centers_.tolist() == same.centers.tolist()
    assert model.cluster_sizes_.tolist() == same.sizes.tolist()
    assert model.inertia_ == same.inertia
    assert model.lower_bound_ == same.lower_bound <= same.inertia
    assert (model.penalty_, model.violated_) == (0.0, ())
    assert (model.n_dropped_, model.dropped_rules_) == (0, ())
    assert model.n_iter_ == same.n_iter >= 1
    assert type(model.status_) is str
    assert model.status_ == "converged"
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


def test_status_tells_of_the_iteration_limit(X):
    model = fitted(X, ASKED, max_iter=1, tol=0)
    assert (model.status_, model.n_iter_) == ("iteration_limit", 1)


@pytest.mark.parametrize("seed", range(5))
def test_centers_and_inertia_belong_to_the_labels(X, seed):
    weight = np.random.default_rng(seed).integers(1, 5, N)
    model = ConstrainedKMeans(K, size_max=11, random_state=seed).fit(X, sample_weight=weight)
    means = [
        np.average(X[model.labels_ == i], axis=0, weights=weight[model.labels_ == i])
        for i in range(K)
    ]
    np.testing.assert_allclose(model.cluster_centers_, means)
    squares = np.square(X - model.cluster_centers_[model.labels_]).sum(axis=1)
    assert model.inertia_ == pytest.approx(weight @ squares)


def test_fit_predict_returns_labels(X):
    model = ConstrainedKMeans(K, size_max=10, random_state=0)
    labels = model.fit_predict(X)
    assert labels is model.labels_
    np.testing.assert_array_equal(labels, model.predict(X))  # by the prices of the size bounds
    nearest = model.transform(X).argmin(axis=1)
    assert not np.array_equal(labels, nearest)


# predict, transform, score --------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(5))
def test_predict_looks_at_each_sample_alone(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (60, 3)).astype(float)  # many ties
    model = ConstrainedKMeans(4, size_max=15, random_state=seed).fit(X)
    labels = model.predict(X)
    assert labels.dtype == np.int32
    order = rng.permutation(60)
    assert model.predict(X[order]).tolist() == labels[order].tolist()
    assert model.predict(X[order[:7]]).tolist() == labels[order[:7]].tolist()
    assert [model.predict(X[[p]])[0] for p in range(60)] == labels.tolist()


def test_predict_transform_and_score_against_the_definition(X):
    model = ConstrainedKMeans(K, size_max=10, random_state=0).fit(X)
    new = np.random.default_rng(1).normal(scale=20, size=(50, 2))
    weight = np.arange(50.0)
    squares = np.square(new[:, None, :] - model.cluster_centers_[None, :, :]).sum(axis=2)
    value = squares - model.result_.prices
    assert model.predict(new).tolist() == value.argmin(axis=1).tolist()
    assert set(model.predict(new)) == {0, 1, 2}
    np.testing.assert_allclose(model.transform(new), np.sqrt(squares))
    assert model.score(new) == pytest.approx(-squares.min(axis=1).sum())
    assert model.score(new, sample_weight=weight) == pytest.approx(-weight @ squares.min(axis=1))


def test_score_of_a_free_fit_is_minus_its_inertia(X):
    weight = np.arange(1.0, N + 1)
    model = ConstrainedKMeans(K, tol=0, random_state=0).fit(X, sample_weight=weight)
    assert model.predict(X).tolist() == model.labels_.tolist()
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.inertia_)


def test_score_refuses_weights_that_do_not_fit(X):
    model = ConstrainedKMeans(K, random_state=0).fit(X)
    with pytest.raises(ValueError, match="one per sample"):
        model.score(X, sample_weight=[1.0, 2.0])


def test_far_data_are_predicted_without_cancellation(X):
    far = X + 1e10  # squares of 1e20 leave no digit for distances of 1e1
    model = ConstrainedKMeans(K, tol=0, random_state=0).fit(far)
    assert model.predict(far).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("method", ["predict", "transform", "score", "get_feature_names_out"])
def test_before_fit_there_is_nothing_to_tell(X, method):
    with pytest.raises(NotFittedError):
        getattr(ConstrainedKMeans(K), method)(*([] if method.startswith("get") else [X]))


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_other_features_are_refused(X, method):
    model = ConstrainedKMeans(K).fit(X)
    with pytest.raises(ValueError, match="3 features"):
        getattr(model, method)(np.zeros((4, 3)))


# weights --------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(5))
def test_twice_the_weight_is_twice_the_inertia(X, solver, seed):
    weight = np.random.default_rng(seed).random(N) + 0.1
    model = ConstrainedKMeans(K, size_max=11, solver=solver, random_state=seed)
    once = clone(model).fit(X, sample_weight=weight)
    twice = clone(model).fit(X, sample_weight=2 * weight)
    assert once.labels_.tolist() == twice.labels_.tolist()
    assert twice.inertia_ == pytest.approx(2 * once.inertia_)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(20))
def test_a_weight_is_a_repetition(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((20, 3))
    weight = rng.integers(0, 5, 20)
    # step by step; moves of single samples do not take all copies of one along
    model = ConstrainedKMeans(4, search="none", random_state=seed)
    weighted = clone(model).fit(X, sample_weight=weight)
    repeated = clone(model).fit(X.repeat(weight, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert weighted.predict(X).tolist() == repeated.predict(X).tolist()


def test_sizes_count_samples_and_not_weights(X):
    weight = np.where(np.arange(N) < 3, 100.0, 1.0)
    model = ConstrainedKMeans(K, size_min=10, random_state=0).fit(X, sample_weight=weight)
    assert model.cluster_sizes_.tolist() == [10, 10, 10]


# frames, pipelines, clones --------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        lambda X: pd.DataFrame(X, columns=["east", "north"]),
        lambda X: pl.DataFrame(X, schema=["east", "north"]),
    ],
    ids=["pandas", "polars"],
)
def test_frames(X, frame):
    model = fitted(frame(X), ASKED)
    plain = fitted(X, ASKED)
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert model.labels_.tolist() == plain.labels_.tolist()
    assert model.predict(frame(X)).tolist() == plain.predict(X).tolist()
    assert model.score(frame(X)) == plain.score(X)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(X)[["north", "east"]])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_rules_and_weights_in_frames(X, library):
    links = library.DataFrame({"a": [0, 1], "b": [29, 28]})
    weight = library.Series(np.arange(1.0, N + 1))
    model = ConstrainedKMeans(K, random_state=0)
    model.fit(X, must_link=links, cannot_link=links[:0], sample_weight=weight)
    plain = clone(model).fit(X, must_link=[(0, 29), (1, 28)], sample_weight=np.arange(1.0, N + 1))
    assert model.labels_.tolist() == plain.labels_.tolist()
    assert bckm.verify(model.labels_, K, Constraints([(0, 29), (1, 28)])) == []


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_set_output(X, kind):
    model = ConstrainedKMeans(K, random_state=0)
    distances = model.fit(X).transform(X)
    assert isinstance(distances, np.ndarray)
    model.set_output(transform="pandas" if kind is pd.DataFrame else "polars")
    names = [f"constrainedkmeans{i}" for i in range(K)]
    for out in (model.transform(X), model.fit_transform(X)):
        assert isinstance(out, kind)
        assert list(out.columns) == names == model.get_feature_names_out().tolist()
        assert out.to_numpy().tolist() == distances.tolist()


def test_pandas_output_keeps_the_index(X):
    frame = pd.DataFrame(X, columns=["east", "north"], index=[f"row {p}" for p in range(N)])
    model = ConstrainedKMeans(K, random_state=0).set_output(transform="pandas")
    assert model.fit_transform(frame).index.equals(frame.index)


def pipeline() -> Pipeline:
    model = ConstrainedKMeans(K, size_max=11, random_state=0)
    return Pipeline([("scale", StandardScaler()), ("kmeans", model)])


RULES = {"must_link": [(0, 14)], "cannot_link": [(3, 4)]}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_pipeline_hands_rules_on(X, method):
    model = pipeline()
    getattr(model, method)(X, **{f"kmeans__{name}": rule for name, rule in RULES.items()})
    labels = model["kmeans"].labels_
    assert bckm.verify(labels, K, Constraints(**RULES, size_max=11)) == []
    free = pipeline().fit_predict(X)
    assert len(bckm.verify(free, K, Constraints(**RULES))) == 2  # both rules matter
    assert model.predict(X).shape == (N,)
    assert model.score(X) <= 0


def test_metadata_routing_hands_rules_on(X):
    from sklearn import config_context  # here, because at the top ruff takes this folder for it

    with config_context(enable_metadata_routing=True):
        model = pipeline()
        model["kmeans"].set_fit_request(must_link=True, cannot_link=True)
        model.fit(X, **RULES)
    assert bckm.verify(model["kmeans"].labels_, K, Constraints(**RULES, size_max=11)) == []


def test_clone_takes_parameters_and_nothing_else(X):
    model = fitted(X, ASKED)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "labels_")
    assert twin.set_params(size_max=10).size_max == 10
    assert model.size_max == 11


def test_pickle(X):
    model = fitted(X, ASKED)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.get_params() == model.get_params()
    assert twin.labels_.tolist() == model.labels_.tolist()
    assert twin.transform(X).tolist() == model.transform(X).tolist()
    assert twin.result_.history == model.result_.history
    assert twin.result_.status is bckm.Status.CONVERGED


def test_scikit_learn_knows_what_it_is():
    model = ConstrainedKMeans()
    assert is_clusterer(model)
    tags = get_tags(model)
    assert tags.transformer_tags is not None
    assert tags.input_tags.sparse
    assert not get_tags(ConstrainedKMeans(search="local")).input_tags.sparse


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_data(X, kind):
    rare = np.where(np.abs(X) < 0.3, 0.0, X)
    model = ConstrainedKMeans(K, size_max=11, search="none", n_init=2, tol=0, random_state=0)
    twin = clone(model).fit(rare)
    labels = model.fit_predict(kind(rare))
    assert labels.tolist() == twin.labels_.tolist()
    assert model.predict(kind(rare)).tolist() == labels.tolist()
    assert model.predict(rare).tolist() == labels.tolist()
    assert model.assign(kind(rare)).tolist() == twin.assign(rare).tolist()
    np.testing.assert_allclose(model.transform(kind(rare)), twin.transform(rare), atol=1e-7)
    assert model.score(kind(rare)) == pytest.approx(twin.score(rare))
    assert model.n_features_in_ == X.shape[1]
    with pytest.raises(ValueError, match="features"):
        model.predict(kind(rare[:, :1]))


def test_cross_validation(X):
    order = np.random.default_rng(0).permutation(N)  # folds then hold samples of every group
    model = ConstrainedKMeans(K, size_min=4, random_state=0)
    scores = cross_val_score(model, X[order], cv=3)
    assert scores.shape == (3,)
    assert (scores < 0).all()
    asked = {"sample_weight": np.ones(N), "constraints": Constraints(size_max=8)}
    found = cross_validate(model, X[order], cv=3, params=asked, return_estimator=True)
    # weights are split with the data, constraints are not
    assert [est.labels_.size for est in found["estimator"]] == [20, 20, 20]
    assert all(est.cluster_sizes_.max() <= 8 for est in found["estimator"])


def test_grid_search(X):
    order = np.random.default_rng(0).permutation(N)
    grid = {"n_clusters": [1, 3], "size_min": [1, 4]}
    search = GridSearchCV(ConstrainedKMeans(random_state=0), grid, cv=3).fit(X[order])
    assert search.best_params_["n_clusters"] == 3
    assert search.best_estimator_.labels_.shape == (N,)


@pytest.mark.parametrize(
    "seed", [0, np.int64(0), np.random.RandomState(0), np.random.default_rng(0)]
)
def test_seeds(X, seed):
    model = ConstrainedKMeans(K, size_max=11, random_state=seed)
    twin = clone(model)  # takes a copy of a generator before fit moves it on
    assert model.fit(X).labels_.tolist() == twin.fit(X).labels_.tolist()


def test_float32_and_lists(X):
    exact = np.round(X, 1).astype(np.float32)
    model = ConstrainedKMeans(K, size_max=11, random_state=0).fit(exact)
    twin = clone(model).fit(exact.tolist())
    assert model.labels_.tolist() == twin.labels_.tolist()
    assert model.cluster_centers_.dtype == model.transform(exact).dtype == np.float64


# what is written, what is imported ------------------------------------------------------------


def test_verbose_writes_a_line_per_step(X, capsys):
    once = {"n_init": 1, "search": "none", "random_state": 0}
    model = ConstrainedKMeans(K, size_max=10, verbose=1, **once).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ >= 1
    for step, line in zip(model.result_.history, lines, strict=True):
        assert f"iteration {step.iteration}: objective {step.objective:.6g}," in line
    ConstrainedKMeans(K, size_max=10, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")


def test_the_core_does_without_scikit_learn():
    code = (
        "import sys, bckm; bckm.kmeans([[0.], [1.], [8.]], 2); assert 'sklearn' not in sys.modules;"
        "bckm.ConstrainedKMeans; assert 'sklearn' in sys.modules; assert 'dask' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=SECONDS)


def test_no_seed_follows_the_global_state_of_numpy():
    X = np.random.default_rng(0).normal(size=(60, 2))
    labels = []
    for _ in range(2):
        np.random.seed(3)
        labels.append(ConstrainedKMeans(5, size_max=14).fit_predict(X))
    np.testing.assert_array_equal(*labels)


def test_rules_in_the_place_of_y_are_refused(X):
    with pytest.raises(TypeError, match="constraints=rules"):
        ConstrainedKMeans(K).fit(X, bckm.Constraints(size_max=3))
