"""The experiments: judged honestly, resumable, and a failure is a row."""

import numpy as np
import pytest

import bckm
from experiments import __main__ as command
from experiments import choice, features, figures, pump, runner, table, tasks
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
        handle.write("tiny,raw,2,nan,1,one,0.")  # killed while writing
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


def test_another_versions_results_are_not_mixed_in(tmp_path):
    (tmp_path / "rows.csv").write_text("case,n_clusters,seconds\ntiny,2,0.1\n")
    with pytest.raises(SystemExit, match="another version"):
        runner.read(tmp_path / "rows.csv")


@pytest.mark.full
def test_command_writes_tables_and_figures(tmp_path):
    """A small real run through the command, on bundled data."""
    methods = ["KM", "CKM", "HKC", "BCKM", "learned"]
    words = ["--quick", "--seeds", "1", "--out", str(tmp_path), "--methods", *methods]
    command.main(["real", *words])
    rows = runner.read(tmp_path / "real.csv")
    for space in ("raw", "features"):
        assert {r["method"] for r in rows if r["space"] == space} == set(methods)
    assert {r["method"] for r in rows if r["space"] == "learned"} == set(methods) - {"learned"}
    for row in rows:
        assert row["error"] == ""
        assert float(row["wall_seconds"]) > 0
        if row["method"] in ("BCKM", "learned"):
            assert row["broken_must_link"] == row["broken_cannot_link"] == row["broken_size"] == "0"
    text = (tmp_path / "real.md").read_text()
    assert text.count("| digits (1) |") == 1 + 3 * 3  # the best; three tables in three parts
    assert text.count("±") == 1  # where it is explained: a single draw has no spread


def test_maps_are_finite_and_of_single_pictures():
    pictures = np.random.default_rng(0).random((12, 28, 23))
    pictures[0] = 0  # a black one
    for name, map_ in features.MAPS.items():
        found = map_(pictures)
        assert found.shape[0] == 12
        assert np.isfinite(found).all()
        if name != "whitened":  # principal components are those of all pictures
            assert np.allclose(map_(pictures[3:5]), found[3:5])
    assert set(features.CHOSEN) == set(features.PICTURE)
    assert set(features.CHOSEN.values()) <= set(features.MAPS)
    assert {source for source, *_ in tasks.ROWS.values()} <= set(features.CHOSEN)


def test_light_hardly_changes_gradients_of_log_pixels():
    picture = 0.1 + 0.4 * np.random.default_rng(1).random((1, 32, 32))
    one, two = (features.gradients(light * picture) for light in (1.0, 2.0))
    assert np.abs(one - two).mean() < 0.1 * np.abs(one).mean()


def test_the_map_nearest_to_the_published_k_means_is_chosen(tmp_path):
    # published: 0.67 and 0.61, mean 0.64
    found = dict.fromkeys(features.MAPS, (0.9, 0.9)) | {"edges": (0.5, 0.7)}
    found["small"] = (0.67, 0.55)
    rows = [
        {"case": case, "space": name, "nmi": str(nmi)}
        for name, values in found.items()
        for case, nmi in zip(("ORL (1)", "ORL (2)"), values, strict=True)
    ]
    assert choice.nearest(rows, "ORL") == "small"
    choice.write(rows, tmp_path / "features.md")
    assert "| **ORL** | 0.64 |" in (tmp_path / "features.md").read_text()
    assert "**0.61**" in (tmp_path / "features.md").read_text()


def test_figures_are_drawn(tmp_path):
    rows = [
        {
            "case": "synthetic", "n_clusters": k, "sigma": "0.7", "seed": seed, "method": method,
            "cpu_seconds": "0.5", "wall_seconds": "0.6", "error": "", "nmi": "0.9",
            "broken_must_link": "0", "broken_cannot_link": "0", "broken_size": "0", "sizes": "3 2",
        }
        for k in ("5", "10") for seed in "01" for method in ("KM", "BCKM")
    ]  # fmt: skip
    figures.synthetic(rows, ["0.7"], tmp_path / "synthetic")
    figures.cluster_sizes(rows, tmp_path / "sizes")
    for name in ("synthetic.png", "synthetic.svg", "sizes.png", "sizes.svg"):
        assert (tmp_path / name).stat().st_size > 1000


def test_table_shows_published_numbers_spread_and_failures(tmp_path):
    row = dict.fromkeys(runner.COLUMNS, "0") | {"case": "UMIST", "space": "raw", "error": ""}
    fits = [
        ("KM", "0", "0.5"), ("KM", "1", "0.502"), ("BKM", "0", "0.5"), ("BKM", "1", "0.5"),
        ("BCLS", "0", "0.5"), ("BCLS", "1", "0.6"), ("learned", "0", "0.9"),
    ]  # fmt: skip
    rows = [
        row | {"n_clusters": "15", "seed": seed, "method": method, "nmi": nmi, "cpu_seconds": "1"}
        for method, seed, nmi in fits
    ] + [row | {"n_clusters": "15", "seed": "0", "method": "COP", "error": "COPFailure: x"}]
    rows += [rows[0] | {"space": "learned"}]
    table.write_latex(rows, tmp_path / "t.tex")
    latex = (tmp_path / "t.tex").read_text()
    shown = r"0.50 $\pm$ 0.001 (0.76) & 0.50 (0.75) & 0.55 $\pm$ 0.05 (0.75) & -- (0.78)"
    assert rf"UMIST & {shown} \\" in latex
    assert latex.count(r"\bottomrule") == 1 + 2 * 3
    table.write(rows, tmp_path / "t.md")
    text = (tmp_path / "t.md").read_text()
    assert "± 0.00 " not in text
    assert "1.00 / 0.00 (0.25)" in text  # CPU, wall, published
    assert "1 f" in text
    # what learns the metric by itself stands with those that were given it
    assert "| UMIST | 0.81 CKSC | 0.55 BCLS | 0.90 learned |" in text


def test_the_pump_is_counted_with_both_kinds_of_rows(task, tmp_path):
    case = tasks.Case("tiny", 2, float("nan"), lambda seed: task)
    pump.write([case], 1, tmp_path / "pump.md")
    *_, pairs, cliques = (tmp_path / "pump.md").read_text().splitlines()
    assert pairs.startswith("| tiny | pairs | ")
    assert cliques.startswith("| tiny | cliques | ")


def every_second(task, seed):
    return np.arange(len(task.X)) % task.n_clusters


def test_a_method_of_ones_own(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "FITS", dict(command.FITS))
    monkeypatch.setattr("experiments.methods.FITS", command.FITS)
    monkeypatch.setattr(runner, "FITS", command.FITS)
    own = f"{__name__}:every_second"
    words = ["--quick", "--seeds", "1", "--methods", "KM", "--method", own]
    command.main(["real", *words, "--out", str(tmp_path)])
    rows = runner.read(tmp_path / "real.csv")
    assert {row["method"] for row in rows} == {"KM", "every_second"}
    assert r"\toprule" in (tmp_path / "real.tex").read_text()
    for wrong in ("nowhere:x", "experiments.methods", f"{__name__}:missing", own):
        with pytest.raises(SystemExit):
            command.main(["real", "--method", wrong, "--out", str(tmp_path)])
        assert "--method" in capsys.readouterr().err
