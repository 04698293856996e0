"""The files of the page, without a browser."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import bckm
from tests.browser.mock import STATIC

OWN = sorted(file for file in STATIC.rglob("*.js") if "vendor" not in file.parts)
TEXT = re.compile(r'^  "?([^":\n]+)"?:\s+"((?:[^"\\]|\\.)*)",$', re.MULTILINE)


def _texts(language: str) -> dict[str, str]:
    return dict(TEXT.findall((STATIC / f"text/{language}.js").read_text("utf-8")))


def test_both_languages_say_the_same_things():
    english, german = _texts("en"), _texts("de")
    assert len(english) > 200
    assert list(english) == list(german)
    for key, text in english.items():
        # the same values; a text may choose by number in one language alone
        names = re.compile(r"\{(\w*)")
        assert set(names.findall(text)) == set(names.findall(german[key])), key


def test_every_text_is_used_and_there():
    code = "\n".join(file.read_text("utf-8") for file in OWN if file.parent.name != "text")
    for key in _texts("en"):
        group, first = key.rpartition(".")[0], key.partition(".")[0]
        # as it is, or put together of its group and a word
        written = (f'"{key}"', f"`{group}.$", f"`{first}.$", f'"{first}"', "`${kind}.")
        assert any(one in code for one in written), key


def _notes() -> list[tuple[str, set[str]]]:
    """Keys of all notes in the code, as patterns, and the names of their values."""
    found = []
    for file in Path(bckm.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(call, ast.Call) or ast.unparse(call.func) != "Note":
                continue
            if not any(keyword.arg is None for keyword in call.keywords):  # where it is defined
                key = re.sub(r"\{.*?\}", "*", ast.unparse(call.args[1]).lstrip("f")[1:-1])
                pattern = re.escape(f"note.{key}").replace(r"\*", r"\w+")
                found.append((pattern, {str(keyword.arg) for keyword in call.keywords}))
    return found


def test_the_page_has_words_for_every_note():
    texts, notes = _texts("en"), _notes()
    said = [text for text in texts if text.startswith("note.")]
    for pattern, values in notes:
        keys = [key for key in said if re.fullmatch(pattern, key)]
        assert keys, pattern
        for key in keys:  # German has the same values, see above
            assert set(re.findall(r"\{(\w+)", texts[key])) == values, key
            assert "--" not in texts[key]
    for key in said:
        assert any(re.fullmatch(pattern, key) for pattern, _ in notes), key


@pytest.mark.parametrize("file", OWN, ids=lambda file: file.name)
def test_data_become_text_and_nothing_else(file):
    code = file.read_text("utf-8")
    for word in (
        "innerHTML =",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "http:",
    ):
        assert word not in code.replace('"http://www.w3.org/2000/svg"', ""), word
    assert not re.search(r"setAttribute\(\s*[\"']style", code)
    assert len(code.splitlines()) <= 480


def test_what_is_vendored_has_its_license():
    for folder in (STATIC / "vendor").iterdir():
        assert "Permission to use, copy, modify" in (folder / "LICENSE").read_text("utf-8")
        assert (folder / "index.js").is_file()
