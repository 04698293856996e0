"""The picture of a fit, step by step."""

from __future__ import annotations

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.types import FloatArray
from bckm.report._svg import Frame, padded, picture, short, text, ticks, x_axis, y_axis
from bckm.report.words import counted, exact, number
from bckm.study import views

_WIDTH = 480.0


def convergence_chart(course: views.Convergence) -> Element:
    """Both halves of each step, and what its assignment proves."""
    known = np.concatenate([course.objective, course.assigned, course.bound])
    known = known[np.isfinite(known)]
    low, high = padded(float(known.min()), float(known.max()), 0.08)
    many = course.iteration.size
    left = 14.0 + 6.6 * max(len(exact(value)) for value in ticks(low, high))
    frame = Frame(left, 10, _WIDTH - left - 8, 170, (0.2, many + 0.3), (low, high))
    step = max(1, -(-many // 8))
    return picture(
        _WIDTH,
        220,
        f"Objective over {counted(many, 'step')}: from {number(course.objective[0])} to "
        f"{number(course.objective[-1])}.",
        y_axis(frame, exact),
        _course(frame, course),
        _proofs(frame, course.bound),
        x_axis(frame, [float(i) for i in range(1, many + 1, step)], lambda i: f"{i:.0f}"),
        text(left + frame.width / 2, 216, "step", class_="axis"),
    )


def _course(frame: Frame, course: views.Convergence) -> Element:
    """A line with a hollow dot for each assignment and a full one where the centers have moved."""
    way: list[tuple[float, float]] = []
    dots: list[Child] = []
    many = course.iteration.size
    radius = 3.2 if many <= 25 else 1.8 if many <= 80 else 0.0
    for at, kind in enumerate(course.kind):
        halves = [(at + 0.5, course.assigned[at], "half")] if kind == "assign" else []
        halves.append((at + 1.0, course.objective[at], "full" if kind == "assign" else "moves"))
        for step, value, class_ in halves:
            x, y = frame.x(step), frame.y(float(value))
            way.append((x, y))
            if radius:
                dots.append(el("circle", cx=short(x), cy=short(y), r=short(radius), class_=class_))
    line = el("polyline", points=" ".join(f"{short(x)},{short(y)}" for x, y in way))
    return el("g", line, dots, class_="course")


def _proofs(frame: Frame, bound: FloatArray) -> Element:
    """A dash below each assignment, at what no other could get below."""
    wide = min(0.4 * frame.width / bound.size, 9.0)
    known = [(at + 0.5, one) for at, one in enumerate(bound.tolist()) if one == one]
    way = "".join(
        f"M{short(frame.x(step) - wide)} {short(frame.y(one))}h{short(2 * wide)}"
        for step, one in known
    )
    return el("path", d=way or "M0 0", class_="proof")
