# The public names, for type checkers and for lazy_loader: see __init__.py
from . import plotting as plotting
from . import report as report
from . import tables as tables
from ._core.status import Status as Status
from .archive import load as load
from .archive import save as save
from .certificate import BoundStep as BoundStep
from .certificate import Certificate as Certificate
from .certificate import Ending as Ending
from .certificate import certify as certify
from .constraints import Constraints as Constraints
from .constraints.linear_rule import LinearRule as LinearRule
from .constraints.statements import Capacity as Capacity
from .constraints.statements import LinearRows as LinearRows
from .constraints.statements import Quota as Quota
from .constraints.statements import Stay as Stay
from .estimator import ConstrainedKMeans as ConstrainedKMeans
from .exceptions import BckmError as BckmError
from .exceptions import DamagedFileError as DamagedFileError
from .exceptions import DroppedRulesWarning as DroppedRulesWarning
from .exceptions import FileInUseError as FileInUseError
from .exceptions import InfeasibleError as InfeasibleError
from .exceptions import UndecidedError as UndecidedError
from .exceptions import UnsupportedError as UnsupportedError
from .feasibility import Feasibility as Feasibility
from .feasibility import check as check
from .fit.assign_to import assign_to as assign_to
from .fit.kmeans import kmeans as kmeans
from .fit.result import Result as Result
from .fit.result import SoftViolation as SoftViolation
from .fit.result import Step as Step
from .problem.scaling import Scaling as Scaling
from .study import Study as Study
from .verification import Violation as Violation
from .verification import verify as verify

__version__: str
