"""`bckm fit` of Parquet data that are read in blocks."""

import collections
import json

import numpy as np
import pytest

from bckm.cli import _stream
from bckm.cli._progress import Bar
from tests.cli.conftest import read

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
N, K = 600, 5
SIZE = ("-k", K, "--size", N // K)


@pytest.fixture(name="data")
def in_parquet(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 3 * rng.integers(0, 3, (N, 1))
    names = [f"n{row}" for row in range(N)]
    table = pa.table({"name": names, **{f"x{j}": X[:, j] for j in range(3)}})
    pq.write_table(table, tmp_path / "big.parquet", row_group_size=130)
    (tmp_path / "parts").mkdir()
    pq.write_table(table[:250], tmp_path / "parts" / "part.0.parquet")
    pq.write_table(table[250:], tmp_path / "parts" / "part.1.parquet")
    return tmp_path / "big.parquet"


def clusters(path):
    return pq.read_table(path).to_pydict()


def test_clusters_are_written_with_ids(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr(_stream, "WRITTEN", 200)
    monkeypatch.setattr("bckm.blocks.parquet.NUMBERS", 150)
    answer = run(
        *("fit", data, *SIZE, "--stream", "--id", "name", "--out", tmp_path / "o.parquet"),
        *("--centers", tmp_path / "c.csv", "--summary", tmp_path / "s.json"),
    )
    assert answer.code == 0, answer.err
    assert "600 rows of big.parquet in 5 clusters of 120." in answer.out
    assert "every numeric column" in answer.out
    found = clusters(tmp_path / "o.parquet")
    assert found["name"] == [f"n{row}" for row in range(N)]
    assert collections.Counter(found["cluster"]) == dict.fromkeys(range(1, K + 1), N // K)
    assert pq.ParquetFile(tmp_path / "o.parquet").metadata.num_row_groups > 1
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["sizes"] == K * [N // K]
    assert summary["features"] == ["x0", "x1", "x2"]
    rows = read(tmp_path / "c.csv")
    assert [row["size"] for row in rows] == K * [str(N // K)]
    x = np.array([pq.read_table(data)[f"x{j}"] for j in range(3)]).T
    center = np.array([[float(row[f"x{j}"]) for j in range(3)] for row in rows])
    cost = np.square(x - center[np.array(found["cluster"]) - 1]).sum()
    assert summary["inertia"] == pytest.approx(cost, rel=1e-9)


def test_folders_are_streamed_and_agree_with_the_file(run, data, tmp_path):
    answer = run("fit", tmp_path / "parts", *SIZE, "--cluster-names", "a,b,c,d,e", "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    answer = run("fit", data, *SIZE, "--stream", "--json", "--columns", "x0,x1,x2")
    assert json.loads(answer.out)["n_samples"] == N
    one = clusters(tmp_path / "parts-clusters.parquet")["cluster"]
    other = clusters(tmp_path / "big-clusters.parquet")
    assert list(other) == ["cluster"]
    assert one == ["abcde"[label - 1] for label in other["cluster"]]


def test_large_files_are_streamed_unless_more_is_asked(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("bckm.blocks.sources.LARGE", 3 * N - 1)
    asked = ("fit", data, *SIZE, "--search", "none", "--max-iter", 2)
    assert "passes over the data" in run(*asked).out
    answer = run(*asked, "--report", tmp_path / "r.md", "--out", tmp_path / "o.parquet")
    assert answer.code == 0
    assert (tmp_path / "r.md").exists()
    monkeypatch.setattr("bckm.blocks.sources.LARGE", 3 * N)
    assert "passes over the data" not in run(*asked).out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--together", "name"), "the rule 'together' needs all rows in memory"),
        (("--report", "r.html"), "--report needs all rows"),
        (("--scale", "standard"), "--scale standard needs all rows"),
        (("--weight", "x0"), "--weight needs all rows"),
        (("--out", "o.csv"), "ends in .parquet"),
        (("--out", "parts/o.parquet"), "part of the data"),
        (("--columns", "name"), "holds string"),
        (("--columns", "x9"), "no column 'x9'"),
        (("--id", "nobody"), "no column 'nobody'"),
        (("--label-column", "x0", "--columns", "x0"), "would replace column"),
    ],
)
def test_what_a_stream_cannot_do_is_refused(run, data, tmp_path, monkeypatch, more, words):
    monkeypatch.chdir(tmp_path)
    answer = run("fit", "parts", *SIZE, *more)
    assert answer.code in (2, 5)
    assert words in answer.err
    assert not (tmp_path / "parts-clusters.parquet").exists()


def test_other_refusals(run, data, tmp_path):
    answer = run("fit", data, "-k", K, "--size", 100, "--stream")
    assert answer.code == 3
    assert "may hold at most 500 samples" in answer.out
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    assert "reads Parquet" in run("fit", tmp_path / "t.csv", "-k", 2, "--stream").err
    answer = run("fit", data, *SIZE, "--stream", "--time-limit", 1e-6)
    assert answer.code == 6


def test_interrupted_and_resumed(run, data, tmp_path, monkeypatch):
    expected = run("fit", data, *SIZE, "--stream", "--json", "--tol", 0)
    kept = tmp_path / "fit.bckm"
    asked = ("fit", data, *SIZE, "--stream", "--tol", 0, "--checkpoint", kept)

    def stop(self, step):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("bckm.cli._progress.Progress.step", stop)
        answer = run(*asked, "--json", "--quiet")
    assert answer.code == 4
    assert json.loads(answer.out)["sizes"] == K * [N // K]
    assert kept.exists()
    answer = run(*asked, "--json")
    assert answer.code == 0
    assert "resuming" in answer.err
    assert not kept.exists()
    told = [json.loads(one.out) for one in (expected, answer)]
    assert told[0] | {"seconds": 0} == told[1] | {"seconds": 0}


def test_progress_tells_of_passes(run, data, monkeypatch, capsys):
    monkeypatch.setattr("bckm.cli._progress.EVERY", 0.0)
    answer = run("fit", data, *SIZE, "--stream", "--max-iter", 1)
    assert "pass 1, 0% read" in answer.err
    assert "pass 2, " in answer.err
    bar = Bar(None)
    bar.phase("reading")
    bar._bar.mininterval = 0
    bar.part("pass 3, 50% read")
    bar.close()
    assert "reading; pass 3, 50% read" in capsys.readouterr().err
