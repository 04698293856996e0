"""The section about mixed groups: means of each feature side by side, and how close they are."""

from __future__ import annotations

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.names import Name, visible
from bckm.report._facts import Facts
from bckm.report._mixed import difference, spread_in_deviations
from bckm.report._parts import Part, table
from bckm.report._svg import Frame, color_class, mark, picture, segment, text, ticks, x_axis
from bckm.report.words import counted, exact, measured, number
from bckm.study import views

FEATURES = 30  # rows of the table before the rest is folded away
DRAWN = 20  # features in the picture
_WIDTH, _NAME = 480.0, 24  # of the picture, letters of the name of a feature
_LEAST, _MOST = 26.0, 60.0  # height of a feature, by the number of groups


def alike(facts: Facts) -> Part | None:
    """How alike groups are that are to be alike."""
    mixing = views.mixing(facts.study)
    if mixing is None:
        return None
    apart = spread_in_deviations(mixing)
    order = np.argsort(-apart, kind="stable").tolist()
    told = (
        "A feature in which groups differ has its marks far from each other. The scale is in "
        "standard deviations of all samples: single samples typically lie between −1 and 1."  # noqa: RUF001
    )
    if len(order) > DRAWN:
        told += f" {counted(len(order) - DRAWN, 'more feature')}, in which groups differ less."
    label = (
        "Mean of each feature in each group. Difference: largest less least mean; below it the "
        "least that groups of these sizes can have, where that is known. Features in which groups "
        "differ most come first."
    )
    rest = order[FEATURES:]
    return Part(
        "alike",
        "How alike the groups are",
        [
            el("figure", _chart(facts, mixing, order[:DRAWN]), el("figcaption", told)),
            _sheet(facts, mixing, order[:FEATURES], label),
            el(
                "details",
                el("summary", counted(len(rest), "more feature")),
                _sheet(facts, mixing, rest, label),
            )
            if rest
            else None,
        ],
    )


def _chart(facts: Facts, mixing: views.Mixing, features: list[int]) -> Element:
    """For each feature the means of all groups on one line."""
    names = [visible(mixing.features[j], _NAME) for j in features]
    scale = np.where(mixing.deviation > 0, mixing.deviation, 1.0)
    z = (mixing.means - mixing.overall) / scale
    most = max(1.1, 1.1 * float(np.nanmax(np.abs(z[:, features]))))
    k = len(facts.styles)
    height = min(max(_LEAST, 5.0 * k + 10), _MOST)
    step = min(5.0, (height - 10) / k)  # those that coincide lie below each other
    left = 16.0 + 7.4 * max(map(len, names))  # as wide as on a phone
    frame = Frame(left, 8, _WIDTH - left - 16, height * len(features), (-most, most), (0.0, 1.0))
    bottom, across = frame.top + frame.height, ticks(-most, most, 6)
    marks: list[Child] = []
    words: list[Child] = []
    for at, (name, j) in enumerate(zip(names, features, strict=True)):
        y = frame.top + height * (at + 0.5)
        words.append(text(left - 8, y + 4, name, anchor="end"))
        marks.append(segment(frame.left, y, frame.left + frame.width, y, "grid"))
        for i, style in enumerate(facts.styles):
            if z[i, j] != z[i, j]:
                continue
            mean = measured(float(mixing.means[i, j]), float(mixing.deviation[j]))
            title = f"{visible(facts.study.cluster(i))}: {name} {mean}"
            kind = "dots" if style.marker == "o" else "marks"
            point = el(
                "path",
                el("title", title),
                d=mark(frame.x(float(z[i, j])), y + step * (i - (k - 1) / 2), style.marker, 3.6),
            )
            marks.append(el("g", point, class_=f"cloud {kind} {color_class(style)}"))
    return picture(
        _WIDTH,
        bottom + 40,
        f"Means of {counted(len(features), 'feature')} in each group; the table says them.",
        [segment(frame.x(one), frame.top, frame.x(one), bottom, "grid") for one in across],
        marks,
        words,
        x_axis(frame, across, exact),
        text(
            left + frame.width / 2,
            bottom + 36,
            "standard deviations from the mean of all",
            class_="axis",
        ),
    )


def _sheet(facts: Facts, mixing: views.Mixing, features: list[int], label: str) -> Child:
    apart = spread_in_deviations(mixing)
    head: list[tuple[Child, str | None]] = [("Feature", None), ("Difference", "n")]
    head += [("in deviations", "n"), ("All", "n")]
    head += [(one.name, "n") for one in facts.clusters]
    rows: list[list[Child]] = []
    for j in features:
        deviation = float(mixing.deviation[j])
        least = float(mixing.least_spread[j])
        best: Child = None
        if mixing.proven[j]:
            best = el("small", "least possible")
        elif (told := difference(least, deviation)) != "0":
            best = el("small", f"at least {told}")
        means = [measured(float(one), deviation) for one in mixing.means[:, j]]
        rows.append(
            [
                Name(mixing.features[j]),
                (difference(float(mixing.spread[j]), deviation), best),
                number(float(f"{apart[j]:.2g}")),
                measured(float(mixing.overall[j]), deviation),
                *means,
            ]
        )
    return table(head, rows, label, "sheet")
