"""Cards of the page and the clauses of a plan: what is said on a card is a rule of ``bckm fit``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bckm._core.note import Note
from bckm.app.errors import Refused, refusal
from bckm.plan import STRENGTHS, Clause, Plan, PlanError

KINDS = (
    *("size", "capacity", "together", "apart", "known", "quota"),
    *("fixed", "forbidden", "stay", "links"),
)
_EACH = ("fixed", "forbidden")
MOST_CARDS, MOST_CLUSTERS = 2000, 10_000


@dataclass(frozen=True)
class Setup:
    """Which columns are what, and the goal."""

    id: str | None
    name: str | None
    kind: str
    columns: tuple[str, ...]
    scale: str
    missing: str
    weight: str | None
    goal: str

    @classmethod
    def of(cls, found: Any) -> Setup:
        """Read what the page says."""
        tree = _mapping(found, "setup")
        position = _mapping(tree.get("position"), "position")
        kind = _choice(position, "kind", ("plane", "latlon", "features"))
        columns = position.get("columns")
        if not isinstance(columns, list) or not all(isinstance(one, str) for one in columns):
            raise Refused("malformed", "position: columns must be a list of column names.")
        if kind != "features" and len(columns) != 2:
            raise Refused("bad_input", Note("a place has two columns.", "two_columns"))
        goal = _choice(tree, "goal", ("compact", "mixed"), "compact")
        if goal == "mixed" and kind == "latlon":
            text = "mixed groups compare means of columns, not places on the globe: choose columns."
            raise Refused("bad_input", Note(text, "mixed_places"))
        scale = _choice(position, "scale", ("none", "standard", "robust"), "none")
        return cls(
            id=_text(tree, "id"),
            name=_text(tree, "name"),
            kind=kind,
            columns=tuple(columns),
            scale="none" if kind == "latlon" else scale,
            missing=_choice(position, "missing", ("error", "mean", "median"), "error"),
            weight=_text(tree, "weight"),
            goal=goal,
        )

    def tree(self) -> dict[str, Any]:
        """As the page says it."""
        position = {
            "kind": self.kind,
            "columns": list(self.columns),
            "scale": self.scale,
            "missing": self.missing,
        }
        return {
            "id": self.id,
            "name": self.name,
            "position": position,
            "weight": self.weight,
            "goal": self.goal,
        }


@dataclass(frozen=True)
class Rules:
    """Cards and clusters, as the page says them."""

    cards: tuple[Mapping[str, Any], ...] = ()
    count: int | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Any) -> Rules:
        """Read what the page says; whether clauses are right is seen when they are made."""
        tree = _mapping(found, "rules")
        cards = tree.get("cards", [])
        if not isinstance(cards, list) or len(cards) > MOST_CARDS:
            raise Refused("malformed", f"cards must be a list of at most {MOST_CARDS}.")
        read = tuple(_card(one) for one in cards)
        if len({card["id"] for card in read}) < len(read):
            raise Refused("malformed", "two cards have the same id.")
        clusters = _mapping(tree.get("clusters") or {}, "clusters")
        count, names = clusters.get("count"), clusters.get("names") or []
        if count is not None and not (_is_whole(count) and 1 <= count <= MOST_CLUSTERS):
            text = f"the number of clusters must be 1 to {MOST_CLUSTERS}."
            raise Refused("bad_input", Note(text, "count_range", most=MOST_CLUSTERS))
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise Refused("malformed", "names of clusters must be texts.")
        return cls(read, count, tuple(names))

    def tree(self) -> dict[str, Any]:
        """As the page says it."""
        clusters = {"count": self.count, "names": list(self.names)}
        return {"cards": [dict(card) for card in self.cards], "clusters": clusters}

    def with_fixed(self, ids: Mapping[int, list[str]]) -> Rules:
        """The rules and a card for each cluster that samples, by id, are to stay in."""
        used = {card["id"] for card in self.cards}
        cards = list(self.cards)
        for to, mine in ids.items():
            number = next(i for i in range(1, len(used) + 2) if f"c{i}" not in used)
            used.add(f"c{number}")
            keys = {"ids": mine, "cluster": self.cluster_names[to]}
            base = {"id": f"c{number}", "kind": "fixed", "keys": keys}
            cards.append({**base, "strength": "must", "on": True})
        return replace(self, cards=tuple(cards))

    @property
    def cluster_names(self) -> tuple[str | int, ...]:
        """One per cluster: those given, and numbers from 1 for the others."""
        k = len(self.names) if self.count is None else self.count
        found = [name.strip() for name in self.names[:k]]
        return tuple(
            found[i] if i < len(found) and found[i] else (str(i + 1) if any(found) else i + 1)
            for i in range(k)
        )


@dataclass(frozen=True)
class Asked:
    """A plan, and the card behind each of its clauses."""

    plan: Plan
    cards: tuple[str, ...]


def plan_of(
    setup: Setup,
    rules: Rules,
    files: Mapping[str, Any],
    fit: Mapping[str, Any] | None = None,
    more: tuple[Clause, ...] = (),
) -> Asked:
    """The plan of a page.

    Parameters
    ----------
    setup, rules : Setup, Rules
        What the page says.
    files : mapping
        Keys of a clause for each file that was uploaded for cards, by kind and id.
    fit : mapping, optional
        Settings of the fit.
    more : tuple of Clause
        Further rules that are on no card.
    """
    names = rules.cluster_names
    if not names:
        note = Note("how many clusters are there to be?", "how_many")
        raise Refused("bad_input", note, incomplete=True)
    if not setup.columns:
        note = Note("which columns say where things are?", "which_columns")
        raise Refused("bad_input", note, incomplete=True)
    clauses, cards = [], []
    for card in rules.cards:
        if not card["on"]:
            continue
        try:
            mine = list(_clauses(card, files))
        except PlanError as error:
            raise refusal(error, card=card["id"]) from None
        clauses += mine
        cards += [card["id"]] * len(mine)
    settings = dict(fit or {})
    if setup.goal == "mixed":
        settings["objective"] = "mixed"
    if len({str(name) for name in names}) < len(names):
        raise Refused("bad_input", Note("two clusters have the same name.", "same_names"))
    plan = Plan(
        clusters=len(names),
        cluster_names=() if isinstance(names[0], int) else names,
        id=setup.id,
        columns=setup.columns,
        scale=None if setup.scale == "none" else setup.scale,
        metric="latlon" if setup.kind == "latlon" else None,
        missing=None if setup.missing == "error" else setup.missing,
        weight=setup.weight,
        fit=settings,
        clauses=(*clauses, *more),
    )
    return Asked(plan, (*cards, *[""] * len(more)))


def _clauses(card: Mapping[str, Any], files: Mapping[str, Any]) -> Iterator[Clause]:
    kind, keys = card["kind"], {k: v for k, v in card["keys"].items() if v is not None}
    for side, free in (("min", -math.inf), ("max", math.inf)):
        bound = keys.get(side)
        if isinstance(bound, list):  # null: no bound there
            if all(one is None for one in bound):
                del keys[side]
                continue
            none = 0 if kind == "size" and side == "min" else free
            keys[side] = [none if one is None else one for one in bound]
    keys = {k: v for k, v in keys.items() if k not in ("confidence", "price", "strength")}
    if kind == "links" or "file" in keys:
        keys |= _file(kind, keys.get("file"), files)
    if (
        kind != "links"
        and not (kind == "stay" and "at_most" in keys)
        and card["strength"] != "must"
    ):
        keys["strength"] = card["strength"]
    if kind in _EACH and "ids" in keys:
        ids = keys.pop("ids")
        if not isinstance(ids, list) or not ids:
            raise PlanError(Note(f"{kind}: choose at least one row.", "key_missing", kind=kind))
        for one in ids:
            yield Clause.read(kind, {"id": one, **keys})
    else:
        yield Clause.read(kind, keys)


def _file(kind: str, name: Any, files: Mapping[str, Any]) -> dict[str, str]:
    """Keys of the clause for a file that cards call by its id, never by a path."""
    found = files.get(name) if isinstance(name, str) else None
    if found is None or kind not in found:
        raise PlanError(Note(f"{kind}: choose a file.", "choose_file", kind=kind))
    return dict(found[kind])


def _card(found: Any) -> dict[str, Any]:
    tree = _mapping(found, "a card")
    kind = _choice(tree, "kind", KINDS)
    name = tree.get("id")
    if not isinstance(name, str) or not 0 < len(name) <= 40:
        raise Refused("malformed", "a card needs an id.")
    strength = tree.get("strength", "must")
    if isinstance(strength, str):
        known = strength in STRENGTHS
    else:
        known = _is_number(strength) and 0 <= strength < 1e9
    if not known:
        raise Refused("malformed", "strength must be must, strong, nice, slight or a number.")
    keys = dict(_mapping(tree.get("keys", {}), "keys"))
    on = tree.get("on", True) is not False
    return {"id": name, "kind": kind, "keys": keys, "strength": strength, "on": on}


def _mapping(found: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise Refused("malformed", f"{what} must be an object.")
    return found


def _text(tree: Mapping[str, Any], key: str) -> str | None:
    value = tree.get(key)
    if value is not None and not isinstance(value, str):
        raise Refused("malformed", f"{key} must be the name of a column.")
    return value or None


def _choice(
    tree: Mapping[str, Any], key: str, choices: tuple[str, ...], default: str | None = None
) -> str:
    value = tree.get(key, default)
    if not isinstance(value, str) or value not in choices:
        raise Refused("malformed", f"{key} must be one of {', '.join(choices)}.")
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
