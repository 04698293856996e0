"""A small card for notebooks: what a result, a study or rules are, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterable

from bckm._core.html import Child, Css, Element, el

# colors are those of the notebook, or grays and a blue that both light and dark bear
_STYLE = Css(
    ".bckm-card{display:inline-block;max-width:44em;padding:.6em .9em;font:13px/1.5 system-ui,"
    "sans-serif;color:inherit;border:1px solid rgba(128,128,128,.4);border-radius:6px}"
    ".bckm-card .title{font-weight:600}"
    ".bckm-card .quiet{opacity:.7}"
    ".bckm-card table{margin:.4em 0 0;border:0;border-collapse:collapse;font-size:inherit}"
    ".bckm-card tr{background:none!important}"
    ".bckm-card th,.bckm-card td{padding:0 1em 0 0;border:0;text-align:left;vertical-align:top;"
    "color:inherit;background:none;overflow-wrap:anywhere}"
    ".bckm-card th{font-weight:normal;opacity:.7;white-space:nowrap}"
    ".bckm-card .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".bckm-card .bar{color:#4a90d9;letter-spacing:-.5px;white-space:nowrap}"
    ".bckm-card ul{margin:.2em 0 0;padding-left:1.3em}"
    ".bckm-card summary{margin-top:.4em;cursor:pointer}"
)


WIDTH = 16  # of a bar
_EIGHTHS = ["", *(chr(0x2590 - n) for n in range(1, 8))]  # blocks, an eighth wide and more


def card(title: Child, *parts: Child) -> str:
    """A card as HTML that needs nothing from outside.

    Examples
    --------
    >>> from bckm._core.card import card
    >>> card("a < b").endswith('<div class="title">a &lt; b</div></div>')
    True
    """
    return str(
        el("div", el("style", _STYLE), el("div", title, class_="title"), *parts, class_="bckm-card")
    )


def facts(rows: Iterable[tuple[str, Child]]) -> Element:
    """Names and values, one pair a line."""
    lines = [el("tr", el("th", name, scope="row"), el("td", value)) for name, value in rows]
    return el("table", el("tbody", *lines))


def bars(rows: Iterable[tuple[Child, float, str]], most: float) -> Element:
    """Names and amounts, with a bar for each."""
    lines = [
        el(
            "tr",
            el("th", name, scope="row"),
            el("td", shown, class_="n"),
            el("td", _bar(value / most if most else 0.0), class_="bar", aria_hidden="true"),
        )
        for name, value, shown in rows
    ]
    return el("table", el("tbody", *lines))


def _bar(share: float) -> str:
    """A bar of text: it is there where a notebook takes styles away."""
    whole, eighths = divmod(round(8 * WIDTH * share), 8)
    return "\N{FULL BLOCK}" * whole + _EIGHTHS[eighths]


def folded(title: str, *parts: Child) -> Element:
    """What is shown on demand."""
    return el("details", el("summary", title), *parts)
