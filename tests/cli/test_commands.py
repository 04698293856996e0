"""The other commands, their help, and what happens on a terminal and at its end."""

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bckm
from bckm.cli._errors import BROKEN, BUG, KILLED, PIPE_CLOSED, UNDECIDED, Failure, told
from bckm.exceptions import DamagedFileError, UndecidedError, UnsupportedError
from bckm.kernels import missing
from bckm.tables import TableError, UnknownColumnError
from tests.cli.conftest import read
from tests.support.waiting import SECONDS, started

FEATURES = ("--columns", "x_km,y_km", "--id", "customer")
BCKM = [sys.executable, "-c", "from bckm.cli import main; main()"]


def long_fit(customers, seconds):
    rules = ["-k", "30", "--size", "9:11", "--search", "global", "--time-limit", str(seconds)]
    return [*BCKM, "fit", str(customers), *rules, *FEATURES]


@pytest.mark.parametrize(
    "verb", ["fit", "check", "verify", "show", "compare", "demo", "completion"]
)
def test_help_shows_an_example_that_begins_with_the_verb(run, verb):
    answer = run(verb, "--help")
    assert answer.code == 0
    assert f"  bckm {verb} " in answer.out or 'eval "$(bckm completion' in answer.out
    assert "Example" in answer.out


def test_help_lists_all_verbs_and_exit_codes(run):
    out = run("--help").out
    verbs = ("fit", "check", "verify", "show", "compare", "demo")
    places = [out.index(f"\n  {verb} ") for verb in verbs]
    assert places == sorted(places)
    codes = {int(one) for one in re.findall(r"^ +(\d+)  ", out, re.M)}
    assert codes == {0, BUG, KILLED, PIPE_CLOSED, *range(BROKEN, UNDECIDED + 1)}
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")
    table = page[page.index("## Exit codes") :]
    assert codes == {int(one) for one in re.findall(r"^\| (\d+) \|", table, re.M)}


def test_options_offer_what_the_library_takes():
    """They are written twice, since help is not to import what computes."""
    from bckm.cli.fit import fit
    from bckm.plan import _model as plan
    from bckm.problem.scaling import SCALINGS
    from bckm.tables._table import FORMATS

    offered = {option.name: tuple(getattr(option.type, "choices", ())) for option in fit.params}
    assert offered["scale"] == SCALINGS
    assert offered["missing"] == plan.MISSING
    assert offered["format_"] == FORMATS
    assert set(plan.FIT) <= set(offered)


def test_version(run):
    assert run("--version").out.startswith("bckm ")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom bckm.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'highspy', 'tqdm'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=SECONDS)


def test_check_imports_no_solver_and_no_scikit_learn(customers):
    code = (
        "import sys\nfrom bckm.cli import main\n"
        f"try: main(['check', {str(customers)!r}, '-k', '3', '--size', '90:', '--together', "
        "'household'])\nexcept SystemExit as stopped: assert stopped.code == 0\n"
        "heavy = {'sklearn', 'highspy', 'tqdm', 'matplotlib', 'pandas', 'pyarrow'} "
        "& set(sys.modules)\nsys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=SECONDS)


def test_verify_agrees_with_fit_and_finds_what_was_changed(run, customers, tmp_path):
    rules = ("--size", "45:55", "--together", "household", "--id", "customer")
    quick = ("--search", "none", "--n-init", 1)
    assert run("fit", customers, "-k", 6, *rules, "--columns", "x_km,y_km", *quick).code == 0
    labels = tmp_path / "customers-clusters.csv"
    fine = run("verify", labels, *rules)
    assert (fine.code, fine.out) == (0, "Every rule holds.\n")
    text = labels.read_text().splitlines()
    first = text[1][-1]
    text[1] = text[1][:-1] + ("0" if first != "0" else "1")  # c000 leaves its household
    (tmp_path / "changed.csv").write_text("\n".join(reversed(text[1:])) + "\n")
    (tmp_path / "changed.csv").write_text("\n".join([text[0], *reversed(text[1:])]) + "\n")
    broken = run("verify", customers, "--labels", "changed.csv", *rules, "--json")
    assert broken.code == 1
    found = json.loads(broken.out)["broken"]
    assert any("c000" in one["message"] for one in found)
    assert run("verify", customers, "--labels", "changed.csv", *rules).code == 1


def test_what_the_library_refuses_is_a_sentence_for_all_commands(run, customers, tmp_path):
    (tmp_path / "rules.toml").write_text("clusters = 3\n[[fixed]]\nid = 3\ncluster = 7\n")
    wrong = ("--rules", "rules.toml")
    answers = [run("check", customers, *wrong), run("fit", customers, *wrong, *FEATURES[:2])]
    (tmp_path / "labels.csv").write_text("cluster\n" + "0\n" * 300)
    answers.append(run("verify", customers, "--labels", "labels.csv", *wrong))
    for answer in answers:
        assert answer.code == 2
        assert "there is no cluster '7'; clusters are numbered " in answer.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UndecidedError("a"), 6),
        (UnsupportedError("a"), 2),
        (DamagedFileError("a"), 5),
        (TableError("a"), 5),
        (UnknownColumnError("a", ["b"], "c"), 2),
        (ValueError("a"), 2),
        (OSError(13, "a", "f"), 5),
        (MemoryError("a"), 5),
    ],
)
def test_errors_have_their_codes(error, code):
    with pytest.raises(Failure, match="a") as failed, told():
        raise error
    assert failed.value.exit_code == code


def test_verify_counts(run, tmp_path):
    (tmp_path / "d.csv").write_text("cluster\n0\n0\n1\n2\n2\n")
    lines = [run("verify", "d.csv", "--size", size).out.splitlines() for size in ("1:", ":1", "2:")]
    assert [(len(one), one[-1]) for one in lines] == [
        (1, "Every rule holds."),
        (3, "2 violations of 1 rule."),
        (2, "1 violation of 1 rule."),
    ]


@pytest.mark.parametrize(
    ("labels", "args", "code", "words"),
    [
        (
            "id,cluster\na,0\nb,2\nc,1\n",
            ("-k", 2),
            5,
            "there is no cluster '2'; the 2 clusters are '0', '1'",
        ),
        ("id,cluster\na,0\nb,-1\nc,1\n", (), 5, "row 2 (line 3): there is no cluster '-1'"),
        ("id,cluster\na,0\nb,1\n", (), 5, "--id to match them"),
        ("id,cluster\na,0\nb,1\n", ("--id", "id"), 5, "no row for 1 ids; the first is 'c'"),
        ("id,cluster\nc,0\nb,0\na,1\n", ("--id", "id", "--known", "team"), 0, "holds"),
        ("id,cluster\nc,0\nb,0\na,1\n", ("--known", "team"), 1, "violations"),
        ("id,cluster\na,0\nb,0\nc,1\n", ("--rules", "soft.toml"), 0, "Violated soft rules: 2"),
    ],
)
def test_verify_labels_of_another_table(run, tmp_path, labels, args, code, words):
    (tmp_path / "d.csv").write_text("id,team\na,red\nb,blue\nc,blue\n")
    (tmp_path / "soft.toml").write_text('[[known]]\ncolumn = "team"\nprice = 1\n')
    (tmp_path / "labels.csv").write_text(labels)
    answer = run("verify", "d.csv", "--labels", "labels.csv", *args)
    assert answer.code == code
    assert words in (answer.err if code == 5 else answer.out)


def test_check_that_is_not_decided_has_its_code(run, customers, monkeypatch):
    from bckm.feasibility import Feasibility, Verdict

    found = Feasibility(Verdict.UNKNOWN, None, UndecidedError("not decided"))
    monkeypatch.setattr("bckm.feasibility.check", lambda *_, **__: found)
    assert run("check", customers, "-k", 3).code == 6


def test_show_tells_a_study_once(run, tmp_path):
    X = [[0.0], [1.0], [8.0], [9.0]]
    result = bckm.kmeans(X, 2, random_state=0)
    bckm.save(bckm.Study.of(result, X), tmp_path / "study.bckm")
    bckm.save(result, tmp_path / "result.bckm")
    answer = run("show", "study.bckm", "--report", "r.md")
    assert (answer.code, answer.out) == (0, "")
    assert "4 samples" in run("show", "study.bckm").out
    bare = run("show", "result.bckm")
    assert bare.code == 5
    assert "Result without its data" in bare.err


def test_options_of_fit_do_no_harm_elsewhere(run, customers):
    unused = ("--columns", "x_km,y_km", "--scale", "standard", "--metric", "cosine")
    assert run("check", customers, "-k", 3, "--size", "90:", *unused).code == 0
    assert "--scale" not in run("check", "--help").out


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("bckm fit customers.csv --apart hou", "household"),
        ("bckm fit customers.csv -k 3 --columns x_km,y", "x_km,y_km"),
        ("bckm check customers.csv --capacity k", "kg"),
        ("bckm verify customers.csv --id cus", "customer"),
    ],
)
def test_shells_complete_columns(customers, words, found):
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        BCKM,
        env={**os.environ, **asked, "_BCKM_COMPLETE": "bash_complete"},
        cwd=customers.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert f"plain,{found}" in done.stdout.splitlines()


def test_compare(run, customers):
    for name, size in (("even", "50"), ("loose", "30:80"), ("free", "1:")):
        args = (
            "-k",
            6,
            "--size",
            size,
            *FEATURES,
            "--out",
            f"{name}.csv",
            "--save",
            f"{name}.bckm",
        )
        assert run("fit", customers, *args).code == 0
    answer = run("compare", "even.bckm", "loose.bckm", "free.bckm")
    assert answer.code == 0
    assert "even.bckm" in answer.out
    found = json.loads(run("compare", "even.bckm", "free.bckm", "--json").out)
    assert found
    assert run("compare", "even.bckm").code == 2


def test_demo_refuses_before_it_computes(run):
    for args in (("--report", "r.txt"), ("-o", "nowhere/a.csv")):
        answer = run("demo", *args)
        assert (answer.code, answer.out) == (2, "")


def test_demo_shows_its_command_and_writes_labels_that_obey(run, tmp_path):
    answer = run("demo", "-o", "labels.csv")
    assert answer.code == 0
    assert answer.err.startswith("$ bckm fit customers.csv --clusters 8 --size 28:32 ")
    assert "all 40 rules met" in answer.out
    rows = read(tmp_path / "labels.csv")
    assert len(rows) == 240
    assert min(collections.Counter(row["cluster"] for row in rows).values()) >= 28


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(run, shell):
    assert "_BCKM_COMPLETE" in run("completion", shell).out


def test_a_reader_that_leaves_is_no_error(customers):
    fit = [*BCKM, "fit", str(customers), "-k", "3", *FEATURES, "--out", "-"]
    with started(fit, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        command.stdout.close()
        err = command.stderr.read().decode()
        assert command.wait() == 141
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_a_full_disk_is_an_error_with_its_code(customers):
    with open("/dev/full", "w") as full:
        command = [*BCKM, "check", str(customers), "-k", "3"]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=SECONDS
        )
    assert done.returncode == 5
    assert done.stderr == "Error: [Errno 28] No space left on device\n"


@pytest.mark.sampled(1)
@pytest.mark.skipif(bool(missing), reason=missing)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_it_reads_nothing_is_written(tmp_path, sent):
    fit = [*BCKM, "fit", "-", "-k", "2", "--out", "out.csv"]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(fit, cwd=tmp_path, **pipes) as command:
        command.stderr.readline()
        os.kill(command.pid, sent)
        assert command.wait(timeout=20) == 130  # although standard input stays open
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sampled(1)
@pytest.mark.skipif(bool(missing), reason=missing)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_writes_the_best_answer_and_says_so(customers, tmp_path, sent):
    fit = [*long_fit(customers, 60), "--out", str(tmp_path / "out.csv")]
    lines = []
    with started(fit, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        for line in command.stderr:
            lines.append(line)
            if line.strip().startswith("start"):
                break
        os.kill(command.pid, sent)
        out, _ = command.communicate(timeout=20)
    assert command.returncode == 4
    assert out.count("Stopped by the user") == 1
    assert len(read(tmp_path / "out.csv")) == 300
    assert any("left" in line for line in lines)


@pytest.mark.skipif(bool(missing), reason=missing)
def test_a_terminal_gets_a_bar(customers, tmp_path):
    import pty

    parent, child = pty.openpty()
    fit = [*long_fit(customers, 1.5), "--out", str(tmp_path / "out.csv")]
    with started(fit, stdout=subprocess.DEVNULL, stderr=child) as command:
        os.close(child)
        seen = b""
        with contextlib.suppress(OSError):  # the other side is closed
            while part := os.read(parent, 4096):
                seen += part
        assert command.wait() == 4
    os.close(parent)
    text = seen.decode()
    assert "objective" in text
    assert "|" in text
    assert "left" in text


def test_a_bug_is_no_answer(run, customers, monkeypatch):
    monkeypatch.setattr(sys.modules["bckm.cli.check"], "plan_of", lambda given: 1 / 0)
    answer = run("check", customers, "-k", 3)
    assert answer.code == 70
    assert "ZeroDivisionError" in answer.err
    assert "report it" in answer.err


def test_ctrl_c_while_files_are_written_leaves_out_the_rest(run, customers, monkeypatch, tmp_path):
    def stopped(*_):
        raise KeyboardInterrupt

    outputs = ("--save", "a.bckm", "--report", "r.html", "--summary", "s.json", "-o", "o.csv")
    fit = ("fit", customers, "-k", 2, *FEATURES, "--n-init", 1, *outputs, "--checkpoint", "c")
    monkeypatch.setattr("bckm.report.write", stopped)
    answer = run(*fit)
    assert answer.code == 4
    assert "Written: everything a.bckm" in answer.out
    assert "Not written, because you pressed Ctrl-C: report r.html" in answer.err
    assert "Not written, because you pressed Ctrl-C: summary s.json" in answer.err
    assert not (tmp_path / "s.json").exists()
    assert (tmp_path / "c").exists()  # there is something to go on with
    monkeypatch.setattr("bckm.tables.write_table", stopped)
    assert run(*fit).code == 130  # without the labels there is no answer


def test_an_output_that_needs_too_much_memory_keeps_the_others(run, customers, monkeypatch):
    def large(*_):
        raise MemoryError

    monkeypatch.setattr("bckm.report.write", large)
    fit = ("fit", customers, "-k", 2, *FEATURES, "--n-init", 1, "-o", "o.csv")
    answer = run(*fit, "--report", "r.html", "--summary", "s.json")
    assert answer.code == 5
    assert "Written: summary s.json" in answer.out
    assert "report could not be written to r.html: not enough memory" in answer.err
