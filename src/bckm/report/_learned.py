"""The section about a learned metric: how it was judged, and which features it counts."""

from __future__ import annotations

from bckm._core.html import Child, Element, el
from bckm._core.names import Name, visible
from bckm.report._facts import Facts
from bckm.report._parts import Part, table
from bckm.report._svg import Frame, picture, segment, short, text, ticks, x_axis
from bckm.report.words import counted, number, share
from bckm.study import views

_WIDTH, _ROW, _NAME = 480.0, 19.0, 22  # of the picture, of a feature in it, letters of its name


def learned_part(facts: Facts) -> Part | None:
    """What came of learning a metric."""
    if facts.judged is None:
        return None
    weights = views.feature_weights(facts.study)
    body: list[Child] = [
        el("p", facts.judged),
        el(
            "dl",
            [el("div", el("dt", name), el("dd", value)) for name, value in judged_numbers(facts)],
            class_="cards",
        ),
        el("p", _SCORE, class_="muted label"),
    ]
    if weights is not None:
        caption = el("figcaption", weights_told(facts, weights))
        body += [
            el("h3", "What counts more, and what less"),
            el("figure", _chart(facts, weights), _legend(), caption),
            _sheet(facts, weights),
        ]
    return Part("metric", metric_title(facts), body)


def metric_title(facts: Facts) -> str:
    """What the section is called: a metric that was to be learned may be the plain one."""
    return "Learned metric" if facts.space else "Metric"


_SCORE = (
    "Score: how probable it is that a sample of the links which was held back belongs to its own "
    "set, among the sets that it is compared with, by the distances to their means (geometric mean "
    "over all that were held back)."
)


def judged_numbers(facts: Facts) -> list[tuple[str, str]]:
    """Numbers by which it was judged, with what they are called."""
    judgment = facts.study.result.metric.judgment
    assert judgment is not None
    told = [
        ("Must-links", number(judgment.n_links)),
        ("Sets of samples", number(judgment.n_sets)),
        ("Held back in turn", number(judgment.n_held_back)),
        ("Score, plain metric", share(judgment.plain_score)),
        ("Score, learned metric", share(judgment.learned_score)),
    ]
    if judgment.learned:
        told.append(("Dimensions", number(judgment.n_components)))
    return told


def weights_told(facts: Facts, weights: views.FeatureWeights) -> str:
    """What the shares mean, and which are not shown."""
    told = (
        "How much of the squared distances between samples a feature makes, as far as its own "
        "variance goes: in the plain metric, and in the learned one. Those that gain most come "
        "first; what links call unimportant loses."
    )
    if facts.study.scaling.kind != "none":
        told += " Features are scaled before."
    if weights.left_out:
        told += f" {counted(weights.left_out, 'feature')} in between not shown."
    return told


def weight_rows(weights: views.FeatureWeights) -> list[tuple[int, float, float]]:
    """Each feature with its shares in the plain and in the learned metric."""
    columns = (one.tolist() for one in (weights.features, weights.plain, weights.learned))
    return list(zip(*columns, strict=True))


def feature_share(value: float) -> str:
    """A share of the squared distances."""
    return share(round(value, 4))


def _chart(facts: Facts, weights: views.FeatureWeights) -> Element:
    """For each feature a line from its share in the plain metric to that in the learned one."""
    rows = weight_rows(weights)
    names = [visible(facts.study.feature_names[j], _NAME) for j, _, _ in rows]
    most = max(float(weights.plain.max()), float(weights.learned.max())) or 1.0
    left = 16.0 + 6.2 * max(map(len, names))
    frame = Frame(left, 6, _WIDTH - left - 112, _ROW * len(rows), (0.0, most), (0.0, 1.0))
    marks: list[Child] = []
    words: list[Child] = []
    for at, (name, (_, plain, learned)) in enumerate(zip(names, rows, strict=True)):
        y, before, after = frame.top + _ROW * (at + 0.5), frame.x(plain), frame.x(learned)
        way = segment(before, y, after, y, "gain" if learned >= plain else "loss")
        hollow = el("circle", cx=short(before), cy=short(y), r="3.2", class_="half")
        full = el("circle", cx=short(after), cy=short(y), r="3.6", class_="full")
        title = el(
            "title", f"{name}: {feature_share(plain)} plain, {feature_share(learned)} learned"
        )
        marks.append(el("g", title, way, hollow, full))
        words.append(text(left - 8, y + 4, name, anchor="end"))
        told = f"{feature_share(plain)} → {feature_share(learned)}"
        words.append(text(max(before, after) + 8, y + 4, told, anchor="start"))
    bottom, across = frame.top + frame.height, ticks(0.0, most, 4)
    cut = [frame.top + frame.height / 2] if weights.left_out else []
    return picture(
        _WIDTH,
        bottom + 40,
        f"Shares of {counted(len(rows), 'feature')} in the squared distances; the table says them.",
        [segment(frame.x(at), frame.top, frame.x(at), bottom, "grid") for at in across],
        [segment(0, y, _WIDTH, y, "bound") for y in cut],
        el("g", marks, class_="shares"),
        words,
        x_axis(frame, across, lambda value: share(value)),
        text(left + frame.width / 2, bottom + 36, "share of the squared distances", class_="axis"),
    )


def _legend() -> Element:
    return el(
        "figcaption",
        el("span", el("span", class_="key ring"), "plain metric"),
        el("span", el("span", class_="key ball"), "learned metric"),
        class_="legend",
    )


def _sheet(facts: Facts, weights: views.FeatureWeights) -> Child:
    """The same as a table, for those who cannot see it."""
    rows: list[list[Child]] = [
        [Name(facts.study.feature_names[j]), feature_share(plain), feature_share(learned)]
        for j, plain, learned in weight_rows(weights)
    ]
    head: list[tuple[Child, str | None]] = [("Feature", None), ("Plain", "n"), ("Learned", "n")]
    label = "Share of each feature in the squared distances."
    return el("details", el("summary", "As a table"), table(head, rows, label))
