"""``bckm verify``: which rules these clusters break."""

from __future__ import annotations

import re
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
    from bckm.plan import AskedRules, Plan
    from bckm.tables import Table

_EPILOG = """
\b
Examples:
  bckm verify customers-clusters.csv --rules rules.toml
  bckm verify customers.csv --labels theirs.csv --size 40:60 --together household --id customer
"""


@click.command(epilog=_EPILOG, short_help="Check clusters against rules.")
@data_argument
@rule_options
@unused_options
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False),
    help="Table with the clusters, if DATA has none; matched by --id, or row by row.",
)
@click.option(
    "--label-column", default="cluster", show_default=True, help="Column with the clusters."
)
@json_option
@reading_options
@click.pass_context
def verify(ctx: click.Context, /, data: str, as_json: bool, **given: Any) -> None:
    """List every rule that given clusters violate (exit code 1 if there is one).

    DATA holds the columns that the rules use and, unless --labels is given, the clusters: by
    --cluster-names, or else numbered from 1 (or 0), or by any names of their own. Violated soft
    rules are listed too, but do not change the exit code.
    """
    with told():
        from bckm.plan import compile_rules
        from bckm.verification import verify as check_labels

        table, plan = read_data(data, given), plan_of(given)
        column = _column(table, plan.id, given)
        plan = _named(plan, column)
        asked = compile_rules(plan, table)
        labels = _labels(column, asked, table, given["label_column"])
        broken, lost = (
            check_labels(
                labels, asked.n_clusters, asked.constraints, sample_id=asked.sample_id, soft=soft
            )
            for soft in (False, True)
        )
    if as_json:
        names = asked.constraints.cluster_names
        write_json({"broken": _plain(broken, names), "violated": _plain(lost, names)})
    else:
        _say(broken, lost, asked)
    ctx.exit(BROKEN if broken else 0)


def _column(table: Table, id_column: str | None, given: dict[str, Any]) -> list[str]:
    """What the cluster of each row is called, as a column of the table or of another one says."""
    from bckm.tables import TableError, read_table

    other, name = table, given["label_column"]
    order = list(range(table.n_rows))
    if given["labels"]:
        other = read_table(given["labels"], read_limit=given["read_limit"])
        if id_column is not None:
            place = {one: row for row, one in enumerate(other.ids(id_column))}
            ids = table.ids(id_column)
            if lost := [one for one in ids if one not in place]:
                raise TableError(
                    f"{other.source} has no row for {len(lost)} ids; the first is {lost[0]!r}."
                )
            order = [place[one] for one in ids]
        elif other.n_rows != table.n_rows:
            raise TableError(
                f"{other.source} has {other.n_rows} rows, {table.source} {table.n_rows}; use --id "
                "to match them by id."
            )
    texts = other.texts(name)
    found = []
    for row in order:
        text = texts[row]
        if text is None:
            raise TableError(f"column {name!r} is empty in {other.place(row)}.")
        found.append(text)
    return found


def _named(plan: Plan, column: list[str]) -> Plan:
    """The plan with names for its clusters; where it has none they are those of the column.

    Numbers are counted from 1 on, as `bckm fit` writes them, or from 0 on if the column has a 0.
    """
    from bckm.tables.cells import whole_text

    if plan.cluster_names:
        return plan
    names = {whole_text(text) for text in column}
    if not all(re.fullmatch(r"-?[0-9.]+", name) for name in names):
        return replace(plan, cluster_names=tuple(sorted(names)))
    first = 0 if "0" in names else 1
    counted = [int(name) for name in names if name.isdecimal()]
    last = max(counted, default=1) if plan.clusters is None else plan.clusters - 1 + first
    return replace(plan, cluster_names=tuple(range(first, last + 1)))


def _labels(column: list[str], asked: AskedRules, table: Table, name: str) -> IntArray:
    import numpy as np

    from bckm.tables import TableError
    from bckm.tables.cells import whole_text
    from bckm.tables.errors import some

    names = asked.constraints.cluster_names or ()
    label = {str(one): at for at, one in enumerate(names)}
    found = [label.get(text, label.get(whole_text(text), -1)) for text in column]
    if -1 in found:
        row = found.index(-1)
        raise TableError(
            f"column {name!r}, {table.place(row)}: there is no cluster {column[row]!r}; the "
            f"{len(names)} clusters are {some([str(one) for one in names], 6)}."
        )
    return np.array(found, np.int64)


def _plain(violations: Any, names: Any) -> list[dict[str, Any]]:
    return [
        {
            "rule": str(one.rule),
            "message": one.message,
            "amount": float(one.amount),
            "cluster": None if one.cluster is None else names[one.cluster],
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
