"""The pages of docs/: their examples run, their links lead somewhere, and none is missing."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bckm
from bckm.cli import cli
from bckm.plan._model import FIT, KINDS, SETTINGS
from tests.repo.commands import run_commands
from tests.repo.pages import DOCS, ROOT, anchors, entries, links, run_examples

PAGES = sorted(DOCS.rglob("[!_]*.md"))
PAGES = [page for page in PAGES if "generated" not in page.parts]
# pages that `make docs` writes, and what they are made of
MADE = {
    "generated/gallery/index": "examples/README.md",
    "generated/searching": "docs/search.md",
    **{
        f"generated/{name}": f"{name}.md"
        for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")
    },
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the table of the tutorial, to work in."""
    shutil.copy(ROOT / "src" / "bckm" / "cli" / "data" / "customers.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.full
@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("tutorial", 60),
        ("choosing", 15),
        ("moving", 15),
        ("index", 5),
        ("files", 25),
        ("extending", 15),
        ("metric", 15),
        ("large", 10),
    ],
)
def test_examples_run(page, least, folder):  # some write files
    assert run_examples(DOCS / f"{page}.md") >= least


@pytest.mark.full
def test_commands_run(folder):
    assert run_commands(DOCS / "command-line.md", folder) >= 20


def test_command_line_page_knows_every_option_and_key():
    page = (DOCS / "command-line.md").read_text("utf-8")
    for command in cli.commands.values():
        assert f"bckm {command.name}" in page
        for option in command.params:
            for word in (*option.opts, *option.secondary_opts):
                known = f"`{word}`" in page or f"`{word} " in page
                assert known or not word.startswith("-"), word
    for kind, keys in KINDS.items():
        assert f"`[[{kind}]]`" in page
        for key in (*keys, *SETTINGS, *FIT):
            assert f"`{key}`" in page, key


@pytest.mark.parametrize(
    "page",
    [*PAGES, *sorted(ROOT.glob("*.md")), ROOT / "examples" / "README.md"],
    ids=lambda p: p.stem,
)
def test_links_lead_somewhere(page):
    for target, anchor in links(page):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(there), f"{page.name}: {target}#{anchor}"


def test_every_page_is_reachable():
    reached, ahead = set(), [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        for entry in entries(page):
            if "*" in entry:
                there = sorted(page.parent.glob(f"{entry}.md"))
            elif entry.startswith("generated/"):
                there = [ROOT / MADE[entry]]
            else:
                there = [page.parent / f"{entry}.md"]
            assert there, entry
            assert all(one.is_file() for one in there), entry
            ahead += [one for one in there if one not in reached]
    assert {page for page in PAGES if page not in reached} == set()


def listed():
    """Names that the page of the API lists."""
    return re.findall(r"^   (bckm\.[\w.]+)$", (DOCS / "api.md").read_text("utf-8"), re.M)


def test_api_lists_every_public_name_once():
    names = listed()
    assert len(names) == len(set(names))
    offered = {f"bckm.{name}" for name in bckm.__all__ if callable(getattr(bckm, name))}
    assert offered <= set(names)


@pytest.mark.parametrize(
    "module", ["methods", "datasets", "plan", "plotting", "report", "tables", "study.views"]
)
def test_api_lists_what_a_module_offers(module):
    found = __import__(f"bckm.{module}", fromlist=["x"])
    offered = getattr(found, "__all__", None) or [
        name
        for name, one in vars(found).items()
        if not name.startswith("_") and getattr(one, "__module__", "") == found.__name__
    ]
    classes = {f"bckm.{module}.{name}" for name in offered if callable(getattr(found, name))}
    assert classes <= set(listed())


def test_every_listed_name_is_there():
    for name in listed():
        *home, last = name.split(".")
        assert getattr(__import__(".".join(home), fromlist=[last]), last).__doc__, name


@pytest.mark.slow
def test_pages_are_built_without_a_warning(tmp_path):
    pytest.importorskip("sphinx_gallery")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q"]
    folders = ["-d", str(tmp_path / "trees"), str(DOCS), str(tmp_path / "html")]
    done = subprocess.run(
        [*command, *folders], cwd=ROOT, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "html").rglob("*.html"):
        fetched = r"<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=[\"'](?:https?:)?//"
        assert not re.search(fetched, page.read_text("utf-8")), Path(page).name
