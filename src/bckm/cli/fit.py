"""``bckm fit``: a table and rules in, clusters out."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bckm._core.terminal import clean, say
from bckm.cli._errors import BAD_DATA, INFEASIBLE, STOPPED, USAGE, Failure, told
from bckm.cli._options import (
    feature_options,
    fit_option,
    json_option,
    plan_of,
    quiet_option,
    read_data,
    reading_options,
    rule_options,
)
from bckm.cli._outputs import (
    Outputs,
    centers_writer,
    ensure_shown,
    ensure_writable,
    labels_path,
    labels_writer,
    say_notes,
    utf8,
    write_json,
)
from bckm.cli._progress import Progress, progress_to
from bckm.cli._stream import stream, stream_path, streams
from bckm.cli.check import tell

if TYPE_CHECKING:
    from bckm.plan import Plan
    from bckm.plan.run import Run
    from bckm.study import Study
    from bckm.tables import Problem, Table

_EPILOG = """
\b
Examples:
  bckm fit customers.csv --clusters 12 --size 40:60 --capacity weight:0:500 \\
      --together household --apart team_lead --quota gender:±10% \\
      --columns x_km,y_km --id customer --report report.html --save fit.bckm
  bckm fit customers.xlsx --rules rules.toml --out with-clusters.xlsx
  cat customers.csv | bckm fit - -k 8 --scale standard > with-clusters.csv
"""

_PATH = click.Path(dir_okay=False, allow_dash=True)
QUICK = 30.0  # seconds of a fit after which nobody is told to take longer
SEARCHED = (50, 20_000)  # samples for which a longer search finds something, and in a minute
UNKNOWN = 0.5  # a gap beyond which the bound says nothing
FAR = 0.05  # gap of the last assignment from which on a person is told


@click.command(epilog=_EPILOG, short_help="Assign every row to a cluster so that every rule holds.")
@click.argument("data", type=click.Path(allow_dash=True), metavar="DATA")
@rule_options
@feature_options
@click.option(
    "-o", "--out", type=_PATH, help="Write the table with its clusters; - is standard output."
)
@click.option(
    "--label-column", default="cluster", show_default=True, help="Name of the new column."
)
@click.option(
    "--lists",
    type=_PATH,
    multiple=True,
    help="Write a list per cluster: .xlsx with a sheet for each, or .html with a page for each, to "
    "print.",
)
@click.option("--report", type=_PATH, multiple=True, help="Write a report (.html or .md).")
@click.option("--save", type=_PATH, help="Save everything in one file, for show and compare.")
@click.option("--centers", type=_PATH, help="Write a table of the cluster centers.")
@click.option("--summary", type=_PATH, help="Write the key figures as JSON.")
@click.option("--write-rules", type=_PATH, help="Write the options as a rules file (TOML).")
@click.option(
    "--mark",
    type=_PATH,
    help="Where DATA has problems, write it as .xlsx with these cells marked.",
)
@click.option("--title", help="Title of the report.")
@fit_option("random_state")
@fit_option("time_limit")
@click.option("--checkpoint", type=_PATH, help="File for resuming an interrupted run.")
@click.option(
    "--stream",
    is_flag=True,
    help="Read Parquet DATA in blocks, with any number of rows; only --size may be asked. "
    "Default: for folders, and for files of more than 134 million numbers.",
)
@fit_option("search")
@fit_option("n_init")
@fit_option("solver")
@fit_option("max_iter")
@fit_option("tol")
@fit_option("n_jobs")
@quiet_option
@json_option
@reading_options
@click.pass_context
def fit(ctx: click.Context, /, data: str, **given: Any) -> None:
    """Assign every row of DATA to a cluster so that every rule holds, or explain why not.

    DATA is a CSV, TSV, Parquet, Excel, JSON lines or NPZ file, a folder of Parquet files, or - for
    standard input. The rows are written with one more column, in the same format. Clusters without
    names are numbered from 1.

    Parquet files larger than memory are read in blocks (--stream); then a Parquet file of the ids
    (--id) and clusters is written.

    Ctrl-C stops early and writes the best clusters so far (exit code 4).
    """
    with told(), _stoppable():
        plan = plan_of(given)
        in_blocks = streams(data, plan, given)
        if in_blocks and given["out"] is None:
            given["out"] = stream_path(data)
        given["out"] = labels_path(data, given["out"])
        _check_outputs(data, plan, given)
        if in_blocks:
            _check_label_column(given["label_column"], plan)
            stream(ctx, data, plan, given)
            return
        progress = progress_to(given["quiet"], plan.fit.get("time_limit"))
        try:
            progress.phase(f"reading {data if data != '-' else 'standard input'}")
            table = read_data(data, given)
            study, notes = _fitted(ctx, plan, table, given, progress)
        finally:
            progress.close()
        outputs = _written(study, table, plan, given)
    if not given["quiet"]:
        _say(study, notes, outputs, to_stdout=not given["as_json"] and not _piped(given))
    for one in outputs.left:
        say(f"Not written, because you pressed Ctrl-C: {one}", err=True)
    outputs.finish()
    if study.result.status.stopped or outputs.left:
        ctx.exit(STOPPED)
    if given["checkpoint"]:  # all of it is written: nothing is left to go on with
        Path(given["checkpoint"]).unlink(missing_ok=True)


def _check_outputs(data: str, plan: Plan, given: dict[str, Any]) -> None:
    names = ("out", "save", "centers", "summary", "write_rules", "checkpoint")
    outputs = [(f"--{name.replace('_', '-')}", given[name]) for name in names]
    outputs += [(f"--{name}", path) for name in ("report", "lists") for path in given[name]]
    outputs += [("--mark", given["mark"])]
    outputs += [("--json", "-")] if given["as_json"] else []
    links = [clause.keys["file"] for clause in plan.clauses if "file" in clause.keys]
    ensure_writable([data, *links, *([given["rules"]] if given["rules"] else [])], outputs)


def _piped(given: dict[str, Any]) -> bool:
    """Whether a table or the like goes to standard output, where words would spoil it."""
    return "-" in (given["out"], given["centers"], given["summary"])


@contextmanager
def _stoppable() -> Iterator[None]:
    """Whoever ends the process politely gets the best answer, as with Ctrl-C."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fitted(
    ctx: click.Context,
    plan: Plan,
    table: Table,
    given: dict[str, Any],
    progress: Progress,
) -> tuple[Study, tuple[str, ...]]:
    from bckm.exceptions import InfeasibleError
    from bckm.feasibility import Feasibility, Verdict
    from bckm.metric.learn import NothingToLearn
    from bckm.plan.run import fitted

    progress.phase("reading the rules")
    _check_label_column(given["label_column"], plan)
    if given["out"] == "-":
        ensure_shown(table)
    run = _compiled(plan, table, given)
    notes = run.asked.notes
    if given["checkpoint"] and Path(given["checkpoint"]).exists():
        progress.phase(f"resuming from {given['checkpoint']}")
    try:
        study = fitted(
            run,
            title=given["title"],
            command=shlex.join(["bckm", *sys.argv[1:]]),
            n_jobs=given["jobs"],
            on_step=progress.step,
            on_phase=progress.begins,
            checkpoint=given["checkpoint"],
        )
    except NothingToLearn:
        raise Failure(
            "--metric learned: there is nothing to learn from, since no two rows are known to "
            "belong together. Say which do, with --together, --together-with, --known, --fixed or "
            "--links, or choose another metric.",
            USAGE,
        ) from None
    except InfeasibleError as error:
        progress.close()
        if not given["quiet"]:
            say_notes(notes)
        tell(Feasibility(Verdict.INFEASIBLE, None, error), given["as_json"], err=_piped(given))
        ctx.exit(INFEASIBLE)
    return study, (
        *notes,
        *_replaced(given["label_column"], table),
        *_more_to_be_had(study, plan),
    )


def _compiled(plan: Plan, table: Table, given: dict[str, Any]) -> Run:
    """What the plan asks of the table; where columns have problems, they are marked if asked."""
    from bckm.plan.run import compiled
    from bckm.tables import ProblemsError, look_over, mark_problems

    try:
        run = compiled(plan, table, aside=[given["label_column"]])
    except ProblemsError as error:
        if given["mark"] is not None:
            others = [one for one in look_over(table) if not _told_of(one, error.problems)]
            mark_problems(table, [*error.problems, *others], given["mark"])
            raise Failure(f"{error}\nWritten: problems {clean(given['mark'])}", BAD_DATA) from error
        raise
    return run


def _told_of(one: Problem, problems: Sequence[Problem]) -> bool:
    return any((one.kind, one.column) == (other.kind, other.column) for other in problems)


def _check_label_column(column: str, plan: Plan) -> None:
    if not column.strip():
        raise Failure("--label-column must not be blank.", USAGE)
    if column in (*plan.used, *plan.columns):
        raise Failure(
            f"the new clusters would replace column {column!r}, which is used here; choose another "
            "name with --label-column.",
            USAGE,
        )


def _replaced(column: str, table: Table) -> list[str]:
    if column not in table.names:
        return []
    return [f"column {column!r} of the table was replaced by the new clusters (--label-column)."]


def _more_to_be_had(study: Study, plan: Plan) -> list[str]:
    """Whether a longer search may find better clusters."""
    from bckm.report.words import seconds

    result, search = study.result, study.settings["search"]
    if result.mixed is not None:
        return []
    if result.gap > FAR and result.assignment_status != "optimal":
        proven = f"the last assignment is only proven to be within {result.gap:.0%} of the best"
        if result.gap > UNKNOWN:
            proven = "how far the last assignment is from the best is not known"
        return [
            f"better clusters may well exist: {proven}. Try --search global --time-limit 60, or "
            "--n-init 10."
        ]
    small = SEARCHED[0] <= study.n_samples <= SEARCHED[1]
    quick = result.seconds < QUICK and not result.status.stopped
    if search == "global" or not small or not quick or not plan.clauses:
        return []
    return [
        f"this took {seconds(result.seconds)}; --search global --time-limit 60 goes on, and "
        "may find better clusters."
    ]


def _written(study: Study, table: Table, plan: Plan, given: dict[str, Any]) -> Outputs:
    """Write what is asked for: the clusters first, since they took the longest."""
    from bckm import report
    from bckm.archive import save
    from bckm.lists import write_lists
    from bckm.plan import write_plan

    outputs, column = Outputs(), given["label_column"]
    outputs.write("labels", given["out"], labels_writer(table, column, study))
    outputs.write("everything", given["save"], lambda path: save(study, path))
    outputs.write("centers", given["centers"], centers_writer(study, table, column))
    for path in given["lists"]:
        outputs.write("lists", path, lambda one: write_lists(study, table, one))
    for path in given["report"]:
        outputs.write("report", path, lambda one: report.write(study, one))
    for path in (given["summary"], "-" if given["as_json"] else None):
        outputs.write("summary", path, lambda one: write_json(report.summary(study), one))
    outputs.write("rules", given["write_rules"], lambda path: write_plan(plan, path))
    return outputs


def _say(study: Study, notes: tuple[str, ...], outputs: Outputs, *, to_stdout: bool) -> None:
    from bckm.report import text

    stream = sys.stdout if to_stdout else sys.stderr
    lines = [text(study, blocks=utf8(stream)).rstrip("\n"), ""]
    lines += [f"Note: {note}" for note in notes]
    lines += [f"Written: {one}" for one in outputs.told]
    say("\n".join(lines), file=stream)
