"""Nothing that stands in data can act: pages are parsed, and opened in a browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import bckm
from bckm import report
from bckm._core import html as _html
from tests.support.hostile import HOSTILE, MARK
from tests.support.markup import HtmlReader, foreign_html


def test_there_are_two_hundred_different_strings() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) == 200


def test_pages_hold_known_elements_and_attributes_only(studies: list[bckm.Study]) -> None:
    for study in studies:
        assert foreign_html(report.html(study)) == []


def test_the_parser_sees_what_is_not_escaped(
    studies: list[bckm.Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_html, "escape", lambda text: text)
    assert len(foreign_html(report.html(studies[0]))) > 50


def test_every_string_is_shown_as_it_is(studies: list[bckm.Study]) -> None:
    """Else the tests around this one would prove nothing."""
    reader = HtmlReader()
    for study in studies:
        reader.feed(report.html(study))
    names = set(reader.text)
    assert [word for word in HOSTILE if _html.visible(word) not in names] == []


def test_pages_hold_no_hidden_characters(studies: list[bckm.Study]) -> None:
    hidden = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
    for study in studies:
        for form in (report.html(study), report.markdown(study), report.text(study)):
            assert hidden.findall(form) == []
            form.encode()


def test_pages_state_a_strict_policy_first(studies: list[bckm.Study]) -> None:
    page = report.html(studies[0])
    policy = page.index("default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;")
    assert policy < page.index("<title") < page.index("<style")
    assert "url(" not in page[page.index("<style") : page.index("</style")]
    assert "@import" not in page[page.index("<style") : page.index("</style")]


def opened(folder: Path, pages: list[str]) -> str:
    """What becomes of pages in a browser: all of them in one start, as frames of a page."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("there is no Chromium")
    whole = []
    for at, page in enumerate(pages):
        (folder / f"{at}.html").write_text(page, encoding="utf-8")
        whole.append(f"<iframe src='{at}.html' style='width:900px;height:900px'></iframe>")
    # the script of the page around them tells what became of each frame
    script = (
        "setTimeout(()=>{for(let i=0;i<frames.length;i++){const p=document.createElement('p');"
        "p.className='seen';try{const d=frames[i].document,many=s=>d.querySelectorAll(s).length;"
        f"p.textContent=[many('h1'),many('[{MARK}]'),many('script'),d.title.startsWith('pwned')]"
        ".join()}catch(e){p.textContent=e}document.body.append(p)}},3000)"
    )
    (folder / "all.html").write_text(
        f"<!DOCTYPE html><meta charset=utf-8><body>{''.join(whole)}<script>{script}</script>"
    )
    options = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync
    --allow-file-access-from-files --virtual-time-budget=6000 --dump-dom"""
    done = subprocess.run(
        [
            browser,
            *options.split(),
            f"--user-data-dir={folder / 'profile'}",
            f"file://{folder / 'all.html'}",
        ],
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(folder)},
    )
    if not done.stdout:
        pytest.skip("Chromium does not start here")
    return done.stdout.decode("utf-8", "replace")


def test_a_browser_executes_none_of_them(
    studies: list[bckm.Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [report.html(study) for study in studies]
    policy = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
    # escaping alone must hold, too: the same pages without their policy
    bare = [policy.sub("", page) for page in good]
    with monkeypatch.context() as patch:
        patch.setattr(_html, "escape", lambda text: text)
        raw = policy.sub("", report.html(studies[0]))  # the test itself must be able to fail
    dom = opened(tmp_path, [*good, *bare, raw])
    seen = re.findall(r'<p class="seen">(.*?)</p>', dom)
    assert seen[:-1] == ["1,0,0,false"] * 6, dom[-3000:]
    assert re.fullmatch(r"\d+,[1-9]\d*,.*", seen[-1])
