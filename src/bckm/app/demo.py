"""Two small tables for a first look, drawn with a fixed seed: stops for vans, pupils for school."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

DEMOS = ("vans", "classes")
_STREETS = ("Mill Lane", "Station Road", "Park Street", "High Street", "Bridge Road", "Elm Close")
_FIRST = ("Ada", "Ben", "Cleo", "Dina", "Emil", "Finn", "Gia", "Hugo", "Ida", "Jan", "Kaya", "Leo")
_LAST = ("Albers", "Brook", "Costa", "Dahl", "Egger", "Falk", "Grau", "Hale", "Iven", "Jung")


def demo(name: str) -> tuple[str, bytes, dict[str, Any], dict[str, Any]]:
    """Name of the file, its bytes, setup and rules of an example."""
    return {"vans": _vans, "classes": _classes}[name]()


def _vans() -> tuple[str, bytes, dict[str, Any], dict[str, Any]]:
    draw = np.random.default_rng(19)
    towns = draw.uniform(3, 37, (7, 2))
    where = towns[draw.integers(7, size=180)] + draw.normal(0, 2.2, (180, 2))
    kg = np.round(draw.gamma(3.0, 9.0, 180) + 4, 1)
    boxes = draw.integers(1, 7, 180)
    keys = _pairs(where, 14)  # neighbors whose goods lie behind the same door
    rows = [["stop", "customer", "x_km", "y_km", "kg", "boxes", "key"]]
    for at in range(180):
        street = f"{_STREETS[at % 6]} {1 + at // 6}"
        numbers = [f"{where[at, 0]:.2f}", f"{where[at, 1]:.2f}", f"{kg[at]}", f"{boxes[at]}"]
        rows.append([f"S-{at + 1:03d}", street, *numbers, keys.get(at, "")])
    most_kg = float(np.ceil(1.1 * kg.sum() / 9 / 10) * 10)
    most_boxes = int(np.ceil(1.1 * boxes.sum() / 9))
    cards = [
        _card("c1", "capacity", {"column": "kg", "max": most_kg}),
        _card("c2", "capacity", {"column": "boxes", "max": most_boxes}),
        _card("c3", "size", {"min": 16, "max": 24}),
        _card("c4", "together", {"column": "key"}),
    ]
    names = [f"Van {i + 1}" for i in range(9)]
    setup = _setup("stop", "customer", "plane", ["x_km", "y_km"])
    return "stops.csv", _bytes(rows), setup, _rules(cards, names)


def _pairs(where: Any, number: int) -> dict[int, str]:
    """Pairs of near stops, by the key that they share."""
    found: dict[int, str] = {}
    for at in range(0, len(where), len(where) // number)[:number]:
        away = np.square(where - where[at]).sum(axis=1)
        away[[at, *found]] = np.inf
        if at not in found:
            found[at] = found[int(np.argmin(away))] = f"K{len(found) // 2 + 1}"
    return found


def _classes() -> tuple[str, bytes, dict[str, Any], dict[str, Any]]:
    draw = np.random.default_rng(150)
    grade = np.clip(np.round(draw.normal(2.6, 0.8, 150), 1), 1.0, 5.0)
    reading = np.clip(np.round(draw.normal(60, 15, 150) - 6 * (grade - 2.6)), 5, 100).astype(int)
    girl = draw.random(150) < 0.48
    friend = draw.permutation(150)[:100].reshape(-1, 2)
    wish = {int(a): f"P{b + 1:03d}" for a, b in friend}
    rows = [["pupil", "name", "gender", "grade", "reading", "friend", "not_together"]]
    for at in range(150):
        name = f"{_FIRST[int(draw.integers(12))]} {_LAST[int(draw.integers(10))]}"
        quarrel = f"Q{at // 50}" if at % 50 in (3, 17, 41) else ""
        words = [f"P{at + 1:03d}", name, "f" if girl[at] else "m", f"{grade[at]}"]
        rows.append([*words, f"{reading[at]}", wish.get(at, ""), quarrel])
    cards = [
        _card("c1", "size", {"min": 25, "max": 25}),
        _card("c2", "quota", {"column": "gender", "within": "10%"}),
        _card("c3", "together", {"partners": "friend"}, "nice"),
        _card("c4", "apart", {"column": "not_together"}),
    ]
    names = [f"Class 5{letter}" for letter in "abcdef"]
    setup = _setup("pupil", "name", "features", ["grade", "reading"], "standard", "mixed")
    return "pupils.csv", _bytes(rows), setup, _rules(cards, names)


def _bytes(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _setup(
    id: str,  # noqa: A002
    name: str,
    kind: str,
    columns: list[str],
    scale: str = "none",
    goal: str = "compact",
) -> dict[str, Any]:
    position = {"kind": kind, "columns": columns, "scale": scale, "missing": "error"}
    return {"id": id, "name": name, "position": position, "weight": None, "goal": goal}


def _card(id: str, kind: str, keys: dict[str, Any], strength: str = "must") -> dict[str, Any]:  # noqa: A002
    return {"id": id, "kind": kind, "keys": keys, "strength": strength, "on": True}


def _rules(cards: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
    return {"cards": cards, "clusters": {"count": len(names), "names": names}}
