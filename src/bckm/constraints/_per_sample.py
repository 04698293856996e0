"""Statements with one value per sample, and bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bckm._core.note import Note
from bckm._core.tolerance import LARGEST_SUM
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import read_numbers
from bckm._storage.fields import Fields, scalar
from bckm.constraints.links import object_array


class PerSample(ABC):
    """One value per sample, in the order of rows or by id."""

    values: NDArray[Any]
    ids: NDArray[Any] | None
    keyed = False  # whether the ids are keys of a mapping, and so no positions
    called: NDArray[Any] | None = None  # ids of samples that messages name, once located
    name: str
    what = "values"  # what messages call them

    def taken(self, order: IntArray, named: bool = False) -> Self:
        """The same statement about some of the samples, by their places among the values."""
        other = object.__new__(type(self))
        called = self.ids if named else self.called
        other.__dict__.update(
            self.__dict__,
            values=self.values[order],
            ids=None,
            called=None if called is None else called[order],
        )
        return other

    def to_tree(self) -> dict[str, Any]:
        """All of the statement, for a file."""
        return {
            "name": scalar(self.name, "the name"),
            "ids": self._ids_tree(self.ids),
            "called": self._ids_tree(self.called),
            "keyed": self.keyed,
            **self._own_tree(),
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The statement from a file, which may hold anything."""
        statement = object.__new__(cls)
        statement.__dict__.update({"name": fields.scalar("name"), **cls._own_fields(fields)})
        statement.keyed = fields.flag("keyed")
        size = statement.values.size
        for key in ("ids", "called"):
            ids = None if fields[key] is None else object_array(list(fields.scalars(key)))
            if ids is not None and ids.size != size:
                raise ValueError(f"a statement has {ids.size} {key} for {size} values")
            setattr(statement, key, ids)
        return statement

    def _ids_tree(self, ids: NDArray[Any] | None) -> list[Any] | None:
        if ids is None:
            return None
        return [scalar(each, f"the id in {self.name!r}") for each in ids.tolist()]

    @abstractmethod
    def _own_tree(self) -> dict[str, Any]:
        """What a statement of this kind has beyond names and ids."""

    @classmethod
    @abstractmethod
    def _own_fields(cls, fields: Fields) -> dict[str, Any]:
        """The same from a file: attributes."""


def split_ids(values: Any) -> tuple[Any, NDArray[Any] | None]:
    """Values and the ids they belong to, if they say so."""
    if isinstance(values, Mapping):
        return list(values.values()), object_array(list(values))
    if hasattr(values, "to_numpy") and hasattr(values, "index"):  # a pandas series
        return values.to_numpy(), object_array(values.index.tolist())
    return values, None


def read_bound(value: Any, free: float, what: str) -> FloatArray | None:
    """Read a bound; what no sum reaches may leave a side free, but not ask the impossible."""
    if value is None:
        return None
    array: FloatArray = read_numbers(value, what, finite=False)
    beyond = np.abs(array) > LARGEST_SUM
    impossible = beyond & (np.sign(array) != np.sign(free))
    if impossible.any():
        value = float(array[impossible][0])
        text = f"{what} is {value:g}, which no sum can reach."
        raise ValueError(Note(text, "never", value=value))
    return np.where(beyond, free, array)


def bound_tree(bound: FloatArray | None) -> FloatArray | None:
    """A bound for a file: one number, or several, or none."""
    return None if bound is None else np.asarray(bound, float)


def refuse_crossed(lower: Any, upper: Any, what: str, words: Any = ("lower", "upper")) -> None:
    if (lower > upper).any():
        at = int(np.argmax(lower > upper))
        text = (
            f"{what} has contradictory bounds, first at {at}: "
            f"{words[0]} {lower[at]:.15g} > {words[1]} {upper[at]:.15g}."
        )
        raise ValueError(Note(text, "crossed", low=float(lower[at]), high=float(upper[at])))
