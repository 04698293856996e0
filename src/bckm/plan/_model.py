"""`Plan` and its clauses; what each kind of clause may say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from bckm._core.note import Note
from bckm.exceptions import BckmError
from bckm.fit.parameters import PARAMETERS
from bckm.fit.parameters import SETTINGS as FIT_SETTINGS
from bckm.problem.scaling import SCALINGS
from bckm.tables.errors import near as nearest
from bckm.tables.errors import shown

MISSING = ("error", "mean", "median")


class PlanError(BckmError, ValueError):
    """A plan is invalid; the message says what is wrong, where, and what is expected.

    Examples
    --------
    >>> from bckm.plan import Clause, PlanError
    >>> try:
    ...     Clause.read("capacity", {"column": "weight", "maximum": 500})
    ... except PlanError as error:
    ...     print(error)
    capacity: unknown key 'maximum'; did you mean 'max'? Keys: column, min, max, confidence, \
price, strength.
    """


_MOST = 2**53  # whole numbers up to here are exact everywhere


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ValueError("must be a number")
    try:
        float(value)
    except OverflowError:
        raise ValueError("is too large") from None
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("must be a whole number of at least 0")
    if value > _MOST:
        raise ValueError("is too large")
    return value


def _size(value: Any) -> Any:
    """A number of samples, or a share of them: 0.1 or "10%"."""
    if isinstance(value, str) and (found := re.fullmatch(r"\s*([0-9.]+)\s*%\s*", value)):
        value = _number_of(found[1]) / 100
    if isinstance(value, float) and 0 < value < 1:
        return value
    if isinstance(value, int):
        return _whole(value)
    raise ValueError("must be a whole number, or a share such as 0.1 or '10%'")


def _number_of(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("must be a number") from None


def _size_max(value: Any) -> Any:
    return value if value == math.inf else _size(value)


def _cluster(value: Any) -> str | int:
    """The name of a cluster."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError("must be the name of a cluster: text or a whole number")
    return value


def _each(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One value for all clusters, or a list with one per cluster."""
    return lambda value: (
        [read(one) for one in value] if isinstance(value, list) and value else read(value)
    )


def _ids(value: Any) -> list[str]:
    found = [_id(one) for one in value] if isinstance(value, list) else []
    if len(set(found)) < 2:
        raise ValueError("must be a list of at least two ids")
    return found


def _id(value: Any) -> str:
    """Ids are compared as text, as `bckm.tables` reads them."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("must be an id: text or a whole number")
    return str(value)


def _within(value: Any) -> Any:
    return _text(value) if isinstance(value, str) else _number(value)


def _categories(value: Any) -> Any:
    """One number for all categories, or a table with one for each."""
    if isinstance(value, Mapping):
        return {str(name): _number(one) for name, one in value.items()}
    return _number(value)


def _strength(value: Any) -> Any:
    """A word, or a confidence."""
    if isinstance(value, str):
        if value not in STRENGTHS:
            raise ValueError(f"must be a number or one of {', '.join(STRENGTHS)}")
        return value
    if _number(value) < 0:
        raise ValueError("must be at least 0")
    return value


# words for how much a rule matters, as confidences; what must hold is hard
STRENGTHS = {"must": math.inf, "strong": 10.0, "nice": 1.0, "slight": 0.1}
_SOFT: dict[str, Callable[[Any], Any]] = {
    "confidence": _number,
    "price": _number,
    "strength": _strength,
}
_OF_COLUMN: dict[str, Callable[[Any], Any]] = {"column": _text, **_SOFT}
_CLUSTER = {"id": _id, "cluster": _each(_cluster), **_SOFT}
_QUOTA = dict.fromkeys(("share_min", "share_max", "count_min", "count_max"), _categories)

# What each kind of clause may say, and what it must say one of
KINDS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "size": {"min": _each(_size), "max": _each(_size_max), **_SOFT},
    "capacity": {"column": _text, "min": _each(_number), "max": _each(_number), **_SOFT},
    "together": {"column": _text, "ids": _ids, "partners": _text, **_SOFT},
    "apart": {"column": _text, "ids": _ids, "partners": _text, **_SOFT},
    "known": _OF_COLUMN,
    "quota": {"column": _text, "within": _within, **_QUOTA, **_SOFT},
    "links": {"file": _text},
    "fixed": {"column": _text, **_CLUSTER},
    "forbidden": _CLUSTER,
    "stay": {
        "column": _text,
        "file": _text,
        "label_column": _text,
        "at_most": _whole,
        **_SOFT,
    },
}
_NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {  # of each of these at least one
    "size": (("min", "max"),),
    "capacity": (("column",), ("min", "max")),
    "together": (("column", "ids", "partners"),),
    "apart": (("column", "ids", "partners"),),
    "known": (("column",),),
    "quota": (("column",), ("within", *_QUOTA)),
    "links": (("file",),),
    "fixed": (("column", "id"),),
    "forbidden": (("id",), ("cluster",)),
    "stay": (("column", "file"), ("at_most", "confidence", "price", "strength")),
}
_BOUNDS = ("size", "capacity", "quota", "stay")
_EXCLUSIVE = (
    ("confidence", "price"),
    ("confidence", "strength"),
    ("price", "strength"),
    ("column", "file"),
    ("column", "label_column"),
    ("column", "ids"),
    ("column", "partners"),
    ("ids", "partners"),
    ("column", "id"),
    ("column", "cluster"),
)


def near(word: str, words: Any) -> str:
    """' did you mean ...?', where there is something like it."""
    found = nearest(word, words)
    return "." if found is None else f"; did you mean {found!r}?"


@dataclass(frozen=True)
class Clause:
    """One rule of a plan: its kind and its keys.

    Examples
    --------
    >>> from bckm.plan import Clause
    >>> Clause.read("capacity", {"column": "weight", "max": 500}).keys
    {'column': 'weight', 'max': 500}
    """

    kind: str
    keys: Mapping[str, Any]

    @classmethod
    def read(cls, kind: str, keys: Any, where: str = "") -> Clause:
        """Read a clause; `where` is prepended to messages."""
        name = f"{where}{kind}"
        if not isinstance(keys, Mapping):
            text = f"{name}: must be a table such as [[{kind}]]; got {keys!r}."
            raise PlanError(Note(text, "key_wrong", kind=kind, value=shown(str(keys))[1:-1]))
        allowed = KINDS[kind]
        found = {}
        for key, value in keys.items():
            if key not in allowed:
                text = (
                    f"{name}: unknown key {key!r}{near(key, allowed)} Keys: {', '.join(allowed)}."
                )
                raise PlanError(Note(text, "key_wrong", kind=kind, value=shown(str(key))[1:-1]))
            try:
                found[key] = allowed[key](value)
            except ValueError as error:
                text = f"{name}: {key} {error}; got {value!r}."
                note = Note(text, "key_wrong", kind=kind, value=shown(str(value))[1:-1])
                raise PlanError(note) from None
        for choices in _NEEDED[kind]:
            if not any(key in found for key in choices):
                text = f"{name}: {' or '.join(choices)} is missing."
                raise PlanError(Note(text, "key_missing", kind=kind))
        for one, other in _EXCLUSIVE:
            if one in found and other in found:
                text = f"{name}: give {one} or {other}, not both."
                raise PlanError(Note(text, "keys_both", kind=kind))
        if "id" in found and "cluster" not in found:
            raise PlanError(Note(f"{name}: cluster is missing.", "key_missing", kind=kind))
        return cls(kind, found)

    @property
    def soft(self) -> dict[str, float]:
        """Penalty of a violation, for `Constraints.soft`; empty for a hard rule."""
        strength = self.keys.get("strength")
        if strength is not None:
            confidence = STRENGTHS.get(strength, strength)
            return {} if confidence == math.inf else {"confidence": confidence}
        return {key: self.keys[key] for key in _SOFT if key in self.keys}

    @property
    def stated(self) -> dict[str, Any]:
        """What it says beside how much it matters."""
        return {key: value for key, value in self.keys.items() if key not in _SOFT}

    @property
    def about(self) -> tuple[str, str | None] | None:
        """What it bounds, if that is bounded once: another clause about it replaces this one."""
        if self.kind == "stay":
            return (self.kind, None)
        return (self.kind, self.column) if self.kind in _BOUNDS else None

    @property
    def column(self) -> str | None:
        """The column it is about, if any."""
        found: str | None = self.keys.get("column", self.keys.get("partners"))
        return found


@dataclass(frozen=True)
class Plan:
    """Settings and rules for clustering a table.

    Attributes
    ----------
    clusters : int or None
        Number of clusters.
    cluster_names : tuple of str or int
        Names of the clusters; if empty, 1, 2, 3, ...
    id : str or None
        Column of ids; without one, samples are identified by row number, from 0.
    columns : tuple of str
        Features; if empty, every numeric column that has no other use.
    scale, metric, missing : str
        Scaling, metric and treatment of missing values.
    weight : str or None
        Column of weights in the objective.
    fit : mapping
        Settings of `bckm.kmeans`: seed, solver, search, n_init, max_iter, tol, time_limit.
    clauses : tuple of Clause
        The rules.

    Examples
    --------
    >>> from bckm.plan import Clause, Plan
    >>> plan = Plan(clusters=3, clauses=(Clause.read("size", {"min": 2}),))
    >>> plan.joined(Plan(scale="standard")).scale
    'standard'
    """

    clusters: int | None = None
    cluster_names: tuple[str | int, ...] = ()
    id: str | None = None
    columns: tuple[str, ...] = ()
    scale: str | None = None
    metric: str | None = None
    missing: str | None = None
    weight: str | None = None
    fit: Mapping[str, Any] = field(default_factory=dict)
    clauses: tuple[Clause, ...] = ()

    def joined(self, other: Plan) -> Plan:
        """Combine with another plan, whose settings take precedence.

        Where both bound the same thing, such as sizes or the sum of a column, only the bounds of
        the other plan are kept.
        """
        stated = {clause.about for clause in other.clauses} - {None}
        kept = [clause for clause in self.clauses if clause.about not in stated]
        set_there = {
            one.name: value
            for one in fields(other)
            if one.name not in ("fit", "clauses") and (value := getattr(other, one.name))
        }
        return replace(
            self,
            **set_there,
            fit={**self.fit, **other.fit},
            clauses=(*kept, *other.clauses),
        )

    @property
    def used(self) -> list[str]:
        """Columns that have a use other than being features."""
        named = [self.id, self.weight, *(clause.column for clause in self.clauses)]
        return list(dict.fromkeys(name for name in named if name is not None))


def _one_of(choices: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return str(value)

    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("must be a list of column names")
    return tuple(_text(one) for one in value)


def _cluster_names(value: Any) -> tuple[str | int, ...]:
    if not isinstance(value, list) or len({str(one) for one in value}) < max(len(value), 1):
        raise ValueError("must be a list of distinct names")
    return tuple(_cluster(one) for one in value)


def _positive(value: Any) -> float:
    if _number(value) <= 0:
        raise ValueError("must be above 0")
    return float(value)


def _at_least_one(value: Any) -> int:
    if _whole(value) < 1:
        raise ValueError("must be at least 1")
    return int(value)


def _not_negative(value: Any) -> float:
    if not 0 <= _number(value) < math.inf:
        raise ValueError("must be at least 0")
    return float(value)


SETTINGS: dict[str, Callable[[Any], Any]] = {
    "clusters": _at_least_one,
    "cluster_names": _cluster_names,
    "id": _text,
    "columns": _texts,
    "scale": _one_of(SCALINGS),
    "metric": _one_of(PARAMETERS["metric"].choices),
    "missing": _one_of(MISSING),
    "weight": _text,
}
_READERS = {
    "count": _at_least_one,
    "amount": _not_negative,
    "seconds": _positive,
    "seed": _whole,
}
# what [fit] may say; the metric belongs to the data, the number of threads to the machine
FIT: dict[str, Callable[[Any], Any]] = {
    setting.option.replace("-", "_"): _READERS.get(setting.kind) or _one_of(setting.choices)
    for setting in FIT_SETTINGS
    if setting.option and setting.name not in ("metric", "n_jobs")
}
