"""The sections of the page that show something: amounts, the plane, the profile, the course."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.names import Name
from bckm.report._amounts import bound_writer, writer
from bckm.report._bars import amount_chart
from bckm.report._course_chart import convergence_chart
from bckm.report._facts import Facts
from bckm.report._parts import Part, scrolled
from bckm.report._plane_chart import TIPS, plane_chart
from bckm.report._style import heat_class
from bckm.report.words import between, counted, measured, number, share, signed
from bckm.study import views

FEATURES = 30  # rows of the profile before the rest is folded away
CHARTS = 24  # pictures of amounts
FLAT = 1e-9  # a smaller improvement is none
LINKS = 300  # links drawn
STEPS = 3  # fewer make no course
TALL, WIDE = 14, 10  # more clusters and at most so many features: one row for each cluster


def amounts(facts: Facts) -> Part:
    """What clusters hold, against what they may; a sentence where all hold the same."""
    told = [one for one in facts.amounts if _even(one)]
    drawn = [one for one in facts.amounts if not _even(one)][:CHARTS]
    figures = [el("figure", el("h3", _titled(one)), amount_chart(one)) for one in drawn]
    legend = el(
        "p",
        el("span", el("span", class_="key box"), "allowed"),
        el("span", "▲ out of bounds") if any(one.broken.any() for one in drawn) else None,
        class_="legend muted",
    )
    bounded = any(one.bounded for one in facts.amounts)
    more = len(facts.amounts) - len(drawn) - len(told)
    return Part(
        "amounts",
        "Sizes and loads against their bounds" if bounded else "Sizes",
        [
            [el("p", _titled(one), ": ", _same(one)) for one in told],
            legend if any(one.bounded for one in drawn) else None,
            el("div", figures, class_="charts") if figures else None,
            el("p", f"{counted(more, 'more amount')} not shown.") if more else None,
        ],
    )


def _titled(amount: views.Amount) -> Child:
    name = "Sizes" if amount.kind == "size" else Name(amount.name)
    return [name, el("span", "soft", class_="tag") if amount.soft else None]


def _even(amount: views.Amount) -> bool:
    """Whether all clusters hold and may hold the same, within their bounds: nothing to draw."""
    every = (amount.values, *amount.limits)
    return not amount.broken.any() and all(bool((one == one[0]).all()) for one in every)


def _same(amount: views.Amount) -> str:
    told = f"{writer(amount)(float(amount.values[0]))} in every cluster"
    if not amount.bounded:
        return f"{told}."
    low, high = (float(bound[0]) for bound in amount.limits)
    return f"{told} (allowed: {between(low, high, bound_writer(amount))})."


def plane(facts: Facts) -> Part | None:
    """Samples and clusters in two dimensions; of groups that are alike that shows nothing."""
    study = facts.study
    if study.result.mixed is not None:
        return None
    plane = facts.plane
    links = views.links(study, LINKS)
    drawn = plane_chart(study, plane, facts.styles, links)
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
    if drawn.samples < study.n_samples:
        told += f" {drawn.samples:,} of {counted(study.n_samples, 'sample')} shown."
    told += _not_drawn(len(links) + links.left_out, drawn.links, links)
    named = "; point at a sample to see its name" if drawn.samples <= TIPS else ""
    legend: list[Child] = []
    for kind, kept, class_, word in (
        ("together", True, "key", "together"),
        ("apart", True, "key dot", "apart"),
        ("together", False, "key wrong", "together, violated"),
        ("apart", False, "key dash wrong", "apart, violated"),
    ):
        if any(one.kind == kind and one.kept == kept for one in drawn.links):
            legend.append(el("span", el("span", class_=class_), word))
    return Part(
        "plane",
        "Clusters on the map" if plane.kind == "map" else "Clusters in the plane",
        [
            el(
                "figure",
                drawn.picture,
                el("figcaption", f"{told} Names mark the cluster centers{named}."),
                el("figcaption", legend, class_="legend") if legend else None,
            ),
        ],
    )


def _not_drawn(total: int, drawn: Sequence[views.DrawnLink], links: views.Links) -> str:
    """Which links are left out, and why."""
    hidden = total - len(drawn)
    if not hidden:
        return ""
    why = "so many lines would hide the samples"
    if all(one.kept for one in links):  # violated ones come first
        return f" {counted(total, 'link')}, all met, are not drawn: {why}."
    return f" Of {counted(total, 'link')} {len(drawn):,} violated ones are drawn: {why}."


def profile(facts: Facts) -> Part | None:
    """Means of features by cluster; what groups are that should be alike is told elsewhere."""
    if facts.study.result.mixed is not None:
        return None
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
    """How the fit went; a sentence where there is no course to draw."""
    result = facts.study.result
    course = views.convergence(result)
    many = course.iteration.size
    if not many or result.mixed is not None:
        return None
    first, last = float(course.objective[0]), float(course.objective[-1])
    falls = first - last > FLAT * abs(first)
    if many < STEPS or not falls:
        steps = "one step" if many == 1 else f"{many:,} steps"
        told = f"The best start took {steps} to {number(last)}"
        told += ", no better than the first" if many > 1 and not falls else ""
        return Part("course", "Convergence", el("p", f"{told}; there is no course to draw."))
    keys: list[Child] = []
    if "assign" in course.kind:
        keys.append(el("span", el("span", class_="key ring"), "samples assigned to centers"))
        keys.append(el("span", el("span", class_="key ball"), "centers moved to the means"))
    if "moves" in course.kind:
        keys.append(el("span", el("span", class_="key gem"), "single samples moved"))
    if bool(np.isfinite(course.bound).any()):
        keys.append(el("span", el("span", class_="key wrong"), "lower bound of the assignment"))
    legend = el("figcaption", keys, class_="legend")
    told = f"Inertia plus penalty{facts.space} of the best start, step by step; lower is better."
    figure = el("figure", convergence_chart(course), legend, el("figcaption", told))
    return Part("course", "Convergence", [figure])
