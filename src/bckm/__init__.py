"""k-means under rules: sizes, capacities, links, quotas, fixed places, soft or hard.

Start with `kmeans` or `ConstrainedKMeans`; `check` says whether rules can be obeyed and why not;
`verify` checks any labels against any rules; `certify` proves how far from optimal a result can be;
`Study` puts a result beside its data and rules, for reports and files; `save` and `load` keep it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bckm._core.status import Status
    from bckm.archive import load, save
    from bckm.certificate import BoundStep, Certificate, Ending, certify
    from bckm.constraints import Constraints
    from bckm.constraints.statements import AttributeSum, LinearRows, Quota, Stay
    from bckm.estimator import ConstrainedKMeans
    from bckm.exceptions import (
        DamagedFileError,
        DroppedRulesWarning,
        FileInUseError,
        InfeasibleError,
        UndecidedError,
        UnsupportedError,
    )
    from bckm.feasibility import Feasibility, check
    from bckm.fit.assign_to import assign_to
    from bckm.fit.kmeans import kmeans
    from bckm.fit.result import GivenUp, Result, Step
    from bckm.problem.scaling import Scaling
    from bckm.study import Study
    from bckm.verification import Violation, verify

__version__ = "0.1.0"

__all__ = [
    "AttributeSum",
    "BoundStep",
    "Certificate",
    "ConstrainedKMeans",
    "Constraints",
    "DamagedFileError",
    "DroppedRulesWarning",
    "Ending",
    "Feasibility",
    "FileInUseError",
    "GivenUp",
    "InfeasibleError",
    "LinearRows",
    "Quota",
    "Result",
    "Scaling",
    "Status",
    "Stay",
    "Step",
    "Study",
    "UndecidedError",
    "UnsupportedError",
    "Violation",
    "assign_to",
    "certify",
    "check",
    "kmeans",
    "load",
    "save",
    "verify",
]

# Where the public names live. Each is imported when it is first asked for, so that `bckm --help`
# needs no NumPy, and only users of the estimator wait for scikit-learn.
_HOMES = {
    "fit.kmeans": "kmeans",
    "archive": "load save",
    "certificate": "BoundStep Certificate Ending certify",
    "constraints": "Constraints",
    "estimator": "ConstrainedKMeans",
    "exceptions": "DamagedFileError DroppedRulesWarning FileInUseError InfeasibleError "
    "UndecidedError UnsupportedError",
    "feasibility": "Feasibility check",
    "fit.assign_to": "assign_to",
    "_core.status": "Status",
    "fit.result": "GivenUp Result Step",
    "constraints.statements": "AttributeSum LinearRows Quota Stay",
    "study": "Study",
    "problem.scaling": "Scaling",
    "verification": "Violation verify",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


_MODULES = ("plotting", "report", "tables")  # as bckm.report.write(...)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"bckm.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'bckm' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"bckm.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
