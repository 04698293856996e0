"""Pictures of a `Study` with matplotlib, as scikit-learn's displays.

Each display is made by `from_study` or `from_estimator`, keeps its numbers, and draws them again
with other options by `plot`. Needs matplotlib: ``pip install 'bckm[plot]'``.
"""

from bckm.plotting._clusters import ClustersDisplay
from bckm.plotting._comparison import ComparisonDisplay
from bckm.plotting._convergence import ConvergenceDisplay
from bckm.plotting._silhouette import SilhouetteDisplay
from bckm.plotting._sizes import SizesDisplay

__all__ = [
    "ClustersDisplay",
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "SilhouetteDisplay",
    "SizesDisplay",
]
