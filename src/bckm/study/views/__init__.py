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
from bckm.study.views._mixing import Mixing, mixing
from bckm.study.views._moves import Move, moves
from bckm.study.views._plane import Plane, plane
from bckm.study.views._style import (
    COLORS,
    DARK_COLORS,
    MARKERS,
    WRONG,
    Style,
    clean,
    matched,
    palette,
    thinned,
)

__all__ = [
    "COLORS",
    "DARK_COLORS",
    "MARKERS",
    "WRONG",
    "Amount",
    "Convergence",
    "DrawnLink",
    "FeatureWeights",
    "Links",
    "Mixing",
    "Move",
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
    "mixing",
    "moves",
    "palette",
    "plane",
    "profile",
    "shown",
    "silhouette",
    "thinned",
]
