"""Rules: `Constraints`, the statements it may hold, and the single rules they expand to."""

from bckm.constraints._constraints import Constraints, Located, as_constraints

__all__ = ["Constraints", "Located", "as_constraints"]
