"""Changed cards that solve a conflict, each proven by a check before it is offered."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bckm.app.cards import Rules
from bckm.app.errors import Refused
from bckm.constraints.rules import CapacityBound, SizeMax, SizeMin
from bckm.feasibility import check as decide
from bckm.plan import compile_rules
from bckm.tables import Table

if TYPE_CHECKING:
    from bckm.app.jobs import Task

SECONDS = 1.0  # for all remedies of a conflict
EACH = 0.3  # for a single check
MOST = 6  # remedies offered
DIGITS = 3  # of a wider bound

Card = Mapping[str, Any]
_Offer = tuple[str, Card, str, dict[str, Any]]  # in words, the card, and as the page words it


def remedies(
    task: Task, table: Table, rules: Sequence[Any], conflict: Sequence[Any]
) -> list[dict[str, Any]]:
    """Concrete changes of cards after which the rules can be met."""
    try_out = _Trial(task, table)
    cards = {card["id"]: card for card in task.rules.cards}
    found: list[dict[str, Any]] = []
    for text, changed, key, values in _candidates(cards, rules, conflict, table, try_out):
        words = {"text": text, "key": key, "values": values}
        found.append({**words, "cards": [dict(changed)]})
        if len(found) == MOST or try_out.late:
            break
    return found


class _Trial:
    """Checks whether rules with a changed card can be met, within some time."""

    def __init__(self, task: Task, table: Table) -> None:
        self._task, self._table = task, table
        self._end = time.perf_counter() + SECONDS

    @property
    def late(self) -> bool:
        return time.perf_counter() >= self._end

    def __call__(self, card: Card) -> bool:
        if self.late:
            return False
        cards = [card if one["id"] == card["id"] else one for one in self._task.rules.cards]
        rules = Rules(tuple(cards), self._task.rules.count, self._task.rules.names)
        try:
            plan = replace(self._task, rules=rules).asked.plan
            asked = compile_rules(plan, self._table)
            left = max(self._end - time.perf_counter(), 1e-3)
            return bool(
                decide(
                    self._table.n_rows,
                    asked.n_clusters,
                    asked.constraints,
                    sample_id=asked.sample_id,
                    time_limit=min(EACH, left),
                )
            )
        except (Refused, ValueError):
            return False


def _candidates(
    cards: Mapping[str, Card],
    rules: Sequence[Any],
    conflict: Sequence[Any],
    table: Table,
    works: _Trial,
) -> Iterator[_Offer]:
    seen: set[tuple[str, str]] = set()
    for rule, told in zip(rules, conflict, strict=True):  # wider bounds first: they keep the rule
        card = cards.get(told["card"] or "")
        if card is None or card["kind"] not in ("size", "capacity"):
            continue
        side = _side(rule)
        if side is None or (card["id"], side) in seen:
            continue
        seen.add((card["id"], side))
        wider = _widened(card, side, table, works)
        if wider is not None:
            yield wider
    for told in conflict:
        card = cards.get(told["card"] or "")
        if card is None or (card["id"], "") in seen:
            continue
        seen.add((card["id"], ""))
        softer = {**card, "strength": "nice"}
        if card["kind"] not in ("links", "stay") and card["strength"] == "must" and works(softer):
            text = f"make this nice to have: {_words(card)}"
            yield text, softer, "soften", {"kind": card["kind"], "about": _subject(card)}
        if card["kind"] not in ("size", "capacity"):
            without = {**card, "on": False}
            if works(without):
                text = f"leave this out: {_words(card)}"
                yield text, without, "leave", {"kind": card["kind"], "about": _subject(card)}


def _side(rule: Any) -> str | None:
    if isinstance(rule, SizeMin):
        return "min"
    if isinstance(rule, SizeMax):
        return "max"
    return rule.side if isinstance(rule, CapacityBound) else None


def _widened(card: Card, side: str, table: Table, works: _Trial) -> _Offer | None:
    """The card with the least widening of one side that can be met, as far as time tells."""
    bound, size = card["keys"].get(side), card["kind"] == "size"
    known = [one for one in (bound if isinstance(bound, list) else [bound]) if one is not None]
    if not known or not all(isinstance(one, int | float) for one in known):
        return None
    if size and any(isinstance(one, float) for one in known):
        return None  # shares
    if size:
        room = table.n_rows - min(known) if side == "max" else max(known)
    else:
        amounts = table.numbers(card["keys"]["column"], missing="nan")
        total = float(np.nansum(np.abs(amounts)))
        room = total - min(known) if side == "max" else max(known) + total
    if room <= 0:
        return None

    def widened(by: float) -> Card:
        change = _shift(bound, by if side == "max" else -by, size)
        return {**card, "keys": {**card["keys"], side: change}}

    by = _least(room, size, max(abs(one) for one in known), lambda by: works(widened(by)))
    if by is None:
        return None
    found = widened(by)
    word = "at most" if side == "max" else "at least"
    new, old = found["keys"][side], bound
    if not isinstance(new, list):
        values = {"kind": card["kind"], "about": _subject(card), "new": new, "old": old}
    else:
        values = {"kind": card["kind"], "about": _subject(card), "new": _shown(new)}
        values["old"] = _shown(old)
    text = f"{_about(card)}: {word} {_shown(new)} instead of {_shown(old)}"
    return text, found, side, values


def _least(room: float, whole: bool, about: float, works: Callable[[float], bool]) -> float | None:
    """The least widening that works, by doubling and halving; None if none is proven."""
    unit = 1.0 if whole else 10.0 ** (math.floor(math.log10(about or 1.0)) - DIGITS + 1)
    most = math.ceil(room / unit)
    high = 1
    while not works(high * unit):
        if high >= most or getattr(works, "late", False):
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if works(middle * unit):
            high = middle
        else:
            low = middle
    return high * unit


def _shift(bound: Any, by: float, whole: bool) -> Any:
    if isinstance(bound, list):
        return [None if one is None else _shift(one, by, whole) for one in bound]
    return max(int(bound + by), 0) if whole else float(f"{bound + by:.12g}")


def _shown(bound: Any) -> str:
    if isinstance(bound, list):
        return ", ".join("–" if one is None else f"{one:g}" for one in bound[:6])
    return f"{bound:g}"


def _about(card: Card) -> str:
    return "size" if card["kind"] == "size" else str(card["keys"].get("column"))[:60]


def _words(card: Card) -> str:
    return f"{card['kind']} {_subject(card)}".strip()[:120]


def _subject(card: Card) -> str:
    keys = card["keys"]
    about = keys.get("column") or keys.get("partners") or keys.get("ids") or keys.get("id") or ""
    if isinstance(about, list):
        about = ", ".join(map(str, about[:4])) + (" …" if len(about) > 4 else "")
    return str(about)[:100]
