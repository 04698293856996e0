"""Plots of a `Study` with matplotlib, in the style of scikit-learn's displays.

Create a display with `from_study` or `from_estimator`; it keeps its data, and `plot` draws it again
with other options. Needs matplotlib: ``pip install 'bckm[plot]'``.
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
