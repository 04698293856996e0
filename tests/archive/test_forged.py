"""Files that nobody wrote are refused, however well they are put in order."""

import numpy as np
import pytest

import bckm
from bckm._storage.container import read_container, write_container
from tests.archive import make
from tests.support.as_json import tell


def forged(tmp_path, thing, change):
    """Save it, change what was saved, and put everything in order around the change."""
    path = tmp_path / "x.bckm"
    bckm.save(thing, path)
    found = read_container(path, ["result", "model", "study"])
    change(found.content)
    write_container(path, found.kind, found.content)
    return path


def spoil(*keys, to):
    def change(tree):
        for key in keys[:-1]:
            tree = tree[key]
        tree[keys[-1]] = to(tree[keys[-1]]) if callable(to) else to

    return change


def changed(at, value):
    def to(array):
        array = array.copy()
        array[at] = value
        return array

    return to


RESULT = [
    (("labels",), changed(0, 3), "labels are not between 0 and 2"),
    (("labels",), changed(0, -1), "not whole numbers of at least 0"),
    (("labels",), lambda a: a[:0], "labels"),
    (("labels",), lambda a: a.astype(float), "labels"),
    (("labels",), lambda a: a[None], "labels"),
    (("centers",), lambda a: a[:2], "labels|embedded"),
    (("centers",), changed(0, np.nan), "centers|centres"),
    (("embedded",), lambda a: a[:2], "embedded"),
    (("prices",), lambda a: a[:2], "prices"),
    (("inertia",), float("nan"), "inertia"),
    (("inertia",), "1", "inertia"),
    (("status",), "great", "great"),
    (("assignment_status",), None, "assignment"),
    (("solver",), 3, "solver"),
    (("counters",), {"a": -1}, "a of counters"),
    (("counters",), [], "counters"),
    (("history", "start"), lambda a: a[:0], "start"),
    (("history", "kind"), lambda a: ["x"] * len(a), "kind"),
    (("history",), None, "history"),
    (("violated",), [{}], "a violated rule"),
    (("violated",), {}, "violated"),
]


@pytest.mark.parametrize(("keys", "to", "words"), RESULT)
def test_results_that_nobody_wrote(keys, to, words, tmp_path):
    path = forged(tmp_path, bckm.load(make.HERE / "result.bckm"), spoil("result", *keys, to=to))
    with pytest.raises(bckm.DamagedFileError, match=f"x.bckm is damaged or .*({words})"):
        bckm.load(path)


STUDY = [
    (("X",), lambda a: a[:5], "X"),
    (("X",), changed(0, np.inf), "X"),
    (("feature_names",), ["a"], "feature"),
    (("result", "metric", "name"), "other", "metric"),
    (("scaling", "kind"), "other", "scaling"),
    (("scaling", "shift"), lambda a: a[:1], "shift"),
    (("sample_id",), ["a"], "1 ids for 12"),
    (("sample_weight",), np.zeros(3), "sample_weight"),
    (("settings",), [], "settings"),
    (("title",), None, "title"),
    (("constraints", "by"), "name", "by must be"),
    (("constraints", "size_max"), np.array(1), "edited after it was written: cluster"),
    (("constraints", "size_max"), np.array([9, 9]), "size_max"),
    (("constraints", "size_max"), np.array(1.5), "size_max"),
    (("constraints", "statements"), [99], "statement"),
    (("constraints", "statements"), [2], "statement"),  # a Stay
    (("constraints", "must_link", "samples"), changed(0, 99), "samples"),
    (("constraints", "must_link", "length"), changed(0, 5), "samples"),
    (("constraints", "must_link", "why"), changed(0, 9), "reason"),
    (("constraints", "must_link", "named"), changed(0, True), "ids"),
    (("constraints", "fixed", "clusters"), changed(0, 9), "cluster"),
    (("constraints", "softened", 0, "weight"), np.ones(7), "price"),
    (("constraints", "softened", 0, "weight"), None, "price"),
    (("constraints", "softened", 0, "constraints", "must_link", "samples"), changed(0, 99), "99"),
    (("result", "labels"), changed(0, 2), "edited after it was written"),
    (("result", "violated", 0, "rule", "samples"), [0, 99], "link"),
    (("result", "violated", 0, "rule", "rule"), "eval", "there is no rule 'eval'"),
    (("result", "violated", 5, "rule", "cluster"), 3, "cluster 3"),
    (("result", "violated", 7, "rule", "source"), 2, "statement"),
    (("result", "violated", 7, "rule", "side"), "up", "side"),
    (("result", "violated", 10, "rule", "category"), 2, "category"),
]


@pytest.mark.parametrize(("keys", "to", "words"), STUDY)
def test_studies_that_nobody_wrote(keys, to, words, tmp_path, a_study):
    path = forged(tmp_path, a_study, spoil("study", *keys, to=to))
    with pytest.raises(bckm.DamagedFileError, match=f"x.bckm is damaged or .*({words})"):
        bckm.load(path)


STATEMENTS = [
    ((0, "kind"), "Thing", "no statement of kind"),
    ((0, "values"), changed(0, np.nan), "values"),
    ((0, "ids"), ["a"], "1 ids for 12"),
    ((0, "max"), np.zeros((2, 2)), "max"),
    ((1, "values"), changed(0, 5), "category"),
    ((1, "within"), "x", "within"),
    ((2, "weight"), np.ones(3), "3 prices"),
    ((2, "at_most"), -1, "at_most"),
    ((4, "bounds", 0, "category"), 7, "about nothing"),
    ((4, "bounds", 0, "side"), "up", "about nothing"),
    ((5, "indptr"), changed(1, 99), "cut in the wrong"),
    ((5, "indices"), changed(0, 99), "column"),
    ((5, "columns"), 35, "column"),
]


@pytest.mark.parametrize(("keys", "to", "words"), STATEMENTS)
def test_statements_that_nobody_wrote(keys, to, words, tmp_path, a_study):
    path = forged(tmp_path, a_study, spoil("statements", *keys, to=to))
    with pytest.raises(bckm.DamagedFileError, match=f"x.bckm is damaged or .*({words})"):
        bckm.load(path)


MODEL = [
    (("params",), {"absent": 1}, "unknown parameter 'absent'"),
    (("params",), {"__class__": 1}, "unknown parameter"),
    (("fit", "n_features"), 3, "features"),
    (("fit", "feature_names"), ["a"], "1 names for 2"),
    (("fit", "result", "metric", "name"), "haversine", "embedded"),
    (("params", "metric"), {"name": "learned", "judgment": None}, "no judgment"),
    (("params", "metric"), 3, "metric"),
    (("fit", "bounds", "samples"), 0, "no samples"),
    (("fit", "bounds", "totals", 0, "capacity_max"), np.ones(2), "capacity_max has 2 values"),
    (("fit", "bounds", "sizes", "size_min"), np.ones(2, int), "size_min has 2 values"),
    (("fit", "weight"), None, "weight"),
    (("output",), 3, "output"),
]


@pytest.mark.parametrize(("keys", "to", "words"), MODEL)
def test_models_that_nobody_wrote(keys, to, words, tmp_path):
    path = forged(tmp_path, bckm.load(make.HERE / "model.bckm"), spoil("model", *keys, to=to))
    with pytest.raises(bckm.DamagedFileError, match=f"x.bckm is damaged or .*({words})"):
        bckm.load(path)


LEARNED = [
    (("matrix",), lambda a: a[:2], "matrix of metric is not of shape"),
    (("matrix",), lambda a: a[:, :0], "no dimensions"),
    (("matrix",), lambda a: a[:, :1], "do not fit the metric 'learned'"),
    (("matrix",), changed((0, 0), np.nan), "matrix of metric is not made of numbers"),
    (("matrix",), changed((0, 0), 1e308), "to infinity"),
    (("matrix",), lambda a: a.tolist(), "matrix"),
    (("origin",), lambda a: a[:2], "origin of metric is not of shape"),
    (("origin",), changed(0, np.inf), "origin"),
    (("variance",), changed(0, -1.0), "negative variance"),
    (("judgment",), None, "no judgment"),
    (("judgment", "learned"), False, "that of another one"),
    (("judgment", "message"), 3, "message"),
    (("judgment", "n_links"), -1, "n_links"),
    (("judgment", "plain_score"), "high", "plain_score"),
    (("name",), "euclidean", "that of another one"),
    (("name",), "other", "another"),
]


@pytest.mark.parametrize(("keys", "to", "words"), LEARNED)
def test_learned_metrics_that_nobody_wrote(keys, to, words, tmp_path, a_learned_study):
    change = spoil("study", "result", "metric", *keys, to=to)
    path = forged(tmp_path, a_learned_study, change)
    with pytest.raises(bckm.DamagedFileError, match=f"x.bckm is damaged or .*({words})"):
        bckm.load(path)


def test_a_judgment_of_another_version_has_defaults(tmp_path, a_learned_study):
    def without(tree):
        del tree["study"]["result"]["metric"]["judgment"]["refined"]

    found = bckm.load(forged(tmp_path, a_learned_study, without))
    assert tell(found) == tell(a_learned_study)
