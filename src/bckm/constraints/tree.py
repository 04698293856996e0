"""`Constraints` as a tree, for a file: columns of numbers, so that many links are a few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bckm._storage.fields import Fields, narrow, scalar
from bckm.constraints import Constraints
from bckm.constraints.expand import Softened
from bckm.constraints.linear_rule import LinearRule
from bckm.constraints.links import Block, Links, narrow_samples, object_array, starts_of
from bckm.constraints.parse import read_cluster_names
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
        "must_link": _links_tree(c.must_link),
        "cannot_link": _links_tree(c.cannot_link),
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


def _links_tree(links: Links) -> dict[str, Any]:
    """Blocks one after the other; equal words are one."""
    blocks = links.blocks
    words = list(dict.fromkeys(word for block in blocks for word in block.words))
    place = {word: at for at, word in enumerate(words)}

    def reason(block: Block) -> Any:
        own = np.array([place[word] for word in block.words])
        return own[np.zeros(len(block), np.int8) if block.reason is None else block.reason]

    return {
        "samples": _names([block.samples for block in blocks]),
        "length": narrow(_joined([narrow(block.length) for block in blocks])),
        "words": words,
        "why": narrow(_joined([reason(block) for block in blocks])),
        "among": narrow(_each([-1 if b.among is None else b.among for b in blocks], blocks)),
        "named": _each([block.ids is not None for block in blocks], blocks).astype(bool),
        "ids": _names([block.ids for block in blocks if block.ids is not None]),
    }


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _each(values: list[Any], blocks: Sequence[Block]) -> Any:
    """What holds for all links of a block, for each of them."""
    return np.repeat(np.array(values, np.int64), list(map(len, blocks)))


def _names(parts: list[Any]) -> Any:
    """Samples: numbers as an array, ids of other kinds as a list."""
    if all(part.dtype != object for part in parts):
        return narrow(_joined(parts))
    return [scalar(name, "the id") for part in parts for name in part.tolist()]


def _links(fields: Fields, by: str) -> Links:
    length = fields.whole_numbers("length", least=1)
    starts = starts_of(length)
    samples = _read_names(fields, "samples", int(starts[-1]), by == "position")
    words, why = fields.texts("words"), fields.whole_numbers("why", length.size)
    if why.max(initial=-1) >= len(words):
        raise ValueError("a link has no reason")
    among = fields.whole_numbers("among", length.size, least=-1)
    named = fields.flags("named", length.size)
    called = np.concatenate([[0], np.cumsum(np.where(named, length, 0))])
    ids = _read_names(fields, "ids", int(called[-1]))
    cuts = np.flatnonzero((np.diff(among) != 0) | (np.diff(named) != 0)) + 1
    return Links(
        Block.of(
            samples[starts[a] : starts[b]],
            length[a:b],
            [words[at] for at in why[a:b].tolist()] if np.ptp(why[a:b]) else [words[why[a]]],
            ids=ids[called[a] : called[b]] if named[a] else None,
            among=None if among[a] < 0 else int(among[a]),
        )
        for a, b in pairwise([0, *cuts.tolist(), length.size])
        if b > a
    )


def _read_names(fields: Fields, key: str, size: int, positions: bool = False) -> Any:
    """What `_names` wrote."""
    if positions or isinstance(fields[key], np.ndarray):
        least = 0 if positions else -(2**63)
        return narrow_samples(fields.whole_numbers(key, size, least))
    names = fields.scalars(key)
    if len(names) != size:
        raise ValueError(f"{fields.name} has {len(names)} {key} instead of {size}")
    return object_array(names)


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
