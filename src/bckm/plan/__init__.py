"""Rules about the columns of a table, from a file or the command line.

A `Plan` refers to columns, not to Python or positions: "rows with the same *household* together,
the sum of *weight* at most 500". `compile_plan` turns it and a `bckm.tables.Table` into the
arguments of `bckm.kmeans`.
"""

from bckm.plan._compile import Asked, AskedRules, compile_plan, compile_rules
from bckm.plan._model import FIT, STRENGTHS, Clause, Plan, PlanError
from bckm.plan._previous import match_ids
from bckm.plan._short import SHORT, clauses_of, names_of
from bckm.plan._toml import plan_of_text, plan_text, read_plan, write_plan

__all__ = [
    "FIT",
    "SHORT",
    "STRENGTHS",
    "Asked",
    "AskedRules",
    "Clause",
    "Plan",
    "PlanError",
    "clauses_of",
    "compile_plan",
    "compile_rules",
    "match_ids",
    "names_of",
    "plan_of_text",
    "plan_text",
    "read_plan",
    "write_plan",
]
