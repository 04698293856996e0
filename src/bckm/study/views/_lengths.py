"""How long a unit of a picture is, where it shows places."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

EAST = frozenset(["x", "e", "east", "easting", "ost", "rechtswert", "este", "est"])
NORTH = frozenset(["y", "n", "north", "northing", "nord", "hochwert", "norte"])
_UNITS = {
    "km": ("km", "kilometer", "kilometers", "kilometre", "kilometres"),
    "m": ("m", "meter", "meters", "metre", "metres"),
    "cm": ("cm", "centimeter", "centimeters"),
    "mm": ("mm", "millimeter", "millimeters"),
    "mi": ("mi", "mile", "miles"),
    "yd": ("yd", "yard", "yards"),
    "ft": ("ft", "foot", "feet"),
}
UNITS = {word: unit for unit, words in _UNITS.items() for word in words}
_DEGREE = 6371.0088 * np.pi / 180  # km of a degree, with the mean radius of the earth
_STRETCH = 1.25  # a map whose north is stretched so much more than its south has no one scale


def words_of(name: str) -> list[str]:
    """The words of a column name, in lower case.

    Examples
    --------
    >>> from bckm.study.views._lengths import words_of
    >>> words_of("pos_x (km)")
    ['pos', 'x', 'km']
    """
    return [word for word in re.split(r"[\W_\d]+", name.lower()) if word]


def length_unit(names: Sequence[str]) -> str:
    """The unit that the names of two columns tell, if these are places; else nothing.

    Examples
    --------
    >>> from bckm.study.views._lengths import length_unit
    >>> length_unit(["x_km", "y_km"]), length_unit(["x", "y"]), length_unit(["height_m", "x_m"])
    ('km', '', '')
    """
    first, second = map(words_of, names)
    units = [{UNITS[word] for word in words if word in UNITS} for words in (first, second)]
    sides = [(EAST & set(a), NORTH & set(b)) for a, b in ((first, second), (second, first))]
    if units[0] != units[1] or len(units[0]) != 1 or not any(a and b for a, b in sides):
        return ""
    return units[0].pop()


def degree_length(latitude: tuple[float, float]) -> float:
    """Kilometers of a degree of longitude on a map between two latitudes; 0 if they differ much."""
    low, middle, high = np.cos(np.radians([latitude[0], sum(latitude) / 2, latitude[1]]))
    if not min(low, high) * _STRETCH > max(low, middle, high):
        return 0.0
    return float(_DEGREE * middle)
