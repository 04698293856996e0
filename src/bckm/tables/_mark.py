"""A table with the cells marked that have a problem."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bckm._storage.atomic import atomic
from bckm.tables._problems import Problem
from bckm.tables._table import Table
from bckm.tables.workbook import Workbook


def mark_problems(table: Table, problems: Sequence[Problem], path: str | os.PathLike[str]) -> None:
    """Write a table as a workbook in which cells with a problem are marked, with a remark.

    A second sheet lists the problems.

    Parameters
    ----------
    table : Table
        The table.
    problems : sequence of Problem
        From `look_over` or `ProblemsError.problems`.
    path : str or path
        The file, ``.xlsx``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bckm.tables import Table, look_over, mark_problems, read_table
    >>> table = Table.of({"id": ["a", "b"], "kg": ["3", "x"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "problems.xlsx"
    ...     mark_problems(table, look_over(table, {"kg": "number"}), path)
    ...     read_table(path, sheet="problems").texts("column")
    ['kg']
    """
    from bckm.tables._xlsx import put_table

    book = Workbook()
    sheet = put_table(book, table)
    told: dict[tuple[int, int], list[str]] = {}
    for problem in problems:
        columns = range(len(table.names))
        if problem.column is not None:
            columns = range(at := table.names.index(table.column(problem.column)), at + 1)
        for row in problem.rows:
            for column in columns:
                told.setdefault((row, column), []).append(problem.message)
        if not problem.rows and problem.column is not None:
            told.setdefault((-1, columns[0]), []).append(problem.message)
    for (row, column), messages in told.items():
        name = table.names[column]
        sheet.put(row + 1, column, name if row < 0 else table.cells(name)[row], "wrong")
        sheet.comment(row + 1, column, "\n".join(messages))
    listed = book.sheet("problems")
    rows = [["column", "rows here", "rows in the file", "problem"]]
    for one in problems:
        here = _listed([row + 2 for row in one.rows])  # below the column names
        there = _listed([table.line(row) for row in one.rows])
        rows.append([one.column or "", here, there, one.message])
    for i, cells in enumerate(rows):
        listed.row(i, cells, "" if i else "header")
    listed.widths(list(zip(*rows, strict=True)))
    with atomic(path, "wb") as handle:
        handle.write(book.bytes())


def _listed(rows: Sequence[int], most: int = 50) -> str:
    return ", ".join(map(str, rows[:most])) + (" ..." if len(rows) > most else "")
