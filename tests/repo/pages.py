"""Reading the pages of docs/: their examples, links and headings."""

import doctest
import re
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
IMPORT = re.compile(r"^>>> (?:from|import) (\w+)", re.M)


def run_examples(path):
    """Run the Python of a page as one session; blocks that import what is not there are left out.

    Returns how many examples were run.
    """
    text, kept, at = path.read_text("utf-8"), [], 0
    for block in BLOCK.finditer(text):
        if not all(find_spec(name) for name in IMPORT.findall(block[1])):
            continue
        kept.append("\n" * text.count("\n", at, block.start(1)))  # so that line numbers are right
        kept.append(block[1])
        at = block.end(1)
    test = doctest.DocTestParser().get_doctest("".join(kept), {}, path.name, str(path), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed, _ = runner.run(test, out=report.append)
    assert not failed, "".join(report)
    return len(test.examples)


def anchors(path):
    """Names of the headings of a page, as git hosts and the pages of docs/ make them."""
    plain = FENCE.sub("", path.read_text("utf-8"))
    found = set()
    for heading in re.findall(r"^#+ (.+)$", plain, re.M):
        words = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(words)
    return found


def links(path):
    """Links of a page to files and headings: pairs of target and anchor, either may be empty."""
    plain = re.sub(r"`[^`\n]*`", "", FENCE.sub("", path.read_text("utf-8")))
    found = re.findall(r"\]\(([^)\s]+)\)", plain)
    return [one.partition("#")[::2] for one in found if "://" not in one]


def entries(path):
    """Pages that the tables of contents of a page list, seen from its folder."""
    found = []
    for table in re.findall(r"^```\{toctree\}\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S):
        for line in table.splitlines():
            if line and not line.startswith(":"):
                found.append(re.sub(r"^.*<(.+)>$", r"\1", line))
    return found
