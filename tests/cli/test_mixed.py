"""``bckm fit --mixed``: groups that are alike, and what the person is told."""

import numpy as np
import pytest

from bckm.plan import Plan, compile_plan, read_plan
from bckm.tables import read_table
from tests.cli.conftest import read
from tests.support.local_search import compiled

pytestmark = compiled


@pytest.fixture
def pupils(tmp_path):
    """A table of 40 pupils."""
    rng = np.random.default_rng(0)
    path = tmp_path / "pupils.csv"
    rows = ["id,gender,mark,km"]
    for i in range(40):
        gender = "girl" if i % 2 else "boy"
        rows.append(f"p{i},{gender},{rng.integers(1, 7)},{rng.gamma(2) * 1000:.0f}")
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


def test_groups_are_alike_and_the_rules_file_says_so_again(run, pupils):
    asked = [pupils, "-k", 4, "--id", "id", "--quota", "gender:±5%", "--mixed"]
    told = run("fit", *asked, "-o", "out.csv", "--write-rules", "rules.toml")
    assert told.code == 0, told.err
    said = told.out.replace("\n", " ")
    for words in ("groups are alike", "divided by their standard deviation", "as equal in size"):
        assert words in said
    assert "centers" not in said
    assert "better clusters may well exist" not in said
    table = read(pupils.with_name("out.csv"))
    km = np.array([float(row["km"]) for row in table])
    cluster = np.array([row["cluster"] for row in table])
    assert np.ptp([km[cluster == name].mean() for name in "1234"]) < 0.05 * km.std()
    assert read_plan(pupils.with_name("rules.toml")).fit["objective"] == "mixed"
    assert run("fit", pupils, "--rules", "rules.toml", "-o", "again.csv").code == 0
    assert read(pupils.with_name("again.csv")) == table
    assert run("check", *asked).code == 0


def test_columns_are_scaled_unless_the_person_says_otherwise(pupils):
    table = read_table(pupils)
    plan = Plan(clusters=4, id="id", fit={"objective": "mixed"})
    assert compile_plan(plan, table).scaling.kind == "standard"
    assert compile_plan(plan.joined(Plan(scale="none")), table).scaling.kind == "none"
    assert compile_plan(Plan(clusters=4, id="id"), table).scaling.kind == "none"


def test_an_unknown_objective_is_refused(run, pupils):
    told = run("fit", pupils, "-k", 4, "--objective", "mixd")
    assert told.code != 0
    assert "mixed_variances" in told.err
