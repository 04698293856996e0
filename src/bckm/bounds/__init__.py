"""Lower bounds on the whole problem: a semidefinite relaxation, its cuts and its safe dual."""

from bckm.bounds._relaxation import Multipliers, Relaxation
from bckm.bounds._solve import Solver

__all__ = ["Multipliers", "Relaxation", "Solver"]
