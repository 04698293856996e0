"""Files beside the table: an earlier result, or a list of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bckm._core.note import Note
from bckm.app.errors import Refused
from bckm.app.jobs import open_table
from bckm.plan import match_ids
from bckm.tables import Table

_CLUSTER = ("cluster", "clusters", "label", "group", "class", "van", "tour", "team")
_LINKS = {"kind", "a", "b"}
SHOWN = 20  # ids that are named


@dataclass(frozen=True)
class Previous:
    """A file that a card refers to.

    Attributes
    ----------
    id, name, path : str
        What cards call it, what people call it, and where it is.
    kind : {"clusters", "links"}
        An earlier result, or pairs.
    label_column : str
        Of an earlier result, the column of clusters.
    """

    id: str
    name: str
    path: str
    kind: str
    label_column: str = ""

    def keys(self) -> dict[str, dict[str, str]]:
        """What clauses say of it, by their kind."""
        if self.kind == "links":
            return {"links": {"file": self.path}}
        return {"stay": {"file": self.path, "label_column": self.label_column}}


def read_previous(
    named: tuple[str, str, str], ids: Sequence[str], id_column: str | None, clusters: Sequence[str]
) -> tuple[Previous, dict[str, Any]]:
    """Read a file for cards, and what the page hears of it.

    Parameters
    ----------
    named : tuple of str
        Id, name and path.
    ids, id_column, clusters :
        Ids of the samples, what their column is called, and names of the clusters.
    """
    id, name, path = named  # noqa: A001
    table = open_table(path, name, {})
    kind = "links" if {one.strip().lower() for one in table.names} >= _LINKS else "clusters"
    told: dict[str, Any] = {"id": id, "name": name, "columns": list(table.names), "kind": kind}
    known = set(ids)
    if kind == "links":
        ends = [*table.texts("a"), *table.texts("b")]
        unknown = list(dict.fromkeys(one for one in ends if one and one not in known))
        pairs = zip(table.texts("a"), table.texts("b"), strict=True)
        matched = sum(a in known and b in known for a, b in pairs)
        told |= {"matched": matched, "unknown": unknown[:SHOWN], "n_unknown": len(unknown)}
        return Previous(id, name, path, kind), told
    if id_column is None:
        text = "an earlier result is matched by id: choose the id column first."
        raise Refused("bad_input", Note(text, "match_by_id"))
    mine = table.column(id_column)
    earlier = table.ids(mine)
    rows, alike = match_ids(ids, earlier)  # as the plan does
    there = set(rows.tolist())
    unknown = [one for row, one in enumerate(earlier) if row not in there]
    column = _cluster_column(table, mine, clusters)
    told |= {"matched": int((rows >= 0).sum()), "alike": alike, "new": int((rows < 0).sum())}
    told |= {"unknown": unknown[:SHOWN], "n_unknown": len(unknown), "column": column}
    return Previous(id, name, path, kind, column), told


def _cluster_column(table: Table, id_column: str, clusters: Sequence[str]) -> str:
    """The column of clusters: as `bckm fit` calls it, one that holds their names, or the last."""
    names = [name for name in table.names if name != id_column]
    if not names:
        text = f"{table.source} has no column of clusters."
        raise Refused("bad_input", Note(text, "which_clusters", file=table.source))
    known = set(map(str, clusters))

    def rank(name: str) -> tuple[float, bool]:
        texts = [text for text in table.texts(name) if text is not None]
        share = sum(text in known for text in texts) / max(len(texts), 1)
        return share, name.strip().lower() in _CLUSTER

    return "cluster" if "cluster" in names else max(reversed(names), key=rank)
