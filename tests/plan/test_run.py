"""From a plan and a table to a study, as the command line and the page do it."""

import shlex

from bckm.cli._options import reading_of
from bckm.cli.fit import fit
from bckm.plan import Clause, Plan, plan_of_text
from bckm.plan.run import command_of, compiled, fitted
from bckm.tables import Reading, Table

TABLE = Table.of({"id": ["007", "a", "b", "c"], "x": [0, 1, 8, 9]}, source="places.csv")
PLAN = Plan(
    clusters=2,
    cluster_names=("North", "South"),
    id="id",
    fit={"search": "none", "seed": 3},
    clauses=(Clause.read("size", {"max": 3}), Clause.read("apart", {"ids": ["007", "a"]})),
)


def test_a_study_holds_all_that_repeats_it():
    steps = []
    run = compiled(PLAN, TABLE, aside=["cluster"])
    study = fitted(run, command="bckm fit places.csv", on_step=steps.append, n_jobs=1)
    assert steps
    assert study.cluster_names == ("North", "South")
    assert study.title == "Clusters of places.csv"
    assert study.result.labels[0] != study.result.labels[1]
    assert study.settings["seed"] == 3
    assert study.settings["solver"] == "auto"
    assert study.settings["command"] == "bckm fit places.csv"
    plan = plan_of_text(study.settings["rules"])
    assert plan == PLAN
    again = fitted(compiled(plan, TABLE))
    assert again.result.labels.tolist() == study.result.labels.tolist()


def test_a_command_reads_the_file_as_it_was_read(tmp_path):
    reading = Reading(
        format="csv",
        encoding="cp1252",
        delimiter=";",
        decimal=",",
        header_row=4,
        drop_rows=(9, 17),
        fills={"kg: all": "mean", "min": "0"},
        totals="keep",
    )
    (tmp_path / "r.toml").touch()
    words = shlex.split(command_of("a.csv", rules=str(tmp_path / "r.toml"), reading=reading))
    assert reading_of(fit.make_context("fit", words[2:]).params) == reading
    assert command_of("a.csv", reading=Reading()) == command_of("a.csv")


def test_a_command_names_files_as_a_shell_reads_them():
    found = command_of("it's.csv", rules="my rules.toml", out="a b.csv", report="r.html")
    assert shlex.split(found) == [
        *("bckm", "fit", "it's.csv", "--rules", "my rules.toml"),
        *("--out", "a b.csv", "--report", "r.html"),
    ]
