"""Assignment engines: centres in, labels out, one file per engine."""

from bckm.assign.base import Assigner, Assignment, Deadline, Engine
from bckm.assign.choose import ENGINES, choose

__all__ = ["ENGINES", "Assigner", "Assignment", "Deadline", "Engine", "choose"]
