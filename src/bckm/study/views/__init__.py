"""Data behind the figures of a `Study`; nothing is drawn here.

`bckm.plotting` draws them with matplotlib, `bckm.report` as part of a page. Strings returned here
come from the user: escape them, and shorten them with `clean`.
"""

from bckm.study.views._amounts import Amount, amounts
from bckm.study.views._course import (
    Convergence,
    Profile,
    Silhouette,
    convergence,
    profile,
    silhouette,
)
from bckm.study.views._features import FeatureWeights, feature_weights
from bckm.study.views._links import DrawnLink, Links, links, shown
from bckm.study.views._plane import Plane, plane
from bckm.study.views._style import COLORS, MARKERS, WRONG, Style, clean, matched, palette, thinned

__all__ = [
    "COLORS",
    "MARKERS",
    "WRONG",
    "Amount",
    "Convergence",
    "DrawnLink",
    "FeatureWeights",
    "Links",
    "Plane",
    "Profile",
    "Silhouette",
    "Style",
    "amounts",
    "clean",
    "convergence",
    "feature_weights",
    "links",
    "matched",
    "palette",
    "plane",
    "profile",
    "shown",
    "silhouette",
    "thinned",
]
