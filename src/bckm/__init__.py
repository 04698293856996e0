"""k-means under rules: sizes, capacities, links, quotas, fixed places, soft or hard.

Start with `kmeans` or `ConstrainedKMeans`; `check` says whether rules can be obeyed and why not;
`verify` checks any labels against any rules; `certify` proves how far from optimal a result can be.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bckm.api import kmeans
from bckm.certify import BoundStep, Certificate, Ending, certify
from bckm.constraints import Constraints
from bckm.exceptions import (
    DroppedRulesWarning,
    InfeasibleError,
    UndecidedError,
    UnsupportedError,
)
from bckm.feasibility import Feasibility, check
from bckm.fixed import assign_to
from bckm.result import GivenUp, Result, Status, Step
from bckm.statements import AttributeSum, LinearRows, Quota, Stay
from bckm.verify import Violation, verify

if TYPE_CHECKING:
    from bckm.estimators import ConstrainedKMeans

__version__ = "0.1.0"

__all__ = [
    "AttributeSum",
    "BoundStep",
    "Certificate",
    "ConstrainedKMeans",
    "Constraints",
    "DroppedRulesWarning",
    "Ending",
    "Feasibility",
    "GivenUp",
    "InfeasibleError",
    "LinearRows",
    "Quota",
    "Result",
    "Status",
    "Stay",
    "Step",
    "UndecidedError",
    "UnsupportedError",
    "Violation",
    "assign_to",
    "certify",
    "check",
    "kmeans",
    "verify",
]


def __getattr__(name: str) -> Any:
    # scikit-learn is imported only for those who use the estimator
    if name == "ConstrainedKMeans":
        return import_module("bckm.estimators").ConstrainedKMeans
    raise AttributeError(f"module 'bckm' has no attribute {name!r}")
