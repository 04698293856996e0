"""The report as one page of HTML: what it says, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from bckm._core.html import Child, Element, el
from bckm._core.names import Name, Told, visible
from bckm.report import _figures
from bckm.report._alike import alike
from bckm.report._amounts import bound_writer, held
from bckm.report._facts import PENALTY_AND_SAVED, Facts, saved_told, written
from bckm.report._learned import learned_part
from bckm.report._meanings import meanings
from bckm.report._members import members, moved
from bckm.report._parts import Part, bullets, table
from bckm.report._style import stylesheet
from bckm.report._svg import swatch
from bckm.report._topics import Topic
from bckm.report.words import between, counted, listed, number, share
from bckm.study import views

SHOWN = 5  # sentences before the rest is folded away
LOSSES = 20  # violated rules before the rest is folded away
ROWS = 25  # clusters in the table before the rest is folded away
SHORT = 30  # letters of names in one line
LOADS = 4  # columns of the table of clusters for loads
LABELS = "Labels, and thus cluster numbers, start at 0."
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(facts: Facts) -> str:
    """The whole document."""
    study = facts.study
    title, date = Name(study.title), study.settings.get("date")
    parts = [one for one in _parts(facts) if one is not None]
    nav = [el("li", el("a", one.title, href=f"#{one.key}")) for one in parts]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", stylesheet()),
    )
    body = el(
        "body",
        el(
            "header",
            el("h1", title),
            el("p", facts.headline, class_="lead"),
            el("p", Told(written(date)), class_="muted") if date else None,
            _cards(facts),
            el("nav", el("ul", nav), aria_label="Contents"),
        ),
        el("main", [el("section", el("h2", one.title), one.body, id=one.key) for one in parts]),
        el(
            "footer",
            f"Written by bckm {facts.versions.get('bckm', '')}."
            + ("" if facts.study.constraints.cluster_names else f" {LABELS}"),
        ),
    )
    return "<!DOCTYPE html>\n" + str(el("html", head, body, lang="en")) + "\n"


def _parts(facts: Facts) -> list[Part | None]:
    return [
        _asked(facts),
        _came_out(facts),
        _rules(facts),
        alike(facts),
        _figures.amounts(facts),
        _figures.plane(facts),
        moved(facts),
        members(facts),
        learned_part(facts),
        _figures.profile(facts),
        _figures.course(facts),
        _repeat(facts),
    ]


def _cards(facts: Facts) -> Element:
    """The first numbers one looks for."""
    sizes = facts.study.result.sizes
    asked, kept = facts.total(soft=False)
    wishes, fulfilled = facts.total(soft=True)
    told = [
        ("Samples", number(facts.study.n_samples)),
        ("Clusters", number(facts.study.n_clusters)),
        ("Sizes", between(int(sizes.min()), int(sizes.max())).replace("exactly ", "")),
    ]
    if asked:
        told.append(("Rules met", f"{kept:,} of {asked:,}"))
    if wishes:
        told.append(("Soft rules met", f"{fulfilled:,} of {wishes:,}"))
    told.append(facts.tiles[0])
    return el(
        "dl", [el("div", el("dt", name), el("dd", one)) for name, one in told], class_="cards"
    )


def _asked(facts: Facts) -> Part:
    topics = facts.checked.topics
    return Part(
        "asked",
        "Rules",
        [
            el(
                "p",
                f"{counted(facts.study.n_clusters, 'cluster')} from ",
                counted(facts.study.n_samples, "sample"),
                f" by {counted(len(facts.study.feature_names), 'feature')}: ",
                *listed([Name(one) for one in facts.study.feature_names], 9),
                ".",
            ),
            el("div", [_topic(one) for one in topics], class_="topics") if topics else None,
            None if topics else el("p", "No rules."),
            _notes(facts),
        ],
    )


def _notes(facts: Facts) -> Child:
    if not facts.notes:
        return None
    return el("div", el("h3", "Notes"), bullets([(one,) for one in facts.notes]), class_="topic")


def _topic(topic: Topic) -> Element:
    first, rest = topic.lines[:SHOWN], topic.lines[SHOWN:]
    more = len(rest) + topic.left_out
    return el(
        "div",
        el("h3", topic.title, el("span", "soft", class_="tag") if topic.soft else None),
        el("p", topic.counted, class_="muted") if topic.asked else None,
        el("p", f"{topic.price[:1].upper()}{topic.price[1:]}", class_="muted")
        if topic.soft
        else None,
        bullets(first),
        el(
            "details",
            el("summary", f"{more:,} more"),
            bullets(rest),
            el("p", f"… and {topic.left_out:,} more.") if topic.left_out else None,
        )
        if rest
        else None,
        class_="topic soft" if topic.soft else "topic",
    )


def _came_out(facts: Facts) -> Part:
    figures = el(
        "dl",
        [el("div", el("dt", name), el("dd", one)) for name, one in facts.tiles],
        class_="cards",
    )
    ending = el("p", " ".join(facts.ending))
    words = el(
        "details",
        el("summary", "What these numbers mean"),
        el("dl", [[el("dt", a), el("dd", b)] for a, b in meanings(facts)], class_="facts"),
    )
    return Part("result", "Result", [ending, figures, words, *_clusters(facts)])


def _clusters(facts: Facts) -> list[Child]:
    """A row for each cluster; of mixed groups no center is meant, and none stands out."""
    study = facts.study
    size = facts.amounts[0]
    loads = [one for one in facts.amounts if one.kind in ("load", "count")][:LOADS]
    sizes, *loaded = [_held(one) for one in (size, *loads)]
    compact = study.result.mixed is None
    place = facts.plane.kind == "map" or bool(
        facts.plane.unit
    )  # coordinates distinguish no cluster
    few = 3 if study.n_clusters <= 12 else 2  # many clusters need short rows
    head: list[tuple[Child, str | None]] = [("Cluster", None), ((_title(size), _bounds(size)), "n")]
    head += [("Distinctive features", "wide-text")] if compact and not place else []
    head += [((_title(one), _bounds(one)), "n") for one in loads]
    if compact:
        unit = el("small", facts.unit) if facts.unit else None
        head += [("Share of inertia", "n"), (("Distance", unit), "n")]
        head += [("Closest to the center", "names")]
    rows: list[list[Child]] = []
    for i, one in enumerate(facts.clusters):
        row: list[Child] = [(swatch(facts.styles[i]), one.name), sizes[i]]
        row += [_features(one.features[:few])] if compact and not place else []
        row += [load[i] for load in loaded]
        if compact:
            row += [share(one.share), number(float(f"{one.distance:.3g}"))]
            row.append(_nearest(one.members, few))
        rows.append(row)
    caption = "Each cluster, with its bounds in small print."
    if compact:
        scaled = ", after scaling" if study.scaling.kind != "none" else ""
        caption += f" Distance: typical distance to the center{facts.space or scaled}."
    first = ROWS if len(rows) > ROWS + 5 else len(rows)
    body: list[Child] = [table(head, rows[:first], caption, "sheet")]
    if rows[first:]:
        more = counted(len(rows) - first, "more cluster")
        body.append(el("details", el("summary", more), table(head, rows[first:], caption, "sheet")))
    return body


def _title(amount: views.Amount) -> str:
    return "Size" if amount.kind == "size" else visible(amount.name, 24)


def _uniform(amount: views.Amount) -> bool:
    return all((bound == bound[0]).all() for bound in amount.limits)


def _bounds(amount: views.Amount, i: int | None = None) -> Child:
    """What a cluster may hold, or all of them where that is the same; else nothing."""
    if not amount.bounded or (i is None) != _uniform(amount):
        return None
    low, high = (float(bound[i or 0]) for bound in amount.limits)
    return el("small", between(low, high, bound_writer(amount)))


def _held(amount: views.Amount) -> list[list[Child]]:
    """What each cluster holds, and what it may."""
    return [
        [el("span", one, " ▲", class_="bad") if wrong else one, _bounds(amount, i)]
        for i, (one, wrong) in enumerate(zip(held(amount), amount.broken, strict=True))
    ]


def _nearest(names: Sequence[str], few: int) -> Child:
    """Names in one line where they are short, else one below the other."""
    if sum(map(len, names)) <= SHORT:
        return [[", " if at else "", name] for at, name in enumerate(names)] or "–"
    return [el("div", name) for name in names[:few]]


def _features(found: Sequence[tuple[str, str, float]]) -> Child:
    if not found:
        return el("span", "close to the average", class_="muted")
    return [el("div", "high " if z > 0 else "low ", name, f": {mean}") for name, mean, z in found]


def _rules(facts: Facts) -> Part:
    checked = facts.checked
    rows: list[list[Child]] = []
    for one in checked.stated:
        lost = one.asked - one.kept
        good = lost == 0
        word = "all met" if good else f"{lost:,} violated"
        rows.append(
            [
                (one.title, el("span", "soft", class_="tag") if one.soft else None),
                (one.score, el("small", *one.moved) if one.moved else None),
                el("span", "✓ " if good else "▲ ", word, class_="good" if good else "bad"),
            ]
        )
    alarm = (
        el(
            "div",
            el("p", el("strong", "These labels violate hard rules."), class_="bad"),
            bullets(checked.broken),
            class_="alarm",
        )
        if checked.broken
        else None
    )
    head: list[tuple[Child, str | None]] = [("Kind", None), ("Kept", None), ("Verdict", None)]
    label = "Kinds of rules, and how many of each are met"
    how = "Checked for this report by code independent of the solvers."
    return Part(
        "rules",
        "Rules met and violated",
        [
            alarm,
            el("p", how if rows else "No rules."),
            table(head, rows, label) if rows else None,
            _losses(facts),
        ],
    )


def _losses(facts: Facts) -> Child:
    if not facts.total(soft=True)[0]:
        return None
    if not facts.violated:
        return el("p", "No soft rule is violated.")
    rows: list[list[Child]] = [
        [sentence, number(one.penalty), saved_told(one)] for sentence, one in facts.violated[:200]
    ]
    head: list[tuple[Child, str | None]] = [
        ("Violated rule", "wide-text"),
        ("Penalty", "n"),
        ("Saved", "n"),
    ]
    paid = sum(one.penalty for _, one in facts.violated)
    told = (
        f"{counted(len(facts.violated), 'soft rule')} violated for {number(paid)} in total, most "
        "expensive first."
    )
    label = PENALTY_AND_SAVED
    more = len(facts.violated) - LOSSES
    return [
        el("h3", "Violated rules, their penalty and savings"),
        el("p", told),
        table(head, rows[:LOSSES], label),
        el("details", el("summary", f"{more:,} more"), table(head, rows[LOSSES:], label))
        if more > 0
        else None,
    ]


def _repeat(facts: Facts) -> Part:
    study = facts.study
    command = study.settings.get("command")
    scaling = study.scaling
    rows: list[list[Child]] = [
        [Name(name), f"{shift:.12g}", f"{factor:.12g}"]
        for name, shift, factor in zip(
            study.feature_names, scaling.shift.tolist(), scaling.factor.tolist(), strict=True
        )
    ]
    head: list[tuple[Child, str | None]] = [
        ("Feature", None),
        ("Subtracted", "n"),
        ("Divided by", "n"),
    ]
    return Part(
        "repeat",
        "How to reproduce it",
        [
            el("pre", el("code", Told(written(command)))) if command else None,
            el(
                "dl",
                [[el("dt", Name(name)), el("dd", sentence)] for name, sentence in facts.repeat],
                class_="facts",
            ),
            el(
                "details",
                el("summary", "Scaling parameters"),
                table(
                    head,
                    rows[:2000],
                    "Value subtracted from each feature, and its divisor.",
                ),
            )
            if scaling.kind != "none"
            else None,
        ],
    )
