"""What is saved is loaded: everything, the same; or it is refused."""

import datetime
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bckm
from bckm._storage import container as _container
from bckm._storage.container import read_container, write_container
from bckm._storage.fields import Fields
from bckm.archive._format2 import upgraded
from bckm.constraints.tree import Pool, constraints_tree, read_constraints
from tests.archive import make
from tests.support import damage
from tests.support.as_json import tell, told

CORPUS = sorted((Path(make.__file__).parent).glob("v*/*.bckm"))


def again(thing, tmp_path):
    bckm.save(thing, tmp_path / "x.bckm")
    return bckm.load(tmp_path / "x.bckm")


# -- old files --------------------------------------------------------------------------------


def test_there_are_files_of_every_version():
    assert {path.parent.name for path in CORPUS} == {
        f"v{number}" for number in range(1, _container.VERSION + 1)
    }
    assert {path.stem for path in CORPUS} == set(make.ALL)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_of_old_versions_stay_readable(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="ascii"))
    found = json.loads(told(bckm.load(path)))
    # later versions may know more
    assert _part(expected, found) == expected


def _part(expected, found):
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: _part(expected[key], found.get(key, "absent")) for key in expected}
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return list(map(_part, expected, found))
    return found


# -- the same again ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", make.ALL)
def test_everything_comes_back(name, tmp_path):
    thing = make.ALL[name]()
    found = again(thing, tmp_path)
    assert type(found) is type(thing)
    assert told(found) == told(thing)
    before = (tmp_path / "x.bckm").read_bytes()
    bckm.save(found, tmp_path / "y.bckm")  # a copy of a copy
    assert (tmp_path / "y.bckm").read_bytes() == before


@pytest.mark.parametrize("search", ["none", "auto"])
@pytest.mark.parametrize("solver", ["auto", "exact", "lagrangian", "pump", "greedy"])
def test_results_of_all_engines(solver, search, tmp_path):
    rules = bckm.Constraints(size_max=5, cannot_link=[(0, 1)])
    result = bckm.kmeans(make.data(), 3, rules, solver=solver, search=search, random_state=1)
    found = again(result, tmp_path)
    assert tell(found) == tell(result)
    assert found.objective == result.objective
    assert found.n_iter == result.n_iter


def test_a_rule_knows_the_statement_it_comes_from(tmp_path, a_study):
    study = a_study
    found = again(study, tmp_path)
    sums = found.constraints.softened[2].constraints.capacities
    sources = [one.rule.rule.source for one in found.result.violated if "soft sum" in one.message]
    assert sources
    assert all(source is sums[0] for source in sources)
    asked = [str(rule) for rule in study.constraints.rules(12, 3)]
    assert [str(rule) for rule in found.constraints.rules(12, 3)] == asked
    wishes = [str(rule) for rule in study.constraints.soft_rules(12, 3)]
    assert [str(rule) for rule in found.constraints.soft_rules(12, 3)] == wishes
    fits = [
        bckm.kmeans(study.X, 3, one.constraints, n_init=1, search="none", random_state=3)
        for one in (study, found)
    ]
    assert np.array_equal(fits[0].labels, fits[1].labels)


def test_rules_about_ids(tmp_path):
    rules = bckm.Constraints(
        must_link=[("ann", 7, 2.5)],
        cannot_link=[(True, None), ("ann", "ü")],
        capacities={"kg": bckm.Capacity({"ann": 1.0, 7: 2.0, None: 3.0}, max=9)},
        groups={"a": 1, "b": 1},
        fixed={"ann": 0},
        forbidden=[(7, 1)],
        stay=bckm.Stay({"ann": 0, 7: -1}, confidence=2.0),
        by="sample_id",
    ) & bckm.Constraints(must_link=[("ann", 8)], by="sample_id").soft(confidence=[0.5])
    pool = Pool()
    tree = constraints_tree(rules, pool)
    write_container(tmp_path / "x", "rules", {"rules": tree, "pool": pool.trees()})
    fields = Fields(read_container(tmp_path / "x", ["rules"]).content, "")
    found = read_constraints(fields.of("rules"), Pool.read(fields.all("pool")))
    assert tell(found) == tell(rules)
    assert isinstance(found, bckm.Constraints)


@pytest.mark.parametrize("where", ["link", "category", "capacity", "fixed"])
def test_ids_that_a_file_cannot_hold(where, tmp_path):
    day, X = datetime.date(2024, 1, 1), make.data(n=3)
    ids = [day, "b", "c"]
    rules = {
        "link": {"must_link": [(day, "b")], "by": "sample_id"},
        "category": {"quotas": bckm.Quota([day, None, None], share_max=1.0)},
        "capacity": {
            "capacities": {"kg": bckm.Capacity(dict.fromkeys(ids, 1.0), max=9)},
            "by": "sample_id",
        },
        "fixed": {"fixed": {day: 0}, "by": "sample_id"},
    }
    asked = bckm.Constraints(**rules[where])
    result = bckm.kmeans(X, 2, asked, sample_id=ids, random_state=0)
    study = bckm.Study.of(result, X, asked, sample_id=ids)
    with pytest.raises(TypeError, match=r"datetime.date.* use text or numbers"):
        bckm.save(study, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_settings_that_a_file_cannot_hold(tmp_path):
    result = make.result()
    study = bckm.Study.of(result, make.data(), settings={"when": {"day": datetime.date.today()}})
    with pytest.raises(TypeError, match=r"study.settings.when.day is a date"):
        bckm.save(study, tmp_path / "x")


def test_only_what_can_be_kept_is_taken(tmp_path):
    class Mine(bckm.ConstrainedKMeans):
        pass

    for thing in (None, [1], Mine(), bckm.Constraints()):
        with pytest.raises(
            TypeError, match="save expects a Result, a ConstrainedKMeans or a Study"
        ):
            bckm.save(thing, tmp_path / "x")


def test_a_loaded_result_is_certified_like_a_new_one(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    rules = bckm.Constraints(size_min=8)
    result = bckm.kmeans(X, 3, rules, random_state=0)
    proofs = [bckm.certify(found, X, rules, tol=0.2) for found in (result, again(result, tmp_path))]
    assert proofs[0].lower_bound == proofs[1].lower_bound > 0


# -- models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "latlon", "haversine"])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_loaded_model_answers_the_same(metric, bounded, tmp_path):
    X = make.data(5, 40).clip(-1.5, 1.5)  # may be radians, too
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = bckm.ConstrainedKMeans(
        4, size_max=[10, 11, 12, 13] if bounded else None, metric=metric, random_state=0
    )
    model.set_output(transform="pandas").fit(frame, sample_weight=np.linspace(1, 3, 40))
    found = again(model, tmp_path)
    new = pd.DataFrame(make.data(6, 30).clip(-1.5, 1.5), columns=["a", "b"])
    assert np.array_equal(found.predict(new), model.predict(new))
    assert found.predict(new).dtype == np.int32
    assert np.array_equal(found.assign(new), model.assign(new))
    assert found.transform(new).equals(model.transform(new))
    assert found.score(new) == model.score(new)
    assert found.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert vars(found).keys() == vars(model).keys()
    with pytest.raises(ValueError, match="feature names"):
        found.predict(new.rename(columns={"a": "z"}))


@pytest.mark.parametrize("n_known", [30, 2])
def test_a_loaded_model_measures_as_it_learned(n_known, tmp_path):
    X, _ = make.linked()
    known = np.where(np.arange(len(X)) < n_known, np.arange(len(X)) % 3, -1)
    if n_known == 2:  # too few to judge by
        known[:2] = 0
    rules = bckm.Constraints.from_labels(known)
    model = bckm.ConstrainedKMeans(3, metric="learned", random_state=0).fit(X, constraints=rules)
    assert model.result_.metric.name == ("learned" if n_known > 2 else "euclidean")
    for one in (model.result_, bckm.Study.of(model.result_, X, rules)):
        assert tell(again(one, tmp_path)) == tell(one)
    found = again(model, tmp_path)
    assert told(found) == told(model)
    new = make.data(9, 20, 3)
    assert np.array_equal(found.predict(new), model.predict(new))
    assert np.array_equal(found.transform(new), model.transform(new))
    assert np.array_equal(found.assign(new), model.assign(new))


def test_a_model_keeps_a_metric_that_it_was_given(tmp_path):
    X, rules = make.linked()
    model = bckm.LearnedMetric().fit(X, constraints=rules)
    for metric in (model, model.metric_):
        user = bckm.ConstrainedKMeans(3, metric=metric, random_state=0)
        found = again(user, tmp_path)
        assert tell(found.metric) == tell(model.metric_)
        assert np.array_equal(found.fit_predict(X), user.fit_predict(X))


def test_results_of_old_files_know_their_metric():
    for number in (1, 2):
        found = bckm.load(make.HERE.parent / f"v{number}" / "haversine.bckm")
        assert found.metric == found.result.metric.name == "latlon"


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "latlon", "haversine"])
def test_centers_of_format_2_show_their_metric(metric):
    X = make.data(5, 40).clip(-1.5, 1.5)
    result = bckm.kmeans(X, 4, metric=metric, random_state=0)
    old = {"result": {"centers": result.centers, "embedded": result.embedded}}
    assert upgraded(old)["result"]["metric"] == {"name": metric, "judgment": None}


def test_a_model_with_capacities_scales_them_the_same(tmp_path):
    model = make.model()
    found = again(model, tmp_path)
    X = make.data(7, 24)
    amounts = {"kg": np.arange(24) % 5 + 1.0, "m³": np.linspace(1, 2, 24)}
    assert np.array_equal(found.assign(X, amounts=amounts), model.assign(X, amounts=amounts))
    with pytest.raises(ValueError, match="pass amounts"):
        found.assign(X)


@pytest.mark.parametrize("fitted", [False, True])
def test_parameters_of_all_kinds(fitted, tmp_path):
    model = bckm.ConstrainedKMeans(
        np.int64(2),
        size_min=np.array([1, 2]),
        size_max=pd.Series([9, 10]),
        init=np.array([[0.0, 0.0], [1.0, 1.0]]),
        n_init=1,
        tol=np.float32(0.5),
        random_state=np.random.default_rng(3),
    )
    model = model.fit(make.data()) if fitted else model
    found = again(model, tmp_path)
    assert found.random_state is None  # as the documentation says
    assert found.n_clusters == 2
    assert found.tol == 0.5
    assert np.array_equal(found.size_max, [9, 10])
    assert np.array_equal(found.init, model.init)
    assert hasattr(found, "labels_") == fitted
    assert np.array_equal(found.fit(make.data()).labels_, model.fit(make.data()).labels_)


# -- files that nobody wrote ------------------------------------------------------------------


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


@pytest.fixture(scope="module")
def a_study():
    return bckm.load(make.HERE / "study.bckm")  # the same with and without kernels


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


@pytest.fixture(scope="module")
def a_learned_study():
    return bckm.load(make.HERE / "learned.bckm")


def test_labels_that_broke_rules_from_the_beginning_may(tmp_path):
    """A study may tell of labels from elsewhere."""
    study = bckm.Study.of(make.result(), make.data(), bckm.Constraints(size_max=1, size_min=0))
    assert tell(again(study, tmp_path)) == tell(study)


# -- damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_damaged_files(path, tmp_path):
    """Flip, cut, append, repeat: the same thing, or an error of our own."""
    rng, place = np.random.default_rng(0), tmp_path / "x.bckm"
    content, right, kept = path.read_bytes(), told(bckm.load(path)), 0
    for _ in range(60):
        place.write_bytes(damage.broken(content, rng))
        found = damage.load(place)
        if found is not None:
            kept += 1
            assert told(found) == right
    assert kept < 30


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Valid files of every kind."""
    folder = tmp_path_factory.mktemp("originals")
    bckm.save(bckm.ConstrainedKMeans(3, size_max=5), folder / "unfitted.bckm")
    sized = bckm.ConstrainedKMeans(3, size_min=[1, 2, 3], size_max=9, random_state=0)
    bckm.save(sized.set_output(transform="pandas").fit(make.data(5)), folder / "sized.bckm")
    return [*CORPUS, *sorted(folder.iterdir())]


@pytest.mark.parametrize("alter", [damage.alter_content, damage.alter_header])
def test_altered_files_with_right_checksums(alter, originals, tmp_path):
    """Another value in place of one of the tree: refused, or loaded and of use."""
    rng, place, refused = np.random.default_rng(3), tmp_path / "x.bckm", 0
    for number in range(120):
        place.write_bytes(originals[number % len(originals)].read_bytes())
        alter(place, rng)
        found = damage.load(place)
        if found is None:
            refused += 1
        else:
            damage.use(found, tmp_path)
    assert 80 < refused < 120


def test_no_file_runs_code(tmp_path):
    """What a pickle would do on loading is not done."""
    path = tmp_path / "x.bckm"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", b"cos\nsystem\n(S'touch " + bytes(tmp_path) + b"/ran'\ntR.")
    with pytest.raises(bckm.DamagedFileError):
        bckm.load(path)
    assert not (tmp_path / "ran").exists()
