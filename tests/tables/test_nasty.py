"""Whatever texts a file holds: it goes round unchanged, and no text becomes a formula."""

import csv
import io
import re
import time
import zipfile

import numpy as np
import pytest

from bckm.tables import Table, TableError, read_table, write_table
from bckm.tables._formulas import guarded, risky, unguarded

PIECES = [
    *"=+-@'\",;|\t\r\n .0123456789eEaäß日😀<>&{}[]\\/#%$!?_~^`",
    *["\uff1d", "\uff0b", "\uff0d", "\uff20", "\xa0", "\ufeff", "\u200b", "\u2028", "\x85", "\x0b"],
    *[
        "\x01",
        "\x1b[31m",
        "\x7f",
        "''",
        "=1+1",
        "NA",
        "nan",
        "sep=;",
        "<script>",
        "{{7*7}}",
        "</td>",
    ],
    *["_x0041_", "=cmd|' /C calc'!A0", "\r\n", '""', "http://example.org/", "\u202e", "e\u0301"],
]


def texts(rng, n):
    """Random texts from pieces that mean something to one of the formats."""
    lengths = rng.integers(0, 7, n)
    return ["".join(PIECES[i] for i in rng.integers(0, len(PIECES), m)) for m in lengths]


def nasty(seed, n_rows=30, n_columns=4):
    """A table of nasty texts under nasty names; its last row says something."""
    rng = np.random.default_rng(seed)
    names: list[str] = []
    while len(names) < n_columns:
        name = texts(rng, 1)[0]
        if name.strip() and name not in names:
            names.append(name)
    names[0] += "id"  # not all numbers
    columns = {name: [*texts(rng, n_rows - 1), "end"] for name in names}
    columns[names[0]][0] = "begin"
    return Table.of(columns)


def through(table, kind):
    out = io.BytesIO()
    write_table(table, out, format=kind)
    return out.getvalue(), read_table("-", stdin=io.BytesIO(out.getvalue()))


@pytest.mark.sampled(60)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "npz"])
def test_round_trip(seed, kind):
    table = nasty(seed)
    data, again = through(table, kind)
    assert again.format == kind
    assert again.names == table.names
    for name in table.names:
        assert [cell or "" for cell in again.cells(name)] == list(table.cells(name))
    assert through(again, kind)[0] == data


@pytest.mark.parametrize("kind", ["csv", "tsv", "npz"])
def test_no_name_and_no_text_ends_at_a_nul(kind):
    """An archive cuts names of members there, and an array texts: nothing may vanish unseen."""
    table = Table.of({"a\0b": ["x\0y", "z\0"], "a": ["u", "v"]})
    again = through(table, kind)[1]
    assert again.names == ("a\ufffdb", "a")
    assert list(again.cells("a\ufffdb")) == ["x\ufffdy", "z\ufffd"]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("kind", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_no_formula_in_csv(seed, kind, delimiter):
    data = through(nasty(seed), kind)[0]
    rows = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter)
    for row in rows:
        for cell in row:
            bare = cell.strip().lstrip("\ufeff\u200b\x01\x1b\x7f\u202e").strip()
            number = re.fullmatch(r"[+-]?[0-9]*[.,]?[0-9]*([eE][+-]?[0-9]+)?", bare)
            assert number or not re.match("[=+@\uff1d\uff0b\uff0d\uff20-]", bare), cell


@pytest.mark.parametrize("seed", range(15))
def test_workbooks(seed):
    table = nasty(seed)
    data, again = through(table, "xlsx")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for part in archive.namelist():
            text = archive.read(part).decode()
            assert not re.search(r"<f[\s>/]|<hyperlink|externalLink|ddeLink|oleLink", text)
    assert again.names == table.names
    for name in table.names:
        assert [cell or "" for cell in again.cells(name)] == list(table.cells(name))


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "npz", "xlsx"])
def test_names_that_are_half_a_pair(kind):
    """No file can hold them; it is written all the same."""
    table = Table.of({"a\ud800": ["x\udfff", "y"], "b": ["u", "v"]})
    again = through(table, kind)[1]
    assert again.names[0] in ("a?", "a\ufffd", "a\ud800")
    assert len(again.cells(again.names[0])[0]) == 2


def test_workbooks_replace_what_xml_has_no_letters_for():
    table = Table.of({"a\ufffe": ["x\uffff", "y"]})
    again = through(table, "xlsx")[1]
    assert again.names == ("a\ufffd",)
    assert list(again.cells("a\ufffd")) == ["x\ufffd", "y"]


def test_the_apostrophe_goes_as_it_came():
    rng = np.random.default_rng(0)
    many = texts(rng, 20_000)
    safe, n_escaped = guarded(many)
    assert n_escaped == sum(map(risky, many)) > 1000
    assert unguarded(safe) == many
    assert not any(risky(text) and not text.startswith("'") for text in safe)


@pytest.mark.parametrize("name", ["sep=;", "sep=,", "\ufeffa", "{a", "a;b", "a|b", "a\tb", "[1"])
def test_misleading_names(name):
    assert through(Table.of({name: ["x", "y"]}), "csv")[1].names == (name,)


def test_many_empty_cells_take_no_time():
    started = time.process_time()
    guarded([""] * 200_000 + ["=1"])
    guarded([" " * 200_000, "x"])
    assert time.process_time() - started < 2


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz", "xlsx"])
def test_damaged_files_are_refused_in_a_sentence_or_read(kind):
    rng = np.random.default_rng(3)
    data = through(nasty(3), kind)[0]
    refused = 0
    for _ in range(150):
        damaged = bytearray(data)
        for at in rng.integers(0, len(data), 3):
            damaged[at] = rng.integers(256)
        try:
            table = read_table("-", stdin=io.BytesIO(bytes(damaged)), format=kind)
        except TableError as error:
            refused += 10 < len(str(error)) < 400
        else:
            for name in table.names:
                table.texts(name)
                table.is_numeric(name)
    assert refused > 20
