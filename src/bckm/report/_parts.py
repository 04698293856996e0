"""Parts of the page: sections, lists, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bckm._core.html import Child, Element, el
from bckm.report.words import Sentence


@dataclass(frozen=True, eq=False)
class Part:
    """A section of the page."""

    key: str
    title: str
    body: Child


def bullets(lines: Sequence[Sentence]) -> Element:
    """Sentences one below the other."""
    return el("ul", [el("li", line) for line in lines])


def table(
    head: Sequence[tuple[Child, str | None]],
    rows: Sequence[Sequence[Child]],
    label: str,
    class_: str | None = None,
) -> Child:
    """A table with headers; the first cell of each row is one, too."""
    kinds = [kind for _, kind in head]
    body = [
        el(
            "tr",
            el("th", row[0], scope="row", class_=kinds[0]),
            [el("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)],
        )
        for row in rows
    ]
    found = el(
        "table",
        el("thead", el("tr", [el("th", w, scope="col", class_=kind) for w, kind in head])),
        el("tbody", body),
        class_=class_,
    )
    return scrolled(found, label)


def scrolled(sheet: Element, label: str) -> Child:
    """A table that may be wider than the page, below what it shows."""
    return [
        el("p", label, class_="muted label"),
        el("div", sheet, class_="scroll", role="region", tabindex=0, aria_label=label),
    ]
