"""Clusters of an earlier result, in a file of its own, matched by id."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bckm._core.note import Note, few
from bckm._core.types import IntArray
from bckm.plan._columns import Reader, bare
from bckm.plan._model import Clause, PlanError
from bckm.tables import Table, TableError, UnknownColumnError, read_table
from bckm.tables.cells import whole_text
from bckm.tables.errors import some

USUAL = "cluster"  # what `bckm fit` calls the column of clusters
_SHOWN = 3


def read_previous(clause: Clause, read: Reader) -> IntArray:
    """Label of each row in an earlier result; -1 for rows that it does not have."""
    if read.ids is None or read.id_column is None:
        text = "an earlier result is matched by id; name its column with --id."
        raise PlanError(Note(text, "match_by_id"))
    table = read_table(clause.keys["file"])
    column = _label_column(table, clause.keys.get("label_column"), read)
    before = _by_id(table, read)
    texts = table.texts(column)
    labels = _labels(texts, table, column, read)
    found = np.full(read.n_rows, -1)
    for row, earlier in enumerate(before):
        if earlier >= 0:
            found[row] = labels[earlier]
    new = int((before < 0).sum())
    gone = table.n_rows - len(set(before[before >= 0].tolist()))
    if new == read.n_rows:
        text = (
            f"no id of {read.table.source} is in {table.source}; is {read.id_column!r} the right "
            "column in both?"
        )
        raise TableError(Note(text, "no_match", file=table.source, column=read.id_column))
    told = [
        f"{new} {'row is' if new == 1 else 'rows are'} new" if new else "",
        f"{gone} {'is' if gone == 1 else 'are'} gone" if gone else "",
    ]
    changed = f" ({', '.join(one for one in told if one)})" if new or gone else ""
    n = read.n_rows - new
    text = f"stay: {n} rows have a cluster in column {column!r} of {table.source}{changed}."
    read.notes.append(
        Note(text, "previous", n=n, column=column, file=table.source, new=new, gone=gone)
    )
    return found


def _label_column(table: Table, asked: str | None, read: Reader) -> str:
    """The column of clusters: as told, as usual, or the one that holds names of clusters."""
    if asked is not None:
        return table.column(asked)
    if USUAL in table.names:
        return USUAL
    likely = []
    for name in table.names:
        texts = [text for text in table.texts(name) if text is not None]
        known = sum(read.label_of(text) >= 0 for text in texts)
        if texts and name != read.id_column and known >= 0.8 * len(texts):
            likely.append(name)
    if len(likely) == 1:
        return likely[0]
    which = f"it may be {some(likely, _SHOWN)}" if likely else f"there are {some(table.names)}"
    text = (
        f"which column of {table.source} holds the clusters? {which}. Say so: --stay "
        f"{table.source}:COLUMN:MOVES (label_column = ... in a rules file)."
    )
    raise TableError(Note(text, "which_clusters", file=table.source))


def _by_id(table: Table, read: Reader) -> IntArray:
    """Row of an earlier table for each row; -1 where there is none."""
    assert read.ids is not None
    assert read.id_column is not None
    try:
        ids = table.ids(read.id_column)
    except UnknownColumnError as error:
        text = f"{error} It must have the column of ids, {read.id_column!r}."
        note = Note(text, "no_id_column", file=table.source, column=read.id_column)
        raise TableError(note) from None
    found, alike = match_ids(read.ids, ids)
    if alike:
        text = (
            f"{alike} ids of {table.source} were matched although zeros in front, spaces or "
            "capitals differ."
        )
        read.notes.append(Note(text, "alike", n=alike, file=table.source))
    return found


def match_ids(ids: Sequence[str], earlier: Sequence[str]) -> tuple[IntArray, int]:
    """Match ids with those of an earlier table.

    Parameters
    ----------
    ids, earlier : sequence of str
        Ids of both tables, each without repetition.

    Returns
    -------
    array (n,), int
        Row of the earlier table for each id, -1 where there is none; and how many were found only
        because zeros in front, spaces and capitals do not count: spreadsheets lose them.

    Examples
    --------
    >>> from bckm.plan import match_ids
    >>> match_ids(["007", "8", "a 9"], ["8", "7", "11"])
    (array([ 1,  0, -1]), 1)
    """
    place = {one: row for row, one in enumerate(earlier)}
    found = np.array([place.get(one, -1) for one in ids], dtype=np.intp)
    short, mine = _unique(earlier), _unique(ids)
    taken = set(found.tolist())
    alike = 0
    for one, row in mine.items():
        if found[row] < 0 and one in short and short[one] not in taken:
            found[row] = short[one]
            alike += 1
    return found, alike


def _unique(ids: Sequence[str]) -> dict[str, int]:
    often = Counter(map(bare, ids))
    return {bare(one): row for row, one in enumerate(ids) if often[bare(one)] == 1}


def _named_so(names: Sequence[str], read: Reader) -> str:
    """How to call the clusters as before, if there are as many."""
    if len(names) != read.n_clusters:
        return ""
    quoted = [f'"{name}"' if "," in name else name for name in names]
    return f" To call them as before: --clusters {shlex.quote(','.join(quoted))}."


def _labels(texts: Sequence[str | None], table: Table, column: str, read: Reader) -> IntArray:
    """Labels that names mean; where clusters have names now, numbers mean the first, second, ..."""
    known = [-1 if text is None else read.label_of(text) for text in texts]
    lost = Counter(
        text for text, label in zip(texts, known, strict=True) if text is not None and label < 0
    )
    if not lost:
        return np.array(known)
    numbers = [whole_text(text or "") for text in texts]
    counted = range(1, read.n_clusters + 1)
    if max(known, default=-1) < 0 and all(
        text is None or (number.isdecimal() and int(number) in counted)
        for text, number in zip(texts, numbers, strict=True)
    ):
        first = read.cluster_names[0]
        text = f"stay: cluster 1 of {table.source} is {first!r} now, and so on."
        read.notes.append(Note(text, "renamed", file=table.source, cluster=str(first)))
        return np.array(
            [-1 if t is None else int(n) - 1 for t, n in zip(texts, numbers, strict=True)]
        )
    if max(known, default=-1) < 0:
        text = (
            f"column {column!r} of {table.source} holds no cluster of this plan but "
            f"{some(list(lost), _SHOWN)}; {read.known_clusters}.{_named_so(sorted(lost), read)}"
        )
        found = few(list(lost), _SHOWN)
        raise TableError(
            Note(text, "other_clusters", file=table.source, column=column, found=found)
        )
    n = sum(lost.values())
    text = (
        f"stay: {n} rows of {table.source} were in {some(list(lost), _SHOWN)}, which there is no "
        "longer: they may go anywhere."
    )
    clusters = few(list(lost), _SHOWN)
    read.notes.append(Note(text, "lost", n=n, file=table.source, clusters=clusters))
    return np.array(known)
