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


@pytest.mark.sampled(5)
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


@pytest.mark.sampled(3)
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


def test_labels_that_broke_rules_from_the_beginning_may(tmp_path):
    """A study may tell of labels from elsewhere."""
    study = bckm.Study.of(make.result(), make.data(), bckm.Constraints(size_max=1, size_min=0))
    assert tell(again(study, tmp_path)) == tell(study)


# -- damage -----------------------------------------------------------------------------------


@pytest.mark.sampled(8)
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


@pytest.mark.sampled(1)
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
