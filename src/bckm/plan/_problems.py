"""What keeps columns from being used as a plan does; all of it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bckm._core.note import Note
from bckm.plan._model import Plan
from bckm.tables import Problem, Table, look_over


def column_problems(plan: Plan, table: Table, features: Sequence[str]) -> list[Problem]:
    """What keeps columns from being used as the plan does."""
    used = {} if plan.id is None else {table.column(plan.id): "id"}
    for clause in plan.clauses:
        if clause.kind == "capacity" and clause.column is not None:
            used[table.column(clause.column)] = "number"
    if plan.weight is not None:
        used[table.column(plan.weight)] = "number"
    gaps = plan.missing not in (None, "error")
    for at, name in enumerate(features):
        role = "number or missing" if gaps else "number"
        if plan.metric == "latlon" and len(features) == 2:
            role = ("latitude", "longitude")[at]
        used.setdefault(name, role)
    found: list[Problem] = []
    looked = look_over(table, used)
    for one in looked:
        filled = one.kind == "missing" and one.column in features
        more = " To fill missing values: --missing median (or mean)." if filled else ""
        if one.kind == "missing" and gaps and filled:
            continue
        if one.blocking:
            message = Note(f"{one.message}{more}", one.message.key, **one.message.values)
            found.append(replace(one, message=message))
    # a row of sums that was not clearly one may be why
    return [*(one for one in looked if one.kind == "totals" and found), *found]


def has_problem(column: str | None, problems: Sequence[Problem]) -> bool:
    """Whether a column has one of the problems."""
    return any(one.column is not None and one.column == column for one in problems)
