"""Assignment engines: centers in, labels out, one file per engine."""

from bckm.assign.base import Assigner, Assignment, Engine
from bckm.assign.choose import ENGINES, choose

__all__ = ["ENGINES", "Assigner", "Assignment", "Engine", "choose"]
