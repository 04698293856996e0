"""Plans: what they read, refuse and write."""

import io
import time

import numpy as np
import pytest

import bckm
from bckm.plan import (
    Clause,
    Plan,
    PlanError,
    clauses_of,
    compile_plan,
    compile_rules,
    read_plan,
    write_plan,
)
from bckm.tables import Table, TableError, read_table
from tests.support.hostile import HOSTILE

TEXT = """\
id,x,y,kg,team,lead,before,known
a,0,0,1,red,1,1,l
b,1,0,2,red,0,1,
c,9,9,3,blue,1,2,m
d,8,9,4,blue,0,,
e,5,5,5,,0,2,
"""


@pytest.fixture
def table():
    return read_table("-", stdin=io.BytesIO(TEXT.encode()))


def compiled(table, clusters=2, id_="id", columns=("x", "y"), **short):
    plan = Plan(clusters=clusters, id=id_, columns=columns, clauses=clauses_of(short))
    return compile_plan(plan, table)


def rules_of(asked):
    ids = asked.sample_id or range(5)
    located = asked.constraints.locate(ids).constraints
    return {str(rule) for rule in located.rules(5, asked.n_clusters)}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("40:60", {"min": 40, "max": 60}),
        ("40:", {"min": 40}),
        (":60", {"max": 60}),
        ("50", {"max": 50}),
        ("50:50", {"min": 50, "max": 50}),
        ("10%", {"max": 0.1}),
        ("10:20, 30:40", {"min": [10, 30], "max": [20, 40]}),
        (":20,30:", {"min": [1, 30], "max": [20, float("inf")]}),
        ("10%:20%", {"min": 0.1, "max": 0.2}),
        ("5:12.5%, 1%:", {"min": [5, 0.01], "max": [0.125, float("inf")]}),
    ],
)
def test_short_sizes(text, keys):
    assert clauses_of({"size": [text]})[0].keys == keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("kg:0:500", {"column": "kg", "min": 0, "max": 500}),
        ("kg::500", {"column": "kg", "max": 500}),
        ("kg:5:", {"column": "kg", "min": 5}),
        ("kg:1.5", {"column": "kg", "max": 1.5}),
        ("a:b:0:1", {"column": "a:b", "min": 0, "max": 1}),
        ("kg:-3:1e3", {"column": "kg", "min": -3, "max": 1000.0}),
        ("kg:600,500", {"column": "kg", "max": [600, 500]}),
        ("kg:1,2:600,500", {"column": "kg", "min": [1, 2], "max": [600, 500]}),
    ],
)
def test_short_capacities(text, keys):
    assert clauses_of({"capacity": [text]})[0].keys == keys


@pytest.mark.parametrize(
    "short",
    [
        {"size": ["x"]},
        {"size": [""]},
        {"size": [":"]},
        {"size": ["-3:4"]},
        {"size": ["20%:10%"]},
        {"size": ["0%:100%"]},
        {"capacity": ["kg"]},
        {"capacity": ["kg::"]},
        {"capacity": ["kg:nan"]},
        {"quota": ["gender"]},
        {"stay": ["before"]},
        {"stay": ["before:x"]},
        {"stay": ["before:²"]},
        {"together": [" "]},
    ],
)
def test_short_forms_that_say_nothing_are_refused(short):
    with pytest.raises(PlanError):
        clauses_of(short)


def test_each_kind_becomes_its_rules(table):
    assert "team 'red': samples 'a' and 'b' together" in rules_of(
        compiled(table, together=["team"])
    )
    assert "team 'red': samples 'a' and 'b' apart" in rules_of(compiled(table, apart=["team"]))
    asked = compiled(table, size=["2:3"], capacity=["kg:0:9"])
    assert asked.constraints.size_max.tolist() == 3
    (kg,) = asked.constraints.capacities
    assert (kg.name, kg.max.tolist()) == ("kg", 9)
    assert kg.min is None  # a sum of what is not negative is not either
    assert compiled(table, quota=["team:±10%"]).constraints.quotas[0].within == 0.1
    assert compiled(table, stay=["before:1"]).constraints.stay[0].values.tolist() == [
        0,
        0,
        1,
        -1,
        1,
    ]
    fixed = compiled(table, fixed=["before"]).constraints.fixed
    assert [(one.sample, one.cluster) for one in fixed] == [("a", 0), ("b", 0), ("c", 1), ("e", 1)]
    known = compiled(table, known=["known"]).constraints
    assert [tuple(link) for link in known.cannot_link] == [("a", "c")]


def test_options_replace_what_a_file_bounds_and_add_the_rest():
    file = Plan(clauses=clauses_of({"size": ["28:32"], "capacity": ["kg::9"], "apart": ["team"]}))
    options = Plan(clauses=clauses_of({"size": [":20"], "capacity": ["t::5"], "apart": ["lead"]}))
    joined = file.joined(options).clauses
    assert [(one.kind, one.column) for one in joined] == [
        ("capacity", "kg"),
        ("apart", "team"),
        ("size", None),
        ("capacity", "t"),
        ("apart", "lead"),
    ]
    assert joined[2].keys == {"max": 20}


def test_a_column_that_is_nearly_numbers_is_missed():
    texts = [str(row) for row in range(30)]
    rows = {"x": texts, "y": [*texts[:-1], "none?"], "name": [f"n{text}" for text in texts]}
    asked = compile_plan(Plan(clusters=2), Table.of(rows))
    assert asked.feature_names == ("x",)
    assert any("not clustered by 'y'" in note and "none?" in note for note in asked.notes)
    assert not any("'name'" in note for note in asked.notes)


def test_latitude_comes_first():
    table = Table.of({"lon": [8.0, 9.0], "lat": [50.0, 51.0]})
    with pytest.raises(PlanError, match="latitude first"):
        compile_plan(Plan(clusters=2, columns=("lon", "lat"), metric="latlon"), table)


@pytest.mark.parametrize(
    ("yes", "no"), [("yes", "no"), ("1", "0"), ("Ja", "Nein"), ("true", "False")]
)
def test_yes_and_no_mark_rows(yes, no):
    table = Table.of({"x": ["1", "2", "3", "4"], "lead": [yes, no, yes, no]})
    asked = compiled(table, id_=None, apart=["lead"], columns=("x",))
    assert [tuple(link) for link in asked.constraints.cannot_link] == [(0, 2)]


def test_a_column_that_marks_rows_has_one_group(table):
    asked = compiled(table, apart=["lead"])
    assert [tuple(link) for link in asked.constraints.cannot_link] == [("a", "c")]
    assert any("flags rows" in note for note in asked.notes)


def test_without_ids_rows_are_positions(table):
    asked = compiled(table, id_=None, together=["team"])
    assert asked.sample_id is None
    assert {tuple(link) for link in asked.constraints.must_link} == {(0, 1), (2, 3)}


def test_default_columns_are_the_numeric_ones_without_another_use(table):
    clauses = clauses_of({"capacity": ["kg::9"], "stay": ["before:3"], "apart": ["lead"]})
    asked = compile_plan(Plan(clusters=2, id="id", clauses=clauses), table)
    assert asked.feature_names == ("x", "y")
    assert any("'x', 'y'" in note for note in asked.notes)


def test_columns_with_blanks_around_their_names_have_their_uses_too():
    table = read_table("-", stdin=io.BytesIO(TEXT.replace(",", ", ").encode()))
    clauses = clauses_of({"capacity": ["kg::9"], "stay": ["before:3"], "apart": ["lead"]})
    asked = compile_plan(Plan(clusters=2, id="id", clauses=clauses), table, aside=["y"])
    assert asked.feature_names == (" x",)
    with pytest.raises(PlanError, match="twice"):
        compile_plan(Plan(clusters=2, columns=("x", " x")), table)


@pytest.mark.parametrize("size", ["1000:", "1000:2000"])
def test_more_rows_than_there_are_cannot_be_asked_of_a_cluster(table, size):
    asked = compiled(table, clusters=1, size=[size])
    assert bckm.check(5, 1, asked.constraints).verdict.value == "infeasible"


def test_no_class_is_known_where_a_column_says_minus_one():
    table = read_table("-", stdin=io.BytesIO(b"x,y,known\n1,1,-1\n2,2,-1\n3,3,0\n4,4,0\n5,5,1\n"))
    rules = compiled(table, id_=None, known=["known"]).constraints
    assert [tuple(link) for link in rules.must_link] == [(2, 3)]
    assert [tuple(link) for link in rules.cannot_link] == [(2, 4)]


def clusters_of(cells, **short):
    text = "x,before\n" + "".join(f"{row},{cell}\n" for row, cell in enumerate(cells))
    read = read_table("-", stdin=io.BytesIO(text.encode()))
    return compile_plan(Plan(clusters=3, columns=("x",), clauses=clauses_of(short)), read)


def test_clusters_in_a_column_are_those_that_there_are():
    found = clusters_of(["-1", "3", "", "1.0", "NA"], fixed=["before"]).constraints.fixed
    assert [(one.sample, one.cluster) for one in found] == [(1, 2), (3, 0)]
    for wrong in ("-2", "4", "0", "0.5", "x"):
        with pytest.raises(TableError, match=rf"row 2 .* has '{wrong}', .*numbered 1 to 3"):
            clusters_of(["1", wrong, "1"], fixed=["before"])


def test_rules_that_ask_nothing_are_told(table):
    alone = compiled(table, together=["id"])
    assert (alone.constraints.must_link, len(alone.notes)) == ((), 1)
    assert "no two rows share a value" in alone.notes[0]
    always = compiled(table, capacity=["kg:0:"])
    assert (always.constraints.statements, len(always.notes)) == ((), 1)


def test_only_sums_that_cannot_be_negative_need_no_lower_bound_of_0():
    text = b"x,kg,loss\n1,1,-1\n2,2,3\n3,3,4\n"
    table = read_table("-", stdin=io.BytesIO(text))
    for column, least in (("kg", [0, 2]), ("loss", [0, 0])):
        clause = Clause.read("capacity", {"column": column, "min": least})
        asked = compile_plan(Plan(clusters=2, columns=("x",), clauses=(clause,)), table)
        assert asked.constraints.capacities[0].min.tolist() == least


def soft_of(table, kind, **keys):
    plan = Plan(clusters=3, id="id", columns=("x",), clauses=(Clause.read(kind, keys),))
    return [
        str(rule)
        for rule in compile_plan(plan, table)
        .constraints.locate(table.ids("id"))
        .constraints.soft_rules(5, 3)
    ]


def test_every_pair_of_classes_has_its_price(table):
    found = soft_of(table, "known", column="before", price=2)
    assert len(found) == 6  # of the four rows that have a class
    assert sum("apart" in one for one in found) == 4
    assert all("price 2" in one for one in found)


def test_places_may_be_soft_and_several(table):
    assert len(soft_of(table, "fixed", column="before", price=1)) == 4
    assert len(soft_of(table, "forbidden", id="a", cluster=[1, 3], price=1)) == 2
    with pytest.raises(PlanError, match="one cluster"):
        soft_of(table, "fixed", id="a", cluster=[1, 3])


def test_each_link_has_its_own_confidence(tmp_path, table):
    rows = ["apart,a,b,1", " Together ,a,c,2", "cl,c,d,3", "ml,d,e,4"]
    (tmp_path / "links.csv").write_text("\n".join(["kind,a,b,confidence", *rows]))
    (part,) = compiled(table, links=[str(tmp_path / "links.csv")]).constraints.softened
    assert [tuple(one) for one in part.constraints.must_link] == [("a", "c"), ("d", "e")]
    assert part.weight.tolist() == [2, 4, 1, 3]


def test_rows_without_ids_are_counted_from_0(tmp_path, table):
    (tmp_path / "links.csv").write_text("kind,a,b\ntogether,4,5\n")
    with pytest.raises(TableError, match=r"no row '5'.* numbered 0 to 4"):
        compiled(table, id_=None, links=[str(tmp_path / "links.csv")])


def test_options_count_more_than_the_file(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xef\xbb\xbfclusters = 2\n[fit]\nseed = 1\ntol = 0\n")  # as Windows writes
    plan = read_plan(path).joined(Plan(clusters=3, fit={"seed": 5}))
    assert (plan.clusters, plan.fit) == (3, {"seed": 5, "tol": 0})


def test_files_are_relative_to_the_file_that_names_them(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    clauses = (
        *clauses_of({"links": ["links.csv"]}),
        Clause.read("capacity", {"column": "a", "min": [-np.inf, 0.5]}),
    )
    write_plan(Plan(clauses=clauses), tmp_path / "rules.toml")
    assert 'file = "a/links.csv"' in (tmp_path / "rules.toml").read_text()
    again = read_plan(tmp_path / "rules.toml")
    assert again.clauses[0].keys["file"] == str(tmp_path / "a" / "links.csv")
    assert again.clauses[1] == clauses[1]


@pytest.mark.parametrize(
    ("weights", "words"), [([1, -1, 1], r"has -1 in row 2 \(line 3\)"), ([0, 0, 0], "are 0")]
)
def test_weights_are_not_negative_and_not_all_0(weights, words):
    text = "x,y,w\n" + "".join(f"{at},{at},{one}\n" for at, one in enumerate(weights))
    table = read_table("-", stdin=io.BytesIO(text.encode()))
    with pytest.raises(TableError, match=words):
        compile_plan(Plan(clusters=2, weight="w"), table)
    fine = Table.of({"x": [1, 2, 3], "w": [0, 0, 1], "none": [None, None, None]})
    asked = compile_plan(Plan(clusters=3, weight="w"), fine)  # as many clusters as rows
    assert (asked.feature_names, asked.sample_weight.tolist()) == (("x",), [0, 0, 1])
    with pytest.raises(TableError, match="contains no numbers"):
        compile_plan(Plan(clusters=2, columns=("none",), missing="mean"), fine)


def test_the_file_means_what_the_options_mean(tmp_path, table):
    (tmp_path / "links.csv").write_text("kind,a,b,confidence\nmust-link,a,c,\ncl,b,d,2.5\n")
    (tmp_path / "rules.toml").write_text(
        """
        clusters = 2
        id = "id"
        columns = ["x", "y"]
        scale = "robust"
        [fit]
        seed = 4
        search = "local"
        [size]
        min = [1, 2]
        [[capacity]]
        column = "kg"
        max = [9, inf]
        price = 3
        [[links]]
        file = "links.csv"
        [[together]]
        ids = ["d", "e"]
        [[fixed]]
        id = "a"
        cluster = 2
        [[forbidden]]
        id = "b"
        cluster = [1]
        [[quota]]
        column = "team"
        share_max = { red = 0.9 }
        confidence = 1
        [[stay]]
        column = "before"
        price = 0.5
        """
    )
    plan = read_plan(tmp_path / "rules.toml")
    assert plan.fit == {"seed": 4, "search": "local"}
    asked = compile_plan(plan, table)
    rules = asked.constraints
    assert rules.size_min.tolist() == [1, 2]
    assert [tuple(link) for link in rules.must_link] == [("a", "c"), ("d", "e")]
    assert len(rules.softened) == 3
    assert [(one.sample, one.cluster) for one in rules.forbidden] == [("b", 0)]
    assert asked.scaling.kind == "robust"
    write_plan(plan, tmp_path / "sub.toml")
    assert read_plan(tmp_path / "sub.toml") == plan
    result = bckm.kmeans(asked.scaled, 2, rules, sample_id=asked.sample_id, random_state=0)
    assert result.labels[0] == result.labels[2] == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clusters = 0", "at least 1"),
        ("clusters = true", "whole number"),
        ("cluster = 3", "did you mean 'clusters'?"),
        ("scale = 'big'", "none, standard, robust"),
        ("[size]\nmni = 3", "did you mean 'min'?"),
        ("[size]\nmin = 2.5", "whole number"),
        ("size = 3", "must be a table"),
        ("[[capacity]]\ncolumn = 'kg'", "min or max is missing"),
        ("[[capacity]]\nmax = 3", "column is missing"),
        ("[[apart]]\nids = ['a']", "at least two"),
        ("[[apart]]\ncolumn = 'a'\nids = ['a', 'b']", "not both"),
        ("[[size]]\nmin = 1\nprice = 2\nconfidence = 3", "not both"),
        ("[[fixed]]\nid = 'a'", "cluster is missing"),
        ("[[fixed]]\ncolumn = 'a'\ncluster = 1", "column or cluster, not both"),
        ("[[forbidden]]\nid = 'a'\ncluster = []", "whole number"),
        ("[[capacity]]\ncolumn = 'kg'\nmin = []", "must be a number"),
        (f"[[capacity]]\ncolumn = 'kg'\nmax = 1{400 * '0'}", "is too large"),
        ("[[size]]\nmin = inf", "whole number"),
        ("[[apart]]\nids = ['1', 1]", "at least two"),
        ("[fit]\nseeds = 3", "did you mean 'seed'?"),
        ("fit = 3", "table"),
        ("[[stay]]\ncolumn = 'a'", "at_most"),
        ("clusters = ", "not valid TOML"),
        ("[fit]\ntime_limit = 0", "above 0"),
    ],
)
def test_mistakes_in_a_file_name_it_and_the_remedy(tmp_path, text, words):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(PlanError, match=r"rules\.toml") as error:
        read_plan(path)
    assert words in str(error.value)


def test_any_text_survives_the_file(tmp_path):
    texts = [one for one in HOSTILE if one and not any("\ud800" <= c <= "\udfff" for c in one)]
    plan = Plan(
        clusters=2,
        columns=tuple(texts),
        clauses=tuple(
            Clause.read("quota", {"column": one, "share_max": {one: 0.5}}) for one in texts
        ),
    )
    write_plan(plan, tmp_path / "rules.toml")
    assert read_plan(tmp_path / "rules.toml") == plan
    assert len(texts) > 150


def test_an_id_that_lost_its_zeros_is_recognized(tmp_path):
    table = read_table("-", stdin=io.BytesIO(b"id,x,y\n001,0,0\n002,1,1\n003,2,2\n"))
    (tmp_path / "links.csv").write_text("kind,a,b\ntogether,1,002\n")
    with pytest.raises(TableError, match="did you mean '001'"):
        compiled(table, links=[str(tmp_path / "links.csv")])


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ("kind,a,b\nnear,a,b\n", "together or apart"),
        ("kind,a,b\ntogether,a,a\n", "itself"),
        ("kind,a,b\ntogether,a,\n", "two ids"),
        ("kind,a,b\ntogether,a,z\n", "'z'"),
        ("kind,a,b,confidence\ntogether,a,b,-1\n", "at least 0"),
        ("kind,a,b,confidence\ntogether,a,b,much\n", "'much'"),
        ("type,a,b\ntogether,a,b\n", "'kind'"),
        ("kind,a,b\ntogether,A,b\n", "did you mean 'a'?"),
    ],
)
def test_bad_links_name_their_row(tmp_path, table, links, words):
    (tmp_path / "links.csv").write_text(links)
    with pytest.raises(TableError) as error:
        compiled(table, links=[str(tmp_path / "links.csv")])
    assert words in str(error.value)


def test_missing_features(table):
    text = TEXT.replace("b,1,0", "b,,0")
    holes = read_table("-", stdin=io.BytesIO(text.encode()))
    with pytest.raises(TableError, match="--missing median"):
        compiled(holes)
    plan = Plan(clusters=2, columns=("x",), missing="median")
    asked = compile_plan(plan, holes)
    assert asked.X[1, 0] == np.median([0, 9, 8, 5])
    assert "1 missing value" in asked.notes[0]


def test_many_groups_are_no_trouble():
    """It took the square of their number to see that they do not mark rows."""
    values = [f"h{row // 2}" for row in range(12_000)]
    table = Table.of({"g": values})
    began = time.process_time()
    plan = Plan(clusters=2, clauses=clauses_of({"together": ["g"]}))
    assert len(compile_rules(plan, table).constraints.must_link) == 6_000
    assert time.process_time() - began < 1.5


def test_rules_that_are_nested_without_end(tmp_path):
    (tmp_path / "r.toml").write_text("columns = " + "[" * 100_000)
    with pytest.raises(PlanError, match="nested too deeply"):
        read_plan(tmp_path / "r.toml")


# ------------------------------------------------------------------ shares and names


def test_shares_of_the_rows(table):
    asked = compiled(table, size=["20%:70%"]).constraints
    assert (asked.size_min.tolist(), asked.size_max.tolist()) == (0.2, 0.7)
    sizes = {rule for rule in rules_of(compiled(table, size=["21%:70%"])) if "size" in rule}
    assert {rule.split(":")[1] for rule in sizes} == {
        " at least 2 samples in every cluster",
        " at most 3 samples in every cluster",
    }
    mixed = compiled(table, size=["20%:,1:"]).constraints
    assert mixed.size_min.tolist() == [0.2, 1]


def test_names_of_clusters(tmp_path, table):
    (tmp_path / "rules.toml").write_text(
        """
        cluster_names = ["north", "south"]
        id = "id"
        columns = ["x"]
        [size]
        max = "70%"
        [[fixed]]
        id = "a"
        cluster = "south"
        [[forbidden]]
        id = "b"
        cluster = ["north"]
        """
    )
    plan = read_plan(tmp_path / "rules.toml")
    write_plan(plan, tmp_path / "again.toml")
    assert read_plan(tmp_path / "again.toml") == plan
    asked = compile_plan(plan, table)
    assert asked.n_clusters == 2
    assert {
        "size_max: at most 3 samples in every cluster",
        "fixed: sample 'a' in cluster 'south'",
        "forbidden: sample 'b' not in cluster 'north'",
    } <= rules_of(asked)
    found = Table.of({"x": [1, 2, 3], "before": ["south", None, "north"]})
    kept = Plan(cluster_names=("north", "south"), clauses=clauses_of({"stay": ["before:1"]}))
    assert compile_plan(kept, found).constraints.stay[0].values.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(clusters=3, cluster_names=("a", "b")), "got 2 names for 3 clusters"),
        (
            Plan(
                cluster_names=("a", "b"),
                clauses=(Clause.read("fixed", {"id": 0, "cluster": "c"}),),
            ),
            "there is no cluster 'c'; the clusters are 'a', 'b'",
        ),
        (
            Plan(
                clusters=2,
                clauses=(
                    Clause.read("size", {"max": 0.5}),
                    Clause.read("size", {"max": 3}),
                ),
            ),
            "a share of the samples on one side",
        ),
    ],
)
def test_names_and_shares_that_do_not_fit(table, plan, words):
    with pytest.raises(PlanError, match=words):
        compile_rules(plan, table)
