"""Titles above the column names, sums below the rows, and what is wrong in between."""

import io
import json

import pytest
import xlsxwriter

from bckm.tables import (
    OptionError,
    Reading,
    Table,
    TableError,
    look_over,
    mark_problems,
    read_table,
)

STOPS = [
    ["stop", "x", "kg", "note"],
    ["0017", "1,5", "10,5", "a"],
    ["0018", "2,5", "20", "b"],
    ["0019", "3,5", "30,25", ""],
]


def csv(rows, **reading):
    text = "\n".join(";".join(row) for row in rows) + "\n"
    return read_table("-", stdin=io.BytesIO(text.encode()), **reading)


def sheet(rows, **reading):
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    page = book.add_worksheet("s")
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if cell != "":
                page.write(i, j, cell)
    book.close()
    return read_table("-", stdin=io.BytesIO(out.getvalue()), **reading)


@pytest.mark.parametrize("read", [csv, sheet])
def test_a_header_below_a_title_is_found_and_said(read):
    for above in (
        [["Tour plan, week 12", "", "", ""], ["", "", "", ""], ["Depot", "", "", ""]],
        [["Tour plan"], [], ["as of 2026-03-01"]],
    ):
        table = read([*above, *STOPS], decimal=",")
        assert table.names == ("stop", "x", "kg", "note")
        assert table.texts("stop") == ["0017", "0018", "0019"]
        assert table.numbers("kg").tolist() == [10.5, 20, 30.25]
        assert len(table.assumed) == 1
        assert " 4;" in table.assumed[0]
        assert "4" not in table.place(0)
        assert "5" in table.place(0)
        with pytest.raises(OptionError, match="9"):
            read([*above, *STOPS], header_row=9)
    assert read([["a title"], *STOPS], header_row=2).assumed == ()


@pytest.mark.parametrize(
    "rows",
    [
        STOPS,
        [["id", "", ""], ["a", "3", "4"], ["b", "5", "6"]],  # columns without names
        [["id", "", ""], ["a", "b", "c"], ["d", "e", "f"]],
        [["id", "", ""], ["a", "NA", "c"], ["d", "3", "f"]],
        [["name"], ["x"], ["y"]],
        [["id", "x"], ["a", ""], ["b", "2"]],
    ],
)
def test_the_first_row_holds_the_names_unless_it_is_clearly_a_title(rows):
    table = csv(rows)
    assert table.assumed == ()
    assert table.n_rows == len(rows) - 1
    assert table.names[0] == rows[0][0]


def test_a_column_of_names_with_delimiters_is_no_table_below_a_title():
    with pytest.raises(TableError, match="line 2 of"):
        csv([["only"], ["Miller", "John"], ["Doe", "Jane"]])


@pytest.mark.parametrize("word", ["Summe", "Total:", "", "Gesamt kg"])
def test_a_row_of_sums_is_left_out(word):
    table = csv([*STOPS, [word, "", "60,75", ""]])
    assert table.n_rows == 3
    assert "line 5" in table.assumed[0]
    assert "else --totals keep" in table.assumed[0]
    assert csv([*STOPS, [word, "", "60,75", ""]], totals="keep").n_rows == 4
    text = csv([*STOPS, ["0020", "4", "heavy", ""], [word, "", "60,75", ""]])  # as sheets sum
    assert text.n_rows == 4
    remark = csv([*STOPS, [word, "", "60,75", ""], ["as of today", "", "", ""]])
    assert remark.n_rows == 3
    assert len(remark.assumed) == 2


@pytest.mark.parametrize(
    "row",
    [
        ["0020", "1,5", "60,75", "c"],  # by accident
        ["", "1,5", "60,75", "c"],  # no sum of x
        ["Total station", "4,5", "7", "c"],  # a customer
        ["0020", "", "", ""],
    ],
)
def test_other_last_rows_stay(row):
    table = csv([*STOPS, row])
    assert table.n_rows == 4
    assert table.assumed == ()
    with pytest.raises(TableError, match="does not sum up"):
        csv([*STOPS, ["0020", "1", "60,75", "c"]], totals="drop")


def test_a_likely_sum_is_a_problem_with_a_remedy():
    table = csv([*STOPS, ["Summe", "", "99", ""]])
    (problem,) = [one for one in look_over(table) if one.kind == "totals"]
    assert table.n_rows == 4
    assert csv([*STOPS, ["Summe", "", "99", ""]], **problem.remedies[0].change).n_rows == 3


def test_rows_are_left_out_by_their_number_in_the_file():
    rows = [["a title"], *STOPS, ["0020", "1"]]
    with pytest.raises(TableError, match="--drop-rows 6"):
        csv(rows)
    assert csv(rows, drop_rows=(4, 6)).texts("stop") == ["0017", "0019"]
    with pytest.raises(OptionError, match="line 99"):
        csv(rows, drop_rows=(99,))
    lines = b'{"id": "a"}\n{"id": "b"}\n'
    found = read_table("-", stdin=io.BytesIO(lines), drop_rows=(1,))
    assert found.texts("id") == ["b"]


def test_repeated_names_are_told_apart_and_said():
    table = csv([["kg", "kg", "x"], ["1", "2", "3"], ["3", "4", "5"]])
    assert table.names == ("kg (column 1)", "kg (column 2)", "x")
    assert "2 columns of standard input are named 'kg'" in table.assumed[0]
    with pytest.raises(TableError, match="there is no column 'kg'"):
        table.numbers("kg")


def test_all_problems_of_all_columns_at_once():
    rows = [
        ["stop", "lat", "lon", "kg", "m", "day", "same"],
        ["a", "48.1", "11.5", "3", "12 kg", "1.3.2026", "1"],
        ["a", "", "11.6", "x", "350 g", "2.3.2026", "1"],
        ["", "11.5", "48.2", "", "7", "3.3.2026", "1"],
        ["c", "48.2", "11.4", "4", "8", "4.3.2026", "1"],
        ["d", "0", "0", "5", "9", "5.3.2026", "1"],
        *[[f"e{i}", "48.3", "11.5", "6", "9", "5.3.2026", "1"] for i in range(5)],
    ]
    roles = {"stop": "id", "lat": "latitude", "lon": "longitude", "kg": "number", "m": "number"}
    found = look_over(csv(rows), {**roles, "day": "number", "same": "number"})
    assert [(one.kind, one.column, one.rows) for one in found] == [
        ("id missing", "stop", (2,)),
        ("id repeated", "stop", (1,)),
        ("missing", "lat", (1,)),
        ("not a number", "kg", (1,)),
        ("missing", "kg", (2,)),
        ("unit", "m", (0, 1)),
        ("date", "day", tuple(range(10))),
        ("constant", "same", ()),
        ("place", "lat", (2,)),
        ("place", "lat", (4,)),
    ]
    assert [one.blocking for one in found] == [True] * 7 + [False] * 3
    assert not any(one.blocking for one in look_over(csv(rows)))
    assert csv(rows, drop_rows=(4,)).n_rows == 9
    exchanged = Table.of({"lat": [111.5, 112.0], "lon": [48.0, 48.1]})
    (problem,) = look_over(exchanged, {"lat": "latitude", "lon": "longitude"})[-1:]
    assert problem.kind == "exchanged"


def test_every_remedy_can_be_taken():
    rows = [
        ["id", "kg", "min"],
        *[["a", "1,5", "3"], ["b", "x", "4"], ["c", "", "5"], ["d", "7,5", "?"]],
        *[[str(i), "9,25", str(i)] for i in range(20)],
        ["a", "4,5", "2"],
    ]
    text = "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)

    def read(reading):
        return read_table("-", reading, stdin=io.BytesIO(text.encode()))

    reading = Reading()
    taken = []
    for _ in range(20):
        problems = [one for one in look_over(read(reading)) if one.remedies]
        if not problems:
            break
        remedy = problems[0].remedies[0]
        taken.append(remedy.key)
        reading = reading.changed(remedy.change)
        assert Reading.of(json.loads(json.dumps(reading.dict()))) == reading
    assert taken == ["drop", "decimal", "drop", "mean", "drop"]


def test_fills_only_where_there_is_no_number():
    """A cell that says a number in another way is no gap, in whatever order remedies are taken."""
    cells = ["10", "20", "", "unknown", "47,7", "12 kg", "1.3.2026"]
    table = Table.of({"kg": cells}).with_fills({"kg": "mean"})
    assert table.assumed == ("2 cells of column 'kg' were filled with the mean, 15.",)
    (problem,) = look_over(table, {"kg": "number"})
    assert problem.rows == (4, 5, 6)
    assert not any("fills" in remedy.change for remedy in problem.remedies)
    reading = Reading(fills={"kg": "mean"}, decimal=",")
    table = Table.of({"kg": [10.0, None, "47,5"]})
    (commas, gaps) = look_over(table, {"kg": "number"})
    assert [one.key for one in commas.remedies] == ["decimal", "drop"]
    assert gaps.remedies[0].text == "fill 1 cell with the mean"
    table = csv([["id", "kg"], ["a", "10"], ["b", ""], ["c", "47,5"]], reading=reading)
    assert table.numbers("kg").tolist() == [10, 28.75, 47.5]


def test_places_in_a_column_of_texts_are_no_warning(recwarn):
    table = Table.of({"lat": ["48,1", "48,2"], "lon": ["11,5", "11,6"]})
    assert look_over(table, {"lat": "latitude", "lon": "longitude"})
    assert not recwarn.list


def test_marked_rows_are_those_of_the_marked_sheet(tmp_path):
    table = sheet([["Stops of Monday"], [], *STOPS[:3], ["0019", "3,5", "x", ""]], header_row=3)
    mark_problems(table, look_over(table, {"kg": "number"}), tmp_path / "problems.xlsx")
    told = read_table(tmp_path / "problems.xlsx", sheet="problems")
    assert (told.texts("rows here"), told.texts("rows in the file")) == (["2, 4"], ["4, 6"])
    assert read_table(tmp_path / "problems.xlsx").cells("kg")[4 - 2] == "x"


def test_fills_leave_cells_as_they_are():
    table = csv([["id", "kg"], ["a", "3"], ["b", ""], ["c", "?"]], fills={"kg": "median"})
    assert table.numbers("kg").tolist() == [3, 3, 3]
    assert table.cells("kg") == ("3", "", "?")
    assert "2 cells of column 'kg' were filled with the median, 3." in table.assumed
    for bad in ("much", "inf", 3):
        with pytest.raises(OptionError, match="mean, median or a number"):
            Reading(fills={"kg": bad})
    for change in ({"sheets": 1}, {"drop_rows": "12"}, {"header_row": 0}, {"totals": "maybe"}):
        with pytest.raises(OptionError):
            Reading.of(change)
