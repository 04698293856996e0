"""A planner with stops and a school office with pupils, by the command line alone."""

import io

import numpy as np
import pytest
import python_calamine
import xlsxwriter

from bckm.tables import read_table

QUICK = ("--search", "none", "--n-init", 1)
VANS = "Van 1,Van 2,Van 3"


def sheets(path):
    book = python_calamine.CalamineWorkbook.from_path(path)
    return {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}


@pytest.fixture
def stops(tmp_path):
    """60 stops below a title, with a row of sums; decimal commas, as Windows writes them."""
    rng = np.random.default_rng(1)
    rows, kg = [], 0
    for i in range(60):
        x, y, weight = *rng.normal(0, 5, 2), int(rng.integers(5, 30))
        kg += weight
        cells = [f"{i + 1:04d}", "Bäcker" if i % 9 else "=1+1", f"{x:.2f}", f"{y:.2f}"]
        rows.append([*cells, str(weight), str(i % 7)])
    lines = [["Tourenplan Süd"], [], [], ["stop", "name", "x", "y", "kg", "min"]]
    lines += [[cell.replace(".", ",") for cell in row] for row in rows]
    lines.append(["Summe", "", "", "", str(kg), str(sum(i % 7 for i in range(60)))])
    text = "\n".join(";".join(line + [""] * (6 - len(line))) for line in lines)
    path = tmp_path / "stops.csv"
    path.write_bytes(text.encode("cp1252"))
    return path


def test_names_lists_and_last_weeks_plan(run, stops, tmp_path):
    asked = ("--clusters", VANS, "--size", "23", "--columns", "x,y", "--id", "stop", *QUICK)
    first = run(
        "fit", stops, *asked, "--capacity", "kg:450", "--capacity", "min:90", "-o", "w1.xlsx"
    )
    assert first.code == 0, first.err
    for words in ("checking whether", "choosing the first centers", "for the first time"):
        assert first.err.count(words) == 1
    for words in ("cp1252", "line 4", "sums up the rows above", "--search global"):
        assert words in first.out
    assert "min" in first.out.split("✓")[0].split("kg")[1]  # both capacities
    last = read_table(tmp_path / "w1.xlsx")
    assert set(last.texts("cluster")) == set(VANS.split(","))
    assert last.texts("stop")[0] == "0001"
    more = ("--capacity", "kg:450,450,430", "--stay", "w1.xlsx:6")
    answer = run(
        *("fit", stops, *asked, *more, "-o", "w2.csv", "--lists", "d.xlsx", "--lists", "d.html"),
        *("--write-rules", "rules.toml", "--save", "w2.bckm"),
    )
    assert answer.code == 0, answer.err
    moved = read_table(tmp_path / "w2.csv").texts("cluster") != last.texts("cluster")
    found = sheets(tmp_path / "d.xlsx")
    assert list(found) == ["overview", "Van 1", "Van 2", "Van 3"]
    assert run("show", "w2.bckm", "--lists", "saved.xlsx").code == 0
    assert sheets(tmp_path / "saved.xlsx")["Van 1"][3][:4] == ["no.", "id", "x", "y"]
    assert found["overview"][0][:5] == ["cluster", "size", "size max", "kg", "kg max"]
    assert [row[4] for row in found["overview"][1:]] == [450, 450, 430]
    assert all(row[1] <= 23 and row[3] <= row[4] for row in found["overview"][1:])
    van = found["Van 1"]
    assert van[3] == ["no.", "stop", "name", "x", "y", "kg", "min", "moved from"]
    assert [row[0] for row in van[4:]] == list(range(1, len(van) - 3))
    assert isinstance(van[4][3], float)  # decimal commas are numbers in a sheet
    came = [row[7] for name in VANS.split(",") for row in found[name][4:] if row[7]]
    assert len(came) <= 6
    assert bool(came) == moved
    page = (tmp_path / "d.html").read_text("utf-8")
    assert page.count("<section") == 3
    assert "Bäcker" in page
    # the rules file finds last week's plan from its own folder
    again = run("fit", stops, "--rules", "rules.toml", *QUICK, "-o", "w3.csv")
    assert again.code == 0, again.err
    assert (tmp_path / "w3.csv").read_bytes() == (tmp_path / "w2.csv").read_bytes()


def test_earlier_results_in_other_shapes(run, stops, tmp_path):
    (tmp_path / "before.csv").write_text("stop,van\n1,Van 2\n2,Van 1\n77,Van 9\n3,Van 9\n")
    asked = ("--clusters", VANS, "--columns", "x,y", "--id", "stop", *QUICK)
    answer = run("fit", stops, *asked, "--stay", "before.csv:0", "-o", "out.csv")
    assert answer.code == 5  # which column? "van" is known for 2 of 4
    assert "before.csv:COLUMN:MOVES" in answer.err
    answer = run("fit", stops, *asked, "--stay", "before.csv:van:0", "-o", "out.csv")
    assert answer.code == 0, answer.err
    assert read_table(tmp_path / "out.csv").texts("cluster")[:2] == ["Van 2", "Van 1"]
    for words in (
        "3 ids of before.csv were matched although zeros",
        "no longer",
        "57 rows are new, 1 is gone",
    ):
        assert words in answer.out
    (tmp_path / "count.csv").write_text("stop,cluster\n0001,3\n0002,1\n")
    answer = run("fit", stops, *asked, "--stay", "count.csv:0", "-o", "out.csv")
    assert read_table(tmp_path / "out.csv").texts("cluster")[:2] == ["Van 3", "Van 1"]
    assert "cluster 1 of count.csv is 'Van 1' now" in answer.out
    assert run("fit", stops, "-k", 3, "--stay", "count.csv:0").code == 2  # no --id
    assert run("fit", stops, *asked, "--stay", "gone.csv:0").code == 2
    (tmp_path / "other.csv").write_text("stop,cluster\nx,1\ny,2\n")
    assert "no id of stops.csv" in run("fit", stops, *asked, "--stay", "other.csv:0").err


def test_all_problems_at_once_and_marked(run, tmp_path):
    rows = [
        ["id", "x", "kg", "friend"],
        ["a", 1, "heavy", "b"],
        ["a", "", 3, "zoe"],
        ["c", 3, "", ""],
    ]
    book = xlsxwriter.Workbook(str(tmp_path / "bad.xlsx"))
    sheet = book.add_worksheet("stops")
    for i, row in enumerate(rows):
        sheet.write_row(i, 0, row)
    book.close()
    asked = ("--capacity", "kg:9", "--columns", "x", "--id", "id", "--together-with", "friend")
    answer = run("fit", "bad.xlsx", "-k", 2, *asked, "--mark", "problems.xlsx")
    assert answer.code == 5
    for words in (
        "bad.xlsx has 5 problems",
        "'heavy'",
        "'a' appears",
        "no number in 1 of 3",
        "'zoe'",
    ):
        assert words in answer.err
    found = sheets(tmp_path / "problems.xlsx")
    assert list(found) == ["stops", "problems"]
    assert {row[0] for row in found["problems"][1:]} == {"id", "x", "kg", "friend"}
    marked = (tmp_path / "problems.xlsx").read_bytes()
    assert b"comments" in marked
    assert run("fit", "bad.xlsx", "-k", 2, *asked, "--mark", "problems.csv").code == 2
    mended = ("--drop-rows", 3, "--fill", "kg:0")
    assert run("fit", "bad.xlsx", "-k", 2, *asked[:6], *mended, *QUICK, "--quiet").code == 0


def test_wishes_in_words(run, tmp_path):
    text = "name,x,friend\nann,0,joe\nbob,1,\neve,2,\njoe,8,\nkim,9,ann\n"
    (tmp_path / "p.csv").write_text(text)
    asked = ("fit", "p.csv", "-k", 2, "--id", "name", "--columns", "x", "--size", "2:3", *QUICK)
    for strength, together in (
        ("@strong", True),
        ("@slight", False),
        ("@0.01", False),
        ("@must", True),
    ):
        wish = f"together-with=friend{strength}"
        answer = run(*asked, "--nice", wish, "-o", "out.csv", "--write-rules", "r.toml")
        assert answer.code == 0, answer.err
        found = dict(
            zip(*(read_table("out.csv").texts(c) for c in ("name", "cluster")), strict=True)
        )
        assert (len({found[one] for one in ("ann", "joe", "kim")}) == 1) == together
    rules = (tmp_path / "r.toml").read_text()
    assert 'strength = "must"' in rules
    assert "soft" in run(*asked, "--nice", "size=4:", "-o", "out.csv").out
    for bad in ("household", "links=a.csv", "together", "size=x", "nice=a"):
        assert run(*asked, "--nice", bad).code == 2
    answer = run(*asked, "--nice", "together=household@stong")
    assert answer.code == 2
    assert "got 'stong'; did you mean 'strong'?" in answer.err
    answer = run(*asked, "--nice", "together=household@very")
    assert answer.code == 2
    assert "got 'very'." in answer.err
    assert "household@very@nice" in answer.err  # for a column that is called so


def test_clusters_is_a_number_or_names(run, tmp_path):
    (tmp_path / "p.csv").write_text("x\n1\n2\n8\n9\n")
    for bad in ("0", "-2", "1o", "a,a", "a,", ""):
        answer = run("fit", "p.csv", "--clusters", bad)
        assert answer.code == 2, bad
    answer = run("fit", "p.csv", "-k", ' North ,"a, b"', "--quiet", "-o", "out.csv")
    assert answer.code == 0, answer.err
    assert set(read_table("out.csv").texts("cluster")) == {"North", "a, b"}
    (tmp_path / "r.toml").write_text("clusters = 3\n")
    answer = run("fit", "p.csv", "--rules", "r.toml", "-k", "North,South", "-q", "-o", "out.csv")
    assert answer.code == 0, answer.err


def test_hostile_names_of_clusters_are_sheets_and_text(run, tmp_path):
    (tmp_path / "p.csv").write_text("id,x\n=a,1\n<b>,2\nc,8\nd,9\n")
    long = "x" * 40
    names = f'"[a]:*?/\\",History,{long}1,{long}2'
    answer = run("fit", "p.csv", "--clusters", names, "--columns", "x", *QUICK, "--lists", "l.xlsx")
    assert answer.code == 0, answer.err
    titles = list(sheets(tmp_path / "l.xlsx"))
    assert len({title.casefold() for title in titles}) == 5
    assert all(len(title) <= 31 for title in titles)
    answer = run(
        "fit", "p.csv", "-k", "<script>,'b'", "--columns", "x", "--lists", "l.html", *QUICK
    )
    page = (tmp_path / "l.html").read_text("utf-8")
    assert "<script>" not in page
    assert "<b>" not in page
    assert run("fit", "p.csv", "-k", 2, "--lists", "l.txt").code == 2
    assert io.StringIO(page).readline() == "<!DOCTYPE html>\n"
