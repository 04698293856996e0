"""Columns of a table as a plan needs them: features, groups, clusters, names of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bckm._core.note import Note, and_more, few
from bckm._core.types import FloatArray, IntArray
from bckm.plan._model import Plan, PlanError, near
from bckm.tables import Problem, ProblemsError, Table, TableError
from bckm.tables.cells import no_number, whole_text
from bckm.tables.errors import shown, some

# Columns that mark some rows: the others are in no group
_NO = {
    "0": "1",
    "n": "y",
    "no": "yes",
    "false": "true",
    "nein": "ja",
    "falsch": "wahr",
    "non": "oui",
    "faux": "vrai",
}
_SHOWN = 5
_LOOKED_AT = 200  # cells that tell whether a column looks like numbers
_EXCHANGED = (["lon", "lat"], ["lng", "lat"])
_SEARCHED = 20_000  # ids that are compared letter by letter with one that is not there


class Reader:
    """A table, the ids of its rows if it has any, and notes for the person."""

    def __init__(
        self,
        table: Table,
        ids: list[str] | None,
        cluster_names: tuple[str | int, ...],
        id_column: str | None = None,
    ) -> None:
        self.id_column = id_column
        self.table, self.ids, self.cluster_names = table, ids, cluster_names
        self.n_clusters = len(cluster_names)
        self._labels = {str(name): label for label, name in enumerate(cluster_names)}
        self.notes: list[str] = list(table.assumed)
        self.by = "position" if ids is None else "sample_id"
        self.n_rows = table.n_rows
        self.names: Sequence[Any] = range(table.n_rows) if ids is None else ids

    def named(self, values: list[Any]) -> Any:
        """One value per row, as `Constraints` take them: by id, if there are ids."""
        return values if self.ids is None else dict(zip(self.ids, values, strict=True))

    @cached_property
    def known(self) -> Mapping[str, Any]:
        """What each row may be called, and what rules call it."""
        return {str(name): name for name in self.names}

    def samples(self, ids: Sequence[str]) -> list[Any]:
        """Rows by their ids, or without any by their position."""
        found = []
        for one in ids:
            if one not in self.known:
                raise TableError(self.unknown(one))
            found.append(self.known[one])
        return found

    def unknown(self, one: str) -> Note:
        """What is wrong with an id that no row has."""
        if self.ids is None:
            text = (
                f"there is no row {one!r}: without a column of ids, rows are numbered 0 to "
                f"{self.n_rows - 1}. Did you forget --id COLUMN?"
            )
            return Note(text, "no_row", id=shown(one), last=self.n_rows - 1)
        # what spreadsheets lose: zeros in front, spaces, capitals
        alike = [name for name in self.ids if bare(name) == bare(one)]
        if alike:
            text = (
                f"no row has the id {one!r}; did you mean {alike[0]!r}? Ids are compared as text."
            )
            return Note(text, "id_alike", id=shown(one), meant=shown(alike[0]))
        text = f"no row has the id {one!r}{near(one, self.ids[:_SEARCHED])}"
        return Note(text, "no_id", id=shown(one))

    def groups(self, column: str) -> dict[str, list[int]]:
        """Rows that share a value; a column that marks rows has only the marked ones."""
        found: dict[str, list[int]] = {}
        for row, value in enumerate(self.table.texts(column)):
            if value is not None:
                found.setdefault(value, []).append(row)
        words = {value.lower() for value in found}
        for value in list(found) if len(words) <= 2 else ():
            others = words - {value.lower()}
            if _NO.get(value.lower()) is not None and others <= {_NO[value.lower()]}:
                del found[value]
                text = f"column {column!r} flags rows: those with {value!r} are in no group."
                self.notes.append(Note(text, "flags", column=column, value=value))
        return {value: rows for value, rows in found.items() if len(rows) > 1}

    def label(self, cluster: str | int) -> int:
        """The label of a cluster, by its name."""
        if (name := str(cluster)) not in self._labels:
            text = f"there is no cluster {name!r}; {self.known_clusters}."
            raise PlanError(Note(text, "no_cluster", cluster=shown(name), clusters=self._few))
        return self._labels[name]

    def clusters(self, column: str) -> IntArray:
        """Labels of the clusters that a column names; -1 where there is none."""
        found = np.full(self.n_rows, -1)
        wrong = []
        texts = self.table.texts(column)
        for row, text in enumerate(texts):
            if text is None:
                continue
            found[row] = self.label_of(text)
            if found[row] < 0 and whole_text(text) != "-1" and not no_number(text):
                wrong.append(row)
        if wrong:
            also = f" (and so do {len(wrong) - 1} other rows)" if len(wrong) > 1 else ""
            text = (
                f"column {column!r} must hold clusters or be empty; {self.table.place(wrong[0])} "
                f"has {texts[wrong[0]]!r}{also}, but {self.known_clusters}."
            )
            message = Note(
                text,
                "no_clusters",
                column=column,
                row=str(self.table.line(wrong[0])),
                more=and_more(len(wrong) - 1),
                value=shown(texts[wrong[0]]),
                clusters=self._few,
            )
            raise ProblemsError([Problem("cluster", column, tuple(wrong), message)], self.table)
        return found

    def label_of(self, text: str) -> int:
        """The label of a cluster by its name in a table; -1 if there is none."""
        return self._labels.get(text, self._labels.get(whole_text(text), -1))

    @property
    def _few(self) -> str:
        return few(list(map(str, self.cluster_names)), _SHOWN)

    @property
    def known_clusters(self) -> str:
        """Which clusters there are, in words."""
        names = self.cluster_names
        if isinstance(names[0], int):
            return f"clusters are numbered {names[0]} to {names[-1]}"
        return f"the clusters are {some(list(map(str, names)), _SHOWN)}"


def bare(name: str) -> str:
    """An id without what spreadsheets lose: zeros in front, spaces, capitals."""
    return name.strip().lstrip("0").casefold()


def feature_names(plan: Plan, read: Reader, aside: Sequence[str]) -> tuple[str, ...]:
    """Columns that samples are clustered by."""
    table = read.table
    names = tuple(map(table.column, plan.columns))
    places = plan.metric in ("latlon", "haversine")
    if places and [name[:3].lower() for name in names] in _EXCHANGED:
        text = f"{plan.metric} expects latitude first: --columns {names[1]},{names[0]}."
        raise PlanError(Note(text, "latitude_first"))
    if twice := [name for name, often in Counter(names).items() if often > 1]:
        text = f"column {twice[0]!r} is listed twice."
        raise PlanError(Note(text, "column_twice", column=twice[0]))
    if not names:
        others = {table.column(name) for name in plan.used}
        others |= {name for name in table.names if name.strip() in aside}
        names = tuple(name for name in table.names if name not in others and table.is_numeric(name))
        if not names:
            text = (
                f"{table.source} has no numeric column left to cluster by; name columns with "
                f"--columns. Its columns are: {some(table.names)}."
            )
            raise PlanError(Note(text, "no_column_left", file=table.source))
        read.notes += _left_out(others, set(names), table)
        text = (
            f"clustered by {some(names, _SHOWN)}: every numeric column that no rule uses "
            "(use --columns to choose others)."
        )
        read.notes.append(Note(text, "features", names=few(names, _SHOWN)))
    return names


def read_features(names: Sequence[str], plan: Plan, read: Reader) -> FloatArray:
    """Numbers that samples are clustered by, (n, d)."""
    return np.column_stack([_feature(name, plan, read) for name in names])


def _left_out(others: Collection[str], names: Collection[str], table: Table) -> list[Note]:
    """Columns that are numbers but for some cells: somebody may miss them."""
    found = []
    for name in table.names:
        if name in others or name in names:
            continue
        first = [text for text in table.texts(name)[:_LOOKED_AT] if text is not None]
        numbers = sum(_is_number(text) for text in first)
        if numbers > 0.8 * len(first):
            try:
                table.numbers(name)
            except TableError as error:
                text = f"not clustered by {name!r}: {error}"
                found.append(Note(text, "no_feature", column=name))
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _feature(name: str, plan: Plan, read: Reader) -> FloatArray:
    how = plan.missing or "error"
    if how == "error":
        return read.table.numbers(name)
    values = read.table.numbers(name, missing="nan")
    empty = np.isnan(values)
    if empty.all():
        raise TableError(Note(f"column {name!r} contains no numbers.", "column_empty", column=name))
    if empty.any():
        middle = float(np.nanmedian(values) if how == "median" else np.nanmean(values))
        values, n = np.where(empty, middle, values), int(empty.sum())
        text = f"{n} missing values of {name!r} were replaced by the {how}, {middle:.6g}."
        read.notes.append(Note(text, f"filled.{how}", n=n, column=name, value=middle))
    return values
