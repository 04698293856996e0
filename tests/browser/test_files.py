"""The files of the page, without a browser."""

from __future__ import annotations

import re

import pytest

from tests.browser.mock import STATIC

OWN = sorted(file for file in STATIC.rglob("*.js") if "vendor" not in file.parts)


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
    assert file.parent.name == "text" or len(code.splitlines()) <= 420


def test_what_is_vendored_has_its_license():
    for folder in (STATIC / "vendor").iterdir():
        assert "Permission to use, copy, modify" in (folder / "LICENSE").read_text("utf-8")
        assert (folder / "index.js").is_file()
