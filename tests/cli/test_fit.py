"""`bckm fit` as a person calls it."""

import collections
import csv
import json
import os

import numpy as np
import pytest

import bckm
from bckm.kernels import missing
from bckm.tables import Table, read_table, write_table
from tests.cli.conftest import read

FEATURES = ("--columns", "x_km,y_km", "--id", "customer")
QUICK = ("--search", "none", "--n-init", 1)


def sizes_of(rows):
    return collections.Counter(row["cluster"] for row in rows)


def test_labels_come_back_with_all_columns_and_every_rule_holds(run, customers, tmp_path):
    rules = ("--size", "45:55", "--together", "household")
    answer = run("fit", customers, "-k", 6, *rules, *FEATURES, *QUICK)
    assert answer.code == 0, answer.err
    before, rows = read(customers), read(tmp_path / "customers-clusters.csv")
    names = {row["name"] for row in rows}
    assert names == {"Müller, Jürgen", "'=1+1", 'O"Brien', "Łukasz"}  # no formula
    unchanged = [name for name in before[0] if name != "name"]
    assert [[row[name] for name in unchanged] for row in rows] == [
        [row[name] for name in unchanged] for row in before
    ]
    assert set(sizes_of(rows)) == set("123456")
    assert all(45 <= size <= 55 for size in sizes_of(rows).values())
    clusters = collections.defaultdict(set)
    for row in rows:
        if row["household"]:
            clusters[row["household"]].add(row["cluster"])
    assert len(clusters) == 20
    assert all(len(found) == 1 for found in clusters.values())
    assert "customers-clusters.csv" in answer.out
    assert "apostrophe" in answer.out


def test_capacity_apart_quota(run, customers, tmp_path):
    total = sum(int(row["kg"]) for row in read(customers))
    answer = run(
        *("fit", customers, "-k", 5, "--capacity", f"kg:{total // 6}:{total // 4}"),
        *("--apart", "household", "--quota", "gender:±5%", *FEATURES, "--quiet"),
    )
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    rows = read(tmp_path / "customers-clusters.csv")
    for cluster in "12345":
        mine = [row for row in rows if row["cluster"] == cluster]
        assert total // 6 <= sum(int(row["kg"]) for row in mine) <= total // 4
        assert abs(np.mean([row["gender"] == "f" for row in mine]) - 0.5) <= 0.05 + 1e-9
        houses = [row["household"] for row in mine if row["household"]]
        assert len(houses) == len(set(houses))


def test_options_become_a_rules_file_that_asks_the_same(run, customers, tmp_path):
    options = ("--size", "45:55", "--capacity", "kg:0:900", "--quota", "gender:±20%", *FEATURES)
    first = run("fit", customers, "-k", 6, *options, "--seed", 3, "--write-rules", "rules.toml")
    assert first.code == 0
    second = run("fit", customers, "--rules", "rules.toml", "--out", "again.csv")
    assert second.code == 0
    here, again = tmp_path / "customers-clusters.csv", tmp_path / "again.csv"
    assert here.read_bytes() == again.read_bytes()


def test_links_by_id_hard_and_soft(run, customers, tmp_path):
    (tmp_path / "links.csv").write_text(
        "kind,a,b,confidence\ntogether,c001,c200,\napart,c002,c003,inf\ntogether,c100,c250,0.000001\n"
    )
    saved = ("--save", "fit.bckm", "--json")
    answer = run("fit", customers, "-k", 4, "--links", "links.csv", *FEATURES, *saved)
    assert answer.code == 0
    cluster = {row["customer"]: row["cluster"] for row in read(tmp_path / "customers-clusters.csv")}
    assert cluster["c001"] == cluster["c200"]
    assert cluster["c002"] != cluster["c003"]
    found = json.loads(answer.out)
    assert found["n_clusters"] == 4
    lost = [one["message"] for one in found["violated"]]
    assert (cluster["c100"] != cluster["c250"]) == any("c100" in one for one in lost)


def test_infeasible_rules_are_told_on_stdout_with_code_3(run, customers):
    args = ("-k", 2, "--size", "100:120", *FEATURES)
    answer = run("fit", customers, *args)
    assert answer.code == 3
    assert "240" in answer.out
    assert "300" in answer.out
    found = json.loads(run("fit", customers, *args, "--json", "--quiet").out)
    assert found["verdict"] == "infeasible"
    assert found["minimal"] is True
    assert len(found["conflict"]) == 1
    checked = run("check", customers, "-k", 2, "--size", "100:120", "--json")
    assert checked.code == 3
    assert json.loads(checked.out) == found
    assert not list(customers.parent.glob("*clusters*"))


def test_check_says_yes(run, customers):
    answer = run("check", customers, "-k", 2, "--size", "150", "--together", "household")
    assert (answer.code, answer.out) == (0, "the rules can be met.\n")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("-k", 3, "--capacity", "kgs:0:500"), 2, "did you mean 'kg'?"),
        (("-k", 3, "--columns", "x_kn,y_km"), 2, "did you mean 'x_km'?"),
        (("--columns", "x_km"), 2, "number of clusters missing"),
        (("-k", 3, "--size", "a:b"), 2, "40:60"),
        (("-k", 3, "--size", ""), 2, "the value is empty"),
        (("-k", 3, "--size", "60:40"), 2, "60 is greater than 40"),
        (("-k", 3, "--size", "10,20"), 2, "got 2 bounds for 3 clusters"),
        (("-k", 400, "--columns", "x_km"), 2, "cannot form 400 clusters from 300 rows"),
        (("-k", 3, "--quota", "gender"), 2, "gender:±10%"),
        (("-k", 3, "--quota", "gender:lots", "--columns", "x_km"), 2, "within"),
        (("-k", 3, "--columns", "income"), 5, "--missing median"),
        (("-k", 3, "--columns", "name"), 5, "Müller, Jürgen"),
        (("-k", 3, "--id", "name"), 5, "name"),
        (("-k", 3, "--fixed", "kg", "--columns", "x_km"), 5, "numbered 1 to 3"),
        (("-k", 3, "--out", "nowhere/labels.csv"), 2, "nowhere"),
        (("-k", 3, "--report", "report.pdf"), 2, ".html or .md"),
        (("-k", 3, "--out", "customers.csv"), 2, "overwrite"),
        (("-k", 3, "--save", "a.x", "--summary", "a.x"), 2, "--save and --summary cannot both"),
        (("-k", 3, "--report", "a.md", "--report", "a.md"), 2, "--report and --report"),
        (("-k", 3, "--out", "a.xls"), 2, "write .xlsx"),
        (("-k", 3, "--save", "-"), 2, "--save cannot go to standard output"),
        (("-k", 3, "--write-rules", "-"), 2, "--write-rules cannot go"),
        (("-k", 3, "--checkpoint", "-"), 2, "--checkpoint cannot go"),
        (("-k", 3, "--out", "."), 2, "is a directory"),
        (("-k", 3, "--checkpoint", "pipe"), 2, "not a regular file"),
        (("-k", 3, "--out", "-", "--json"), 2, "--out and --json cannot both go"),
        (("-k", 3, "--centers", "-", "--summary", "-"), 2, "--centers and --summary cannot"),
        (("-k", 3, "--solver", "nearest", "--size", "9:", "--columns", "x_km"), 2, "nearest"),
        (("-k", 3, "--metric", "latlon", "--columns", "x_km"), 2, "latitude"),
        (("-k", 3, "--metric", "latlon", "--scale", "robust"), 2, "degrees"),
        (("-k", 3, "--metric", "learned", *FEATURES), 2, "nothing to learn from"),
        (("-k", 3, "--metric", "learned", "--apart", "household", *FEATURES), 2, "--together"),
        (
            ("-k", 3, "--columns", "x_km", "--label-column", "customer", "--id", "customer"),
            2,
            "used",
        ),
        (("-k", 3, "--columns", "x_km", "--label-column", " "), 2, "must not be blank"),
        (("-k", 3, "--size", f":{10**20}", "--columns", "x_km"), 2, "large"),
    ],
)
def test_mistakes_get_a_sentence_and_a_code(run, customers, args, code, words):
    os.mkfifo(customers.parent / "pipe")
    answer = run("fit", customers, *args)
    assert answer.code == code, (answer.out, answer.err)
    assert words in answer.err
    assert "Traceback" not in answer.err
    assert not list(customers.parent.glob("*clusters*"))


def test_a_file_that_is_not_there_may_have_a_near_one(run, customers):
    answer = run("fit", "custmers.csv", "-k", 3)
    assert answer.code == 2
    assert "customers.csv" in answer.err


def test_an_answer_far_from_proven_is_told(run, tmp_path):
    rows = "".join(f"{row % 2 * 9 + row / 100},{row % 3 + 1}\n" for row in range(60))
    (tmp_path / "d.csv").write_text(f"x,kg\n{rows}")
    tight = ("-k", 6, "--size", 10, "--capacity", "kg:20:20", "--solver", "greedy", "--n-init", 1)
    answer = run("fit", "d.csv", *tight, "--columns", "x", "--search", "none")
    assert answer.code == 0
    assert "--search global" in answer.out


def test_centers_are_written_as_the_table_is(run, tmp_path):
    (tmp_path / "d.csv").write_text("name;x\nann;0,5\nbob;1,5\njoe;9,5\n")
    assert run("fit", "d.csv", "-k", 1, "--centers", "c.csv").code == 0
    assert (tmp_path / "c.csv").read_text().splitlines()[1].startswith("1;3;3,8333")


def test_an_unknown_id_in_the_links_names_the_row_and_a_near_one(run, customers, tmp_path):
    (tmp_path / "links.csv").write_text("kind,a,b\ntogether,c001,c00l\n")
    answer = run("fit", customers, "-k", 3, "--links", "links.csv", *FEATURES)
    assert answer.code == 5
    assert "links.csv, row 1" in answer.err
    assert "'c00l'" in answer.err


def test_a_pipe_from_stdin_to_stdout(run, customers):
    answer = run("fit", "-", "-k", 3, *FEATURES, stdin=customers.read_bytes())
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "customer,name,x_km,y_km,kg,gender,household,income,cluster"
    assert len(lines) == 301
    assert "clusters" in answer.err  # the summary goes where it does no harm


def test_missing_values_can_be_filled_and_that_is_told(run, customers):
    answer = run("fit", customers, "-k", 3, "--columns", "income", "--missing", "median")
    assert answer.code == 0
    assert "30 missing values of 'income'" in answer.out


def test_old_clusters_are_no_feature_and_are_replaced(run, customers, tmp_path):
    assert run("fit", customers, "-k", 3, "--columns", "x_km", "-o", "one.csv").code == 0
    options = ("-o", "two.csv", "--missing", "median", "--save", "f.bckm")
    answer = run("fit", "one.csv", "-k", 3, *options)
    assert answer.code == 0
    assert "column 'cluster' of the table was replaced" in answer.out
    assert "'x_km', 'y_km', 'kg', 'income':" in answer.out  # what it was clustered by
    assert list(read(tmp_path / "two.csv")[0]) == [*read(customers)[0], "cluster"]


@pytest.mark.skipif(bool(missing), reason=missing)
def test_a_time_limit_gives_an_answer_and_code_4(run, customers, tmp_path):
    limit = ("--search", "global", "--time-limit", 0.3)
    answer = run("fit", customers, "-k", 9, "--size", "30:36", *FEATURES, *limit)
    assert answer.code == 4
    assert len(read(tmp_path / "customers-clusters.csv")) == 300
    assert "time limit" in answer.out


@pytest.mark.parametrize("option", ["--out", "--centers", "--summary"])
def test_what_goes_to_stdout_is_alone_there(run, customers, option):
    outputs = {"--out": "labels.csv", option: "-"}
    named = [one for pair in outputs.items() for one in pair]
    answer = run("fit", customers, "-k", 3, *FEATURES, *QUICK, *named)
    assert answer.code == 0
    assert "300 samples in 3 clusters" in answer.err
    if option == "--summary":
        assert json.loads(answer.out)["n_clusters"] == 3
    else:
        lines = list(csv.reader(answer.out.splitlines()))
        assert len(lines) == (301 if option == "--out" else 4)
        assert len({len(line) for line in lines}) == 1
    answer = run("fit", customers, "-k", 3, "--size", "1:9", *FEATURES, *named)
    assert (answer.code, answer.out) == (3, "")
    assert "27 samples" in answer.err


def test_pipes_take_all_that_comes(run, customers, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    named = [one for name in ("-o", "--centers", "--summary") for one in (name, "pipe")]
    assert run("fit", customers, "-k", 3, *FEATURES, *QUICK, *named).code == 0
    found = os.read(reader, 100_000)
    os.close(reader)
    assert found.startswith(b"customer,name")
    assert found.endswith(b"}\n")


def test_what_cannot_be_written_does_not_keep_the_rest_from_it(run, customers, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bckm.archive.save", full)
    named = ("--save", "f.bckm", "--summary", "s.json")
    answer = run("fit", customers, "-k", 3, *FEATURES, *QUICK, *named)
    assert answer.code == 5
    assert "everything could not be written to f.bckm: " in answer.err
    assert "Written: summary s.json" in answer.out
    assert "f.bckm" not in answer.out


@pytest.mark.parametrize(
    ("data", "args"),
    [
        ("x;w\n1,500;3\n4,500;0\n", ("--decimal", ",", "--columns", "x")),
        ("x!w\n1.5!3\n4.5!0\n", ("--delimiter", "!", "--columns", "x")),
        ("x,w,Größe\n1.5,3,\n4.5,0,\n", ("--encoding", "latin-1", "--columns", "x")),
        ('x,w,"a,b"\n1.5,3,0\n4.5,0,0\n', ("--columns", 'x, "a,b"')),
    ],
)
def test_how_tables_are_written_and_weighed(run, tmp_path, data, args):
    (tmp_path / "d.csv").write_bytes(data.encode("latin-1"))
    named = ("--weight", "w", "--centers", "c.jsonl", "--title", "Two rows")
    answer = run("fit", "d.csv", "-k", 1, *named, *args)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("Two rows\n")
    assert json.loads((tmp_path / "c.jsonl").read_text())["x"] == 1.5


def test_a_sheet_that_is_not_there(run, tmp_path):
    write_table(Table.of({"x": [1, 2]}), tmp_path / "d.xlsx")
    assert "Tours" in run("fit", "d.xlsx", "-k", 1, "--sheet", "Tours").err


def test_seeds_count(run, customers):
    args = ("fit", customers, "-k", 9, *FEATURES, *QUICK, "--json", "-q")
    plain, zero, one = (
        json.loads(run(*args, *more).out)["inertia"] for more in ((), ("--seed", 0), ("--seed", 1))
    )
    assert plain == zero != one


def test_a_feature_called_size_has_a_center_too(run, tmp_path):
    (tmp_path / "d.csv").write_text("size\n1\n2\n8\n9\n")
    assert run("fit", "d.csv", "-k", 2, "--centers", "c.csv").code == 0
    rows = read(tmp_path / "c.csv")
    assert {(row["size"], row["size (center)"]) for row in rows} == {("2", "1.5"), ("2", "8.5")}


def test_a_kind_of_file_that_is_only_read_gets_another_suffix():
    from bckm.cli._outputs import labels_path

    names = {"a/b.xls": "b-clusters.xlsx", "b.c.ODS": "b-clusters.c.xlsx", "b": "b-clusters"}
    assert {data: labels_path(data, None) for data in names} == names
    assert labels_path("-", None) == "-"


def test_links_of_a_rules_file_are_not_overwritten(run, customers, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "links.csv").write_text("kind,a,b\ntogether,c001,c200\n")
    (tmp_path / "sub" / "rules.toml").write_text('clusters = 3\n[[links]]\nfile = "links.csv"\n')
    answer = run("fit", customers, "--rules", "sub/rules.toml", "-o", "sub/links.csv", *FEATURES)
    assert answer.code == 2
    assert "overwrite" in answer.err


@pytest.mark.parametrize("verb", ["check", "fit"])
def test_a_reader_of_a_refusal_knows_how_columns_were_read(run, tmp_path, verb):
    (tmp_path / "d.csv").write_text("x,lead\n1,yes\n2,yes\n3,no\n4,no\n")
    answer = run(verb, "d.csv", "-k", 1, "--apart", "lead")
    assert answer.code == 3
    assert "Note: column 'lead' flags rows: those with 'no' are in no group." in answer.err


def test_all_outputs(run, customers, tmp_path):
    outputs = ("--report", "r.html", "--report", "r.md", "--save", "f.bckm", "--centers", "c.csv")
    more = ("--summary", "s.json", "--write-rules", "r.toml", "--scale", "standard")
    answer = run("fit", customers, "-k", 3, "--size", "90:110", *FEATURES, *outputs, *more)
    assert answer.code == 0
    assert "<script" not in (tmp_path / "r.html").read_text()
    assert "standard" in (tmp_path / "r.html").read_text()
    centers = read(tmp_path / "c.csv")
    assert [row["cluster"] for row in centers] == ["1", "2", "3"]
    rows = read(tmp_path / "customers-clusters.csv")
    mine = [float(row["x_km"]) for row in rows if row["cluster"] == "2"]
    assert float(centers[1]["x_km"]) == pytest.approx(np.mean(mine))  # in the units of the table
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["sizes"] == [int(row["size"]) for row in centers]
    shown = run("show", "f.bckm")
    assert shown.code == 0
    assert json.loads(run("show", "f.bckm", "--json").out) == summary
    assert run("show", "f.bckm", "--report", "again.html").code == 0
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "r.html").read_bytes()
    assert "#" in run("show", "f.bckm", "--markdown").out


def test_a_damaged_file_is_refused(run, tmp_path):
    (tmp_path / "f.bckm").write_bytes(b"PK\x03\x04 nothing")
    answer = run("show", "f.bckm")
    assert answer.code == 5
    assert "f.bckm" in answer.err


def test_excel_in_and_out(run, customers, tmp_path):
    write_table(read_table(customers), tmp_path / "customers.xlsx")
    answer = run("fit", "customers.xlsx", "-k", 3, "--size", "100", *FEATURES)
    assert answer.code == 0, answer.err
    found = read_table(tmp_path / "customers-clusters.xlsx")
    assert found.names[-1] == "cluster"
    assert sorted(collections.Counter(found.texts("cluster")).values()) == [100, 100, 100]
    assert "=1+1" in found.texts("name")  # a text, not a formula


@pytest.mark.skipif(bool(missing), reason=missing)
def test_a_killed_fit_goes_on_from_its_checkpoint(run, customers, tmp_path):
    limit = ("--search", "global", "--time-limit", 0.8, "--checkpoint", "fit.ckpt")
    args = ("fit", customers, "-k", 9, "--size", "30:36", *FEATURES)
    assert run(*args, *limit).code == 4
    assert (tmp_path / "fit.ckpt").exists()
    other = run("fit", customers, "-k", 8, "--checkpoint", "fit.ckpt", *FEATURES)
    assert other.code == 2
    assert "fit.ckpt" in other.err
    (tmp_path / "fit.ckpt").write_bytes(b"PK")
    assert run(*args, *limit).code == 5


def test_a_finished_fit_leaves_no_checkpoint(run, customers, tmp_path):
    args = ("fit", customers, "-k", 3, "--size", "90:110", *FEATURES)
    assert run(*args, "--checkpoint", "fit.ckpt").code == 0
    assert not (tmp_path / "fit.ckpt").exists()


def test_names_of_clusters_from_the_rules_to_the_lists(run, tmp_path):
    rows = "".join(f"s{p},{p % 3 * 9 + p / 100},{'van 2' if p == 4 else ''}\n" for p in range(30))
    (tmp_path / "d.csv").write_text(f"stop,x,before\n{rows}")
    names = ("--cluster-names", 'van 1,van 2,"van, 3"')
    asked = ("--size", "20%:50%", "--fixed", "before", "--id", "stop", "--columns", "x", *names)
    outputs = ("-o", "o.csv", "--centers", "c.csv", "--report", "r.md", "--report", "r.html")
    answer = run("fit", "d.csv", *asked, *outputs, "--save", "f.bckm", "--summary", "s.json")
    assert answer.code == 0, answer.err
    found = read(tmp_path / "o.csv")
    assert {row["cluster"] for row in found} == {"van 1", "van 2", "van, 3"}
    assert found[4]["cluster"] == "van 2"
    assert [row["cluster"] for row in read(tmp_path / "c.csv")] == ["van 1", "van 2", "van, 3"]
    assert json.loads((tmp_path / "s.json").read_text())["cluster_names"][2] == "van, 3"
    for told in (answer.out, *((tmp_path / name).read_text() for name in ("r.md", "r.html"))):
        assert "van, 3" in told
    assert "has 6 to 15 samples" in (tmp_path / "r.md").read_text()
    assert bckm.load(tmp_path / "f.bckm").cluster_names == ("van 1", "van 2", "van, 3")
    assert "van, 3" in run("show", "f.bckm").out
    assert run("verify", "o.csv", *asked).code == 0
    assert run("verify", "o.csv", "--size", "20%:50%").code == 0  # names of the column
    wrong = run("verify", "o.csv", *asked, "--size", ":1")
    assert "cluster 'van 1' has 10 samples, more than size_max=1." in wrong.out
    broken = json.loads(run("verify", "o.csv", *asked, "--size", ":1", "--json").out)["broken"]
    assert [one["cluster"] for one in broken] == ["van 1", "van 2", "van, 3"]
    clash = run("check", "d.csv", *asked, "--size", "1:,:0,1:")
    assert "size_min[1] is 1, above size_max[1], 0" in clash.err
    clash = run("check", "d.csv", *asked, "--size", "1:,0:0,1:")
    assert "sample fixed to cluster 'van 2'" in clash.out or "cluster 'van 2'" in clash.out
