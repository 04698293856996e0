"""The experiments: judged honestly, resumable, and a failure is a row."""

import numpy as np
import pytest

import bckm
from experiments import __main__ as command
from experiments import figures, runner, table, tasks
from experiments.objective import Task, judge, measure
from experiments.published import METHODS, NMI, SECONDS


@pytest.fixture
def task():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    rules = bckm.Constraints([(0, 1)], [(1, 2)], size_min=2, size_max=2)
    return Task(X, np.array([0, 0, 1, 1]), 2, rules)


def test_judge_counts_every_kind_of_violation(task):
    good = judge(np.array([0, 0, 1, 1]), task)
    assert good["nmi"] == good["ari"] == pytest.approx(1)
    assert good["inertia"] == pytest.approx(0.01)
    assert [good[f"broken_{kind}"] for kind in ("must_link", "cannot_link", "size")] == [0, 0, 0]
    bad = judge(np.array([0, 1, 1, 1]), task)
    assert [bad[f"broken_{kind}"] for kind in ("must_link", "cannot_link", "size")] == [1, 1, 2]
    assert (bad["smallest"], bad["largest"], bad["sizes"]) == (1, 3, "1 3")


def test_a_failure_is_a_row_that_says_so(task):
    def broken(task, seed):
        raise RuntimeError("no cluster is left for sample 3\nsecond line")

    row = measure(broken, task, 0)
    assert row["error"] == "RuntimeError: no cluster is left for sample 3"
    assert "nmi" not in row


def test_a_stopped_run_goes_on_where_it_was(task, tmp_path, monkeypatch):
    calls = []

    def fit(task, seed):
        calls.append(seed)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return np.array([0, 0, 1, 1])

    monkeypatch.setattr(runner, "FITS", {"one": fit, "two": fit})
    case = tasks.Case("tiny", 2, float("nan"), lambda seed: task)
    path = tmp_path / "out" / "rows.csv"
    with pytest.raises(KeyboardInterrupt):
        runner.run([case], 2, ["one", "two"], path)
    with path.open("a") as handle:
        handle.write("tiny,2,nan,1,one,0.")  # killed while writing
    rows = runner.run([case], 2, ["one", "two"], path)
    assert len(calls) == 5  # two, the one that was stopped, and the two that were missing
    assert [(r["seed"], r["method"]) for r in rows] == [
        ("0", "one"), ("0", "two"), ("1", "one"), ("1", "two"),
    ]  # fmt: skip
    assert runner.run([case], 2, ["one", "two"], path) == rows
    assert len(calls) == 5


def test_tasks_are_balanced_and_feasible_and_differ_by_seed():
    for case in tasks.synthetic(quick=True) + tasks.cluster_sizes(quick=True):
        one, two = case.make(0), case.make(1)
        assert not np.array_equal(one.X, two.X)
        assert set(np.bincount(one.y)) == {one.y.size // case.n_clusters}
        # the classes themselves obey every rule
        assert bckm.verify(one.y, case.n_clusters, one.constraints) == []


def test_published_numbers_are_complete():
    assert set(NMI) == set(SECONDS) == set(tasks.ROWS)
    assert all(len(row) == len(METHODS) == 8 for row in [*NMI.values(), *SECONDS.values()])


def test_command_writes_tables_and_figures(tmp_path):
    """A small real run through the command: every method, bundled data."""
    command.main(["real", "--quick", "--out", str(tmp_path)])
    rows = runner.read(tmp_path / "real.csv")
    assert {row["method"] for row in rows} == set(command.FITS)
    for row in rows:
        if row["method"] in ("BCKM", "auto"):
            assert row["error"] == ""
            assert row["broken_must_link"] == row["broken_cannot_link"] == row["broken_size"] == "0"
    text = (tmp_path / "real.md").read_text()
    assert "## NMI" in text
    assert text.count("| digits (1) |") == 3


def test_figures_are_drawn(tmp_path):
    rows = [
        {
            "case": "synthetic", "n_clusters": k, "sigma": "0.7", "seed": seed, "method": method,
            "seconds": "0.5", "error": "", "nmi": "0.9", "broken_must_link": "0",
            "broken_cannot_link": "0", "broken_size": "0", "sizes": "3 2",
        }
        for k in ("5", "10") for seed in "01" for method in ("KM", "BCKM")
    ]  # fmt: skip
    figures.synthetic(rows, ["0.7"], tmp_path / "synthetic")
    figures.cluster_sizes(rows, tmp_path / "sizes")
    for name in ("synthetic.png", "synthetic.svg", "sizes.png", "sizes.svg"):
        assert (tmp_path / name).stat().st_size > 1000


def test_table_shows_published_numbers_and_failures(tmp_path):
    row = dict.fromkeys(runner.COLUMNS, "0") | {"case": "UMIST", "sigma": "nan", "error": ""}
    rows = [
        row | {"n_clusters": "15", "seed": "0", "method": "KM", "nmi": "0.5", "seconds": "1"},
        row | {"n_clusters": "15", "seed": "0", "method": "COP", "error": "COPFailure: x"},
    ]
    table.write_latex(rows, tmp_path / "t.tex")
    latex = (tmp_path / "t.tex").read_text()
    assert r"UMIST & 0.50 $\pm$ 0.00 (0.76) & -- (0.78) \\" in latex
    assert latex.count(r"\bottomrule") == 3
    table.write(rows, tmp_path / "t.md")
    text = (tmp_path / "t.md").read_text()
    assert "0.50 ± 0.00 (0.76)" in text
    assert "– (0.78)" in text
    assert "1 f" in text


def every_second(task, seed):
    return np.arange(len(task.X)) % task.n_clusters


def test_a_method_of_ones_own(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "FITS", dict(command.FITS))
    monkeypatch.setattr("experiments.methods.FITS", command.FITS)
    monkeypatch.setattr(runner, "FITS", command.FITS)
    own = f"{__name__}:every_second"
    command.main(["real", "--quick", "--methods", "KM", "--method", own, "--out", str(tmp_path)])
    rows = runner.read(tmp_path / "real.csv")
    assert {row["method"] for row in rows} == {"KM", "every_second"}
    assert r"\toprule" in (tmp_path / "real.tex").read_text()
    for wrong in ("nowhere:x", "experiments.methods", f"{__name__}:missing", own):
        with pytest.raises(SystemExit):
            command.main(["real", "--method", wrong, "--out", str(tmp_path)])
        assert "--method" in capsys.readouterr().err
