"""The pictures of a report: amounts against their bounds, clusters in the plane, convergence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.names import Name, visible
from bckm._core.types import FloatArray
from bckm.report._amounts import bound_writer, held, writer
from bckm.report._svg import (
    Frame,
    box,
    mark,
    padded,
    picture,
    segment,
    short,
    text,
    ticks,
    x_axis,
    y_axis,
)
from bckm.report.words import between, counted, exact, number, plain
from bckm.study import Study, views

POINTS = 5_000  # drawn in the plane
TIPS = 2_000  # points up to which each says its name
LINES = 300  # links drawn
_LABELS = 12  # columns up to which each says its value
_LETTER = 6.4  # width of a digit above a column
_NUMBERED = 60  # clusters whose names are written large
_WIDTH = 480.0  # of small pictures; wide ones have 640


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
            told.append(text(x, min(y, frame.y(max(value, 0))) - 7, words[i], class_="value"))
    return found, told


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


def plane_chart(study: Study, plane: views.Plane, links: views.Links) -> tuple[Element, int]:
    """Samples as marks, links as lines, clusters by their names; and how many are drawn."""
    shown = views.shown(study, POINTS)
    frame, height = _plane_frame(plane)
    styles = views.palette(plane.centers)
    places = frame.places(plane.points)
    labels = study.result.labels
    radius = 3.0 if shown.size <= 600 else 2.3 if shown.size <= TIPS else 1.8
    groups: list[Child] = []
    for i, style in enumerate(styles):
        mine = shown[labels[shown] == i]
        if mine.size:
            groups.append(_cloud(study, places, mine, style, radius, tips=shown.size <= TIPS))
    label = (
        f"{counted(study.n_samples, 'sample')} in the plane, "
        f"{counted(study.n_clusters, 'cluster')} labeled by name."
    )
    axes: list[Child] = [] if plane.kind == "pca" else [*_plane_axes(frame, plane.kind)]
    middle = frame.left + frame.width / 2
    drawn = picture(
        640,
        height,
        label,
        axes,
        box(frame.left, frame.top, frame.width, frame.height, "frame"),
        _lines(places, links),
        groups,
        _names(frame, frame.places(plane.centers), styles, study),
        text(middle, height - 6, visible(plane.x_label, 50), class_="axis")
        if plane.x_label
        else None,
        el(
            "text",
            visible(plane.y_label, 36),
            class_="axis",
            text_anchor="middle",
            transform=f"translate(13 {short(frame.top + frame.height / 2)}) rotate(-90)",
        )
        if plane.y_label
        else None,
    )
    return drawn, int(shown.size)


def _plane_frame(plane: views.Plane) -> tuple[Frame, float]:
    """A frame in which distances are true, if they can be, and the height of its picture."""
    every = np.concatenate([plane.points, plane.centers])
    low, high = every.min(axis=0), every.max(axis=0)
    x, y = (list(padded(low[j], high[j], 0.04)) for j in (0, 1))
    left, bottom = (24.0, 26.0) if plane.kind == "pca" else (58.0, 42.0)
    width = 632.0 - left
    height = 400.0 if plane.kind != "line" else 200.0
    if plane.aspect:
        unit = width / (x[1] - x[0])
        true = unit * plane.aspect * (y[1] - y[0])
        height = min(max(true, 280.0), 560.0)
        if true > height:  # too high: more room at both sides
            more = (true / height - 1) * (x[1] - x[0]) / 2
            x = [x[0] - more, x[1] + more]
        else:
            more = (height / true - 1) * (y[1] - y[0]) / 2
            y = [y[0] - more, y[1] + more]
    frame = Frame(left, 8, width, height, (x[0], x[1]), (y[0], y[1]))
    return frame, height + 8 + bottom


def _plane_axes(frame: Frame, kind: str) -> list[Child]:
    found: list[Child] = [] if kind == "line" else y_axis(frame, exact)
    return [*found, *x_axis(frame, ticks(*frame.x_range), exact)]


def color_class(style: views.Style) -> str:
    """The class of the stylesheet with the color of a cluster."""
    return f"c{views.COLORS.index(style.color)}"


def _cloud(
    study: Study,
    places: FloatArray,
    samples: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    style: views.Style,
    radius: float,
    *,
    tips: bool,
) -> Element:
    """The samples of one cluster; one path, or one each where they say their names."""
    kind = f"cloud {color_class(style)} {'dots' if style.marker == 'o' else 'marks'}"
    kind += "" if radius > 2 else " small"
    paths = [mark(x, y, style.marker, radius) for x, y in places[samples].tolist()]
    if not tips:
        return el("g", el("path", d="".join(paths)), class_=kind)
    return el(
        "g",
        [
            el("path", el("title", Name(study.name(p))), d=path)
            for p, path in zip(samples.tolist(), paths, strict=True)
        ],
        class_=kind,
    )


def _lines(places: FloatArray, links: views.Links) -> list[Child]:
    """Links in four groups, those that are not kept on top."""
    found: list[Child] = []
    for kept in (True, False):
        many = links.crowded(kept=kept)
        for kind in ("together", "apart"):
            ends = [(one.a, one.b) for one in links if one.kept == kept and one.kind == kind]
            class_ = f"link {kind}{'' if kept else ' lost'}{' many' if many else ''}"
            if ends:
                way = "".join(
                    f"M{short(x1)} {short(y1)}L{short(x2)} {short(y2)}"
                    for (x1, y1), (x2, y2) in places[np.array(ends)].tolist()
                )
                found.append(el("path", d=way, class_=class_))
    return found


def _names(
    frame: Frame, centers: FloatArray, styles: Sequence[views.Style], study: Study
) -> Element:
    """Names of clusters at their centers, or as near to them as there is room."""
    many = len(styles) > _NUMBERED
    radius = 7.0 if many else 9.5
    places = _apart(frame, centers, 2 * radius + 0.5)
    found: list[Child] = []
    for i, style in enumerate(styles):
        (x, y), (x0, y0) = places[i].tolist(), centers[i].tolist()
        parts: list[Child] = []
        if abs(x - x0) + abs(y - y0) > 3:
            parts = [segment(x0, y0, x, y, "leader")]
        name = visible(study.cluster(i), 14)
        half = radius if len(name) <= 3 else max(radius, (2.4 if many else 3.4) * len(name) + 4)
        hub = box(x - half, y - radius, 2 * half, 2 * radius, "hub", radius)
        parts += [hub, text(x, y + (3 if many else 4), name, class_="hubs")]
        found.append(el("g", parts, class_=color_class(style)))
    return el("g", found, class_="crowd" if many else None)


def _apart(frame: Frame, places: FloatArray, room: float) -> FloatArray:
    """Places pushed apart until they are `room` away from each other, or nearly."""
    found = places.copy()
    k = len(found)
    if k < 2 or k > 400:
        return found
    low = np.array([frame.left, frame.top]) + room / 2
    high = np.array([frame.left + frame.width, frame.top + frame.height]) - room / 2
    turn = np.arange(k) * 2.399963  # where two coincide each goes its own way
    found += 1e-3 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    for _ in range(200):
        way = found[:, None] - found[None]
        far = np.sqrt((way**2).sum(axis=2)) + np.eye(k) * 1e9
        push = np.maximum(room - far, 0.0)
        if push.max() < 0.2:
            break
        found += (way / far[:, :, None] * push[:, :, None] * 0.4).sum(axis=1)
        found = np.clip(found, low, high)
    return found


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
