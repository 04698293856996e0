"""Assignment engines: centers in, labels out, one file per engine."""

from bckm.assign.base import Assigner, Assignment, Engine, MatrixAssigner
from bckm.assign.choose import ENGINES, choose
from bckm.problem.feature import Feature

__all__ = [
    "ENGINES",
    "Assigner",
    "Assignment",
    "Engine",
    "Feature",
    "MatrixAssigner",
    "choose",
]
