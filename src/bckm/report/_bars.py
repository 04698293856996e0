"""The picture of an amount: what clusters hold, against what they may hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.names import Name, visible
from bckm._core.types import FloatArray
from bckm.report._amounts import bound_writer, held, writer
from bckm.report._svg import Frame, box, mark, picture, segment, short, text, ticks, x_axis, y_axis
from bckm.report.words import between, counted, exact, plain
from bckm.study import views

_LABELS = 12  # columns up to which each says its value
_LETTER = 6.4  # width of a digit above a column
_HEIGHT = 9.0  # of a digit
_WIDTH = 480.0


def amount_chart(amount: views.Amount) -> Element:
    """Columns of what clusters hold, before the band of what they may hold."""
    k = amount.values.size
    lower, upper = amount.limits
    low, high = _extent(amount.values, lower, upper)
    left = 14.0 + 6.6 * max(len(exact(value)) for value in ticks(low, high))
    frame = Frame(left, 20, _WIDTH - left - 8, 146, (-0.5, k - 0.5), (low, high))
    band, edges = _band(frame, lower, upper)
    columns, words = _columns(frame, amount)
    clusters = [visible(amount.cluster(i), 12) for i in range(k)]
    room = max(26.0, 8.0 + _LETTER * max(map(len, clusters)))
    return picture(
        _WIDTH,
        206,
        _told(amount),
        y_axis(frame, writer(amount) if amount.kind == "share" else exact),
        band,
        el("g", columns, class_="columns"),
        edges,
        words,
        x_axis(frame, views.thinned(k, max(frame.width / room, 1.0)), lambda i: clusters[int(i)]),
        text(left + frame.width / 2, 202, "cluster", class_="axis"),
    )


def _extent(values: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[float, float]:
    """What the axis spans: from zero on, unless all that counts is far from it."""
    known = np.concatenate([values, lower, upper])
    known = known[np.isfinite(known)]
    low, high = float(known.min(initial=0.0)), float(known.max(initial=0.0))
    if high == low:
        high = low + 1.0
    least = float(known.min())
    if least > 0.6 * high:
        room = max(high - least, 0.02 * high)
        return least - room, high + 0.35 * room
    return low - (0.08 * (high - low) if low < 0 else 0.0), high + 0.08 * (high - low)


def _band(frame: Frame, lower: FloatArray, upper: FloatArray) -> tuple[list[Child], list[Child]]:
    """What is allowed, and its edges; neighbors with the same bounds share a piece."""
    found: list[Child] = []
    edges: list[Child] = []
    bottom, top = frame.y_range
    cuts = np.flatnonzero((lower[1:] != lower[:-1]) | (upper[1:] != upper[:-1])) + 1
    for part in np.split(np.arange(lower.size), cuts):
        low, high = lower[part[0]], upper[part[0]]
        if np.isinf(low) and np.isinf(high):
            continue
        x1, x2 = frame.x(part[0] - 0.5), frame.x(part[-1] + 0.5)
        y1, y2 = frame.y(min(high, top)), frame.y(max(low, bottom))
        found.append(box(x1, y1, x2 - x1, y2 - y1, "band"))
        stated = [y for bound, y in ((high, y1), (low, y2)) if np.isfinite(bound)]
        edges += [segment(x1, y, x2, y, "bound") for y in stated]
    return found, edges


def _columns(frame: Frame, amount: views.Amount) -> tuple[list[Child], list[Child]]:
    """Columns, and the values above them where there is room."""
    values, wrong, words = amount.values, amount.broken, held(amount)
    from_zero = frame.y_range[0] <= 0
    room = frame.width / values.size
    labeled = values.size <= _LABELS and _LETTER * max(map(len, words)) < room
    width = max(min(0.62 * room, 34.0), 1.0)
    found: list[Child] = []
    told: list[Child] = []
    for i, value in enumerate(values.tolist()):
        if value != value:  # the share of an empty cluster
            continue
        x, y = frame.x(i), frame.y(value)
        kind = "off" if wrong[i] else "on"
        title = el("title", f"cluster {visible(amount.cluster(i))}: {words[i]}")
        if from_zero:
            zero = frame.y(0.0)
            one = box(x - width / 2, min(y, zero), width, max(abs(zero - y), 0.8), kind)
        else:
            foot = frame.top + frame.height
            found.append(segment(x, y, x, foot, "stem"))
            one = el("circle", cx=short(x), cy=short(y), r=short(min(0.4 * room, 5)), class_=kind)
        one.children = (title,)
        found.append(one)
        if wrong[i]:  # not by color alone
            found.append(el("path", d=mark(x, frame.top - 12, "^", 4), class_="off"))
        if labeled:
            inside = from_zero and value > 0 and _LETTER * len(words[i]) < width + 2
            lines = [frame.y(float(side[i])) for side in amount.limits if np.isfinite(side[i])]
            foot = frame.y(0.0) if inside else y
            at, within = _free(min(y, frame.y(max(value, 0.0))), foot, lines)
            told.append(text(x, at, words[i], class_="value within" if within else "value"))
    return found, told


def _free(top: float, foot: float, lines: Sequence[float]) -> tuple[float, bool]:
    """Where a value is written so that no bound crosses it, and whether that is in the column.

    Above the column if that is free; within it; above all bounds that are in the way.

    Examples
    --------
    >>> from bckm.report._bars import _free
    >>> _free(50.0, 150.0, []), _free(50.0, 150.0, [46.0]), _free(50.0, 52.0, [46.0])
    ((44.0, False), (63.0, True), (41.0, False))
    """

    def crossed(base: float) -> list[float]:
        return [y for y in lines if base - _HEIGHT - 1 < y < base + 3]

    above = top - 6
    if not crossed(above):
        return above, False
    for base in (top + 13, top + 26):
        if base + 3 < foot and not crossed(base):
            return base, True
    while crossed(above):
        above = min(crossed(above)) - 5
    return above, False


def _told(amount: views.Amount) -> str:
    write, limit = writer(amount), bound_writer(amount)
    found = amount.values[np.isfinite(amount.values)]
    said = f"{plain([Name(amount.name)])} of {counted(amount.values.size, 'cluster')}"
    if found.size:
        said += f": {between(found.min(), found.max(), write)}"
    if amount.bounded:
        lower, upper = amount.limits
        said += f"; allowed: {between(float(lower.min()), float(upper.max()), limit)}"
        wrong = np.flatnonzero(amount.broken)
        said += f"; out of bounds: {counted(wrong.size, 'cluster')}" if wrong.size else ""
    return said + "."
