"""The report as Markdown; the only place where text becomes Markdown.

Names may hold anything, so whatever could mean something to a reader of Markdown is written as a
character reference: these mean the same inside and outside of tables, in every dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from bckm._core.names import Name, visible
from bckm._core.terminal import clean
from bckm.report._amounts import bound_writer, held
from bckm.report._facts import PENALTY_AND_SAVED, Cluster, Facts, saved_told, written
from bckm.report._learned import (
    feature_share,
    judged_numbers,
    metric_title,
    weight_rows,
    weights_told,
)
from bckm.report._meanings import meanings
from bckm.report._mixed import difference, spread_in_deviations
from bckm.report._topics import Topic
from bckm.report.words import between, measured, number, share, signed
from bckm.study import views

SHOWN = 10  # sentences about rules of one kind
LOSSES = 50  # violated rules
FEATURES = 20  # rows of the profile
MOVES = 50  # samples that moved
CLUSTERS = 12  # columns of the profile
COMMAND = 4_000  # characters of the command
# a colon before a space, and an underscore within a word, mean nothing; a dot within one or two
# slashes make links of addresses, and of what looks like them
_SPECIAL = re.compile(
    r"[&<>|\\`*\[\]~$#@{}]|:(?=\S)|(?<![^\W_])_|_(?![^\W_])|(?<=\w)\.(?=[^\W\d_])|/(?=/)"
)
# what begins a list, a code block or an underline, where a name begins a line
_START = re.compile(r"^(\s*)(\d*)([-+=.)]|)")


def safe(text: str) -> str:
    """Text that Markdown shows as it is.

    Examples
    --------
    >>> from bckm.report._markdown import safe
    >>> safe("a|b"), safe("<b>"), safe("1. x")
    ('a&#124;b', '&#60;b&#62;', '1&#46; x')
    """
    found = _SPECIAL.sub(lambda one: _coded(one[0]), clean(text))
    # what follows the sign of a mail address must not look like one
    found = found.replace("&#64;", "&#64;&#8288;")
    return _START.sub(lambda one: _coded(one[1]) + one[2] + _coded(one[3]), found)


def _coded(text: str) -> str:
    return "".join(f"&#{ord(one)};" for one in text)


def _told(parts: Iterable[str]) -> str:
    """A sentence; names within it are escaped, its own words need not be."""
    return "".join(safe(visible(part)) if isinstance(part, Name) else clean(part) for part in parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> list[str]:
    """A table; the cells are Markdown already. The last `numbers` columns are set right."""
    sides = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    lines = [head, sides, *rows]
    return ["", *(f"| {' | '.join(line)} |" for line in lines), ""]


def markdown_of(facts: Facts) -> str:
    """The whole report."""
    lines = [f"# {_told([Name(facts.study.title)])}", "", f"**{facts.headline}**", ""]
    for part in (_asked, _came_out, _rules, _alike, _amounts, _moved, _learned, _profile, _repeat):
        lines += [*part(facts), ""]
    text = "\n".join(lines)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _asked(facts: Facts) -> list[str]:
    lines = ["## Rules", ""]
    for topic in facts.checked.topics:
        lines += _topic(topic)
    if not facts.checked.topics:
        lines += ["No rules.", ""]
    if facts.notes:
        lines += ["**Notes**", "", *(f"- {_told([one])}" for one in facts.notes)]
    return lines


def _topic(topic: Topic) -> list[str]:
    soft = f" (soft, {topic.price})" if topic.soft else ""
    lines = [f"**{topic.title}**{soft}" + (f": {topic.counted}" if topic.asked else ""), ""]
    lines += [f"- {_told(line)}" for line in topic.lines[:SHOWN]]
    more = max(len(topic.lines) - SHOWN, 0) + topic.left_out
    return [*lines, *([f"- … and {more:,} more"] if more else []), ""]


def _came_out(facts: Facts) -> list[str]:
    lines = ["## Result", "", *facts.ending, ""]
    lines += table(["", ""], ([name, _told([one])] for name, one in facts.tiles))
    lines += [*(f"- {name}: {one}" for name, one in meanings(facts)), ""]
    loads = [one for one in facts.amounts if one.kind in ("load", "count")][:4]
    loaded = [held(load) for load in loads]
    compact = facts.study.result.mixed is None  # of mixed groups no center is meant
    head = ["Cluster", *(["Distinctive features", "Closest to the center"] if compact else [])]
    head += ["Size", *[_told([Name(one.name)]) for one in loads]]
    rows = (
        [
            _told([one.name]),
            *([_features(one), _nearest(one)] if compact else []),
            number(one.size),
            *[load[one.number] for load in loaded],
            *([share(one.share), number(float(f"{one.distance:.3g}"))] if compact else []),
        ]
        for one in facts.clusters
    )
    last = ["Share of inertia", "Distance"] if compact else []
    return lines + table([*head, *last], rows, 1 + len(last) + len(loads))


def _nearest(one: Cluster) -> str:
    return "; ".join(_told([member]) for member in one.members) or "–"


def _features(one: Cluster) -> str:
    told = [
        f"{'high' if z > 0 else 'low'} {_told([name])} ({mean})" for name, mean, z in one.features
    ]
    return "; ".join(told) or "close to the average"


def _rules(facts: Facts) -> list[str]:
    lines = ["## Rules met and violated", ""]
    if facts.checked.broken:
        lines += ["**These labels violate hard rules:**", ""]
        lines += [*(f"- {_told(one)}" for one in facts.checked.broken), ""]
    rows = (
        [
            f"{one.title}{' (soft)' if one.soft else ''}",
            one.score + (f" ({_told(one.moved)})" if one.moved else ""),
        ]
        for one in facts.checked.stated
    )
    lines += table(["Kind", "Met"], rows) if facts.checked.stated else ["No rules."]
    if facts.violated:
        losses = (
            [
                _told(sentence),
                number(one.penalty),
                saved_told(one),
            ]
            for sentence, one in facts.violated[:LOSSES]
        )
        lines += [PENALTY_AND_SAVED, *table(["Violated", "Penalty", "Saved"], losses, 2)]
        more = len(facts.violated) - LOSSES
        lines += [f"… and {more:,} more."] if more > 0 else []
    return lines


def _amounts(facts: Facts) -> list[str]:
    bounded = [one for one in facts.amounts if one.bounded]
    if not bounded:
        return []
    lines = ["## Sizes and loads against their bounds", ""]
    rows = ([_called(one), *_range(one)] for one in bounded)
    return lines + table(["Amount", "Least", "Most", "Allowed", "Beyond"], rows)


def _alike(facts: Facts) -> list[str]:
    """How alike groups are that are to be alike."""
    mixing = views.mixing(facts.study)
    if mixing is None:
        return []
    apart = spread_in_deviations(mixing)
    shown = facts.clusters[:CLUSTERS]
    rows = []
    for j in np.argsort(-apart, kind="stable")[:FEATURES].tolist():
        deviation = float(mixing.deviation[j])
        values = [mixing.overall[j], *mixing.means[: len(shown), j]]
        told = [measured(float(one), deviation) for one in values]
        apart_by = difference(float(mixing.spread[j]), deviation)
        rows.append([_told([Name(mixing.features[j])]), apart_by, *told])
    head = ["Feature", "Difference", "All", *[_told([one.name]) for one in shown]]
    lines = ["## How alike the groups are", ""]
    lines += ["Mean of each feature in each group; difference: largest less least mean.", ""]
    return lines + table(head, rows, len(head) - 1)


def _moved(facts: Facts) -> list[str]:
    """Who is in another cluster than before."""
    found = views.moves(facts.study)
    if not found:
        return []
    names = [_told([one.name]) for one in facts.clusters]
    rows = (
        [
            _told([Name(facts.study.name(one.sample))]),
            "new" if one.before < 0 else names[one.before],
            names[one.after],
        ]
        for one in found[:MOVES]
    )
    more = [f"… and {len(found) - MOVES:,} more."] if len(found) > MOVES else []
    return ["## Moved from where to where", "", *table(["Sample", "From", "To"], rows), *more]


def _called(one: views.Amount) -> str:
    return _told([Name(one.name), " (soft)" if one.soft and "(soft)" not in one.name else ""])


def _range(one: views.Amount) -> list[str]:
    limit, words = bound_writer(one), held(one)
    lower, upper = one.limits
    wrong = (
        ", ".join(_told([Name(one.cluster(i))]) for i in np.flatnonzero(one.broken).tolist())
        or "none"
    )
    least, most = int(np.nanargmin(one.values)), int(np.nanargmax(one.values))
    allowed = between(float(lower.min()), float(upper.max()), limit)
    return [words[least], words[most], allowed, wrong]


def _learned(facts: Facts) -> list[str]:
    if facts.judged is None:
        return []
    lines = [f"## {metric_title(facts)}", "", _told([facts.judged]), ""]
    lines += table(["", ""], ([name, value] for name, value in judged_numbers(facts)))
    weights = views.feature_weights(facts.study)
    if weights is None:
        return lines
    rows = (
        [_told([Name(facts.study.feature_names[j])]), feature_share(plain), feature_share(learned)]
        for j, plain, learned in weight_rows(weights)
    )
    head = ["Feature", "Plain", "Learned"]
    return [*lines, weights_told(facts, weights), *table(head, rows, 2)]


def _profile(facts: Facts) -> list[str]:
    profile, k = facts.profile, facts.study.n_clusters
    if k > CLUSTERS or facts.study.result.mixed is not None:
        return []
    lines = ["## Profile of each cluster", ""]
    clusters = [_told([one.name]) for one in facts.clusters]
    lines += ["Mean of each feature, and how many standard deviations from the overall mean.", ""]
    rows = []
    for j in facts.strongest[:FEATURES]:
        spread = float(profile.spread[j])
        means = [measured(float(one), spread) for one in (profile.overall[j], *profile.mean[:, j])]
        told = [f"{one} ({signed(z)})" for one, z in zip(means[1:], profile.z[:, j], strict=True)]
        rows.append([_told([Name(facts.study.feature_names[j])]), means[0], *told])
    return lines + table(["Feature", "All", *clusters], rows, k + 1)


def _repeat(facts: Facts) -> list[str]:
    lines = ["## How to reproduce it", ""]
    command = facts.study.settings.get("command")
    if command:
        lines += _code(written(command))
    rows = ([_told([Name(name)]), _told(parts)] for name, parts in facts.repeat)
    return lines + table(["", ""], rows)


def _code(text: str) -> list[str]:
    """A line to be copied: in a block nothing has a meaning but as many backticks as began it."""
    shown = visible(text, COMMAND)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    return [fence, shown, fence, ""]
