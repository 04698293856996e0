"""Who is in each cluster, and who has left one for another."""

from __future__ import annotations

from collections import Counter

import numpy as np

from bckm._core.html import Child, Element, el
from bckm._core.names import Name
from bckm.report._facts import Facts
from bckm.report._parts import Part, table
from bckm.report._plane_chart import moves_chart
from bckm.report._svg import swatch
from bckm.report.words import counted
from bckm.study import views

NAMES, LEAST = 3_000, 20  # samples named in all, and of each cluster at least
CLUSTERS = 200  # clusters whose members are listed
MOVES = 25  # rows before the rest is folded away
MOST = 1_000  # rows in all


def members(facts: Facts) -> Part:
    """A list of the samples of each cluster, folded away."""
    study = facts.study
    order = np.argsort(study.result.labels, kind="stable")
    ends = np.cumsum(study.result.sizes)
    most = max(LEAST, NAMES // study.n_clusters)
    lists: list[Child] = []
    for one, start, end in zip(
        facts.clusters[:CLUSTERS], ends - study.result.sizes, ends, strict=False
    ):
        mine = order[start:end]
        shown = mine if mine.size <= most + 5 else mine[:most]
        more = mine.size - shown.size
        word = "" if isinstance(one.name, Name) else "Cluster "
        many = f": {counted(one.size, 'sample')}"
        title = (swatch(facts.styles[one.number]), word, one.name, many)
        names = [el("li", Name(study.name(p))) for p in shown.tolist()]
        rest = el("p", f"… and {more:,} more; the table of results has them all.") if more else None
        lists.append(el("details", el("summary", title), el("ul", names, class_="members"), rest))
    left = study.n_clusters - len(lists)
    told = "Open a cluster to see its samples, in the order of the data."
    told += f" {counted(left, 'more cluster')} not listed." if left else ""
    return Part("members", "Members of each cluster", [el("p", told), lists])


def moved(facts: Facts) -> Part | None:
    """Who is in another cluster than before, from where to where, and a picture of it."""
    found = views.moves(facts.study)
    if found is None:
        return None
    study = facts.study
    gone = [one for one in found if one.before >= 0]
    new = len(found) - len(gone)
    known = study.n_samples - new
    told = f"{len(gone):,} of {counted(known, 'sample')} with a previous cluster moved"
    told += f"; {counted(new, 'sample')} had none." if new else "."
    body: list[Child] = [el("p", told)]
    if found:
        body += [_picture(facts, gone), *_rows(facts, found)]
    return Part("moved", "Moved from where to where", body)


def _picture(facts: Facts, gone: list[views.Move]) -> Child:
    if not gone:
        return None
    drawn = None
    if facts.study.result.mixed is None:
        drawn = moves_chart(facts.study, facts.plane, facts.styles, gone)
    if drawn is None:
        return _counts(facts, gone)
    told = (
        "Each sample that moved, with a dotted line to the center of the cluster it left and a "
        "solid line to the center of its new one."
    )
    return el("figure", drawn, el("figcaption", told))


def _counts(facts: Facts, gone: list[views.Move]) -> Child:
    """How many went which way; in place of a picture in which lines would hide each other."""
    names = [one.name for one in facts.clusters]
    ways = Counter((one.before, one.after) for one in gone).most_common(MOVES)
    rows: list[list[Child]] = [[names[a], names[b], f"{many:,}"] for (a, b), many in ways]
    head: list[tuple[Child, str | None]] = [("From", None), ("To", None), ("Samples", "n")]
    return table(head, rows, "How many samples went from where to where, most first.")


def _rows(facts: Facts, found: list[views.Move]) -> list[Child]:
    names = [one.name for one in facts.clusters]
    ordered = sorted(found, key=lambda one: (one.before < 0, one.before, one.after, one.sample))
    rows: list[list[Child]] = [
        [
            Name(facts.study.name(one.sample)),
            "new" if one.before < 0 else names[one.before],
            names[one.after],
        ]
        for one in ordered[:MOST]
    ]
    head: list[tuple[Child, str | None]] = [("Sample", None), ("From", None), ("To", None)]
    first = MOVES if len(rows) > MOVES + 5 else len(rows)
    body: list[Child] = [
        table(head, rows[:first], "Samples that are in another cluster than before.")
    ]
    if rows[first:]:
        rest: list[Element] = [el("summary", f"{len(rows) - first:,} more")]
        body.append(el("details", rest, table(head, rows[first:], "The rest of them.")))
    if len(found) > MOST:
        body.append(el("p", f"… and {len(found) - MOST:,} more."))
    return body
