"""``bckm check``: whether rules can be met and, if not, why."""

from __future__ import annotations

from typing import Any

import click

from bckm._core.terminal import say
from bckm.cli._errors import INFEASIBLE, UNDECIDED, told
from bckm.cli._options import (
    data_argument,
    json_option,
    plan_of,
    read_data,
    reading_options,
    rule_options,
    unused_options,
)
from bckm.cli._outputs import say_notes, write_json

_EPILOG = """
\b
Example:
  bckm check customers.csv --clusters 12 --size 40:60 --together household --id customer
"""


@click.command(epilog=_EPILOG, short_help="Check whether the rules can be met and, if not, why.")
@data_argument
@rule_options
@unused_options
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds.")
@json_option
@reading_options
@click.pass_context
def check(ctx: click.Context, /, data: str, as_json: bool, **given: Any) -> None:
    """Check whether rules about the rows of DATA can be met and, if not, explain why.

    If not (exit code 3), the answer lists rules that contradict each other: drop any one of them,
    and the others can be met. The columns to cluster by do not matter.

    DATA is a CSV, TSV, Parquet, Excel, JSON lines or NPZ file, or - for standard input.
    """
    with told():
        from bckm.feasibility import check as decide
        from bckm.plan import compile_rules

        table = read_data(data, given)
        plan = plan_of(given)
        asked = compile_rules(plan, table)
        answer = decide(
            table.n_rows,
            asked.n_clusters,
            asked.constraints,
            sample_id=asked.sample_id,
            time_limit=plan.fit.get("time_limit"),
        )
    say_notes(asked.notes)
    tell(answer, as_json)
    ctx.exit({"feasible": 0, "infeasible": INFEASIBLE}.get(answer.verdict.value, UNDECIDED))


def tell(answer: Any, as_json: bool, *, err: bool = False) -> None:
    """Write an answer of `bckm.check` to standard output, or error."""
    if as_json:
        found = {
            "verdict": answer.verdict.value,
            "message": answer.message,
            "conflict": [str(rule) for rule in answer.conflict],
            "minimal": getattr(answer.error, "minimal", None),
        }
        write_json(found)
        return
    say(answer.message, err=err)
