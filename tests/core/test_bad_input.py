"""Bad input gets an error of the right kind whose message names the number and the way out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import bckm
from bckm import Capacity, Constraints, LinearRows, check, kmeans, verify
from tests.support.statements import stated

X4 = [[0.0], [1.0], [8.0], [9.0]]


def fit(X=X4, n_clusters=2, constraints=None, **options):
    return kmeans(X, n_clusters, constraints, **{"random_state": 0, **options})


# -- data -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_located(bad):
    X = np.arange(15.0).reshape(5, 3)
    X[3, 1] = X[4, 2] = bad
    with pytest.raises(ValueError, match=r"NaN or infinity.*sample 3, feature 1.*impute or drop"):
        fit(X)


def test_missing_values_of_frames_are_located():
    with pytest.raises(ValueError, match="sample 1, feature 0"):
        fit(pd.DataFrame({"a": [0.0, None, 1.0], "b": [0.0, 1.0, 2.0]}))
    with pytest.raises(ValueError, match="sample 1, feature 0"):
        fit(pl.DataFrame({"a": [0.0, None, 1.0], "b": [0.0, 1.0, 2.0]}))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["a", "b"], ["c", "d"]], "numeric; got dtype"),
        ("text", "path of a Parquet file or folder; got 'text'"),
        ([["0"], ["1"], ["2"]], "numeric"),
        (np.array([["2020-01-01"], ["2021-01-01"]], "M8[D]"), "numeric"),
        (pd.DataFrame({"a": [1.0, 2.0], "city": ["Rome", "Oslo"]}), "numeric.*Rome"),
        (np.array([[1j], [2], [3]]), "Complex.*real"),
        ([], "two dimensions.*shape"),
        (np.empty((0, 2)), "0 samples and 2 features"),
        (np.empty((3, 0)), "3 samples and 0 features"),
        ([1.0, 2.0, 3.0], r"two dimensions.*\(3,\).*reshape\(-1, 1\)"),
        (5.0, r"two dimensions.*\(\)"),
        (np.zeros((2, 2, 2)), r"two dimensions.*\(2, 2, 2\)"),
        ([[1.0], [2.0, 3.0]], "."),
        ([[1e200], [-1e200], [0.0]], "overflow.*rescale"),
        ([[1e308], [1.7e308], [1.5e308]], "overflow.*rescale"),
        ([[1.7e308], [-1.7e308], [0.0]], "overflow.*rescale"),
    ],
)
def test_bad_data(X, message):
    with pytest.raises(ValueError, match=message):
        fit(X)


@pytest.mark.parametrize(
    "X",
    [
        np.array(X4),
        np.array(X4, np.float32),
        np.array(X4, int),
        np.asfortranarray(np.repeat(X4, 2, axis=1))[:, ::2],
        pd.DataFrame(X4),
        pl.DataFrame({"a": [0.0, 1.0, 8.0, 9.0]}),
        tuple(map(tuple, X4)),
    ],
    ids=lambda X: type(X).__name__,
)
def test_tables_of_any_type(X):
    found = fit(X)
    assert found.inertia == pytest.approx(1.0)
    assert found.labels[0] == found.labels[1] != found.labels[2] == found.labels[3]


def test_data_and_weights_of_the_caller_are_not_written_to():
    X, weight, init = np.array(X4), np.array([1.0, 2, 3, 4]), np.array([[5.0], [6.0]])
    for array in (X, weight, init):
        array.setflags(write=False)
    fit(X, sample_weight=weight, init=init)
    assert X.tolist() == X4


# -- number of clusters -----------------------------------------------------------------------


@pytest.mark.parametrize("k", [2.0, True, "3", None, np.float64(2), [2], np.True_])
@pytest.mark.parametrize("door", [fit, check])
def test_n_clusters_of_a_wrong_type(door, k):
    with pytest.raises(TypeError, match="n_clusters must be an integer; got"):
        door(X4, k)


@pytest.mark.parametrize("k", [0, -1, np.int64(-3)])
@pytest.mark.parametrize("door", [fit, check])
def test_n_clusters_too_small(door, k):
    with pytest.raises(ValueError, match=f"n_clusters must be at least 1; got {k}"):
        door(X4, k)


@pytest.mark.parametrize("door", [fit, check])
def test_fewer_samples_than_clusters(door):
    with pytest.raises(ValueError, match=r"n_samples=4.*n_clusters=5"):
        door(X4, 5)


@pytest.mark.parametrize("k", [np.int64(2), np.uint8(2)])
def test_n_clusters_as_numpy_integer(k):
    assert fit(X4, k).centers.shape == (2, 1)


# -- links ------------------------------------------------------------------------------------

both_links = pytest.mark.parametrize("field", ["must_link", "cannot_link"])


@both_links
@pytest.mark.parametrize("door", [fit, check])
def test_link_out_of_range(field, door):
    asked = Constraints(**{field: [(0, 1), (2, 4)]})
    with pytest.raises(ValueError, match=f"{field} refers to samples 2 and 4.*numbered 0 to 3"):
        door(X4, 2, asked)


@both_links
@pytest.mark.parametrize(
    ("links", "error", "message"),
    [
        ([(0, -1)], ValueError, "-1.*do not count from the end"),
        ([(0, 1.0)], ValueError, r"integers.*1\.0 in \(0, 1\.0\)"),
        (np.array([[0.0, 1.0]]), ValueError, "integers"),
        (pd.DataFrame({"a": [0, 1], "b": [1, None]}), ValueError, "integers"),
        ([(0, True)], ValueError, "integers.*True"),
        ([(0, np.True_)], ValueError, "integers.*True"),
        ([(0, "1")], ValueError, "integers.*'1'"),
        ([(0, None)], ValueError, "integers.*None"),
        ([{0, "a"}], ValueError, "integers.*'a'"),
        ([[(0, 1), (2, 3)]], ValueError, r"integers.*\(0, 1\)"),
        ([0, 1], ValueError, r"single value 0.*=\[\(a, b\)\]"),
        (np.array([0, 1]), ValueError, r"single value 0.*=\[\(a, b\)\]"),
        (np.array(3), (TypeError, ValueError), "pairs or sets"),
        (["01", "12"], ValueError, "single value '01'"),
        ("01", TypeError, "pairs or sets.*'01'"),
        (5, TypeError, "pairs or sets.*5"),
        ([()], ValueError, "empty link"),
        ([(0, 1), set()], ValueError, "empty link"),
    ],
)
def test_bad_links(field, links, error, message):
    with pytest.raises(error, match=message) as caught:
        Constraints(**{field: links})
    assert field in str(caught.value)


@pytest.mark.parametrize("link", [(7, 7), (3, 7, 5, 7)])
def test_a_sample_cannot_linked_to_itself(link):
    with pytest.raises(ValueError, match="separates sample 7 from itself"):
        Constraints(cannot_link=[(0, 1), link])


def test_self_must_links_and_duplicates_change_nothing():
    plain = Constraints([(0, 2)], [(0, 1)])
    twice = Constraints([(1, 1), (0, 2), (2, 0), (0, 2)], [(0, 1), (1, 0)])
    assert fit(X4, 2, plain).labels.tolist() == fit(X4, 2, twice).labels.tolist()


def test_frames_as_links_are_obeyed():
    links = {"a": [0, 1], "b": [3, 2]}
    for frame in (pd.DataFrame(links), pl.DataFrame(links)):
        labels = fit(X4, 2, Constraints(frame)).labels
        assert labels[0] == labels[3]
        assert labels[1] == labels[2]


# -- sizes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["size_min", "size_max"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2.5, r"share of them .*got 2\.5"),
        ([1, 2.5], r"share of them .*got 2\.5"),
        (1.0, r"share of them .*got 1\.0"),
        (3.0, r"share of them .*got 3\.0"),
        (np.array([0.5, 1.0]), r"share of them .*got 1\.0"),
        (-1, "negative; got -1"),
        ([3, -2], "negative; got -2"),
        (np.nan, "NaN"),
        ([1, np.nan], "NaN"),
        (np.inf, "infinity"),
        ("3", "numbers; got '3'"),
        (["a", "b"], "numbers"),
        ([[1, 2]], r"one per cluster; got shape \(1, 2\)"),
        ([], r"one per cluster; got shape \(0,\)"),
    ],
)
def test_bad_sizes(field, value, message):
    with pytest.raises(ValueError, match=f"{field}.*{message}"):
        Constraints(**{field: value})


@pytest.mark.parametrize("field", ["size_min", "size_max"])
@pytest.mark.parametrize("door", [fit, check])
def test_size_vector_of_a_wrong_length(field, door):
    with pytest.raises(ValueError, match=f"{field} has 3 values for 2 clusters"):
        door(X4, 2, Constraints(**{field: [1, 1, 2]}))


@pytest.mark.parametrize(
    ("low", "up", "message"),
    [
        (3, 2, "size_min is 3, above size_max, 2"),
        ([1, 3], 2, r"size_min\[1\] is 3, above size_max\[1\], 2"),
        (3, [4, 3, 1], r"size_min\[2\] is 3, above size_max\[2\], 1"),
        ([1, 3, 9], [2, 2, 9], r"size_min\[1\] is 3, above size_max\[1\], 2"),
        ([1, 1], [2, 2, 2], "size_min has 2 values, but size_max has 3"),
    ],
)
def test_crossed_sizes(low, up, message):
    with pytest.raises(ValueError, match=message):
        Constraints(size_min=low, size_max=up)
    with pytest.raises(ValueError, match=message):
        Constraints(size_min=low) & Constraints(size_max=up)


# -- linear rules -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearRows(np.ones((2, 4)), lower=[1, 2, 3]), r"lower.*\(3,\).*2 rows"),
        (lambda: LinearRows(np.ones((2, 4)), upper=[1]), r"upper.*\(1,\).*2 rows"),
        (lambda: LinearRows(np.ones((2, 4)), upper=[[1, 2]]), r"upper.*\(1, 2\).*2 rows"),
        (
            lambda: LinearRows(np.ones((2, 4)), [0, 5], [1, 4], "mix"),
            "'mix' has contradictory bounds, first at 1: lower 5 > upper 4",
        ),
        (lambda: LinearRows(np.ones((2, 4)), 5, 4), "lower 5 > upper 4"),
        (lambda: LinearRows([[1, np.nan]], name="mix"), "'mix'.*NaN"),
        (lambda: LinearRows(sp.csr_array([[1, np.inf]]), name="mix"), "'mix'.*infinity"),
        (lambda: LinearRows([[1, None]], name="mix"), "mix"),
        (lambda: LinearRows([["a", "b"]]), "."),
        (lambda: LinearRows(np.ones((1, 2, 3))), "two dimensions"),
        (lambda: LinearRows(np.ones((1, 2)), lower=np.nan), "lower.*NaN"),
        (lambda: LinearRows(np.ones((1, 2)), upper="9"), "upper.*numbers"),
        (lambda: Capacity([[1, 2]]), "amounts.*one number per sample"),
        (lambda: Capacity(3), "amounts.*one number per sample"),
        (lambda: Capacity([1, np.nan]), "amounts.*NaN"),
        (lambda: Capacity([1, np.inf]), "amounts.*infinity"),
        (lambda: Capacity(["a", "b"]), "amounts of a Capacity must be numbers"),
        (lambda: Capacity([1, None]), "amounts of a Capacity must be numbers"),
        (lambda: Capacity([1, 2], min=np.nan), "min.*NaN"),
        (lambda: Capacity([1, 2], max=[[1, 2]]), "max.*one per cluster"),
        (lambda: Capacity([1, 2], max="9"), "max.*numbers"),
        (
            lambda: Capacity([1, 2], 5, 4),
            "a Capacity has contradictory bounds, first at 0: min 5 > max 4",
        ),
        (
            lambda: Capacity([1, 2], [1, 5], 4),
            "a Capacity has contradictory bounds, first at 1: min 5 > max 4",
        ),
        (
            lambda: Capacity([1, 2], [1, 5], [1, 4]),
            "a Capacity has contradictory bounds, first at 1: min 5 > max 4",
        ),
    ],
)
def test_bad_linear_rules(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("door", [fit, check])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (LinearRows(np.ones((1, 6)), upper=1, name="mix"), "'mix' has 6 col.*4 samp.*2 clus.*8"),
        (Capacity([1, 2, 3], max=1), "'load' cover 3 samples, but there are 4"),
        (Capacity([1] * 4, max=[1, 2, 3]), "max of capacity 'load' has 3.*2 clusters"),
        (Capacity([1] * 4, min=[1]), "min of capacity 'load' has 1.*2 clusters"),
    ],
)
def test_linear_rules_that_do_not_fit_the_data(door, rows, message):
    with pytest.raises(ValueError, match=message):
        door(X4, 2, Constraints(**stated([rows])))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Capacity([1] * 4, min=np.inf),
        lambda: Capacity([1] * 4, max=-np.inf),
        lambda: Capacity([1] * 4, min=[np.inf, 0]),
        lambda: LinearRows(np.ones((1, 8)), lower=np.inf),
        lambda: LinearRows(np.ones((1, 8)), upper=-np.inf),
    ],
)
def test_a_bound_that_nothing_can_meet_is_not_dropped(make):
    # at once, or by the fit
    with pytest.raises(ValueError, match=r"no sum can reach|no labels obey"):
        fit(X4, 2, Constraints(**stated([make()])))


@pytest.mark.parametrize("wrong", [5, "rows", [1], [[1, 2]], np.ones((2, 8)), {"kg": 3}])
@pytest.mark.parametrize("kind", ["quotas", "linear"])
def test_statements_of_a_wrong_type(wrong, kind):
    with pytest.raises(TypeError, match=f"{kind} must be bckm"):
        Constraints(**{kind: wrong})


@pytest.mark.parametrize(
    "wrong", [5, "kg", [Capacity([1])], Capacity([1]), {"kg": 3}, {3: Capacity([1])}]
)
def test_capacities_are_a_mapping_of_names(wrong):
    with pytest.raises(TypeError, match=r"capacities must be a mapping of names to bckm\.Capacity"):
        Constraints(capacities=wrong)


# -- constraints ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong", [{"size_max": 2}, [(0, 1)], [], 3, "size_max=2", Constraints], ids=repr
)
@pytest.mark.parametrize(
    "door",
    [
        lambda wrong: fit(X4, 2, wrong),
        lambda wrong: check(X4, 2, wrong),
        lambda wrong: verify([0, 0, 1, 1], 2, wrong),
    ],
    ids=["kmeans", "check", "verify"],
)
def test_constraints_of_a_wrong_type(door, wrong):
    with pytest.raises(TypeError, match=r"constraints must be .*Constraints; got"):
        door(wrong)


@pytest.mark.parametrize("options", [{"size": 3}, {"mustlink": [(0, 1)]}])
def test_unknown_keywords_of_constraints(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        Constraints(**options)


# -- options ----------------------------------------------------------------------------------


def test_unknown_keyword():
    with pytest.raises(TypeError, match="size_max"):
        fit(size_max=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "cplex"}, "'cplex'.*'auto', 'nearest', .* 'lagrangian', 'pump', 'greedy'"),
        ({"solver": None}, "None.*'auto'"),
        ({"init": "kmeans++"}, r"'k-means\+\+', 'random' or array .*; got 'kmeans\+\+'"),
        ({"init": None}, "init must be"),
        ({"init": [["a"], ["b"]]}, "init must be"),
        ({"init": [[0.0]]}, r"init has shape \(1, 1\); expected \(2, 1\)"),
        ({"init": [0.0, 1.0]}, r"init has shape \(2,\); expected \(2, 1\)"),
        ({"init": [[0.0, 1.0], [2.0, 3.0]]}, r"init has shape \(2, 2\); expected \(2, 1\)"),
        ({"init": [[0.0], [np.nan]]}, "init contains NaN"),
        ({"init": [[0.0], [np.inf]]}, "init contains NaN or infinity"),
        ({"init": [[0.0], [1e200]]}, "init"),
        ({"init": [[0.0], [1e200]], "constraints": Constraints(size_max=2)}, "init"),
        ({"n_init": 0}, "n_init.*at least 1; got 0"),
        ({"n_init": 2.0}, "n_init.*whole.*2.0"),
        ({"n_init": True}, "n_init.*whole.*True"),
        ({"n_init": "many"}, "n_init.*'many'"),
        ({"n_init": None}, "n_init.*None"),
        ({"n_init": 0, "init": [[0.0], [9.0]]}, "n_init.*at least 1; got 0"),
        ({"max_iter": 0}, "max_iter.*at least 1; got 0"),
        ({"max_iter": 2.5}, "max_iter.*whole.*2.5"),
        ({"max_iter": None}, "max_iter.*None"),
        ({"tol": -1e-9}, "tol.*at least 0; got -1e-09"),
        ({"tol": np.nan}, "tol.*nan"),
        ({"tol": "0"}, "tol.*'0'"),
        ({"tol": None}, "tol.*None"),
        ({"time_limit": -1}, "time_limit.*at least 0; got -1"),
        ({"time_limit": np.nan}, "time_limit.*nan"),
        ({"time_limit": "1"}, "time_limit.*'1'"),
        ({"time_limit": True}, "time_limit.*True"),
        ({"label_bounds": "free"}, "one of 'matched', 'given'; got 'free'"),
        ({"label_bounds": None}, "one of 'matched', 'given'; got None"),
        ({"label_bounds": "given"}, "'given'.*an array as init"),
        ({"label_bounds": "given", "init": "random"}, "'given'.*an array as init"),
        ({"random_state": "seed"}, "random_state.*'seed'"),
        ({"random_state": 1.5}, "random_state.*1.5"),
        ({"random_state": [1, 2]}, "random_state"),
        ({"random_state": -1}, "random_state.*-1"),
        ({"random_state": True}, "random_state.*True"),
        ({"sample_weight": [1, 1, -2, 1]}, "sample_weight.*negative; got -2"),
        ({"sample_weight": [1, 1, 1]}, r"sample_weight.*\(3,\).*\(4,\)"),
        ({"sample_weight": [1, 1, np.nan, 1]}, "sample_weight.*NaN"),
        ({"sample_weight": [1, 1, np.inf, 1]}, "sample_weight.*infinity"),
        ({"sample_weight": [0, 0, 0, 0]}, "sample_weight is zero"),
        ({"sample_weight": 0}, "sample_weight is zero"),
        ({"sample_weight": ["1", "1", "1", "1"]}, "sample_weight must be numbers"),
        ({"sample_weight": [1, 1, None, 1]}, "sample_weight must be numbers"),
        ({"sample_weight": [[1], [1], [1], [1]]}, "2D"),
    ],
    ids=str,
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        fit(**options)


@pytest.mark.parametrize("limit", [-1, np.nan, "1"])
def test_check_reads_its_time_limit_like_a_fit(limit):
    with pytest.raises(ValueError, match="time_limit"):
        check(4, 2, time_limit=limit)


@pytest.mark.parametrize(
    "weight",
    [
        2,
        [2, 2, 2, 2],
        np.full(4, 2, np.uint8),
        pd.Series([2.0] * 4),
        pl.Series([2.0] * 4),
    ],
)
def test_weights_of_any_type(weight):
    assert fit(sample_weight=weight).inertia == pytest.approx(2.0)


@pytest.mark.parametrize(
    "seed",
    [
        None,
        3,
        np.int64(3),
        np.random.default_rng(3),
        np.random.RandomState(3),
    ],
    ids=lambda seed: type(seed).__name__,
)
def test_seeds_of_any_type(seed):
    assert fit(random_state=seed).inertia == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("asked", "feature"),
    [
        (Constraints(size_max=2), "size bounds"),
        (Constraints(cannot_link=[(0, 1)]), "cannot-links"),
        (Constraints(capacities={"kg": Capacity([1] * 4, max=3)}), "linear rows"),
    ],
)
def test_a_solver_refuses_what_it_cannot_express(asked, feature):
    with pytest.raises(bckm.UnsupportedError, match=f"'nearest'.*{feature}.*solver='auto'"):
        fit(X4, 2, asked, solver="nearest")
