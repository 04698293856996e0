"""Pieces of pictures: scales, ticks, axes, marks. Everything is an `Element`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.types import FloatArray
from bckm.study import views


def short(value: float) -> str:
    """A coordinate with one decimal, without what says nothing.

    Examples
    --------
    >>> from bckm.report._svg import short
    >>> short(12.04), short(-0.04), short(3.14)
    ('12', '0', '3.1')
    """
    found = f"{value:.1f}"
    found = found[:-2] if found.endswith(".0") else found
    return "0" if found == "-0" else found


@dataclass(frozen=True)
class Frame:
    """The part of a picture that shows data, and what values its edges stand for."""

    left: float
    top: float
    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        """Where a value lies from left to right."""
        low, high = self.x_range
        return self.left + self.width * (value - low) / (high - low)

    def y(self, value: float) -> float:
        """Where a value lies from top to bottom."""
        low, high = self.y_range
        return self.top + self.height * (high - value) / (high - low)

    def places(self, points: FloatArray) -> FloatArray:
        """Where points (n, 2) lie."""
        start = np.array([self.x_range[0], self.y_range[1]])
        span = np.array([np.diff(self.x_range)[0], -np.diff(self.y_range)[0]])
        size = np.array([self.width, self.height])
        return np.asarray((points - start) / span * size + [self.left, self.top])


def padded(low: float, high: float, share: float) -> tuple[float, float]:
    """A range with some air around it, also where it has no width."""
    if not high > low:
        air = abs(low) * 0.1 or 1.0
        return low - air, high + air
    return low - share * (high - low), high + share * (high - low)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers within a range.

    Examples
    --------
    >>> from bckm.report._svg import ticks
    >>> ticks(0.0, 260.0)
    [0.0, 100.0, 200.0]
    """
    step = _step((high - low) / most)
    first = math.ceil(low / step - 1e-9)
    # a product, not a sum: 0.30000000000000004 would be written
    return [float(f"{at * step:.12g}") for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * one for one in (1.0, 2.0, 5.0, 10.0) if power * one >= least * (1 - 1e-9))


def text(x: float, y: float, *words: str, class_: str = "tick", anchor: str = "middle") -> Element:
    """Words in a picture."""
    return el("text", *words, x=short(x), y=short(y), class_=class_, text_anchor=anchor)


def segment(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    """A straight line."""
    return el("line", x1=short(x1), y1=short(y1), x2=short(x2), y2=short(y2), class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, rx: float = 0) -> Element:
    """A rectangle."""
    found = el("rect", x=short(x), y=short(y), width=short(width), height=short(height))
    found.attributes["class"] = class_
    if rx:
        found.attributes["rx"] = short(rx)
    return found


def y_axis(frame: Frame, write: Callable[[float], str], most: int = 5) -> list[Child]:
    """Lines across the picture with their numbers at the left."""
    found: list[Child] = []
    for value in ticks(*frame.y_range, most):
        y = frame.y(value)
        found.append(segment(frame.left, y, frame.left + frame.width, y, "grid"))
        found.append(text(frame.left - 6, y + 4, write(value), anchor="end"))
    return found


def x_axis(frame: Frame, values: Iterable[float], write: Callable[[float], str]) -> list[Child]:
    """Numbers below the picture."""
    bottom = frame.top + frame.height
    return [text(frame.x(value), bottom + 16, write(value)) for value in values]


def picture(width: float, height: float, label: str, *children: Child) -> Element:
    """A whole picture with its text alternative."""
    return el(
        "svg",
        *children,
        viewBox=f"0 0 {short(width)} {short(height)}",
        role="img",
        aria_label=label,
        class_="wide" if width > 500 else None,
    )


# Marks of radius 1 by the letters of `views.Style`: the way from the middle, corner by corner
_MARKS = {
    "s": "-.9 -.9 1.8 0 0 1.8 -1.8 0",
    "^": "0 -1.2 1.1 2 -2.2 0",
    "v": "0 1.2 1.1 -2 -2.2 0",
    "D": "0 -1.3 1.1 1.3 -1.1 1.3 -1.1 -1.3",
    "P": "-.4 -1.2 .8 0 0 .8 .8 0 0 .8 -.8 0 0 .8 -.8 0 0 -.8 -.8 0 0 -.8 .8 0",
    "X": "0 -.5 .7 -.7 .5 .5 -.7 .7 .7 .7 -.5 .5 -.7 -.7 -.7 .7 -.5 -.5 .7 -.7 -.7 -.7 .5 -.5",
    "*": "0 -1.4 .4 .9 1 .1 -.7 .7 .2 1 -.9 -.5 -.9 .5 .2 -1 -.7 -.7 1 -.1",
}


def mark(x: float, y: float, marker: str, radius: float) -> str:
    """Path data of one mark; a circle is the round end of a line without length."""
    if marker not in _MARKS:
        return f"M{short(x)} {short(y)}h0"
    dx, dy, *steps = (radius * float(step) for step in _MARKS[marker].split())
    return f"M{short(x + dx)} {short(y + dy)}l{' '.join(map(short, steps))}z"


def color_class(style: views.Style) -> str:
    """The class of the stylesheet with the color of a cluster."""
    return f"c{views.COLORS.index(style.color)}"


def swatch(style: views.Style) -> Element:
    """The mark of a cluster in a line of text."""
    kind = "dots" if style.marker == "o" else "marks"
    return el(
        "svg",
        el("path", d=mark(7, 7, style.marker, 4.2)),
        viewBox="0 0 14 14",
        class_=f"swatch {kind} {color_class(style)}",
        aria_hidden="true",
    )
