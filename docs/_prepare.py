"""What `conf.py` makes of files beside docs/: scripts for the gallery, pages of the root."""

from __future__ import annotations

import re
from pathlib import Path

PAGES = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
# what is drawn below the output of each script, from the `study` that its main returns
PICTURES = {
    "delivery_tours": ["Clusters(study)", "Sizes(study, 'kg')", "Sizes(study, 'litre')"],
    "few_known_labels": ["Comparison(study, links=False)"],
    "gpu_shards": [],  # its embeddings may be elsewhere
    "inverted_file_index": ["Sizes(study)"],
    "mixed_classes": ["Comparison(study, links=False)"],
    "refit_with_little_churn": ["Clusters(study)"],
    "sales_territories": ["Comparison(study)", "Sizes(study, 'people')"],
    "school_classes": ["Comparison(study)"],
    "shards_on_a_cluster": [],  # its vectors are elsewhere
}
HEADER = """\
Examples
========

Each script answers one question, invents its own data, and prints its answer next to that of plain
k-means. They lie in the folder ``examples`` of the repository and take a few seconds each.

"""


def write(root: Path, out: Path) -> None:
    """Write the sources of all pages that are not in docs/ themselves."""
    for path in sorted((root / "examples").glob("*.py")):
        _keep(out / "examples" / path.name, script(path.read_text("utf-8"), PICTURES[path.stem]))
    _keep(out / "examples" / "GALLERY_HEADER.rst", HEADER)
    for name in PAGES:
        _keep(out / name, page((root / name).read_text("utf-8")))
    text = (root / "docs" / "search.md").read_text("utf-8")
    _keep(out / "searching.md", re.sub(r"\]\((?=[\w-]+[/.])", "](/", text))


def script(text: str, pictures: list[str]) -> str:
    """The question in the first line becomes the title that a gallery needs; pictures follow."""
    question, rest = text.removeprefix('"""').split("\n", 1)
    drawn = [re.sub(r"^(\w+)\(study", r"_ = \1Display.from_study(study", one) for one in pictures]
    names = sorted({f"{one.partition('(')[0]}Display" for one in pictures})
    end = [
        "study = main().study",
        "",
        "# what is shown above",
        f"from bckm.plotting import {', '.join(names)}",
        "",
        *drawn,
        "",
    ]
    if not pictures:
        end = ["_ = main()", ""]
    rest = rest.replace('if __name__ == "__main__":\n    main()\n', "\n".join(end))
    return "\n".join(['"""', question, "=" * len(question), rest])


def page(text: str) -> str:
    """Links of a page in the root, seen from docs/generated."""
    for file, there in (
        (r"docs/decisions/?\)", "/decisions/README.md)"),
        ("docs/", "/"),
        (r"examples/README\.md", "/generated/gallery/index.rst"),
        (r"CITATION\.cff", "../../CITATION.cff"),
    ):
        text = re.sub(rf"\]\({file}", f"]({there}", text)
    return text


def _keep(path: Path, text: str) -> None:
    """Write what has changed; the time of other files tells Sphinx to leave them alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
