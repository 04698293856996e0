"""The regression tool: it sees what changed, and nothing else."""

import json

import numpy as np
import pytest

from benchmarks.regression.__main__ import main
from benchmarks.regression.answers import pack, plain, unpack
from benchmarks.regression.instances import KINDS, fits, plant

ANSWER = {
    "data": "d",
    "labels": pack([0, 0, 1, 1]),
    "inertia": 4.0,
    "lower_bound": 3.0,
    "status": "timelimit",
}


@pytest.fixture
def compare(tmp_path):
    def call(new, *options):
        for name, answer in (("a", ANSWER), ("b", new)):
            text = json.dumps({"drawn": {"first": answer, "second": ANSWER}})
            (tmp_path / f"{name}.json").write_text(text)
        return main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), *options])

    return call


def test_equal_files_are_equal(compare, capsys):
    assert compare(ANSWER) == 0
    assert "All answers are the same" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"labels": pack([0, 1, 1, 1])}, "1 of 4 labels differ"),
        ({"labels": pack([1, 1, 0, 0])}, "the same clusters under other labels"),
        ({"labels": pack([0, 0, 1])}, "4 labels -> 3"),
        ({"inertia": 4.00001}, "inertia 4.0 -> 4.00001"),
        ({"inertia": float("nan")}, "inertia 4.0 -> nan"),
        ({"lower_bound": 2.0}, "lower_bound 3.0 -> 2.0"),
        ({"status": "converged"}, "status"),
        ({"conflict": 2}, "conflict None -> 2"),
        ({"data": "e"}, "the data are not the same"),
    ],
)
def test_a_change_is_seen(compare, capsys, changed, words):
    assert compare(ANSWER | changed) == 1
    printed = capsys.readouterr().out
    assert f"drawn / first: {words}" in printed
    assert "second" not in printed


def test_numbers_may_differ_by_a_little(compare):
    near = ANSWER | {"inertia": 4.0 * (1 + 1e-12), "lower_bound": 3.0 - 1e-12}
    assert compare(near) == 0
    assert compare(near, "--inertia", "1e-14") == 1


def test_a_lost_fit_is_seen(tmp_path, capsys):
    for name, held in (("a", {"x": ANSWER, "y": ANSWER}), ("b", {"x": ANSWER})):
        (tmp_path / name).write_text(json.dumps({"drawn": held}))
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "drawn / y: only in the first file" in capsys.readouterr().out


def test_labels_and_statuses_as_texts():
    labels = np.arange(1000) % 300
    assert (unpack(pack(labels)) == labels).all()
    assert plain("time limit") == plain("time_limit")


def test_written_answers_repeat(tmp_path):
    (tmp_path / "known.json").write_text("[]")
    for name in ("a", "b"):
        options = ["--instances", str(tmp_path), "--only", "assign_to"]
        assert main(["write", str(tmp_path / name), *options]) == 0
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    assert len(json.loads((tmp_path / "a").read_text())["assign_to"]) == 5


def test_names_are_unique_and_rules_are_as_drawn(tmp_path):
    (tmp_path / "known.json").write_text("[]")
    names = [(one.family, one.name) for one in fits(tmp_path)]
    assert len(set(names)) == len(names) > 200
    for kind in KINDS:
        one, other = (kind(plant(60, 3, 3, 5)) for _ in range(2))
        assert repr(one) == repr(other)
