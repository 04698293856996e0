"""Excel, Parquet, JSON lines and NPZ files."""

import datetime as dt
import io
import json
import re
import sys
import zipfile
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from bckm.tables import Table, TableError, read_table, write_table

DAY = dt.date(2024, 1, 5)
MOMENT = dt.datetime(2024, 1, 5, 3, 4, 5)


def read(data, **options):
    data = data if isinstance(data, bytes) else data.encode()
    return read_table("-", stdin=io.BytesIO(data), **options)


def written(table, **options):
    out = io.BytesIO()
    write_table(table, out, **options)
    return out.getvalue()


def xml(data):
    """All XML of a workbook."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def workbook(*sheets):
    """A workbook of sheets (title, rows), made by hand."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    for title, rows in sheets:
        sheet = book.add_worksheet(title)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                sheet.write(i, j, cell)
    book.close()
    return out.getvalue()


class TestExcel:
    def test_values(self):
        cells = {
            "id": [17, 18, None],
            "x": [1.5, 2.0, float("nan")],
            "flag": [True, False, None],
            "day": [DAY, None, DAY],
            "moment": [MOMENT, None, dt.datetime(1850, 1, 1)],
            "long": [2**60, 1, 2],
            "text": ["007", "", "=1+1"],
        }
        data = written(Table.of(cells, format="xlsx"))
        table = read(data)
        assert (table.format, table.n_rows, table.names) == ("xlsx", 3, tuple(cells))
        assert table.texts("id") == ["17", "18", None]
        assert list(table.cells("x")) == [1.5, 2, None]
        assert table.texts("flag") == ["true", "false", None]
        assert list(table.cells("day")) == [DAY, None, DAY]
        assert list(table.cells("moment")) == [MOMENT, None, "1850-01-01"]
        assert table.texts("long") == [str(2**60), "1", "2"]  # a cell has 15 digits
        assert table.texts("text") == ["007", None, "=1+1"]
        assert table.place(1) == "row 2 (row 3 of the sheet)"
        again = read(written(table.with_columns({"cluster": np.array([0, 1, 2])})))
        assert again.texts("day") == ["2024-01-05", None, "2024-01-05"]
        assert again.numbers("cluster").tolist() == [0, 1, 2]
        with pytest.raises(TableError, match=r"'day' .* has '2024-01-05'"):
            table.numbers("day")

    def test_texts_are_texts(self):
        nasty = ["=1+1", "@x", "http://example.org", "{=1}", "-1+1", "12", "<f>1</f>", "=cmd|'x'!A"]
        data = written(Table.of({"=2+2": nasty, "http://y": nasty}, format="xlsx"))
        parts = xml(data)
        for name, part in parts.items():
            assert not re.search(r"<f[\s>/]|hyperlink|externalLink", part), name
        sheet = parts["xl/worksheets/sheet1.xml"]
        assert sheet.count('t="s"') == 2 * len(nasty) + 2
        assert "frozen" in sheet
        assert 'quotePrefix="1"' in parts["xl/styles.xml"]
        assert list(read(data).cells("=2+2")) == nasty

    def test_sheets(self):
        rows = [["id", "x"], ["a", 1], ["b", 2]]
        data = workbook(("Notes", [["only", "text"], [1, "a"]]), ("Customers", rows), ("9", rows))
        assert read(data).names == ("only", "text")
        assert read(data, sheet="Customers").ids("id") == ["a", "b"]
        assert read(data, sheet=2).names == read(data, sheet="2").names == ("id", "x")
        assert read(data, sheet="9").names == ("id", "x")
        with pytest.raises(TableError, match=r"no sheet 'customer'.*did you mean 'Customers'\?"):
            read(data, sheet="customer")
        with pytest.raises(TableError, match=r"no sheet 4 .*it has 3, numbered from 1: 'Notes'"):
            read(data, sheet=4)
        with pytest.raises(TableError, match="no sheet 0 "):
            read(data, sheet=0)
        assert 'name="Customers"' in xml(written(read(data, sheet=2)))["xl/workbook.xml"]

    def test_what_is_around_the_data(self):
        rows = [
            [],
            ["", "id", "x", "", ""],
            ["", "a", 1],
            [],
            ["", "b", 2],
            ["", "", " "],
            [],
            [""],
        ]
        table = read(workbook(("s", rows[:5])))
        assert table.names == ("id", "x")
        assert table.texts("id") == ["a", "b"]
        assert table.place(1) == "row 2 (row 5 of the sheet)"
        gaps = read(workbook(("s", [["id", "", "x"], ["a", 1, 2]])))
        assert gaps.names == ("id", "column 2", "x")

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([], "sheet 's' of standard input is empty"),
            ([["a", "b"]], "no rows of data"),
            ([[1, 2], [3, 4]], "holds numbers"),
        ],
    )
    def test_what_is_wrong(self, rows, message):
        with pytest.raises(TableError, match=message):
            read(workbook(("s", rows)))

    def test_damaged(self, tmp_path):
        data = written(Table.of({"a": [1, 2]}, format="xlsx"))
        for cut in (10, len(data) // 2, len(data) - 30):
            with pytest.raises(TableError, match="cannot be read as a spreadsheet"):
                read(data[:cut], format="xlsx")
        (tmp_path / "a.csv").write_bytes(data)
        with pytest.raises(TableError, match="not a text file; its content looks like xlsx"):
            read_table(tmp_path / "a.csv")
        (tmp_path / "a.xls").write_text("a,b\n1,2\n")
        with pytest.raises(TableError, match="in another format"):
            read_table(tmp_path / "a.xls")

    def test_open_document(self, tmp_path):
        row = "<table:table-row>{}</table:table-row>".format
        cell = "<table:table-cell office:value-type='{}' {}><text:p>{}</text:p></table:table-cell>"
        text, urn = cell.format("string", "", "{}").format, "urn:oasis:names:tc:opendocument:xmlns:"
        number = cell.format("float", "office:value='17'", "17")
        spaces = " ".join(f"xmlns:{name}='{urn}{name}:1.0'" for name in ("office", "table", "text"))
        content = (
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f"<table:table table:name='Tab [1]'>{row(text('id') + text('x'))}"
            f"{row(text('=1+1') + number)}</table:table></office:spreadsheet></office:body>"
            "</office:document-content>"
        )
        kind = "application/vnd.oasis.opendocument.spreadsheet"
        manifest = (
            f"<m:manifest xmlns:m='{urn}manifest:1.0'><m:file-entry m:full-path='/' "
            f"m:media-type='{kind}'/></m:manifest>"
        )
        with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:
            archive.writestr("mimetype", kind)
            archive.writestr("META-INF/manifest.xml", manifest)
            archive.writestr("content.xml", content)
        for table in (read_table(tmp_path / "a.ods"), read((tmp_path / "a.ods").read_bytes())):
            assert table.format == "xlsx"
            assert (table.texts("id"), table.texts("x")) == (["=1+1"], ["17"])
            assert read(written(table)).texts("x") == ["17"]  # under a name that Excel allows

    def test_too_large(self):
        with pytest.raises(TableError, match=r"1,048,575 rows .* there are 1,048,576\. Write CSV"):
            written(Table.of({"a": np.zeros(1_048_576)}), format="xlsx")
        with pytest.raises(TableError, match="16,384 columns"):
            written(Table.of({str(j): [1] for j in range(16_385)}), format="xlsx")
        with pytest.raises(TableError, match="row 2 of column 'a' has 32,768 characters"):
            written(Table.of({"a": ["x", "y" * 32_768]}), format="xlsx")

    def test_numbers_of_a_csv_become_numbers(self):
        table = read("id,n,x,phone\n007,1,1.5,+49\n008,,2,1\n")
        again = read(written(table, format="xlsx"))
        assert list(again.cells("id")) == ["007", "008"]
        assert repr(list(again.cells("n"))) == "[1, None]"
        assert list(again.cells("x")) == [1.5, 2]
        assert list(again.cells("phone")) == ["+49", "1"]


class TestParquet:
    def columns(self):
        return {
            "id": pa.array([17, 18, None], pa.int64()),
            "u": pa.array([1, 2, 2**63], pa.uint64()),
            "f": pa.array([1.0, 2.5, None], pa.float32()),
            "half": pa.array(np.array([1, 2, 3], np.float16)),
            "text": pa.array(["007", None, "=1"], pa.large_string()),
            "cat": pa.array(["a", "b", "a"]).dictionary_encode(),
            "numcat": pa.array([3, 4, None]).dictionary_encode(),
            "flag": pa.array([True, None, False]),
            "money": pa.array([Decimal("1.50"), Decimal("2.00"), None]),
            "day": pa.array([DAY, None, DAY]),
            "ns": pa.array([1704423845000000001, None, 0], pa.timestamp("ns")),
            "lost": pa.array([MOMENT, None, MOMENT], pa.timestamp("us", "Mars/Base")),
            "zoned": pa.array([MOMENT, None, MOMENT], pa.timestamp("us", "Europe/Berlin")),
            "far": pa.array([2**61, None, 0], pa.timestamp("us")),
            "clock": pa.array([1, None, 2], pa.time64("ns")),
            "span": pa.array([1, None, 2], pa.duration("ns")),
            "raw": pa.array([b"x", b"\xff", None]),
            "list": pa.array([[1, 2], None, []]),
            "struct": pa.array([{"a": 1}, None, {"a": 2}]),
            "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
            "null": pa.array([None, None, None], pa.null()),
        }

    def data(self, **options):
        out = io.BytesIO()
        held = pa.table(self.columns()).replace_schema_metadata({"made": "by hand"})
        pq.write_table(held, out, **options)
        return out.getvalue()

    def test_types_are_kept(self):
        data = self.data()
        table = read(data)
        assert table.format == "parquet"
        before = pq.read_table(io.BytesIO(data))
        new = {"cluster": np.array([0, 1, 0]), "name": ["x", None, "z"]}
        after = pq.read_table(io.BytesIO(written(table.with_columns(new))))
        assert after.select(before.column_names).equals(before)
        assert after.schema.metadata[b"made"] == b"by hand"
        assert after.schema.field("cluster").type == pa.int64()
        assert after.column("name").to_pylist() == ["x", None, "z"]
        replaced = pq.read_table(io.BytesIO(written(table.with_columns({"u": [1.5, 2.5, 3.5]}))))
        assert replaced.column_names == before.column_names
        assert replaced.column("u").to_pylist() == [1.5, 2.5, 3.5]

    def test_texts(self):
        table = read(self.data())
        texts = {name: table.texts(name) for name in table.names}
        assert texts["id"] == ["17", "18", None]
        assert texts["u"][2] == str(2**63)
        assert texts["f"] == ["1", "2.5", None]
        assert texts["cat"] == ["a", "b", "a"]
        assert texts["numcat"] == ["3", "4", None]
        assert texts["flag"] == ["true", None, "false"]
        assert texts["money"] == ["1.5", "2", None]
        assert texts["day"][0] == "2024-01-05"
        assert texts["ns"][0] == "2024-01-05 03:04:05"
        assert texts["zoned"][0] == "2024-01-05 04:04:05+01:00"
        assert texts["lost"][0].startswith("2024-01-05 03:04:05")
        assert texts["list"] == ["[1, 2]", None, "[]"]
        assert texts["struct"][0] == '{"a": 1}'
        assert texts["null"] == [None, None, None]

    def test_numbers(self):
        table = read(self.data())
        good = {"id", "u", "f", "half", "numcat", "money"}
        assert {name for name in table.names if table.is_numeric(name)} == good
        assert table.numbers("money", missing="nan")[:2].tolist() == [1.5, 2]
        assert table.numbers("flag", missing="nan")[::2].tolist() == [1, 0]
        for name in ("list", "struct", "day", "ns", "span", "raw", "cat"):
            with pytest.raises(TableError, match=f"column '{name}' .* not "):
                table.numbers(name, missing="nan")
        with pytest.raises(TableError, match="'null' of standard input is empty"):
            table.numbers("null")
        with pytest.raises(TableError, match="no number in 1 of 3 rows: row 3;"):
            table.numbers("id")

    @pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl", "npz"])
    def test_other_formats_take_them(self, kind):
        data = written(read(self.data()), format=kind)
        again = read(data)
        assert again.format == kind
        assert again.n_rows == 3
        assert again.texts("cat") == ["a", "b", "a"]

    def test_what_is_wrong(self, tmp_path):
        data = self.data()
        with pytest.raises(TableError, match="not a Parquet file or is damaged"):
            read(data[:-20])
        out = io.BytesIO()
        pq.write_table(pa.table({"a": pa.array([], pa.int64())}), out)
        with pytest.raises(TableError, match="no rows"):
            read(out.getvalue())
        out = io.BytesIO()
        pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), out)
        with pytest.raises(TableError, match="both named 'a'"):
            read(out.getvalue())

    def test_infinite(self):
        table = Table.of({"a": [1.0, float("inf")]}, format="parquet")
        with pytest.raises(TableError, match="row 2 has 'inf'"):
            read(written(table)).numbers("a")

    def test_mixed_values_become_texts(self):
        mixed = {"a": [1, "x", None, True], "b": [1, 2.5, True, 3]}
        data = written(Table.of(mixed), format="parquet")
        assert read(data).texts("a") == ["1", "x", None, "true"]
        assert read(data).texts("b") == ["1", "2.5", "true", "3"]

    @pytest.mark.parametrize(
        ("module", "kind"),
        [("pyarrow", "parquet"), ("xlsxwriter", "xlsx"), ("python_calamine", "xlsx")],
    )
    def test_without_the_package(self, monkeypatch, module, kind):
        table = Table.of({"a": [1]}, format=kind)
        data = written(table)
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setitem(sys.modules, f"{module}.parquet", None)
        door, thing = (written, table) if module == "xlsxwriter" else (read, data)
        with pytest.raises(TableError, match=rf"{module}, .*pip install 'bckm\[io\]'"):
            door(thing)


class TestJsonLines:
    def test_values_are_kept(self):
        lines = [
            {"id": "a", "x": 1, "more": {"k": [1, 2]}},
            {"x": 2.5, "id": "b\u2028\x01", "late": None},
            {"id": "c", "x": None, "flag": True, "big": 2**70},
        ]
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n"
        table = read(text)
        assert table.format == "jsonl"
        assert table.names == ("id", "x", "more", "late", "flag", "big")
        assert table.texts("more") == ['{"k": [1, 2]}', None, None]
        assert table.texts("big")[2] == str(2**70)
        assert table.numbers("x", missing="nan")[:2].tolist() == [1, 2.5]
        assert written(table).decode() == text
        raw = written(table.with_columns({"k": np.arange(3)})).decode()
        grown = [json.loads(line) for line in raw.split("\n")[:-1]]
        assert grown == [{**line, "k": i} for i, line in enumerate(lines)]

    def test_control_characters_and_blank_lines(self):
        table = read('{"a": "x\x01\ty"}\r\n\r\n{"a": "z"}\n\n')
        assert table.texts("a") == ["x\x01\ty", "z"]
        assert table.place(1) == "row 2 (line 3)"

    def test_half_characters(self):
        table = read('{"a": "\\ud800x"}\n')
        assert json.loads(written(table)) == {"a": "\ud800x"}
        for kind in ("csv", "xlsx", "parquet", "npz"):
            assert read(written(table, format=kind)).n_rows == 1

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('{"a": 1}\n{"a": }\n', "line 2 of standard input is not JSON"),
            ('{"a": 1}\n[1]\n', r"line 2 .* should be a JSON object .*; got '\[1\]'"),
            ('[{"a": 1},\n{"a": 2}]\n', "line 1 .* one object per line"),
            ("{}\n", "has no rows"),
            ('{"a": ' + "[" * 100_000 + "\n", "line 1 .* nested too deeply"),
            ('{"a": ' + "9" * 5000 + "}\n", "line 1 .* is not JSON"),
        ],
    )
    def test_what_is_wrong(self, text, message):
        with pytest.raises(TableError, match=message):
            read(text)

    def test_no_numbers(self):
        table = read('{"a": 1e999, "b": "3", "c": true, "d": [1], "e": NaN}\n')
        assert [table.is_numeric(name) for name in "abcde"] == [False, True, False, False, False]
        assert json.loads(written(table))["e"] is None


class TestNpz:
    def saved(self, **arrays):
        out = io.BytesIO()
        np.savez(out, **arrays)
        return out.getvalue()

    def test_matrix(self):
        X = np.arange(6.0).reshape(3, 2)
        table = read(self.saved(X=X, y=np.array([1, 2, 3]), other=np.zeros((2, 2)), note="hi"))
        assert (table.format, table.names, table.n_rows) == ("npz", ("0", "1", "y"), 3)
        assert table.numbers("1").tolist() == [1, 3, 5]
        with np.load(io.BytesIO(written(table.with_columns({"file": ["a", "b", "c"]})))) as found:
            np.testing.assert_array_equal(found["X"], X)
            assert found["other"].shape == (2, 2)
            assert str(found["note"]) == "hi"
            assert found["file"].tolist() == ["a", "b", "c"]
            assert found["y"].dtype == np.int64
        replaced = read(written(table.with_columns({"0": [7.0, 8.0, 9.0]})))
        assert replaced.numbers("0").tolist() == [7, 8, 9]
        assert replaced.numbers("1").tolist() == [1, 3, 5]
        with pytest.raises(TableError, match="'X' is an array"):
            written(table.with_columns({"X": [1, 2, 3]}))

    @pytest.mark.parametrize("key", ["feature_names", "columns"])
    def test_names(self, key):
        table = read(self.saved(data=np.eye(2), id=["a", "b"], **{key: ["x", "y"]}))
        assert table.names == ("x", "y", "id")
        again = read(written(table.with_columns({"cluster": np.array([1, 0])})))
        assert again.names == ("x", "y", "id", "cluster")

    def test_arrays_alone(self):
        when = np.array(["2024-01-05", "NaT"], "M8[ns]")
        table = read(self.saved(id=np.array([1, 2]), x=np.array([0.5, np.nan]), when=when))
        assert table.names == ("id", "x", "when")
        assert table.texts("x") == ["0.5", None]
        assert table.texts("when") == ["2024-01-05", None]
        assert not table.is_numeric("when")
        assert read(written(table)).texts("when") == ["2024-01-05", None]

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"a": np.zeros(2), "b": np.zeros(3)}, "different lengths: 'a' 2, 'b' 3"),
            ({"a": np.eye(2), "b": np.eye(2)}, r"several matrices \('a', 'b'\); name the data 'X'"),
            ({"X": np.zeros((0, 2))}, "has no rows"),
            ({"X": np.eye(2), "0": np.zeros(2)}, "both named '0'"),
            ({"a": np.zeros(2, [("u", int)])}, "has fields"),
        ],
    )
    def test_what_is_wrong(self, arrays, message):
        with pytest.raises(TableError, match=message):
            read(self.saved(**arrays))

    def test_objects_are_refused(self):
        data = self.saved(id=np.array(["a", None], dtype=object))
        with pytest.raises(TableError, match=r"'id' .* holds Python objects"):
            read(data)

    def test_damaged(self):
        data = self.saved(X=np.eye(3))
        broken = bytearray(data)
        broken[len(data) // 3] ^= 255
        for bad in (data[: len(data) // 2], bytes(broken)):
            with pytest.raises(TableError, match="damaged"):
                read(bad, format="npz")

    def test_equal_tables_are_equal_files(self):
        table = read("id,x\na,1\nb,2\n")
        assert written(table, format="npz") == written(table, format="npz")
        assert read(written(table, format="npz")).texts("id") == ["a", "b"]
