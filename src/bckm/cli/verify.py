"""``bckm verify``: which rules these clusters break."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bckm._core.terminal import say
from bckm.cli._errors import BROKEN, told
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

if TYPE_CHECKING:
    from bckm._core.types import IntArray
    from bckm.plan import AskedRules
    from bckm.tables import Table

_EPILOG = """
\b
Examples:
  bckm verify customers-clusters.csv --rules rules.toml
  bckm verify customers.csv --labels theirs.csv --size 40:60 --together household --id customer
"""


@click.command(epilog=_EPILOG, short_help="Do these clusters obey these rules?")
@data_argument
@rule_options
@unused_options
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False),
    help="Table with the clusters, if DATA has none; joined by --id, else row by row.",
)
@click.option("--label-column", default="cluster", show_default=True, help="Column of clusters.")
@json_option
@reading_options
@click.pass_context
def verify(ctx: click.Context, /, data: str, as_json: bool, **given: Any) -> None:
    """List every rule that clusters, from anywhere, break (exit code 1 if there is one).

    DATA holds the columns that rules name and, unless --labels does, the clusters, counted from 0.
    Violated soft rules are listed too, but do not change the exit code.
    """
    with told():
        from bckm.plan import compile_rules
        from bckm.verification import verify as check_labels

        table, plan = read_data(data, given), plan_of(given)
        labels = _labels(table, plan.id, given)
        if plan.clusters is None:
            plan = replace(plan, clusters=int(labels.max()) + 1)
        asked = compile_rules(plan, table)
        _check_range(labels, asked, given["label_column"])
        broken, lost = (
            check_labels(
                labels, asked.n_clusters, asked.constraints, sample_id=asked.sample_id, soft=soft
            )
            for soft in (False, True)
        )
    if as_json:
        write_json({"broken": _plain(broken), "violated": _plain(lost)})
    else:
        _say(broken, lost, asked)
    ctx.exit(BROKEN if broken else 0)


def _labels(table: Table, id_column: str | None, given: dict[str, Any]) -> IntArray:
    """Cluster of each row of the table, as a column of it or of another one says."""
    import numpy as np

    from bckm.tables import TableError, read_table

    other, name = table, given["label_column"]
    order: Any = slice(None)
    if given["labels"]:
        other = read_table(given["labels"], read_limit=given["read_limit"])
        if id_column is not None:
            place = {one: row for row, one in enumerate(other.ids(id_column))}
            ids = table.ids(id_column)
            if lost := [one for one in ids if one not in place]:
                raise TableError(
                    f"{other.source} has no row for {len(lost)} ids, first {lost[0]!r}."
                )
            order = [place[one] for one in ids]
        elif other.n_rows != table.n_rows:
            raise TableError(
                f"{other.source} has {other.n_rows} rows, {table.source} {table.n_rows}; --id "
                "joins them by a column of ids."
            )
    values = other.numbers(name)[order]
    if (values != np.floor(values)).any() or (values < 0).any():
        row = int(np.argmax((values != np.floor(values)) | (values < 0)))
        raise TableError(
            f"column {name!r} of {other.source} must hold clusters 0, 1, 2, ...; row {row + 1} of "
            f"{table.source} has {values[row]:.15g}."
        )
    found: IntArray = values.astype(np.int64)
    return found


def _check_range(labels: IntArray, asked: AskedRules, column: str) -> None:
    from bckm.tables import TableError

    if labels.max() >= asked.n_clusters:
        raise TableError(
            f"column {column!r} holds cluster {labels.max()}; of {asked.n_clusters} clusters, "
            f"counted from 0, the last is {asked.n_clusters - 1}."
        )


def _plain(violations: Any) -> list[dict[str, Any]]:
    return [
        {
            "rule": str(one.rule),
            "message": one.message,
            "amount": float(one.amount),
            "cluster": one.cluster,
        }
        for one in violations
    ]


def _say(broken: Any, lost: Any, asked: AskedRules) -> None:
    from bckm.constraints.rules import plural

    say_notes(asked.notes)
    for one in broken:
        say(one.message)
    if lost:
        say(f"Violated soft rules: {len(lost)}")
        for one in lost:
            say(f"  {one.message}")
    rules = len({id(one.rule) for one in broken})
    told = f"{plural(len(broken), 'violation')} of {plural(rules, 'rule')}."
    say(told if broken else "Every rule holds.")
