"""The sections of the page that show something: amounts, the plane, the profile, the course."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.names import Name
from bckm.report._charts import LINES, amount_chart, convergence_chart, plane_chart
from bckm.report._facts import Facts
from bckm.report._parts import Part, scrolled
from bckm.report._style import heat_class
from bckm.report.words import counted, measured, share, signed
from bckm.study import views

FEATURES = 30  # rows of the profile before the rest is folded away
CHARTS = 24  # pictures of amounts
TALL, WIDE = 14, 10  # more clusters and at most so many features: one row for each cluster


def amounts(facts: Facts) -> Part:
    """What clusters hold, against what they may."""
    drawn = facts.amounts[:CHARTS]
    figures = []
    for one in drawn:
        name = "Sizes" if one.kind == "size" else Name(one.name)
        soft = el("span", "soft", class_="tag") if one.soft else None
        figures.append(el("figure", el("h3", name, soft), amount_chart(one)))
    legend = el(
        "p",
        el("span", el("span", class_="key box"), "allowed"),
        el("span", "▲ out of bounds") if any(one.broken.any() for one in drawn) else None,
        class_="legend muted",
    )
    bounded = any(one.bounded for one in drawn)
    more = len(facts.amounts) - len(drawn)
    return Part(
        "amounts",
        "Sizes and loads against their bounds" if bounded else "Sizes",
        [
            legend if bounded else None,
            el("div", figures, class_="charts"),
            el("p", f"{counted(more, 'more amount')} not shown.") if more else None,
        ],
    )


def plane(facts: Facts) -> Part:
    """Samples and clusters in two dimensions."""
    study = facts.study
    plane = views.plane(study)
    links = views.links(study, LINES)
    drawn, shown = plane_chart(study, plane, links)
    keys = {
        "columns": "The two features, unscaled.",
        "map": "Map: longitude to the right, latitude up.",
        "line": "One feature; the height only separates the samples.",
    }
    many = f"The two directions in which the data vary most{facts.space} (PCA); "
    told = keys.get(plane.kind, many)
    if plane.explained is not None:
        told += f"they show {share(sum(plane.explained))} of the variance."
    elif plane.kind == "pca":
        told += "the rest is not shown."
    if shown < study.n_samples:
        told += f" {shown:,} of {counted(study.n_samples, 'sample')} shown."
    if links.left_out:
        first = "" if all(one.kept for one in links) else "; violated ones come first"
        told += f" {counted(links.left_out, 'more link')} not shown{first}."
    legend: list[Child] = []
    for kind, kept, class_, word in (
        ("together", True, "key", "together"),
        ("apart", True, "key dot", "apart"),
        ("together", False, "key wrong", "together, violated"),
        ("apart", False, "key dash wrong", "apart, violated"),
    ):
        if any(one.kind == kind and one.kept == kept for one in links):
            legend.append(el("span", el("span", class_=class_), word))
    return Part(
        "plane",
        "Clusters in the plane",
        [
            el(
                "figure",
                drawn,
                el("figcaption", told, " Names mark the cluster centers."),
                el("figcaption", legend, class_="legend") if legend else None,
            ),
        ],
    )


def profile(facts: Facts) -> Part:
    """Means of features by cluster."""
    order = facts.strongest
    label = (
        "Mean of each feature in each cluster; below it, how many standard deviations it is above "
        "(+, orange) or below (−, blue) the overall mean."  # noqa: RUF001
    )
    rest = order[FEATURES:]
    return Part(
        "profile",
        "Profile of each cluster",
        [
            el("p", "Features in which clusters differ most come first."),
            _heat(facts, order[:FEATURES], label),
            el(
                "details",
                el("summary", counted(len(rest), "more feature")),
                _heat(facts, rest, label),
            )
            if rest
            else None,
        ],
    )


def _heat(facts: Facts, features: Sequence[int], label: str) -> Child:
    """Features from top to bottom; from left to right where few of them meet many clusters."""
    profile, k = facts.profile, facts.study.n_clusters
    names = [Name(facts.study.feature_names[j]) for j in features]
    whole = [
        el("td", measured(profile.overall[j], profile.spread[j]), class_="all") for j in features
    ]
    cells = [[_cell(profile, i, j) for i in range(k)] for j in features]
    numbers = [one.name for one in facts.clusters]
    if k > TALL and len(features) <= WIDE:
        columns = list(zip(*cells, strict=True))
        head = _row("col", "Cluster", [el("th", name, scope="col", class_="n") for name in names])
        body = [_row("row", "all", whole)]
        body += [_row("row", i, row) for i, row in zip(numbers, columns, strict=True)]
    else:
        every = [el("th", one, scope="col", class_="n") for one in ("all", *numbers)]
        head = _row("col", "Feature", every)
        body = [
            _row("row", name, [first, *row])
            for name, first, row in zip(names, whole, cells, strict=True)
        ]
    sheet = el("table", el("thead", head), el("tbody", body), class_="heat sheet")
    return scrolled(sheet, label)


def _row(scope: str, first: str, cells: Sequence[Element]) -> Element:
    return el("tr", el("th", first, scope=scope), cells)


def _cell(profile: views.Profile, i: int, j: int) -> Element:
    z = float(profile.z[i, j])
    mean = measured(float(profile.mean[i, j]), float(profile.spread[j]))
    return el("td", mean, el("small", signed(z)), class_=heat_class(z))


def course(facts: Facts) -> Part | None:
    """How the fit went."""
    course = views.convergence(facts.study.result)
    if not course.iteration.size:
        return None
    bound = bool(np.isfinite(course.bound).any())
    keys: list[Child] = []
    if "assign" in course.kind:
        keys.append(el("span", el("span", class_="key ring"), "samples assigned to centers"))
        keys.append(el("span", el("span", class_="key ball"), "centers moved to the means"))
    if "moves" in course.kind:
        keys.append(el("span", el("span", class_="key gem"), "single samples moved"))
    if bound:
        keys.append(el("span", el("span", class_="key wrong"), "lower bound of the assignment"))
    told = f"Inertia plus penalty{facts.space} of the best start, step by step."
    legend = el("figcaption", keys, class_="legend")
    figure = el("figure", convergence_chart(course), legend, el("figcaption", told))
    return Part("course", "Convergence", [figure])
