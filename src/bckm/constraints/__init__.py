"""What is asked: `Constraints`, the statements it may hold, the single rules it amounts to."""

from bckm.constraints._constraints import Constraints, Located, as_constraints

__all__ = ["Constraints", "Located", "as_constraints"]
