"""Markdown of hostile names, read by a parser: no markup but that of the report itself."""

from __future__ import annotations

import re

import pytest

import bckm
from bckm import report
from bckm.report import _markdown
from tests.support.hostile import HOSTILE
from tests.support.markup import foreign_markdown, widths


def test_reports_hold_no_foreign_markup(studies: list[bckm.Study]) -> None:
    for study in studies:
        source = report.markdown(study)
        assert foreign_markdown(source) == {"fence"}  # the command
        tables = [table for table, _ in widths(source)]
        assert len(tables) == len(set(tables)) >= 5


def test_every_string_alone_is_text() -> None:
    for word in HOSTILE:
        name = _markdown.safe(_markdown.visible(word))
        for source in (f"- {name}\n", f"| a | b |\n| --- | --- |\n| {name} | x |\n", f"# {name}\n"):
            assert foreign_markdown(source) == set(), word
            assert len(widths(source)) <= 1, word
        assert not re.search(r"(?i)https?:|www\.|[<>|`\[\]]|@\w", name), word


def test_the_parser_sees_what_is_not_escaped(
    studies: list[bckm.Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_markdown, "safe", lambda text: text)
    found = set().union(*(foreign_markdown(report.markdown(one)) for one in studies))
    assert {"html_inline", "link_open"} <= found
