"""Pictures in the plane: clusters with their names, links, and who moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.names import visible
from bckm._core.types import FloatArray
from bckm.report._svg import (
    Frame,
    box,
    color_class,
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
from bckm.report.words import counted, exact
from bckm.study import Study, views

POINTS = 5_000  # drawn in the plane
TIPS = 2_000  # points up to which each says its name
_INK = 0.08  # share of the picture that lines may cover
_WIDE = 640.0
_NUMBERED = 60  # clusters whose names are written large


@dataclass(frozen=True, eq=False)
class Drawn:
    """A picture of clusters in the plane.

    Attributes
    ----------
    picture : Element
        The whole of it.
    samples : int
        How many are drawn.
    links : tuple of views.DrawnLink
        Those that are drawn.
    """

    picture: Element
    samples: int
    links: tuple[views.DrawnLink, ...]


def plane_chart(
    study: Study, plane: views.Plane, styles: Sequence[views.Style], links: views.Links
) -> Drawn:
    """Samples as marks, links as lines where they can be told apart, clusters by their names."""
    shown = views.shown(study, POINTS)
    frame, height = _plane_frame(plane)
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
    legible = _legible(frame, places, links)
    hubs = _names(frame, frame.places(plane.centers), styles, study)
    inside: list[Child] = [*_lines(places, legible), *groups, hubs]
    return Drawn(_picture(plane, frame, height, label, inside), int(shown.size), legible.drawn)


def moves_chart(
    study: Study,
    plane: views.Plane,
    styles: Sequence[views.Style],
    moves: Sequence[views.Move],
) -> Element | None:
    """Who left which cluster for which; None where lines would hide each other."""
    frame, height = _plane_frame(plane)
    places, centers = frame.places(plane.points), frame.places(plane.centers)
    gone = [one for one in moves if one.before >= 0]
    ends = [(centers[one.before], places[one.sample], centers[one.after]) for one in gone]
    length = sum(float(np.hypot(*(b - a)) + np.hypot(*(c - b))) for a, b, c in ends)
    if not gone or length > 0.5 * _INK * frame.width * frame.height:
        return None
    rest = views.shown(study, POINTS)
    faint = "".join(mark(x, y, "o", 2.0) for x, y in places[rest].tolist())
    lines: list[Child] = []
    marks: list[Child] = []
    for one, (start, here, end) in zip(gone, ends, strict=True):
        way = study.cluster(one.before), study.cluster(one.after)
        title = f"{visible(study.name(one.sample))}: {visible(way[0])} → {visible(way[1])}"
        style = styles[one.after]
        kind = "dots" if style.marker == "o" else "marks"
        old = el(
            "path", d=_way([(*start, *here)]), class_=f"past {color_class(styles[one.before])}"
        )
        new = el("path", d=_way([(*here, *end)]), class_=f"gone {color_class(style)}")
        lines += [old, new]
        point = el(
            "path", el("title", title), d=mark(float(here[0]), float(here[1]), style.marker, 4.2)
        )
        marks.append(el("g", point, class_=f"{kind} {color_class(style)} moved"))
    label = f"{counted(len(gone), 'sample')} that moved, with lines to the old and the new cluster."
    inside: list[Child] = [
        el("g", el("path", d=faint), class_="dots small faint"),
        lines,
        _names(frame, centers, styles, study),
        marks,
    ]
    return _picture(plane, frame, height, label, inside)


def _picture(
    plane: views.Plane, frame: Frame, height: float, label: str, inside: Sequence[Child]
) -> Element:
    """What is drawn, with axes and a scale bar around it."""
    axes: list[Child] = [] if plane.kind == "pca" else [*_plane_axes(frame, plane.kind)]
    middle = frame.left + frame.width / 2
    return picture(
        _WIDE,
        height,
        label,
        axes,
        box(frame.left, frame.top, frame.width, frame.height, "frame"),
        inside,
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
        _scale_bar(frame, plane, height) if plane.unit else None,
    )


def _scale_bar(frame: Frame, plane: views.Plane, height: float) -> Element:
    """A round length, below the picture at the right."""
    per_unit = frame.width / (frame.x_range[1] - frame.x_range[0]) / plane.length
    longest = 0.22 * frame.width / per_unit
    power = 10.0 ** np.floor(np.log10(longest))
    round_one = max(power * one for one in (1.0, 2.0, 5.0) if power * one <= longest * (1 + 1e-9))
    unit = plane.unit
    much = float(round_one)
    if unit == "km" and much < 1:
        much, unit = much * 1000, "m"
    elif unit == "m" and much >= 1000:
        much, unit = much / 1000, "km"
    x2 = frame.left + frame.width
    x1, y = x2 - round_one * per_unit, height - 8
    ends = [segment(x, y - 4, x, y + 4, "ruler") for x in (x1, x2)]
    words = text(
        x1 - 6, y + 4, f"{exact(float(f'{much:.6g}'))} {unit}", class_="axis", anchor="end"
    )
    return el("g", segment(x1, y, x2, y, "ruler"), ends, words)


def _legible(frame: Frame, places: FloatArray, links: views.Links) -> views.Links:
    """Links whose lines do not hide each other: violated ones as far as there is room.

    Those that are met are drawn all or not at all.
    """
    if not len(links):
        return links
    ends = np.array([(one.a, one.b) for one in links])
    length = np.hypot(*(places[ends[:, 0]] - places[ends[:, 1]]).T)
    kept = np.array([one.kept for one in links])
    room = _INK * frame.width * frame.height
    chosen = ~kept & (np.cumsum(np.where(kept, 0.0, length)) <= room)
    if not links.left_out and length.sum() <= room:
        chosen |= kept
    drawn = tuple(one for one, good in zip(links, chosen.tolist(), strict=True) if good)
    return views.Links(drawn, links.left_out + len(links) - len(drawn))


def _way(lines: Iterable[Sequence[float]]) -> str:
    """Path data of straight lines (x1, y1, x2, y2)."""
    return "".join(f"M{short(x1)} {short(y1)}L{short(x2)} {short(y2)}" for x1, y1, x2, y2 in lines)


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
    cluster = visible(study.cluster(int(study.result.labels[samples[0]])))
    if not tips:
        return el("g", el("title", f"cluster {cluster}"), el("path", d="".join(paths)), class_=kind)
    return el(
        "g",
        [
            el("path", el("title", f"{visible(study.name(p))} · {cluster}"), d=path)
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
                way = _way(places[np.array(ends)].reshape(-1, 4).tolist())
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
