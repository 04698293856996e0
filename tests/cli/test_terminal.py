"""Whatever names and cells hold, a terminal is told nothing that it would obey."""

import ast
import json
import os
import sys
import unicodedata
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import bckm
from bckm.cli import _progress
from bckm.cli._options import _columns_of
from bckm.tables import Table, write_table

SOURCES = sorted(Path(bckm.__file__).parent.rglob("*.py"))
# a color, a title, the 8-bit form of these, a wiped line, a turned direction, a line of its own
EVIL = "ab\x1b[31mc\x1b]0;t\x07\x9b2Jd\x7f\x08\re\u202ef\u2066g\u2028\nFORGED: all is well"
TURNING = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def obeyed(text):
    """What a terminal would act upon, and lines that names have forged."""
    found = {
        one
        for one in text
        if (unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or one in TURNING)
        and one not in "\n\t"
    }
    return found | {line for line in text.splitlines() if line.lstrip().startswith("FORGED")}


@pytest.fixture
def evil(tmp_path):
    """A table with a hostile name, columns and cells; no part of it is a usable rule."""
    columns = {
        "id": [EVIL, "b", "c", "d"],
        "x": ["0", "1", "8", "9"],
        EVIL: ["0", "1", "8", "9"],
        "text": [EVIL, EVIL, "u", "v"],
    }
    write_table(Table.of({EVIL: ["1", "1", "1", "0"], "x": [1, 2, 3, 4]}), tmp_path / "groups.csv")
    path = tmp_path / f"{EVIL.replace('/', '')}.csv"
    write_table(Table.of(columns), path)
    return path


def saved(path):
    X = [[0.0], [1.0], [8.0], [9.0]]
    bckm.save(bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X, title=EVIL), path)
    return path


FITS = {
    "a file that is not there": lambda e, t: ("fit", str(e)[:-5], "-k", 2),
    "a folder that is not there": lambda e, t: ("fit", t / EVIL / "a.csv", "-k", 2),
    "a near name": lambda e, t: ("fit", e, "-k", 2, "--together", EVIL[:-1]),
    "no near name": lambda e, t: ("fit", e, "-k", 2, "--together", "\x1b[0m" + EVIL[::-1]),
    "all columns": lambda e, t: ("fit", e, "-k", 2, "-o", "x.csv"),
    "no feature": lambda e, t: (
        *("fit", e, "-k", 2, "-o", "x.csv"),
        *("--id", "x", "--together", EVIL),
    ),
    "texts that are no numbers": lambda e, t: ("fit", e, "-k", 2, "--columns", "text"),
    "a name twice": lambda e, t: ("fit", e, "-k", 2, "--columns", f'"{EVIL}","{EVIL}"'),
    "ids twice": lambda e, t: ("fit", e, "-k", 2, "--id", "text"),
    "groups": lambda e, t: (
        *("fit", e, "-k", 2, "-o", "x.csv", "--together", "text"),
        *("--apart", EVIL, "--columns", "x"),
    ),
    "no answer": lambda e, t: (
        *("fit", e, "-k", 2, "--together", "text", "--apart", "text"),
        *("--id", "id", "--columns", "x"),
    ),
    "check": lambda e, t: ("check", e, "-k", 2, "--together", "text", "--apart", "text"),
    "groups that contradict": lambda e, t: (
        *("check", t / "groups.csv", "-k", 2, "--together", EVIL, "--apart", EVIL),
    ),
    "partners": lambda e, t: (
        *("check", t / "groups.csv", "-k", 2, "--together-with", EVIL, "--apart-from", EVIL),
    ),
    "capacity": lambda e, t: ("check", e, "-k", 2, "--capacity", f"{EVIL}::5"),
    "capacity of one": lambda e, t: (
        "verify",
        e,
        "--label-column",
        "x",
        "--capacity",
        f"{EVIL}::5",
    ),
    "fixed": lambda e, t: ("check", e, "-k", 2, "--fixed", EVIL),
    "stay": lambda e, t: ("check", e, "-k", 2, "--stay", f"{EVIL}:0"),
    "known": lambda e, t: ("check", e, "-k", 1, "--known", EVIL),
    "a weight": lambda e, t: ("fit", e, "-k", 1, "--weight", "text"),
    "a quota of counts": lambda e, t: (
        "check",
        t / "groups.csv",
        "-k",
        2,
        "--quota",
        f"{EVIL}:±0%",
    ),
    "a quota": lambda e, t: ("fit", e, "-k", 2, "--columns", "x", "--quota", "text:±0%"),
    "verify": lambda e, t: (
        *("verify", e, "-k", 2, "--label-column", "x", "--apart", "text", "--id", "id"),
    ),
    "labels": lambda e, t: ("verify", e, "--labels", e, "--label-column", EVIL),
    "a delimiter": lambda e, t: ("fit", e, "-k", 2, "--delimiter", EVIL),
    "an encoding": lambda e, t: ("fit", e, "-k", 2, "--encoding", EVIL),
    "a format": lambda e, t: ("fit", e, "-k", 2, "--format", EVIL),
    "an option": lambda e, t: ("fit", e, f"--{EVIL}"),
    "a command": lambda e, t: (EVIL,),
    "a size": lambda e, t: ("fit", e, "-k", 2, "--size", EVIL),
    "outputs": lambda e, t: (
        *("fit", e, "-k", 2, "--columns", "x", "-o", f"{EVIL}2.csv", "--save", f"{EVIL}.bckm"),
        *("--report", f"{EVIL}.md", "--title", EVIL),
    ),
    "no folder": lambda e, t: ("fit", e, "-k", 2, "-o", f"{EVIL}/x.csv"),
    "a report": lambda e, t: ("fit", e, "-k", 2, "--report", f"{EVIL}.doc"),
    "checkpoint": lambda e, t: ("fit", e, "-k", 2, "--columns", "x", "--checkpoint", e),
    "damaged": lambda e, t: ("show", e),
    "show": lambda e, t: ("show", saved(t / f"{EVIL}.bckm")),
    "show markdown": lambda e, t: ("show", saved(t / f"{EVIL}.bckm"), "--markdown"),
    "show json": lambda e, t: ("show", saved(t / f"{EVIL}.bckm"), "--json"),
    "compare": lambda e, t: ("compare", saved(t / f"{EVIL}.bckm"), saved(t / f"{EVIL}2.bckm")),
}


@pytest.mark.parametrize("name", FITS)
def test_nothing_in_a_table_or_a_name_is_obeyed(run, evil, tmp_path, name):
    answer = run(*FITS[name](evil, tmp_path))
    assert answer.code != 70, answer.err
    assert answer.out + answer.err
    assert obeyed(answer.out) == set()
    assert obeyed(answer.err) == set()


@pytest.mark.parametrize(
    "text",
    [
        f"{json.dumps(EVIL)} = 1",
        f"clusters = {json.dumps(EVIL)}",
        f"id = {json.dumps(EVIL[1:])}",
        f"[size]\n{json.dumps(EVIL)} = 1",
        f"[fit]\n{json.dumps(EVIL)} = 1",
        f"[fit]\nsolver = {json.dumps(EVIL)}",
        f"[[together]]\nids = ['b', {json.dumps(EVIL)}]",
        f"[[quota]]\ncolumn = 'text'\nwithin = {json.dumps(EVIL)}",
        f"[[quota]]\ncolumn = 'text'\ncount_min = {{ {json.dumps(EVIL)} = 5 }}",
        f"[[links]]\nfile = {json.dumps(EVIL)}",
        "clusters = \x1b[31m",
        f"# {EVIL}",
    ],
)
def test_nothing_in_a_rules_file_is_obeyed(run, evil, tmp_path, text):
    rules = tmp_path / f"{EVIL}.toml"
    rules.write_text(text, encoding="utf-8", newline="")
    answer = run("check", evil, "-k", 2, "--rules", rules)
    assert answer.code in (2, 3, 5)
    assert obeyed(answer.out + answer.err) == set()


@pytest.mark.parametrize("suffix", ["xlsx", "jsonl", "npz", "parquet"])
def test_nothing_in_other_files_is_obeyed(run, tmp_path, suffix):
    table = Table.of({EVIL: [EVIL, EVIL, "c"], "x": [1, 2, 3]})
    path = tmp_path / f"{EVIL}.{suffix}"
    write_table(table, path)
    for options in (["--columns", EVIL], ["--id", EVIL], ["--together", EVIL[1:]]):
        answer = run("fit", path, "-k", 2, *options)
        assert answer.code in (2, 5)
        assert obeyed(answer.out + answer.err) == set()
    path.write_bytes(b"PK\x03\x04" + EVIL.encode())
    answer = run("fit", path, "-k", 2, "--sheet", EVIL)
    assert answer.code in (2, 5)
    assert obeyed(answer.out + answer.err) == set()


def test_nothing_in_links_is_obeyed(run, evil, tmp_path):
    for cells in ({"kind": [EVIL], "a": ["b"], "b": ["c"]}, {"kind": ["apart"], "a": [EVIL + "!"]}):
        links = tmp_path / f"{EVIL}-links.csv"
        write_table(Table.of({"b": ["c"], **cells}), links)
        answer = run("check", evil, "-k", 2, "--links", links, "--id", "id")
        assert answer.code == 5
        assert obeyed(answer.err) == set()


def test_nothing_in_a_bug_or_a_warning_is_obeyed(run, customers, monkeypatch):
    def broken(*_, **__):
        warnings.warn(EVIL, RuntimeWarning, stacklevel=1)
        raise ZeroDivisionError(EVIL)

    monkeypatch.setattr("bckm.plan.run.kmeans", broken)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        answer = run("fit", customers, "-k", 2, "--columns", "x_km")
    assert answer.code == 70
    assert "ZeroDivisionError" in answer.err
    assert "Warning: ab" in answer.err
    assert not set(answer.err) & (TURNING | set("\x1b\x07\x9b\x7f\x08\r\u2028"))


def test_nothing_in_a_name_is_obeyed_by_way_of_the_bar(monkeypatch, capsys):
    monkeypatch.setattr(_progress.sys.stderr, "isatty", lambda: True, raising=False)
    bar = _progress.progress_to(False, None)
    assert isinstance(bar, _progress.Bar)
    bar.phase(f"reading {EVIL}")
    bar.close()
    shown = capsys.readouterr().err.replace("\r", "").replace("\x1b[A", "")
    assert "reading ab" in shown
    assert obeyed(shown) == set()


def test_json_says_what_is_there_without_raw_control_characters(run, tmp_path):
    answer = run("show", saved(tmp_path / "a.bckm"), "--json")
    assert obeyed(answer.out) == set()
    assert json.loads(answer.out)["title"] == EVIL


def test_a_table_is_data_in_a_pipe_and_text_on_a_terminal(run, evil, monkeypatch):
    fit = ("fit", evil, "-k", 2, "--columns", "x", "-q", "-o", "-")
    assert EVIL in run(*fit).out.replace("\r\n", "\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run(*fit).out
    assert "cluster" in shown
    assert not set(shown) & (TURNING | set("\x1b\x07\x9b\x7f\x08\r\u2028"))


def test_no_bytes_for_a_terminal(run, tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", X=np.arange(8.0).reshape(4, 2))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    answer = run("fit", "a.npz", "-k", 2, "-o", "-")
    assert answer.code == 2
    assert "a terminal cannot show" in answer.err


def test_shells_get_no_such_names(evil):
    ctx = SimpleNamespace(params={"data": str(evil)})
    assert _columns_of(ctx, None, "") == ["id", "x", "text"]


def test_file_names_that_are_no_text(run, tmp_path):
    try:
        path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")
        Path(path).write_text("x\n0\n1\n8\n")
    except OSError:
        pytest.skip("this file system admits no such name")
    answer = run("fit", path, "-k", 2, "--report", "r.html", "-o", "o.csv", "--save", "s.bckm")
    assert answer.code == 0, answer.err
    assert obeyed(answer.out + answer.err) == set()
    assert run("show", "s.bckm").code == 0


def test_only_one_place_writes_to_terminals():
    """Every other one would have to know about this; `verbose` of estimators writes numbers."""
    for path in SOURCES:
        calls = [
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Call)
        ]
        wrong = {"print", "click.echo", "click.secho", "traceback.print_exc"} & set(calls)
        wrong |= {one for one in calls if one in ("sys.stdout.write", "sys.stderr.write")}
        allowed = {"_estimator.py": {"sys.stdout.write"}}
        assert wrong <= allowed.get(path.name, set()), path
