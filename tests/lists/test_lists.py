"""Lists of the members of each cluster."""

import numpy as np
import pytest
import python_calamine

import bckm
from bckm.lists import write_lists
from bckm.plan import Plan
from bckm.plan.run import compiled, fitted
from bckm.tables import Table, TableError
from tests.support.hostile import HOSTILE
from tests.support.markup import foreign_html


@pytest.fixture(scope="module")
def hostile():
    """200 rows and 10 clusters that are called by hostile strings."""
    table = Table.of(
        {HOSTILE[0]: list(HOSTILE), "x": list(range(200)), HOSTILE[1]: list(HOSTILE)},
        source=HOSTILE[2],
    )
    names = tuple(f"{i}{one}" for i, one in enumerate(HOSTILE[10:20]))
    plan = Plan(cluster_names=names, columns=("x",), fit={"search": "none", "n_init": 1})
    return fitted(compiled(plan, table), title=HOSTILE[3]), table


def test_nothing_in_a_page_can_act(hostile, tmp_path):
    study, table = hostile
    write_lists(study, table, tmp_path / "lists.html")
    page = (tmp_path / "lists.html").read_text("utf-8")
    assert foreign_html(page) == []
    assert page.count("<tr") == 10 + 1 + 10 + 200


def test_every_cell_of_a_workbook_is_what_it_was(hostile, tmp_path):
    study, table = hostile
    write_lists(study, table, tmp_path / "lists.xlsx")
    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "lists.xlsx")
    assert len(book.sheet_names) == 11
    listed = [
        row for n in book.sheet_names[1:] for row in book.get_sheet_by_name(n).to_python()[4:]
    ]
    assert sorted(row[2] for row in listed) == list(range(200))
    assert b"<f>" not in (tmp_path / "lists.xlsx").read_bytes()


def test_a_study_alone_has_lists_counted_from_one(tmp_path):
    X = np.array([[0.0], [1.0], [8.0], [9.0]])
    rules = bckm.Constraints(stay=bckm.Stay([0, 1, 1, -1], at_most=2))
    study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    write_lists(study, None, tmp_path / "lists.xlsx")
    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "lists.xlsx")
    assert book.sheet_names == ["overview", "cluster 1", "cluster 2"]
    found = [book.get_sheet_by_name(name).to_python()[3:] for name in book.sheet_names[1:]]
    assert found[0][0] == ["no.", "row", "feature 0", "moved from"]
    assert found[0][1:] == [[1, 1, 0, ""], [2, 2, 1, "cluster 2"]]
    assert found[1][1:] == [[1, 3, 8, ""], [2, 4, 9, "new"]]
    overview = book.get_sheet_by_name("overview").to_python()
    assert [row[-2:] for row in overview] == [["came", "left"], [1, 0], [0, 1]]
    with pytest.raises(TableError, match=r"\.xlsx or \.html"):
        write_lists(study, None, tmp_path / "lists.txt")
