"""The texts of the page: in both languages, all used, and words for all that the server says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bckm
from tests.browser.mock import STATIC

CODE = [file for file in STATIC.rglob("*.js") if not {"vendor", "text"} & set(file.parts)]
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
    code = "\n".join(file.read_text("utf-8") for file in CODE)
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


# What a person at the page cannot meet: rules files and options, which it does not have, and
# what only a programmer can do wrong
ELSEWHERE = {"plan/_short.py", "plan/_toml.py", "tables/_reading.py"}
_WRITING = {"_to_stdout", "_kind_to_write"}
UNMET = {
    "tables/_csv.py": {"_delimiter"},
    "tables/_files.py": {
        "_refuse_unused",
        "_loaded",
        "write_table",
        "_to_stdout",
        "_kind_to_write",
    },
    "tables/_look.py": {"_named"},
    "tables/_npz.py": {"to_bytes"},
    "tables/_table.py": {"of", "with_columns"},
    "tables/_text.py": {"_asked"},
    "tables/_xlsx.py": {"_title"},
}
RAISED = ("TableError", "OptionError", "PlanError", "Refused")
WORDED = ("'bad_input'", "'too_large'")  # other kinds of answers have one text each
# notes, and functions that return one
NOTES = r"Note\(|note_of\(|_about\(|_not_decoded\(|self\.unknown\(|problem\.message$|_[A-Z]+$"


def _unworded(file: Path) -> Iterator[tuple[str, str]]:
    """Functions of a module that raise an error with a sentence that is no note."""
    for function in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        assigned = {
            ast.unparse(one.targets[0])
            for one in ast.walk(function)
            if isinstance(one, ast.Assign) and ast.unparse(one.value).startswith("Note(")
        }
        for one in ast.walk(function):
            call = one.exc if isinstance(one, ast.Raise) else None
            if not isinstance(call, ast.Call) or ast.unparse(call.func) not in RAISED:
                continue
            said = [ast.unparse(each) for each in (*call.args, *call.keywords)]
            if ast.unparse(call.func) == "Refused":
                if said[0] not in WORDED or "**refused.more" in said:
                    continue
                del said[0]
            if said[0] not in assigned and not re.match(NOTES, said[0]):
                yield function.name, ast.unparse(one)


@pytest.mark.parametrize("package", ["app", "plan", "tables"])
def test_every_error_that_a_person_can_meet_has_words(package):
    """Its sentence is a note, so that the page has words for it (see above) in every language."""
    found = []
    for file in sorted((Path(bckm.__file__).parent / package).glob("*.py")):
        name = f"{package}/{file.name}"
        unmet = UNMET.get(name, set())
        if name not in ELSEWHERE:
            found += [(name, *one) for one in _unworded(file) if one[0] not in unmet]
    assert found == []


def test_every_kind_of_answer_has_words():
    kinds = set(re.findall(r'^    "(\w+)": \d+', (STATIC.parent / "errors.py").read_text(), re.M))
    assert kinds > {"bad_input", "stale"}
    texts = _texts("en")
    assert {f"error.{kind}" for kind in kinds - {"bad_input"}} <= set(texts)
