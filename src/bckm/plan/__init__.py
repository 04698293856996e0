"""What is asked of a table: rules that name its columns, in a file or on the command line.

A `Plan` knows neither Python nor positions: "every value of *household* together, the sum of
*weight* at most 500". `compile_plan` turns it and a `bckm.tables.Table` into what `bckm.kmeans`
takes.
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
