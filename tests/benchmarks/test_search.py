"""The benchmark of search: it measures what it says, and its checks can fail."""

import json
import time

import numpy as np
import pytest

import bckm
from bckm.kernels import missing
from benchmarks.search import apart, balance, compare, known, ratio, report, tiny
from benchmarks.search.__main__ import main
from benchmarks.search.case import Case, verdict
from benchmarks.search.data import Folders, MissingError, Source, select, small, varied
from benchmarks.search.fit import fit
from benchmarks.search.methods import METHODS, Method, Task
from benchmarks.sizes import judge


def silent(_):
    """Say nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("instances")
    tiny.write(where)
    return Folders(where, where)


@pytest.fixture
def line():
    """Four samples, two by two, the first two linked."""
    rules = bckm.Constraints(must_link=[(0, 1)], size_min=2, size_max=2)
    return Case("line", np.array([[0.0], [2.0], [10.0], [12.0]]), 2, rules)


def test_wrong_labels_are_found_out(line):
    assert verdict(line, np.array([0, 0, 1, 1]), claimed=4.0) == verdict(line, [1, 1, 0, 0])
    assert verdict(line, np.array([0, 0, 1, 1])).inertia == 4
    assert "must-linked" in verdict(line, np.array([0, 1, 0, 1])).broken[0]
    assert len(verdict(line, np.array([0, 0, 0, 1])).broken) == 2  # both sizes
    assert "claims inertia 3.9" in verdict(line, np.array([0, 0, 1, 1]), 3.9).broken[0]
    assert "claims" in verdict(line, np.array([0, 0, 1, 1]), np.nan).broken[0]
    for labels in ([0, 0, 1], [0, 0, 1, 2], [0, 0, 1, -1], [0.0, 0.0, 1.0, 1.0]):
        found = verdict(line, np.array(labels))
        assert found.broken
        assert found.inertia == np.inf


def test_an_empty_cluster_is_found_out():
    case = Case("free", np.arange(4.0)[:, None], 2, bckm.Constraints())
    assert verdict(case, np.zeros(4, int)).broken


def test_weights_count():
    X, labels = np.array([[0.0], [3.0], [9.0]]), np.array([0, 0, 1])
    weight = np.array([2.0, 1.0, 5.0])
    assert judge.means(X, labels, 2, weight).tolist() == [[1], [9]]
    assert judge.inertia(X, labels, 2, weight) == 2 * 1 + 4
    assert judge.inertia(X[[0, 0, 1]], np.zeros(3, int), 1) == 6  # weight is repetition


def test_who_may_take_part(line):
    X, two = line.X, {"size_min": 2, "size_max": 2}
    plain, even = Case("", X, 2, bckm.Constraints()), Case("", X, 2, bckm.Constraints(**two))
    assert (plain.free, plain.bounds) == (True, None)
    assert (even.free, even.bounds) == (False, (2, 2))
    assert line.bounds is None
    assert Case("", X, 2, bckm.Constraints(size_min=[1, 3], size_max=[1, 3])).bounds is None
    assert Case("", X, 2, bckm.Constraints(**two), np.ones(4)).bounds is None  # it has no weights


def test_known_values_are_reached(folder, tmp_path):
    instances = known.read(folder)
    assert len(instances) == 3
    rows = known.run(instances, 1, 0.4, 1, silent)
    assert all(abs(row["global"]["above"]) < 1e-9 for row in rows)
    page = report.known_page(rows)
    text = report.write(page, report_machine(), {"seconds": 0.1}, tmp_path)
    assert "3 of 3 within 1e-6" in text
    assert "NEW BEST" not in text
    assert "All checks passed (3 rows)." in text
    heading = next(one for one in text.splitlines() if one.startswith("| instance"))
    for name in ("best known", "global", "difference", "found after", "runs", "default"):
        assert f" {name} |" in heading
    facts = json.loads((tmp_path / "search-known.json").read_text())
    assert facts["rows"][0]["instance"] == "tiny/none"
    assert facts["broken"] == []


def report_machine():
    return {"processor": "p", "cores": 1, "threads": 1, "date": "d", "versions": {"bckm": "0"}}


def test_a_new_best_is_shouted_unless_it_cheats(folder):
    rows = known.run(known.read(folder)[:1], 1, 0.05, 1, silent)
    row = rows[0]
    better = row | {"best": row["best"] * 1.01}
    better["global"] = row["global"] | {"above": -0.01}
    assert "NEW BEST: tiny/none" in known.records([better])[0]
    assert known.check([better]) == []
    cheat = better | {"global": better["global"] | {"broken": ["a rule"]}}
    assert known.records([cheat]) == []
    assert known.check([cheat]) == ["tiny/none, seed 0, global: a rule"]
    (said, again) = known.check([row | {"lower_bound": 1.01 * row["best"]}])
    assert "below the proven bound" in said
    assert "below the proven bound" in again


def test_links_that_are_not_those_of_the_list_are_refused(tmp_path):
    tiny.write(tmp_path)
    path = tmp_path / "known.json"
    path.write_text(path.read_text().replace('"n_cl": 2', '"n_cl": 5'))
    (wrong,) = select(known.read(Folders(tmp_path, tmp_path)), "ml_1")
    with pytest.raises(MissingError, match=r"2 cannot-links; known\.json says 1 and 5"):
        wrong.source.make()


@pytest.mark.parametrize(
    ("mode", "option", "file"),
    [("known", "instances", "known.json"), ("balanced", "datasets", "s1.npz")],
)
def test_a_missing_folder_is_said(mode, option, file, tmp_path, capsys):
    gone = str(tmp_path / "gone")
    assert main([mode, "--instances", gone, "--datasets", gone]) == 2
    said = capsys.readouterr().err
    assert f"{file} does not exist; pass the folder that holds {file} with --{option}." in said


def test_a_pattern_that_matches_nothing_is_said(folder, capsys):
    assert main(["known", "--instances", str(folder.instances), "--only", "wine"]) == 2
    assert "no instance is called like 'wine'" in capsys.readouterr().err
    assert [one.name for one in select(known.read(folder), "tiny/*")] == [
        "tiny/none", "tiny/ml_1_cl_2_0",
    ]  # fmt: skip


def test_instances_are_of_many_kinds(folder):
    sources = varied(folder)
    assert len({source.name for source in sources}) == len(sources) >= 10
    drawn = [one for one in sources if one.name.split(",")[0] not in
             ("S4", "Birch1", "ORL faces", "MNIST", "glass")]  # fmt: skip
    for source in [*drawn, *small()]:
        case = source.make()
        assert case.name == source.name
        assert np.isfinite(case.X).all()
        assert case.X.tolist() == source.make().X.tolist()  # drawn from a seed
    kinds = {(case.free, case.bounds is None, case.linked, case.weight is None)
             for case in (source.make() for source in small())}  # fmt: skip
    assert len(kinds) == 5  # nothing, weights, balanced, uneven, more than sizes


def few(seeds, *names):
    """A table of small instances, in this process."""
    chosen = [source for source in small() if source.name in names]
    return compare.run(chosen, seeds, [0.025, 0.05], 1, 10.0, silent, apart.inside)


@pytest.mark.full
def test_table_has_its_columns(tmp_path):
    rows = few(2, "blobs", "balanced")
    text = report.write(report.table_page(rows), report_machine(), {}, tmp_path)
    headings = [one for one in text.splitlines() if one.startswith("| instance")]
    for name in ("none, 1 start", "local, 1 start", "auto (default)", "none, restarts, 0.05 s",
                 "global, 0.05 s", "scikit-learn, 0.05 s"):  # fmt: skip
        assert f" {name} |" in headings[0]
    assert " global, 0.025 s | global, 0.05 s |" in headings[1]
    assert compare.check(rows) == []
    assert {row["seed"] for row in rows} == {0, 1}
    for name in ("blobs", "balanced"):
        ratios = [row["ratio"] for row in rows if row["instance"] == name]
        assert min(ratios) == 1
    peers = {row["instance"]: row["method"] for row in rows if row["method"] == "lloyd"}
    assert peers == {"blobs": "lloyd"}  # only where nothing is asked
    assert len(json.loads((tmp_path / "search-table.json").read_text())["rows"]) == len(rows)


def test_labels_that_break_rules_win_nothing(monkeypatch):
    def liar(task):  # all of the smallest inertia, but not balanced
        task.keep(bckm.kmeans(task.case.X, task.case.k, random_state=0).labels)

    monkeypatch.setitem(METHODS, "local", Method("liar", liar))
    rows = few(1, "balanced")
    lies = [row for row in rows if row["method"] == "local"]
    assert lies[0]["ratio"] is None
    assert "liar" in compare.check(rows)[0]
    assert min(row["ratio"] for row in rows if row["ratio"] is not None) == 1
    assert "BROKEN" in report.table_page(rows).tables[0]


def test_a_method_that_fails_is_shown(monkeypatch):
    def broken(task):
        raise MemoryError("too much")

    monkeypatch.setitem(METHODS, "local", Method("broken", broken))
    rows = few(1, "blobs")
    assert "MemoryError: too much" in compare.check(rows)[0]
    assert "failed after" in report.table_page(rows).said[0]


def test_a_method_that_is_stopped_is_shown_but_not_wrong():
    def late(case, method, *rest):
        if method == "local":
            return apart.Outcome((), "stopped", 9.0)
        return apart.inside(case, method, *rest)

    rows = compare.run(small()[:1], 1, [0.05], 1, 10.0, silent, late)
    assert compare.check(rows) == []
    page = report.table_page(rows)
    assert "stopped after 9 s without labels" in page.said[0]
    assert "| > 9 s |" in page.tables[0]


def test_the_clock_stands_still_while_labels_are_judged(line, monkeypatch):
    told = []
    task = Task(line, 0, 1.0, 1, lambda *what: told.append(what))
    inertia = judge.inertia

    def slow(*what):
        time.sleep(0.2)
        return inertia(*what)

    monkeypatch.setattr(judge, "inertia", slow)
    for labels in ([0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]):  # the last is worse: not told
        task.keep(np.array(labels))
    assert task.elapsed < 0.2
    assert [(what[1].tolist(), what[2]) for what in told] == [([0, 1, 0, 1], 1), ([0, 0, 1, 1], 2)]


def test_the_best_by_a_time():
    found = tuple(apart.Found(at, np.zeros(1), 1) for at in (2.0, 4.0, 6.0))
    outcome = apart.Outcome(found, "done", 7.0)
    assert [outcome.until(at).seconds for at in (1, 2, 5, 9)] == [2, 2, 4, 6]
    assert apart.Outcome((), "stopped", 1.0).until(1) is None


def test_a_process_of_its_own():
    case = small()[0].make()
    done = apart.measure(case, "none", 0, 1.0, 1, limit=60)
    assert done.status == "done"
    assert done.found[-1].claimed == pytest.approx(verdict(case, done.found[-1].labels).inertia)
    late = apart.measure(case, "restarts", 0, 60.0, 1, limit=0.0)
    assert (late.status, late.found) == ("stopped", ())


def test_time_until_the_best_is_within_that_of_the_fit():
    case = small()[3].make()
    found = fit(case, "global", 0, 1, seconds=0.3)
    assert 0 < found.best_after <= found.seconds < 5
    assert found.runs > 1
    assert found.found.broken == ()


def test_references_are_compared_at_six_digits():
    at = {"reference": 1.08875e13}
    near = (1.0887461e13, 1.088744e13, 1.088756e13)
    places = [balance.place(at | {"inertia": value}) for value in near]
    assert places == ["same", "better", "worse"]


def test_ratios_are_medians_over_seeds():
    values = [(1.0, 1.0), (5.0, 0.9), (2.0, 1.1)]
    rows = [
        {"instance": "a", "n_init": 1, "seed": seed, "time_ratio": time, "inertia_ratio": inertia,
         "none_seconds": 1.0, "auto_seconds": time, "broken": []}
        for seed, (time, inertia) in enumerate(values)
    ]  # fmt: skip
    (whole,) = ratio.together(rows)
    assert (whole["time_ratio"], whole["worst_time_ratio"]) == (2.0, 5.0)
    assert (whole["inertia_ratio"], whole["worst_inertia_ratio"]) == (1.0, 1.1)
    assert "worst single 5.00 (a, n_init=1, seed 1)" in ratio.summary(rows)[0]


def test_long_fits_of_many_starts_are_left_out():
    heard = []
    rows = ratio.run([Source("blobs", small()[0].make)], 1, 1, 0.0, heard.append)
    assert [row["n_init"] for row in rows] == [1, "auto"]
    assert any("left out" in one for one in heard)


@pytest.mark.full
@pytest.mark.skipif(bool(missing), reason="takes minutes without the compiled kernels")
def test_quick_runs_every_mode(tmp_path, capsys):
    assert main(["quick", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    for mode in ("known", "balanced", "table", "auto"):
        assert f"## search: {mode}" in text
        assert (tmp_path / "quick" / f"search-{mode}.json").is_file()
    assert "FAILED" not in text
