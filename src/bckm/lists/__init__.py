"""Lists for people: who is in which cluster, a sheet or a printed page for each.

`write_lists` writes them as a workbook or as a page to print.
"""

from __future__ import annotations

import os
from pathlib import Path

from bckm._storage.atomic import atomic
from bckm.lists._model import Lists
from bckm.lists._page import page
from bckm.lists._workbook import workbook
from bckm.study import Study
from bckm.tables import Table, TableError

SUFFIXES = (".xlsx", ".html", ".htm")


def write_lists(study: Study, table: Table | None, path: str | os.PathLike[str]) -> None:
    """Write a list of the members of each cluster.

    Parameters
    ----------
    study : Study
        The result.
    table : Table or None
        The rows of the result, whose columns are listed; without it, ids and features are.
    path : str or path
        The file: ``.xlsx`` has an overview and a sheet per cluster, ``.html`` a page per cluster,
        to print.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bckm.lists import write_lists
    >>> from bckm.plan import Plan
    >>> from bckm.plan.run import compiled, fitted
    >>> from bckm.tables import Table, read_table
    >>> table = Table.of({"stop": ["a", "b", "c"], "x": [0, 1, 9]})
    >>> study = fitted(compiled(Plan(cluster_names=("North", "South"), id="stop"), table))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "lists.xlsx"
    ...     write_lists(study, table, path)
    ...     sorted(read_table(path, sheet=1).texts("size"))
    ['1', '2']
    """
    kind = Path(path).suffix.lower()
    if kind not in SUFFIXES:
        raise TableError(f"lists are written as .xlsx or .html; got {kind or 'no suffix'!r}.")
    lists = Lists.of(study, table)
    data = workbook(lists) if kind == ".xlsx" else page(lists).encode("utf-8", "replace")
    with atomic(path, "wb") as handle:
        handle.write(data)


__all__ = ["SUFFIXES", "write_lists"]
