"""Settings of Sphinx. `make docs` builds the pages into build/docs; any warning is an error."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import _prepare  # noqa: E402

import bckm  # noqa: E402

project = "bckm"
author = "The bckm founders"
copyright = "The bckm founders, MIT licence"
version = release = bckm.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
# Sphinx has a page of its own that is called search
exclude_patterns = ["_*", "generated/examples", "search.md"]
nitpicky = True

# -- Markdown: anchors are those of git hosts; code blocks without a language are plain text
myst_heading_anchors = 3
highlight_language = "text"
suppress_warnings = ["myst.domains"]

# -- API: what the docstrings say, and nothing of the types inside
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "py:obj"

# -- gallery: the scripts of examples/, run
sphinx_gallery_conf = {
    "examples_dirs": "generated/examples",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "show_signature": False,
    "remove_config_comments": True,
    "reset_modules": (),
    "thumbnail_size": (400, 280),
}

# -- pages: nothing from outside, no scripts that are not here
html_theme = "furo"
html_title = "bckm"
html_static_path = ["_static"]
html_css_files = ["bckm.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}

_prepare.write(ROOT, HERE / "generated")


def _to_pages(app: Any, name: str, text: list[str]) -> None:
    """Links that are right in the repository lead to the pages made of these files."""
    pages = {r"examples/README\.md": "gallery/index.rst", r"examples/(\w+)\.py": r"gallery/\1.rst"}
    pages |= {page: page for page in _prepare.PAGES}
    text[0] = re.sub(r"\]\((?:\.\./|/)?search\.md", "](/generated/searching.md", text[0])
    for file, page in pages.items():
        text[0] = re.sub(rf"\]\((?:\.\./)+{file}", rf"](/generated/{page}", text[0])


def _plain(app: Any, env: Any, node: Any, content: nodes.Element) -> nodes.Element | None:
    """Names in backticks are links where there is a page; elsewhere they are names."""
    if node.get("refdomain") == "py" and node.get("reftype") == "obj":
        return content
    return None


def _skip(app: Any, kind: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Pages tell what this library adds to str, ValueError or scikit-learn's estimators."""
    home = getattr(getattr(thing, "fget", thing), "__module__", None) or ""
    return None if home.startswith("bckm") else True


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _to_pages)
    app.connect("missing-reference", _plain)
    app.connect("autodoc-skip-member", _skip)
