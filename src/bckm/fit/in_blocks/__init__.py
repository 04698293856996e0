"""A fit, or an assignment, of data in blocks: sizes, or no rules at all.

Survey the rows once, fit a sample of them in memory, then alternate over all rows: each step is an
exact assignment (`bckm.blocks.coordinator`) and takes a few passes. Labels are never state: they
follow from centers, prices and a few exceptions. The last assignment is one to the centers that are
returned.
"""

from bckm.fit.in_blocks._door import asked_in_blocks, assign_in_blocks, kmeans_in_blocks

__all__ = ["asked_in_blocks", "assign_in_blocks", "kmeans_in_blocks"]
