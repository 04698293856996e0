"""Statements beyond links and sizes: capacities, quotas, previous labels, linear rows.

Each statement belongs to `Constraints`, which turns it into single rules. Values are one per
sample, in the order of the rows of X; or a mapping (or pandas series) of sample ids to values,
which `Constraints.locate` brings into that order. A statement writes itself for a file (`to_tree`)
and reads itself from one (`from_tree`).
"""

from bckm.constraints._capacity import Capacity
from bckm.constraints._categories import categorize
from bckm.constraints._linear_rows import LinearRows
from bckm.constraints._quota import Quota
from bckm.constraints._stay import Stay

__all__ = ["Capacity", "LinearRows", "Quota", "Stay", "categorize"]
