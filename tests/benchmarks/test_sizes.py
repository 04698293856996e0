"""The benchmark of size bounds: it measures what it says, and its checks can fail."""

import dataclasses
import json
import math
import sys

import numpy as np
import pytest

from benchmarks.sizes import judge, measure, modes, plot, report
from benchmarks.sizes.data import BOUNDS, FAMILIES, STARTS, Case, write
from benchmarks.sizes.methods import METHODS, Fit, Method
from benchmarks.sizes.run import check, run

GAP = 1e-9


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    case = Case("tiny", "blobs", 150, 4, d=3, max_iter=5)
    return run([case], measure.fit, tmp_path_factory.mktemp("data"), threads=1, repeats=2)


def changed(rows, **values):
    """The rows with other values in the first of ours."""
    at = next(i for i, row in enumerate(rows) if row["method"] == "ours")
    return [*rows[:at], rows[at] | values, *rows[at + 1 :]]


def test_table_has_its_columns_and_the_file_its_facts(rows, tmp_path):
    text = report.write("main", rows, check(rows, GAP), report.machine(1), tmp_path)
    heading = next(line for line in text.splitlines() if line.startswith("| data"))
    for name in ("bounds", "method", "time", "iterations", "time per iteration", "÷ scikit-learn",
                 "memory", "inertia", "sizes kept", "gap"):  # fmt: skip
        assert f" {name} |" in heading
    assert "÷ faiss" not in heading  # not measured, so no column of dashes
    assert "All checks passed (2 fits of bckm)." in text
    floor = report.write("main", rows[:1], [], report.machine(1), tmp_path / "floor")
    assert "Nothing was checked." in floor
    facts = json.loads((tmp_path / "sizes-main.json").read_text())
    assert facts["machine"]["threads"] == 1
    assert set(facts["machine"]) >= {"processor", "cores", "date", "versions"}
    assert [(row["method"], row["bounds"]) for row in facts["rows"]] == [
        ("lloyd", "none"), ("ours", "balanced"), ("ours", "slack"),
    ]  # fmt: skip
    assert all(len(row["all_seconds"]) == 2 for row in facts["rows"])


def test_ratios_are_of_the_same_run(rows):
    floor, balanced, _ = rows
    assert balanced["over_lloyd"] == balanced["per_iteration"] / floor["per_iteration"]
    assert balanced["inertia"] > floor["inertia"]
    assert balanced["gap"] <= GAP


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"sizes_kept": False}, "outside"),
        ({"gap": 1e-3}, "not proven"),
        ({"gap": math.nan}, "not proven"),
        ({"gap": None}, "not proven"),
        ({"claimed_inertia": 1.0}, "claims inertia"),
        ({"status": "failed", "message": "MemoryError"}, "MemoryError"),
        ({"status": "stopped"}, "stopped"),
    ],
)
def test_every_check_can_fail(rows, tmp_path, values, said):
    assert check(rows, GAP) == []
    broken = check(changed(rows, **values), GAP)
    assert len(broken) == 1
    assert said in broken[0]
    text = report.write("main", rows, broken, report.machine(1), tmp_path)
    assert "FAILED" in text
    assert "All checks passed" not in text


def swap(labels):
    """Move a sample to another cluster."""
    labels = labels.copy()
    labels[0] = (labels[0] + 1) % 4
    return labels


def test_labels_that_break_the_bounds_are_found_out(tmp_path, monkeypatch):
    honest = METHODS["ours"]

    def liar(task):
        found = honest.fit(task)
        return dataclasses.replace(found, labels=swap(found.labels))

    monkeypatch.setitem(METHODS, "ours", dataclasses.replace(honest, fit=liar))
    case = Case("tiny", "blobs", 160, 4, d=3, max_iter=3, bounds=("balanced",))
    rows = run([case], measure.fit, tmp_path, threads=1)
    broken = " ".join(check(rows, GAP))
    assert "sizes (39, 41) are outside (40, 40)" in broken
    assert "claims inertia" in broken


def test_a_better_step_of_a_peer_is_found_out(tmp_path, monkeypatch):
    def nearest(task):  # ignores the bounds, so it costs less
        return Fit(((task.X[:, None] - task.start) ** 2).sum(axis=2).argmin(axis=1), 1, 1)

    peer = Method("peer", "numpy", True, nearest)
    monkeypatch.setitem(METHODS, "constrained step", peer)
    case = Case("tiny", "blobs", 160, 4, d=3, max_iter=1, bounds=("balanced",),
                methods=("ours", "constrained step"))  # fmt: skip
    rows = run([case], measure.fit, tmp_path, threads=1)
    assert rows[1]["sizes_kept"] is False
    assert ["its step is better than ours" in line for line in check(rows, GAP)] == [True]


def test_step_of_k_means_constrained_is_not_better(tmp_path):
    pytest.importorskip("k_means_constrained", exc_type=ImportError)
    case = Case("tiny", "blobs", 150, 4, d=3, max_iter=1, methods=("ours", "constrained step"))
    rows = run([case], measure.fit, tmp_path, threads=1)
    assert [row["method"] for row in rows] == ["ours", "constrained step"] * 2
    assert all(row["sizes_kept"] for row in rows)
    assert check(rows, GAP) == []


def test_judge_by_hand():
    X = np.array([[0.0], [2.0], [10.0]], dtype=np.float32)
    labels = np.array([0, 0, 1])
    assert judge.means(X, labels, 3).tolist() == [[1], [10], [0]]
    assert judge.inertia(X, labels, 2) == 2
    assert judge.cost(X, labels, np.array([[0.0], [11.0]])) == 5
    assert judge.largest_gap(X, ((10.0, 9.0), (4.0, 3.0))) == 0.25
    assert judge.largest_gap(X, ()) is None
    assert judge.largest_gap(X, ((10.0, 10.0), (10.0, 11.0))) == math.inf  # not a bound
    assert judge.largest_gap(X, ((10.0, math.nan),)) == math.inf
    assert judge.largest_gap(X, ((1e-30, 0.0),)) < 1e-12  # nothing but rounding
    sizes = np.array([2, 3])
    assert [judge.sizes_kept(sizes, *b) for b in ((2, 3), (3, 3), (2, 2))] == [True, False, False]


def test_inertia_is_exact_far_from_the_origin():
    X = np.array([[1e4], [1e4 + 0.5]], dtype=np.float32)
    assert judge.inertia(X, np.array([0, 0]), 1) == 0.125


@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounds_can_be_obeyed(bounds):
    for n, k in ((10, 3), (9, 3), (7, 7), (1000, 7)):
        low, high = BOUNDS[bounds](n, k)
        assert 1 <= low <= high
        assert low * k <= n <= high * k


def test_every_mode_draws_its_cases(tmp_path):
    for mode in modes.MODES.values():
        full, small = mode(False), mode(True)
        assert len({case.name for case in full}) == len(full)
        for case in small:
            X, start = map(np.load, write(case, tmp_path))
            assert X.shape == (case.n, case.d)
            assert start.shape == (case.k, case.d)
            assert X.dtype == start.dtype == np.float32
    drawn = {(case.family, case.start) for mode in modes.MODES.values() for case in mode(False)}
    assert {family for family, _ in drawn} == set(FAMILIES)
    assert {start for _, start in drawn} == set(STARTS)


@pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel's own mark")
def test_memory_is_that_of_the_fit(tmp_path, monkeypatch):
    def hungry(task):
        np.ones(2**23).sum()  # 64 MiB, gone before the fit returns
        return Fit(np.zeros(len(task.X), int), 1, 1)

    monkeypatch.setitem(METHODS, "lloyd", Method("hungry", "numpy", False, hungry))
    np.ones(2**25).sum()  # an earlier peak does not count
    case = Case("tiny", "uniform", 50, 2, d=2, methods=("lloyd",))
    (row,) = run([case], measure.fit, tmp_path, threads=1)
    assert 60 * 2**20 < row["memory"] < 80 * 2**20


@pytest.mark.full
def test_a_process_of_its_own(tmp_path):
    data, start = map(str, write(Case("tiny", "uniform", 200, 3, d=2), tmp_path))
    request = measure.Request("lloyd", data, start, 0, 200, 4, 0.0, 1)
    row = measure.measure(request, budget=60)
    assert row["status"] == "done"
    assert row["steps"] >= row["iterations"] >= 1
    assert row["inertia"] == pytest.approx(measure.fit(request)["inertia"])
    late = measure.measure(request, budget=0)
    assert (late["status"], late["seconds"]) == ("stopped", 0)
    failed = measure.measure(dataclasses.replace(request, start=data + ".gone"), budget=60)
    assert failed["status"] == "failed"
    assert "Error" in failed["message"]


def test_a_stopped_fit_is_shown_as_at_least(rows):
    late = changed(rows, status="stopped", seconds=600.0, iterations=3)
    text = report.table(late, report.COLUMNS)
    assert "| > 600 s |" in text
    assert "| > 3 | > " in text  # iterations, and the time of one


def test_growth_is_drawn(tmp_path):
    rows = [
        {"case": f"{axis} = {at}", "method": method, "bounds": bounds, "status": "done",
         "per_iteration": at / 1e5, "settings": {"n": at, "k": at, "d": 16}}
        for axis in "Nk" for at in (100, 1000) for method, bounds in plot.LINES
    ]  # fmt: skip
    plot.grow(rows, tmp_path / "grow.png")
    assert (tmp_path / "grow.png").stat().st_size > 10_000
