"""`Constraints` as a tree, for a file: columns of numbers, so that many links are a few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bckm._storage.fields import Fields, narrow, scalar
from bckm.constraints import Constraints
from bckm.constraints.expand import Softened
from bckm.constraints.linear_rule import LinearRule
from bckm.constraints.parse import Link, read_cluster_names
from bckm.constraints.rules import Fixed, Forbidden
from bckm.constraints.statements import Capacity, LinearRows, Quota, Stay

Statement = Capacity | Quota | Stay | LinearRows | LinearRule
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Capacity, Quota, Stay, LinearRows)}


class Pool:
    """Statements in the order in which they were first met; each is written once.

    Rules refer to the statement they come from: by its number, those that were one object are one
    again after loading.
    """

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._number: dict[int, int] = {}

    def number(self, statement: Statement) -> int:
        """Its number; a new one where it was not met before."""
        if id(statement) not in self._number:
            self._number[id(statement)] = len(self.statements)
            self.statements.append(statement)  # which also keeps its id from being used again
        return self._number[id(statement)]

    def trees(self) -> list[dict[str, Any]]:
        """All statements, for a file."""
        return [{"kind": type(each).__name__, **each.to_tree()} for each in self.statements]

    @classmethod
    def read(cls, trees: list[Any]) -> Pool:
        """Statements from a file."""
        pool = cls()
        for tree in trees:
            fields = Fields(tree, "a statement")
            kind = _KINDS.get(fields.text("kind"))
            if kind is None:
                raise ValueError(f"there is no statement of kind {fields.text('kind')!r:.60}")
            pool.number(kind.from_tree(fields))
        return pool

    def at(self, fields: Fields, key: str, kind: Any) -> Any:
        """The statement that a file names, which must be of this kind."""
        number = fields.whole(key)
        if number >= len(self.statements) or not isinstance(self.statements[number], kind):
            raise ValueError(f"{fields.name} names a statement that is not there")
        return self.statements[number]


def constraints_tree(c: Constraints, pool: Pool) -> dict[str, Any]:
    """Everything that was asked; statements go to the pool."""
    return {
        "by": c.by,
        "must_link": _links_tree(c.must_link, c.by),
        "cannot_link": _links_tree(c.cannot_link, c.by),
        "size_min": None if c.size_min is None else np.asarray(c.size_min),
        "size_max": None if c.size_max is None else np.asarray(c.size_max),
        "statements": [pool.number(each) for each in c.statements],
        "fixed": _fixed_tree(c.fixed, c.by),
        "forbidden": _fixed_tree(c.forbidden, c.by),
        "stay": [pool.number(stay) for stay in c.stay],
        "cluster_names": None if c.cluster_names is None else list(c.cluster_names),
        "softened": [
            {
                "constraints": constraints_tree(part.constraints, pool),
                "weight": np.asarray(part.weight, float),
                "relative": part.relative,
            }
            for part in c.softened
        ],
    }


def read_constraints(fields: Fields, pool: Pool) -> Constraints:
    """`Constraints` from a file."""
    by = fields.text("by")
    empty = Constraints(by=by)  # which refuses any other word
    kinds = {"statements": Capacity | Quota | LinearRows, "stay": Stay}
    statements = {
        name: tuple(pool.at(Fields({"at": at}, name), "at", kind) for at in fields.all(name))
        for name, kind in kinds.items()
    }
    return empty._with(
        must_link=_links(fields.of("must_link"), by),
        cannot_link=_links(fields.of("cannot_link"), by),
        size_min=_sizes(fields, "size_min"),
        size_max=_sizes(fields, "size_max"),
        fixed=_fixed(fields.of("fixed"), by, Fixed),
        forbidden=_fixed(fields.of("forbidden"), by, Forbidden),
        cluster_names=read_cluster_names(fields["cluster_names"]),
        **statements,
        softened=tuple(
            _softened(Fields(tree, "soft rules"), pool) for tree in fields.all("softened")
        ),
    )


def _sizes(fields: Fields, key: str) -> Any:
    """Whole numbers, or numbers of which those below 1 are shares."""
    whole = getattr(fields[key], "dtype", np.dtype(int)).kind in "iu"
    sizes = fields.bound(key, whole=whole)
    if not whole and ((sizes < 0) | ((sizes >= 1) & (sizes != np.floor(sizes)))).any():
        raise ValueError(f"{key} holds neither shares nor numbers of samples")
    return sizes


def _softened(fields: Fields, pool: Pool) -> Softened:
    inner = read_constraints(fields.of("constraints"), pool)
    weight = fields.bound("weight")
    if weight is None or (weight < 0).any():
        raise ValueError("soft rules have no price")
    if weight.ndim and weight.size != len(inner.must_link) + len(inner.cannot_link):
        raise ValueError("soft links have no price each")
    return Softened(inner, weight, fields.flag("relative"))


def _links_tree(links: Sequence[Link], by: str) -> dict[str, Any]:
    words = list(dict.fromkeys(link.why for link in links))
    place = {why: at for at, why in enumerate(words)}
    return {
        "samples": _samples((p for link in links for p in link), by),
        "length": narrow([len(link) for link in links]),
        "words": words,
        "why": narrow([place[link.why] for link in links]),
        "among": narrow([-1 if link.among is None else link.among for link in links]),
        **_called_tree(link.ids for link in links),
    }


def _links(fields: Fields, by: str) -> tuple[Link, ...]:
    length = fields.whole_numbers("length", least=1)
    samples = _read_samples(fields, by, int(length.sum()))
    words, why = fields.texts("words"), fields.whole_numbers("why", length.size)
    if why.max(initial=-1) >= len(words):
        raise ValueError("a link has no reason")
    among = fields.whole_numbers("among", length.size, least=-1).tolist()
    called = _called(fields, length.tolist())
    ends = np.cumsum(length).tolist()
    return tuple(
        Link(samples[end - size : end], words[at], ids, None if number < 0 else number)
        for end, size, at, ids, number in zip(
            ends, length.tolist(), why.tolist(), called, among, strict=True
        )
    )


def _fixed_tree(rules: Sequence[Fixed | Forbidden], by: str) -> dict[str, Any]:
    return {
        "samples": _samples((rule.sample for rule in rules), by),
        "clusters": narrow([rule.cluster for rule in rules]),
        **_called_tree(rule.ids for rule in rules),
    }


def _fixed(fields: Fields, by: str, kind: Any) -> tuple[Any, ...]:
    clusters = fields.whole_numbers("clusters").tolist()
    samples = _read_samples(fields, by, len(clusters))
    called = _called(fields, [1] * len(clusters))
    return tuple(kind(*each) for each in zip(samples, clusters, called, strict=True))


def _samples(samples: Iterable[Any], by: str) -> Any:
    """Positions are numbers; ids may be anything that a file can hold."""
    if by == "position":
        return narrow(list(samples))
    return [scalar(name, "the id") for name in samples]


def _read_samples(fields: Fields, by: str, size: int) -> list[Any]:
    if by == "position":
        return list(fields.whole_numbers("samples", size).tolist())
    names = fields.scalars("samples")
    if len(names) != size:
        raise ValueError(f"{fields.name} names {len(names)} samples instead of {size}")
    return names


def _called_tree(all_ids: Iterable[tuple[Any, ...] | None]) -> dict[str, Any]:
    """What samples were called, where they were: one list for all."""
    ids = list(all_ids)
    return {
        "named": np.array([names is not None for names in ids], bool),
        "ids": [scalar(name, "the id") for names in ids for name in names or ()],
    }


def _called(fields: Fields, length: list[int]) -> list[tuple[Any, ...] | None]:
    named, ids = fields.flags("named", len(length)), fields.scalars("ids")
    called: list[tuple[Any, ...] | None] = []
    at = 0
    for size, has in zip(length, named.tolist(), strict=True):
        called.append(tuple(ids[at : at + size]) if has else None)
        at += size if has else 0
    if at != len(ids):
        raise ValueError(f"{fields.name} has {len(ids)} ids instead of {at}")
    return called
