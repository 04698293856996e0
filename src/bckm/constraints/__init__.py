"""What is asked: `Constraints`, the statements it may hold, the single rules it amounts to."""

from bckm.constraints._constraints import Constraints, as_constraints

__all__ = ["Constraints", "as_constraints"]
