"""docs/rules.md: its examples run, and it knows every rule and every limit."""

import inspect
import re
from importlib import import_module

import pytest

import bckm
from bckm.kernels import missing
from bckm.problem.problem import Problem
from tests.repo.pages import DOCS, run_examples

CHOOSE = import_module("bckm.assign.choose")  # the name is that of a function, too
PAGE = (DOCS / "rules.md").read_text("utf-8")


@pytest.mark.full
def test_examples_run():
    assert run_examples(DOCS / "rules.md") > 40


def test_every_rule_is_there():
    asked = [*inspect.signature(bckm.Constraints).parameters]
    asked += [name for name, one in vars(bckm.Constraints).items() if callable(one)]
    hidden = {"rules", "soft_rules"}  # what a fit reads
    for name in {one for one in asked if not one.startswith("_")} - hidden:
        assert re.search(rf"\b{name}\b", PAGE), name
    for kind in (bckm.Capacity, bckm.LinearRows, bckm.Quota, bckm.Stay):
        assert f"bckm.{kind.__name__}(" in PAGE
        for name in inspect.signature(kind).parameters:
            assert name in ("values", "labels", "amounts", "within") or name in PAGE, name


X = [[float(p)] for p in range(301)]
HALVES = ["a", "b"] * 150 + ["a"]


@pytest.mark.parametrize(
    ("rules", "limit"),
    [
        ({"must_link": [(0, 1)], "size_max": 200}, "EXACT_SOFT"),
        ({"cannot_link": [(0, 1)], "size_max": 200}, "EXACT_SOFT"),
        ({"cannot_link": [(0, 1)]}, "EXACT" if missing else "EXACT_FEW_LINKS"),
        ({"stay": bckm.Stay([0] * 301, price=1)}, "EXACT" if missing else "EXACT_LINKS"),
        ({"fixed": {0: 0}}, "EXACT_SOFT"),
        ({"stay": bckm.Stay([0] * 301, at_most=5)}, "EXACT_SOFT"),
        ({"capacities": {"kg": bckm.Capacity([1.5] * 301, max=250)}}, "EXACT_SUMS"),
        ({"quotas": bckm.Quota(HALVES, "10%")}, "EXACT_SUMS"),
        ({"quotas": bckm.Quota(HALVES, count_max={"a": 100})}, "EXACT_COUNTS"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else str(one),
)
def test_engines_of_the_table(rules, limit, monkeypatch):
    """Each rule has the limit that the table gives it."""
    assert f"{getattr(CHOOSE, limit):,}" in PAGE
    problem = Problem.build(X, 2, bckm.Constraints(**rules))
    costs = problem.structure.n_items * 2
    for most, engine in ((costs, "exact"), (costs - 1, "lagrangian")):
        monkeypatch.setattr(CHOOSE, limit, most)
        assert CHOOSE.choose("auto", problem).name == engine


def test_quick_engine_of_the_table():
    for rules in ({}, {"size_max": 200}, {"must_link": [(0, 1)]}, {"groups": HALVES}):
        result = bckm.kmeans(X, 2, bckm.Constraints(size_min=0, **rules), random_state=0)
        assert result.solver in ("transport", "nearest")  # nearest without the compiled kernels
