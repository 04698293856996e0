"""CSV files and what `Table` says about them."""

import gzip
import io
import os
import pickle
import stat

import numpy as np
import pytest

from bckm.tables import (
    NoFileError,
    Table,
    TableError,
    UnknownColumnError,
    read_table,
    write_table,
)


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_table("-", stdin=io.BytesIO(data), **options)


def written(table, **options):
    out = io.BytesIO()
    write_table(table, out, **options)
    return out.getvalue()


def test_cells_are_kept_as_they_are():
    text = 'id,name,x\n007,"Müller, Anna", 3.50\n008,"two\nlines",\n'
    table = read(text)
    assert table.names == ("id", "name", "x")
    assert (table.n_rows, table.format, table.source) == (2, "csv", "standard input")
    assert list(table.cells("x")) == [" 3.50", ""]
    assert table.texts("id") == ["007", "008"]
    assert table.texts("x") == [" 3.50", None]
    assert table.has_missing("x")
    assert not table.has_missing("id")
    assert written(table).decode() == text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n", ("a", "b")),
        ("a;b\n1,5;2,5\n", ("a", "b")),
        ("a\tb, c\n1\t2\n", ("a", "b, c")),
        ("a|b\n1|2\n", ("a", "b")),
        ('"a;b;c;d",e\n1,2\n', ("a;b;c;d", "e")),
        ("name;last, first\nx;y\nz;w\n", ("name", "last, first")),
        ("only\n1\n", ("only",)),
        ("sep=;\na;b\n1;2\n", ("a", "b")),
        ("sep=;\r\na;b\r\n1;2\r\n", ("a", "b")),
        ("\n\na,b\n1,2\n", ("a", "b")),
        ("größe,naïve,日本\n1,2,3\n", ("größe", "naïve", "日本")),
    ],
)
def test_delimiters(text, names):
    table = read(text)
    assert table.names == names
    raw = written(table).decode()
    assert raw.replace('"', "") == text.lstrip("\n").replace('"', "")
    assert read(raw).names == names


def test_asked_delimiter():
    assert read("a b,c\n1 2\n", delimiter="space").names == ("a", "b,c")
    assert read("a\tb\n1\t2\n", delimiter="tab").format == "tsv"
    with pytest.raises(TableError, match="one character"):
        read("a,b\n1,2\n", delimiter=",,")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_line_ends_and_encodings_are_kept(newline, encoding):
    text = newline.join(["id;name", 'ä;"in\ncell"', "b;x", ""])
    data = text.encode(encoding)
    if encoding == "utf-16-be":
        data = b"\xfe\xff" + data
    table = read(data)
    assert table.ids("id") == ["ä", "b"]
    assert written(table) == data


def test_old_line_ends():
    assert read("a,b\r1,2\r3,4\r").texts("b") == ["2", "4"]


def test_encodings():
    data = "id,name\n1,Ana\n2,Müller\n".encode("cp1252")
    found = read(data)
    assert found.texts("name") == ["Ana", "Müller"]
    assert "cp1252" in found.assumed[0]
    damaged = "id,name\n1,Anä\n2,Müller\n3,Ä".encode()[:-1]
    with pytest.raises(TableError, match=r"not UTF-8: line 4 has the byte 0xC3.*--encoding cp1252"):
        read(damaged)
    table = read(data, encoding="cp1252")
    assert table.texts("name") == ["Ana", "Müller"]
    assert written(table) == data
    grown = written(table.with_columns({"sign": ["→", "a"]}))  # cp1252 has no arrow
    assert read(grown).texts("sign") == ["→", "a"]
    for bad in ("utf-99", "rot13", "base64"):
        with pytest.raises(TableError, match="encoding"):
            read(data, encoding=bad)
    with pytest.raises(TableError, match=r"NUL byte.*utf-16-le"):
        read("a,b\n1,2\n".encode("utf-16-le"))
    assert read("a,b\n1,2\n".encode("utf-16-le"), encoding="utf-16-le").names == ("a", "b")
    assert read("a,b\n1,2\n".encode("utf-16-le"), encoding="utf-16").names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "standard input is empty"),
        ("\n \n", "is empty; it should start with a line of column names"),
        ("a,b\n", r"column names \('a', 'b'\) but no rows of data"),
        ("a,b\n1,2\n3\n", "line 3 .* has 1 cell, but the header has 2 columns"),
        ("a,b\n1,2\n\n3,4,5\n6\n", r"line 4 .* has 3 cells.*\(and so do 1 other lines\)"),
        ('a,b\n"x\ny",2\n3\n', "line 4 .* has 1 cell"),
        ("1,2\n3,4\n", "first line .* holds numbers .*add a line with column names"),
        ('a,b\n1,"2\n3,4\n', "line 2 of standard input: a quoted cell is not closed"),
        ('a,b\n1,"2"x\n', "line 2 of standard input: a quoted cell is not closed"),
        ("a,b\n1,\x002\n", "line 2 .* NUL"),
    ],
)
def test_what_is_wrong_with_a_file(text, message):
    with pytest.raises(TableError, match=message):
        read(text)


def test_rows_and_columns_that_say_nothing():
    table = read("a,b\n1,2\n\n   \n3,4\n,\n\n")
    assert table.texts("a") == ["1", "3"]
    assert [table.place(row) for row in (0, 1)] == ["row 1 (line 2)", "row 2 (line 5)"]
    assert read("a,,\n1,2,3\n").names == ("a", "column 2", "column 3")
    assert read(",column 1\n1,2\n").names == ("column 1 column 1", "column 1")
    assert read("a\n1\n\n3\n\n").texts("a") == ["1", None, "3"]  # one column: an empty cell


def test_a_very_long_cell():
    text = "a,b\n" + "x" * 300_000 + ",1\n"
    assert len(read(text).cells("a")[0]) == 300_000


def test_unknown_columns():
    table = read("id,weight,Höhe\n1,2,3\n")
    with pytest.raises(UnknownColumnError) as caught:
        table.numbers("wieght")
    assert caught.value.name == "wieght"
    assert caught.value.suggestion == "weight"
    assert str(caught.value) == (
        "there is no column 'wieght' in standard input; did you mean 'weight'? "
        "Its columns are: 'id', 'weight', 'Höhe'."
    )
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.suggestion) == (str(caught.value), "weight")
    for asked, meant in [("ID", "id"), ("höhe", "Höhe"), ("wei", "weight"), ("zzz", None)]:
        with pytest.raises(UnknownColumnError) as caught:
            table.cells(asked)
        assert caught.value.suggestion == meant
    wide = Table.of({f"c{j}": [1] for j in range(200)})
    with pytest.raises(UnknownColumnError, match="and 188 more") as caught:
        wide.cells("nothing")
    assert len(str(caught.value)) < 300


def test_blanks_around_names():
    table = read("id, weight\na, 3\n")
    assert table.names == ("id", " weight")
    assert table.numbers("weight").tolist() == [3.0]
    assert written(table) == b"id, weight\na, 3\n"


def test_numbers():
    table = read("a,b,c,d\n1,1e3,-0.5,x\n+2, 7 ,NA,y\n3,.5,n/a,\n4,5.,NULL,z\n5,0,nan,z\n6,1, ,z\n")
    assert table.numbers("a").tolist() == [1, 2, 3, 4, 5, 6]
    assert table.numbers("b").tolist() == [1000, 7, 0.5, 5, 0, 1]
    assert table.numbers("b").dtype == np.float64
    np.testing.assert_array_equal(table.numbers("c", missing="nan"), [-0.5] + [np.nan] * 5)
    assert [table.is_numeric(name) for name in "abcd"] == [True, True, True, False]
    assert [table.has_missing(name) for name in "abcd"] == [False, False, True, True]
    with pytest.raises(TableError, match=r"'c' of standard input has no number in 5 of 6 rows: ro"):
        table.numbers("c")
    assert table.texts("c")[1] == "NA"  # a category may be called so
    with pytest.raises(
        TableError,
        match=r"'d' .*: row 1 \(line 2\) has 'x', row 2 \(line 3\) has 'y', row 4 \(line 5\) "
        r"has 'z', which are not numbers, and so on in 2 more rows",
    ):
        table.numbers("d", missing="nan")


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e400", "1_000", "0x10", "1 000", "12%"])
def test_no_numbers(value):
    table = read(f"a,b\n{value},1\n")
    assert not table.is_numeric("a")
    with pytest.raises(TableError, match="which is not a number") as caught:
        table.numbers("a")
    assert value in str(caught.value)


def test_an_array_of_numbers_is_a_copy():
    table = read("a\n1\n")
    table.numbers("a")[0] = 9
    assert table.numbers("a").tolist() == [1]


def test_decimal_commas():
    table = read("id;x;y\na;3,5;1\nb;-,25;2,\nc;NA;1,5e3\n")
    assert table.numbers("x", missing="nan")[:2].tolist() == [3.5, -0.25]
    assert table.numbers("y").tolist() == [1, 2, 1500]
    assert table.decimal_sign() == ","
    grown = written(table.with_columns({"d": [0.5, 2.0, np.nan]})).decode()
    assert grown == "id;x;y;d\na;3,5;1;0,5\nb;-,25;2,;2\nc;NA;1,5e3;\n"
    with pytest.raises(TableError, match=r"'3\.5', which is not a number"):
        read("x;y\n3,5;a\n3.5;b\n").numbers("x")
    with pytest.raises(TableError, match=r"if these are decimal commas, use --decimal ,"):
        read('x,y\n"3,5",a\n').numbers("x")
    assert read('x,y\n"3,5",a\n', decimal=",").numbers("x").tolist() == [3.5]
    with pytest.raises(TableError, match="so remove thousands separators"):
        read("x;y\n1.234,5;a\n", decimal=",").numbers("x")
    with pytest.raises(TableError, match="remove the thousands separators"):
        read('x,y\n"1,234.5",a\n').numbers("x")
    with pytest.raises(TableError, match="decimal must be"):
        read("x;y\n1;2\n", decimal="'")


def test_doubtful_commas():
    doubtful = "x;y\n1,234;a\n5,678;b\n"
    assert read(doubtful).is_numeric("x")
    with pytest.raises(TableError, match=r"'1,234' may have a decimal comma.*--decimal"):
        read(doubtful).numbers("x")
    assert read(doubtful, decimal=",").numbers("x").tolist() == [1.234, 5.678]
    clear = "x;y;z\n1,234;0,5;1.234\n"  # y tells what the comma is
    assert read(clear).numbers("x").tolist() == [1.234]
    with pytest.raises(TableError, match=r"'1.234' may have a decimal point.*column 'y'"):
        read(clear).numbers("z")
    assert read(clear, decimal=".").numbers("z").tolist() == [1.234]
    assert read("z;y\n1.25;0,5\n").numbers("z").tolist() == [1.25]


def test_texts():
    values = [17, 17.0, "17", True, None, float("nan"), 2.5, np.int64(3), np.float64(4), np.True_]
    assert Table.of({"a": values}).texts("a") == [
        *["17", "17", "17", "true", None, None, "2.5", "3", "4", "true"]
    ]
    assert read("id\n17.0\n18.0\n\n0.0\n").texts("id") == ["17", "18", None, "0"]
    assert read("id\n17.0\n18.5\n").texts("id") == ["17.0", "18.5"]
    assert read("id\n17.0\n007\n").texts("id") == ["17.0", "007"]
    assert Table.of({"a": np.array([2**53 + 1])}).texts("a") == ["9007199254740993"]
    assert Table.of({"a": [1e300, -0.0]}).texts("a") == ["1e+300", "0"]


def test_ids():
    table = read("a,b,c\n1,x,\n2,y,u\n1,x,v\n3,x,w\n")
    assert read("id\n b\nb\n").ids("id") == [" b", "b"]
    with pytest.raises(
        TableError, match=r"the id '1' appears in row 1 \(line 2\) and row 3 \(line"
    ):
        table.ids("a")
    with pytest.raises(TableError, match="3 times in total"):
        table.ids("b")
    with pytest.raises(TableError, match=r"id is missing in row 1 \(line 2\); every row needs one"):
        table.ids("c")


def test_columns_are_added_or_replaced():
    table = read("a,b\n1,2\n3,4\n")
    assert table.is_numeric("a")
    grown = table.with_columns({"c": np.array([0, 1]), "a": ["x", "y"]})
    assert table.names == ("a", "b")
    assert grown.names == ("a", "b", "c")
    assert written(grown) == b"a,b,c\nx,2,0\ny,4,1\n"
    assert not grown.is_numeric("a")
    with pytest.raises(TableError, match="'c' has 1 values for the 2 rows"):
        table.with_columns({"c": [1]})
    with pytest.raises(TableError, match="'b' has 1 values, but others have 2"):
        Table.of({"a": [1, 2], "b": [1]})
    with pytest.raises(AttributeError):
        table.n_rows = 3


@pytest.mark.parametrize(
    "text",
    [
        *["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\xa0=1", "\ufeff=1"],
        *[
            "\u200b=1",
            "\uff1d1+1",
            "\uff0b1",
            "\uff0dx",
            "\uff20x",
            "'=1",
            "''+x",
            "' =1",
            "-",
            "+49 30 123",
            "\x1f=1",
        ],
        *["=cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", '=HYPERLINK("http://x";"y")', "=a\n=b"],
    ],
)
def test_formulas(text):
    out = io.BytesIO()
    told = write_table(Table.of({"x": [text, "y"], text: ["u", "v"]}), out)
    assert told.n_escaped == 2
    raw = out.getvalue().decode()
    cell = raw.split("\n", 1)[1] if "\n" not in text and "\r" not in text else ""
    assert not cell or cell.lstrip('"').startswith("'")
    again = read(raw)
    assert list(again.cells("x")) == [text, "y"]
    assert again.names == ("x", text)
    assert written(again).decode() == raw


@pytest.mark.parametrize(
    "text", ["-5", "+3.5", "-1e-5", "-3,5", "'-5", "a=b", "'", "'a", "''", "x-@"]
)
def test_no_formulas(text):
    out = io.BytesIO()
    assert write_table(Table.of({"x": [text], "y": [-2.5]}), out).n_escaped == 0
    assert list(read(out.getvalue()).cells("x")) == [text]


def test_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = Table.of({"id": ["a", "b"], "x": [1.5, 2.0]})
    for name in ("t.csv", "t.tsv", "t.tab", "t.txt", "t.csv.gz", "t.TSV.gz", "t.jsonl.gz", "t.x"):
        write_table(table, name)
        again = read_table(name)
        assert again.source == name
        assert again.texts("x") == ["1.5", "2"], name
    assert (tmp_path / "t.tsv").read_text() == "id\tx\na\t1.5\nb\t2\n"
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == b"id,x\na,1.5\nb,2\n"
    with pytest.raises(NoFileError, match=r"file t\.cvs does not exist; did you mean t\.csv\?"):
        read_table("t.cvs")
    with pytest.raises(FileNotFoundError, match="folder nowhere does not exist"):
        read_table("nowhere/t.csv")
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path)
    (tmp_path / "bad.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n")[:-9])
    with pytest.raises(TableError, match="damaged gzip"):
        read_table("bad.csv.gz")
    with pytest.raises(TableError, match=r"write out\.xlsx"):
        write_table(table, "out.ods")
    with pytest.raises(TableError, match="format must be"):
        read_table("t.csv", format="pdf")
    with pytest.raises(TableError, match="without columns"):
        write_table(Table.of({}), "t.csv")
    assert not list(tmp_path.glob(".*"))


def test_delimiter_follows_the_name_of_the_file(tmp_path):
    table = read("a;b\n1;2\n")
    for name, text in [("t.csv", "a;b\n1;2\n"), ("t.tsv", "a\tb\n1\t2\n"), ("t.txt", "a;b\n1;2\n")]:
        write_table(table, tmp_path / name)
        assert (tmp_path / name).read_text() == text


def test_a_device_is_not_replaced():
    write_table(Table.of({"a": [1]}), os.devnull, format="csv")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_broken_pipe():
    class Closed(io.RawIOBase):
        def write(self, data):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        write_table(Table.of({"a": [1]}), Closed())


def test_nul_and_half_characters_are_replaced():
    raw = written(Table.of({"a": ["x\0y", "\ud800"]}))
    assert read(raw).texts("a") == ["x\ufffdy", "?"]


def test_one_column_with_empty_cells():
    table = Table.of({"a": ["", "x", ""]}).with_columns({"b": ["1", "", "2"]})
    assert read(written(table)).texts("a") == [None, "x", None]
    alone = Table.of({"a": ["", "x", "y"]})
    assert written(alone) == b'a\n""\nx\ny\n'
    assert read(written(alone)).n_rows == 3
