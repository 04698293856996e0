"""Markdown of hostile names, read by a parser: no markup but that of the report itself."""

from __future__ import annotations

import re

import pytest

import bckm
from bckm import report
from bckm.report import _markdown
from tests.report.test_hostile import hostile_study
from tests.support.hostile import HOSTILE

parsers = pytest.importorskip("markdown_it")
PLAIN = {"text", "softbreak", "strong_open", "strong_close"}


@pytest.fixture(scope="module")
def studies() -> list[bckm.Study]:
    return [hostile_study(turn) for turn in (0, 67, 134)]


def odd(source: str) -> set[str]:
    """Kinds of tokens that a report does not have: HTML, links, pictures, code, emphasis."""
    found = set()
    for token in parsers.MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source):
        if token.type in ("html_block", "fence", "code_block", "blockquote_open", "hr"):
            found.add(token.type)
        found |= {one.type for one in token.children or [] if one.type not in PLAIN}
    return found


def widths(source: str) -> set[tuple[int, int]]:
    """Cells of the rows of each table: the table, and how many."""
    found, table, row = set(), 0, 0
    for token in parsers.MarkdownIt("commonmark").enable("table").parse(source):
        table += token.type == "table_open"
        row = 0 if token.type == "tr_open" else row + (token.type in ("td_open", "th_open"))
        if token.type == "tr_close":
            found.add((table, row))
    return found


def test_reports_hold_no_foreign_markup(studies: list[bckm.Study]) -> None:
    for study in studies:
        source = report.markdown(study)
        assert odd(source) == {"fence"}  # the command
        tables = [table for table, _ in widths(source)]
        assert len(tables) == len(set(tables)) >= 5


def test_every_string_alone_is_text() -> None:
    for word in HOSTILE:
        name = _markdown.safe(_markdown.visible(word))
        for source in (f"- {name}\n", f"| a | b |\n| --- | --- |\n| {name} | x |\n", f"# {name}\n"):
            assert odd(source) == set(), word
            assert len(widths(source)) <= 1, word
        assert not re.search(r"(?i)https?:|www\.|[<>|`\[\]]|@\w", name), word


def test_the_parser_sees_what_is_not_escaped(
    studies: list[bckm.Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_markdown, "safe", lambda text: text)
    assert {"html_inline", "link_open"} <= odd(report.markdown(studies[0]))
