"""Rules about the columns of a table, from a file or the command line.

A `Plan` refers to columns, not to Python or positions: "rows with the same *household* together,
the sum of *weight* at most 500". `compile_plan` turns it and a `bckm.tables.Table` into the
arguments of `bckm.kmeans`.
"""

from bckm.plan._compile import Asked, AskedRules, compile_plan, compile_rules
from bckm.plan._model import FIT, Clause, Plan, PlanError
from bckm.plan._short import SHORT, clauses_of, names_of
from bckm.plan._toml import read_plan, write_plan

__all__ = [
    "FIT",
    "SHORT",
    "Asked",
    "AskedRules",
    "Clause",
    "Plan",
    "PlanError",
    "clauses_of",
    "compile_plan",
    "compile_rules",
    "names_of",
    "read_plan",
    "write_plan",
]
