"""`bckm` with a metric that is learned from the rules."""

import csv
import json

import numpy as np
import pytest

import bckm
from tests.archive.make import linked
from tests.cli.conftest import read


@pytest.fixture
def table(tmp_path):
    """Rows of three kinds, half of them known, which one of three columns shows."""
    X, _ = linked()
    path = tmp_path / "d.csv"
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "wide", "kind", "noise", "known"])
        for row, one in enumerate(X.tolist()):
            writer.writerow([f"r{row}", *one, "abc"[row % 3] if row < 30 else ""])
    return path


ASKED = ("-k", 3, "--known", "known", "--id", "id", "--columns", "wide,kind,noise")


def accuracy(rows):
    found = [row["cluster"] for row in rows]
    return np.mean([one == found[row % 3] for row, one in enumerate(found)])


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_what_was_learned_is_said_and_carried(run, table, tmp_path, scale):
    named = ("--save", "f.bckm", "--report", "r.html", "--summary", "s.json", "--centers", "c.csv")
    answer = run("fit", table, *ASKED, "--metric", "learned", "--scale", scale, *named)
    assert answer.code == 0, answer.err
    assert answer.out.count("learned from 27 must-links in 3 sets") == 1
    assert "inertia in the learned space" in answer.out
    rows = read(tmp_path / "d-clusters.csv")
    assert accuracy(rows) > 0.95
    study = bckm.load(tmp_path / "f.bckm")
    assert study.metric == "learned"
    means = {
        name: np.mean([float(row["wide"]) for row in rows if row["cluster"] == name])
        for name in "123"
    }
    for row in read(tmp_path / "c.csv"):  # in the units of the table
        assert float(row["wide"]) == pytest.approx(means[row["cluster"]])
    told = json.loads((tmp_path / "s.json").read_text())["learned_metric"]
    assert told["learned"]
    assert told["n_links"] == 27
    assert told["learned_score"] > told["plain_score"]
    assert told["feature_shares"]["learned"][1] == max(told["feature_shares"]["learned"])
    assert "Learned metric" in (tmp_path / "r.html").read_text()
    shown = run("show", "f.bckm")
    assert shown.code == 0
    assert "learned from 27 must-links" in shown.out
    assert run("verify", "d-clusters.csv", *ASKED[:6], "--metric", "learned").code == 0
    assert run("fit", table, *ASKED, "--save", "g.bckm").code == 0
    compared = run("compare", "f.bckm", "g.bckm")
    assert compared.code == 0
    assert "A learned metric has a space of its own." in compared.out
    assert "euclidean" in compared.out


def test_a_rules_file_may_ask_for_it(run, table, tmp_path):
    first = run("fit", table, *ASKED, "--metric", "learned", "--write-rules", "r.toml")
    assert first.code == 0, first.err
    text = (tmp_path / "r.toml").read_text()
    assert 'metric = "learned"' in text
    again = run("fit", table, "--rules", "r.toml", "-o", "again.csv")
    assert again.code == 0, again.err
    assert read(tmp_path / "again.csv") == read(tmp_path / "d-clusters.csv")


def test_the_plain_metric_that_was_kept_is_said(run, table):
    """One pair of rows teaches nothing that could be judged."""
    (table.parent / "links.csv").write_text("kind,a,b\ntogether,r0,r3\n")
    asked = ("-k", 3, "--id", "id", "--columns", "wide,kind,noise", "--metric", "learned")
    answer = run("fit", table, *asked, "--links", "links.csv")
    assert answer.code == 0, answer.err
    assert "the plain metric is kept: 1 must-link" in answer.out
    assert "learned space" not in answer.out


def test_a_run_is_resumed(run, table, tmp_path):
    """The file of an interrupted run holds what was learned."""
    asked = ("fit", table, *ASKED, "--metric", "learned", "--checkpoint", "c.bckm")
    whole = run(*asked, "-o", "a.csv")
    assert whole.code == 0
    stopped = run(*asked, "--time-limit", 0.001, "-o", "b.csv")
    assert stopped.code in (4, 6)
    resumed = run(*asked, "-o", "c.csv")
    assert resumed.code == 0, resumed.err
    assert read(tmp_path / "c.csv") == read(tmp_path / "a.csv")
