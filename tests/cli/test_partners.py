"""Columns that name other rows, and columns of groups that look like them."""

import numpy as np
import pytest

from bckm.plan import Clause, Plan, PlanError, clauses_of, compile_rules, read_plan, write_plan
from bckm.tables import Table, TableError, write_table

NAMES = ["ann", "bob", "eve", "joe", "kim", "x;y", "lee"]


def asked(columns, kind="together", column="friend", *, option=None, **plan):
    table = Table.of(columns)
    clauses = clauses_of({option or kind: [column]})
    return compile_rules(Plan(clusters=2, clauses=clauses, **plan), table)


def pairs(found, kind="must_link"):
    return {frozenset(link) for link in getattr(found.constraints, kind)}


@pytest.mark.parametrize(
    ("option", "kind"), [("together_with", "must_link"), ("apart_from", "cannot_link")]
)
def test_a_column_of_partners(option, kind):
    friend = ["bob", "", " ann ;joe", "ann,eve", None, "x;y", "x;y"]
    found = asked({"name": NAMES, "friend": friend}, option=option, id="name")
    two = [("ann", "bob"), ("eve", "ann"), ("eve", "joe"), ("joe", "ann"), ("lee", "x;y")]
    assert pairs(found, kind) == set(map(frozenset, two))
    (note,) = found.notes
    assert "1 rows name themselves" in note
    assert {link.why for link in getattr(found.constraints, kind)} == {"friend"}


def test_rows_without_ids_are_called_by_their_number():
    found = asked({"friend": [1, None, "0; 3", 2.0]}, option="together_with")
    assert pairs(found) == {frozenset((0, 1)), frozenset((0, 2)), frozenset((2, 3))}
    with pytest.raises(TableError, match=r"column 'friend', row 2: there is no row '4'.*--id"):
        asked({"friend": [1, 4, 0, 0]}, option="together_with")


def test_lists_and_whole_numbers_of_other_files():
    found = asked({"id": [7, 8, 9], "friend": [[8, 9], [], None]}, option="together_with", id="id")
    assert pairs(found) == {frozenset("78"), frozenset("79")}
    found = asked({"id": ["7", "8"], "friend": [8.0, np.nan]}, option="together_with", id="id")
    assert pairs(found) == {frozenset("78")}


def test_missing_words_are_no_ids_unless_they_are():
    found = asked({"id": ["a", "b"], "friend": ["NA", "a"]}, option="together_with", id="id")
    assert pairs(found) == {frozenset("ab")}
    found = asked({"id": ["NA", "b"], "friend": ["", "NA"]}, option="together_with", id="id")
    assert pairs(found) == {frozenset(("NA", "b"))}


def test_ids_that_no_row_has():
    with pytest.raises(TableError, match=r"column 'friend', row 2: no row has the id 'Bob'; did"):
        asked({"name": ["ann", "bob"], "friend": ["", "ann; Bob"]}, option="apart_from", id="name")


def test_nobody_is_named():
    found = asked({"name": ["a", "b"], "friend": ["", ""]}, option="apart_from", id="name")
    assert found.notes == ("apart 'friend': no row names another row; ignored.",)


def test_rules_files(tmp_path):
    table = Table.of({"name": ["a", "b", "c"], "friend": ["b", "", "a"]})
    clauses = (Clause.read("together", {"partners": "friend", "price": 2.0}),)
    plan = Plan(clusters=2, id="name", clauses=clauses)
    write_plan(plan, tmp_path / "r.toml")
    assert 'partners = "friend"' in (tmp_path / "r.toml").read_text()
    again = read_plan(tmp_path / "r.toml")
    assert again == plan
    assert again.used == ["name", "friend"]  # no feature
    (soft,) = compile_rules(again, table).constraints.softened
    assert len(soft.constraints.must_link) == 2
    for keys in ({"partners": "a", "column": "b"}, {"partners": "a", "ids": ["b", "c"]}, {}):
        with pytest.raises(PlanError, match=r"not both|is missing"):
            Clause.read("apart", keys)


def test_on_the_command_line(run, tmp_path):
    rng = np.random.default_rng(0)
    ids = [f"c{i}" for i in range(40)]
    friend = [f"c{(7 * i + 3) % 40}" if i % 3 == 0 else "" for i in range(40)]
    rival = [f"c{(11 * i + 5) % 40}" if i % 5 == 1 else "" for i in range(40)]
    columns = {"id": ids, "x": rng.normal(size=40).round(3).tolist(), "f": friend, "r": rival}
    write_table(Table.of(columns), tmp_path / "d.csv")
    options = ("-k", 4, "--id", "id", "--together-with", "f", "--apart-from", "r")
    answer = run("fit", "d.csv", *options, "-o", "o.csv", "--write-rules", "r.toml")
    assert answer.code == 0, answer.err
    assert "clustered by 'x'" in answer.out
    labels = dict(zip(ids, (tmp_path / "o.csv").read_text().split("\n")[1:], strict=False))
    cluster = {one: line.rsplit(",", 1)[1] for one, line in labels.items()}
    assert all(cluster[a] == cluster[b] for a, b in zip(ids, friend, strict=True) if b)
    assert all(cluster[a] != cluster[b] for a, b in zip(ids, rival, strict=True) if b)
    assert run("verify", "o.csv", "--rules", "r.toml").code == 0
    assert run("check", "d.csv", *options).code == 0
    wrong = (tmp_path / "o.csv").read_text().replace(",1\n", ",2\n")
    (tmp_path / "wrong.csv").write_text(wrong)
    answer = run("verify", "wrong.csv", "--rules", "r.toml")
    assert answer.code == 1
    assert "are cannot-linked (r), but are both in cluster 2" in answer.out


# -- what looks like partners -----------------------------------------------------------------

RNG = np.random.default_rng(1)
COUNT = list(range(1, 301))
C = [f"c{i}" for i in COUNT]
CROWD = RNG.integers(1, 301, 300).tolist()
HEADS = [C[i - i % 3] for i in range(300)]

LIKE = {
    "friends by name": (C, [C[i - 1] if i % 2 else "" for i in CROWD]),
    "the same friend": (C, ["", *["c1", "c2"] * 149, "c3"]),
    "several friends": (C, [f"{C[i - 1]}; {C[(3 * i) % 300]}" for i in CROWD]),
    "friends by number": (COUNT, CROWD),
    "few friends by number": (COUNT, [i if i % 7 == 0 else None for i in CROWD]),
    "each by another": (COUNT, [*COUNT[1:], 1]),
    "friends by row": (None, [i - 1 for i in CROWD]),
}
UNLIKE = {
    "households": (C, [f"h{i // 3}" for i in range(300)]),
    "households by their head": (C, HEADS),
    "numbered households": (COUNT, [i // 3 + 1 for i in range(300)]),
    "numbered from 0": (None, [i // 3 for i in range(300)]),
    "numbered, shuffled": (COUNT, RNG.permutation([i // 3 + 1 for i in range(300)]).tolist()),
    "numbered, some alone": (COUNT, [min(i // 2, 120) + 1 for i in range(300)]),
    "ages": (None, RNG.integers(18, 70, 300).tolist()),
    "ages, and ids": (COUNT, RNG.integers(18, 70, 300).tolist()),
    "shifts": (COUNT, [i % 3 + 1 for i in range(300)]),
    "zones": (COUNT, [[3, 17, 45, 112][i % 4] for i in range(300)]),
    "yes and no": (COUNT, [i % 2 for i in range(300)]),
    "truth": (COUNT, [["yes", "no"][i % 2] for i in range(300)]),
    "large numbers": (None, [10_000 + i // 3 for i in range(300)]),
    "itself": (COUNT, COUNT),
    "nothing": (C, [None] * 300),
    "a word": (C, ["c1x"] * 300),
}


def noted(ids, values, kind):
    columns = {"g": values} if ids is None else {"id": ids, "g": values}
    found = asked(columns, kind, "g", id=None if ids is None else "id")
    return [note for note in found.notes if "ids of other rows" in note]


@pytest.mark.parametrize("kind", ["together", "apart"])
@pytest.mark.parametrize("name", LIKE)
def test_what_looks_like_partners_is_told(name, kind):
    (note,) = noted(*LIKE[name], kind)
    option = {"together": "--together-with g", "apart": "--apart-from g"}[kind]
    assert option in note
    assert "partners" in note


@pytest.mark.parametrize("name", UNLIKE)
def test_what_does_not_is_left_alone(name):
    assert noted(*UNLIKE[name], "together") == []


def test_numbers_by_chance_are_rarely_taken_for_partners():
    """Households with numbers drawn from the range of ids, of sizes as people have them."""
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sizes = rng.choice([1, 2, 3, 4, 5], p=[0.3, 0.3, 0.2, 0.15, 0.05], size=150)
        numbers = rng.choice(np.arange(1, sizes.sum() + 1), 150, replace=False)
        values = np.repeat(numbers, sizes).tolist()
        wrong += bool(noted(list(range(1, len(values) + 1)), values, "together"))
    assert wrong == 0
