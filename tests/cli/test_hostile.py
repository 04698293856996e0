"""Hostile ids, columns and categories, all the way from a table to what people open."""

import csv
import zipfile

import pytest

from bckm.tables import Table, read_table, write_table
from tests.support.hostile import HOSTILE
from tests.support.markup import foreign_html

SIGNS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
# what can be an id: what is left of it in a table is not nothing, and differs from all others
_LEFT = Table.of({"id": [one.replace("\x00", "") for one in HOSTILE]}).texts("id")
NAMES = list(dict.fromkeys(one.strip() for one in _LEFT if one is not None and one.strip()))


@pytest.fixture
def table(tmp_path):
    """The columns of groups and categories have hostile names as well as values."""
    n = len(NAMES)
    assert n > 185
    columns = {
        NAMES[0]: NAMES,
        "x": [str(row % 17) for row in range(n)],
        NAMES[1]: [str(row % 5) for row in range(n)],
        NAMES[2]: [NAMES[row // 40] for row in range(n)],
        NAMES[3]: [NAMES[row % 3 + 20] for row in range(n)],
    }
    return Table.of(columns)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx"])
def test_no_formulas_and_no_markup_come_out(run, table, tmp_path, suffix):
    write_table(table, tmp_path / f"data.{suffix}")
    rules = ["clusters = 4", "[[size]]", "max = 120", "[[quota]]", "within = '60%'"]
    (tmp_path / "rules.toml").write_text("\n".join([*rules, f"column = {quoted(NAMES[3])}"]))
    options = ("--id", NAMES[0], "--columns", "x", "--title", NAMES[5], "--together", NAMES[2])
    out = f"out.{suffix}"
    outputs = ("-o", out, "--report", "r.html", "--report", "r.md", "--centers", "c.csv")
    answer = run(
        *("fit", f"data.{suffix}", "--rules", "rules.toml", *options, *outputs),
        *("--label-column", "=cmd()", "--search", "none", "--n-init", 1),
    )
    assert answer.code == 0, answer.err
    assert foreign_html((tmp_path / "r.html").read_text(encoding="utf-8")) == []
    assert not any(sign in answer.out for sign in "\x1b\x07\x08")  # a terminal obeys these
    cells = [cell for row in rows_of(tmp_path / "c.csv", ",") for cell in row]
    if suffix in ("csv", "tsv"):
        cells += [
            one for row in rows_of(tmp_path / out, "\t" if suffix == "tsv" else ",") for one in row
        ]
        assert len(cells) > 5 * len(NAMES)
    assert [one for one in cells if one.lstrip().startswith(SIGNS) and not number(one)] == []
    if suffix == "xlsx":
        with zipfile.ZipFile(tmp_path / out) as book:
            sheets = [book.read(name) for name in book.namelist() if "sheet" in name]
            assert sheets
            assert not any(b"<f" in sheet or b"<hyperlink" in sheet for sheet in sheets)
    again = read_table(tmp_path / out)
    assert again.ids(NAMES[0]) == read_table(tmp_path / f"data.{suffix}").ids(NAMES[0])
    saved = run("verify", out, "--label-column", "=cmd()", "-k", 4, "--size", ":120")
    assert saved.code == 0, saved.err


def rows_of(path, delimiter):
    with path.open(newline="", encoding="utf-8") as handle:
        yield from csv.reader(handle, delimiter=delimiter)


def quoted(text):
    return '"' + "".join(f"\\U{ord(letter):08x}" for letter in text) + '"'


def number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
