"""What the page draws and lists: places of the samples, columns, the table itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from bckm._core.types import FloatArray
from bckm.app.cards import Setup
from bckm.app.words import note_tree, problem_tree
from bckm.problem.scaling import Scaling
from bckm.tables import Table, kind_of, look_over
from bckm.tables.cells import listed

PREVIEW = 200  # rows
LONGEST = 300  # letters of a cell in the preview
MOST_PROBLEMS = 200


def points(table: Table, setup: Setup) -> dict[str, Any]:
    """Places on the map."""
    if setup.kind == "features":
        xy, axes, kind = _components(table, setup), ["component 1", "component 2"], "components"
        if len(setup.columns) == 1:
            axes = [setup.columns[0], ""]
        elif len(setup.columns) == 2:
            axes = list(setup.columns)
    else:
        first, second = (_numbers(table, name) for name in setup.columns)
        kind, axes = setup.kind, list(setup.columns)
        xy = np.column_stack([first, second])
        if kind == "latlon":
            xy, axes = xy[:, ::-1], axes[::-1]
    names = None if setup.name is None else [text or "" for text in table.texts(setup.name)]
    weight = None if setup.weight is None else _numbers(table, setup.weight).tolist()
    return {
        "n": table.n_rows,
        "x": xy[:, 0].tolist(),
        "y": xy[:, 1].tolist(),
        "axes": axes,
        "kind": kind,
        "ids": ids_of(table, setup),
        "names": names,
        "weight": weight,
        "rows": lines_of(table),
    }


def ids_of(table: Table, setup: Setup) -> list[str]:
    """What rules call the rows."""
    if setup.id is None:
        return [str(row) for row in range(table.n_rows)]
    return [text or "" for text in table.texts(setup.id)]


def lines_of(table: Table) -> list[int]:
    """Numbers of the rows as a person sees them in the file."""
    return [int(table.line(row)) for row in range(table.n_rows)]


def _numbers(table: Table, name: str) -> FloatArray:
    values = table.numbers(name, missing="nan")
    known = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, known.mean() if known.size else 0.0)


def _components(table: Table, setup: Setup) -> FloatArray:
    columns = np.column_stack([_numbers(table, name) for name in setup.columns])
    rows = Scaling.of(columns, setup.scale).apply(columns)
    if rows.shape[1] == 2:
        return rows
    if rows.shape[1] == 1:  # a height that only separates
        height = np.random.default_rng(0).uniform(-0.5, 0.5, len(rows))
        spread = float(np.ptp(rows)) or 1.0
        return np.column_stack([rows[:, 0], 0.2 * spread * height])
    rows = rows - rows.mean(axis=0)
    _, axes = np.linalg.eigh(rows.T @ rows)
    first = axes[:, ::-1][:, :2]
    first = first * np.where(np.abs(first).max(axis=0) == first.max(axis=0), 1.0, -1.0)
    return np.asarray(rows @ first)


def table_tree(table: Table, reading: dict[str, Any]) -> dict[str, Any]:
    """The table, its columns and all its problems."""
    problems = look_over(table)[:MOST_PROBLEMS]
    first = min(table.n_rows, PREVIEW)
    cells = [_shown(table, name, first) for name in table.names]
    return {
        "name": table.source,
        "n_rows": table.n_rows,
        "columns": [_column(table, name) for name in table.names],
        "preview": {
            "rows": [list(row) for row in zip(*cells, strict=True)],
            "lines": lines_of(table)[:first],
        },
        "assumed": [note_tree(note) for note in table.assumed],
        "problems": [problem_tree(one) for one in problems],
        "reading": reading,
    }


def _shown(table: Table, name: str, first: int) -> list[str | None]:
    found = []
    for cell in listed(table.cells(name))[:first]:
        text = None if cell is None else str(cell)
        found.append(text if text is None or len(text) <= LONGEST else f"{text[:LONGEST]}…")
    return found


def _column(table: Table, name: str) -> dict[str, Any]:
    texts = table.texts(name)
    present = [text for text in texts if text is not None]
    distinct = dict.fromkeys(present)
    return {
        "name": name,
        "type": kind_of(table, name),
        "missing": len(texts) - len(present),
        "distinct": len(distinct),
        "sample": [text[:60] for text in list(distinct)[:3]],
    }
