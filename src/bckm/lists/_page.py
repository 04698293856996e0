"""Lists as a page of HTML, which prints a sheet of paper per cluster."""

from __future__ import annotations

from typing import Any

from bckm._core.html import Css, Element, el
from bckm._core.names import Name, Told
from bckm.lists._model import FROM, Cluster, Lists
from bckm.tables.cells import text_of

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_CSS = Css(
    """
:root { color-scheme: light dark; }
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; }
h2 { font-size: 1.6rem; margin: 2.5rem 0 0; }
p { margin: 0.2rem 0 0.8rem; color: #666; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #9996; padding: 0.3rem 0.6rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
th { border-bottom: 2px solid #999; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.moved td { font-weight: 600; }
.wrong { color: #c00; font-weight: 600; }
nav ul { padding: 0; list-style: none; columns: 3; }
@media print {
  body { font-size: 11pt; margin: 0; max-width: none; }
  section { break-before: page; }
  nav { display: none; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
}
"""
)


def page(lists: Lists) -> str:
    """The whole document."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", Name(lists.title)),
        el("style", _CSS),
    )
    places = [
        el("li", el("a", Name(one.name), href=f"#c{at}")) for at, one in enumerate(lists.clusters)
    ]
    body = el(
        "body",
        el(
            "header",
            el("h1", Name(lists.title)),
            el("p", lists.date) if lists.date else None,
            el("nav", el("ul", places), aria_label="Clusters"),
            _overview(lists),
        ),
        el("main", [_section(at, one, lists) for at, one in enumerate(lists.clusters)]),
    )
    return "<!DOCTYPE html>\n" + str(el("html", head, body, lang="en")) + "\n"


def _overview(lists: Lists) -> Element:
    """What each cluster holds."""
    header = ["cluster", *(Name(one.name) for one in lists.amounts)]
    header += ["came", "left"] if lists.moved else []
    rows = []
    for label, one in enumerate(lists.clusters):
        cells = [el("td", Name(one.name))]
        for amount, told in zip(lists.amounts, one.held, strict=True):
            bare = told.removeprefix(f"{amount.name} ")
            wrong = bool(amount.broken[label])
            cells.append(el("td", Told(bare), class_="wrong" if wrong else None))
        if lists.moved:
            cells += [el("td", str(many), class_="number") for many in (one.came, one.left)]
        rows.append(el("tr", cells))
    names = el("tr", [el("th", name, scope="col") for name in header])
    return el("table", el("thead", names), el("tbody", rows))


def _section(at: int, one: Cluster, lists: Lists) -> Element:
    moved = next((j for j, name in enumerate(lists.header) if name.startswith(FROM)), None)
    rows = []
    for cells in one.rows:
        there = moved is not None and lists.moved and cells[moved] is not None
        rows.append(el("tr", [_cell(cell) for cell in cells], class_="moved" if there else None))
    names = el("tr", [el("th", Name(name), scope="col") for name in lists.header])
    return el(
        "section",
        el("h2", Name(one.name)),
        el("p", Told(" · ".join(one.held))),
        el("table", el("thead", names), el("tbody", rows)),
        id=f"c{at}",
    )


def _cell(value: Any) -> Element:
    text = text_of(value) or ""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return el("td", Told(text) if text else None, class_="number" if number else None)
