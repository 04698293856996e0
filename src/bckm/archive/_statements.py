"""Capacities, quotas, previous labels and linear rows as trees; each is written once.

Rules refer to the statement they come from. A `Pool` gives each statement a number, so that those
that were one object are one again after loading.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bckm._storage.fields import Fields, narrow, scalar
from bckm.constraints.linear_rule import LinearRule
from bckm.constraints.statements import Capacity, LinearRows, Quota, Stay, _objects
from bckm.exceptions import UnsupportedError

Statement = Capacity | Quota | Stay | LinearRows | LinearRule


class Pool:
    """Statements in the order in which they were first met."""

    def __init__(self) -> None:
        self.statements: list[Any] = []
        self._number: dict[int, int] = {}

    def number(self, statement: Any) -> int:
        """Its number; a new one where it was not met before."""
        if id(statement) not in self._number:
            self._number[id(statement)] = len(self.statements)
            self.statements.append(statement)  # which also keeps its id from being used again
        return self._number[id(statement)]

    def trees(self) -> list[dict[str, Any]]:
        """All statements, for a file."""
        return [_tree(one) for one in self.statements]

    @classmethod
    def read(cls, trees: list[Any]) -> Pool:
        """Statements from a file."""
        pool = cls()
        for tree in trees:
            pool.number(_statement(Fields(tree, "a statement")))
        return pool

    def at(self, fields: Fields, key: str, kind: Any) -> Any:
        """The statement that a file names, which must be of this kind."""
        number = fields.whole(key)
        if number >= len(self.statements) or not isinstance(self.statements[number], kind):
            raise ValueError(f"{fields.name} names a statement that is not there")
        return self.statements[number]


def _tree(one: Statement) -> dict[str, Any]:
    if isinstance(one, LinearRule):
        raise UnsupportedError(
            f"{one.name!r} is a rule of your own, whose code a file cannot hold; save the result "
            "instead, or state the rule as LinearRows."
        )
    common: dict[str, Any] = {"kind": type(one).__name__, "name": scalar(one.name, "the name")}
    if isinstance(one, LinearRows):
        return common | {
            "data": np.asarray(one.A.data, float),
            "indices": narrow(one.A.indices),
            "indptr": narrow(one.A.indptr),
            "columns": int(one.A.shape[1]),
            "lower": one.lower,
            "upper": one.upper,
        }
    common |= {
        "ids": _names(one.ids, one.name),
        "called": _names(one.called, one.name),
        "keyed": one.keyed,
    }
    if isinstance(one, Capacity):
        return common | {
            "values": np.asarray(one.values, float),
            "min": _number(one.min),
            "max": _number(one.max),
        }
    common["values"] = narrow(one.values)
    if isinstance(one, Stay):
        return common | {
            "relative": one.relative,
            "weight": _number(one.weight),
            "at_most": one.at_most,
        }
    bounds = [
        {"side": side, "share": share, "category": at, "value": value}
        for (side, share), by_category in one._bounds.items()
        for at, value in by_category.items()
    ]
    return common | {
        "categories": [scalar(each, f"category of {one.name!r}") for each in one.categories],
        "within": one.within,
        "bounds": bounds,
    }


def _names(ids: Any, name: Any) -> list[Any] | None:
    return None if ids is None else [scalar(one, f"the id in {name!r}") for one in ids.tolist()]


def _number(bound: Any) -> Any:
    return None if bound is None else np.asarray(bound, float)


def _statement(fields: Fields) -> Statement:
    kind = fields.text("kind")
    if kind not in _READERS:
        raise ValueError(f"there is no statement of kind {kind!r:.60}")
    made, read = _READERS[kind]
    one: Statement = object.__new__(made)
    name = fields.text("name") if made is Capacity else fields.scalar("name")
    one.__dict__.update(read(fields), name=name)
    return one


def _per_sample(fields: Fields, size: int) -> dict[str, Any]:
    found: dict[str, Any] = {"keyed": fields.flag("keyed")}
    for key in ("ids", "called"):
        found[key] = None
        if fields[key] is not None:
            found[key] = _objects(list(fields.scalars(key)))
            if found[key].size != size:
                raise ValueError(f"a statement has {found[key].size} {key} for {size} values")
    return found


def _capacity(fields: Fields) -> dict[str, Any]:
    values = fields.floats("values", (None,))
    sides = {"min": fields.bound("min"), "max": fields.bound("max")}
    return _per_sample(fields, values.size) | {"values": values} | sides


def _stay(fields: Fields) -> dict[str, Any]:
    values = fields.whole_numbers("values", least=-1)
    weight = fields.bound("weight")
    if weight is not None and weight.ndim and weight.size != values.size:
        raise ValueError(f"a Stay has {weight.size} prices for {values.size} labels")
    return _per_sample(fields, values.size) | {
        "values": values,
        "weight": weight,
        "relative": fields.flag("relative"),
        "at_most": None if fields["at_most"] is None else fields.whole("at_most"),
    }


def _quota(fields: Fields) -> dict[str, Any]:
    values = fields.whole_numbers("values", least=-1)
    categories = fields.scalars("categories")
    if values.max(initial=-1) >= len(categories):
        raise ValueError("a quota names a category that is not there")
    bounds: dict[tuple[str, bool], dict[int, float]]
    bounds = {(side, share): {} for share in (True, False) for side in ("min", "max")}
    for tree in fields.all("bounds"):
        one = Fields(tree, "a bound of a quota")
        side, at = (one.text("side"), one.flag("share")), one.whole("category")
        if side not in bounds or at >= len(categories):
            raise ValueError("a bound of a quota is about nothing")
        bounds[side][at] = one.number("value")
    return _per_sample(fields, values.size) | {
        "values": values,
        "categories": categories,
        "within": None if fields["within"] is None else fields.number("within"),
        "_bounds": bounds,
    }


def _linear_rows(fields: Fields) -> dict[str, Any]:
    data = fields.floats("data", (None,))
    indices = fields.whole_numbers("indices", data.size)
    indptr, columns = fields.whole_numbers("indptr"), fields.whole("columns")
    rows = indptr.size - 1
    if rows < 0 or indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
        raise ValueError("linear rows are cut in the wrong places")
    if indices.max(initial=-1) >= columns:
        raise ValueError("linear rows name a column that is not there")
    lower = fields.floats("lower", (rows,), finite=False)
    upper = fields.floats("upper", (rows,), finite=False)
    return {
        "A": sp.csr_array((data, indices, indptr), shape=(rows, columns)),
        "lower": lower,
        "upper": upper,
    }


_READERS: dict[str, Any] = {
    "Capacity": (Capacity, _capacity),
    "Quota": (Quota, _quota),
    "Stay": (Stay, _stay),
    "LinearRows": (LinearRows, _linear_rows),
}
