"""`palette`: a color and a marker for each cluster; `matched`, `clean`: names in pictures."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np

from bckm._core.types import FloatArray, IntArray

# Eight hues that people with any color vision can tell apart, after Okabe and Ito, in three
# lightnesses; each with a contrast of 3 : 1 on white, and in `DARK_COLORS` on a dark ground. Yellow
# is left out, and vermilion is kept for what is wrong. The page of `bckm app` has the same list.
COLORS = (
    *("#00558c", "#c48700", "#00805c", "#b35f93", "#4a9ccb", "#7a4b1e", "#6a51c8", "#7d8a00"),
    *("#2f7bff", "#a8641f", "#2f9e44", "#e0559d", "#128b99", "#8f7a66", "#a05ce0", "#5c6b73"),
    *("#00285a", "#7a5200", "#00462f", "#7a1f57", "#1a5f78", "#3d2614", "#3a1f8a", "#4b5300"),
)
DARK_COLORS = (
    *("#5fa8e8", "#f2b632", "#35c08f", "#e29ac8", "#a5dcfa", "#c89b6d", "#a896f5", "#c6d24a"),
    *("#3b7ddb", "#e8a06a", "#7ddf8e", "#ff85c2", "#4fdede", "#cdbfb2", "#cfa0ff", "#a3b3be"),
    *("#9dbdff", "#b98a2c", "#1f9a6e", "#c0619c", "#4a9db8", "#a07f63", "#7f6ddb", "#98a526"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "*", "X")
WRONG = "#bd3a00"  # broken links, amounts beyond their bounds
_SWEEPS, _MANY = 8, 1_000


@dataclass(frozen=True, slots=True)
class Style:
    """How a cluster is drawn.

    Attributes
    ----------
    color : str
        As "#rrggbb".
    marker : str
        As in matplotlib: circle "o", square "s", triangles "^" and "v", diamond "D",
        plus "P", cross "X", star "*"; all filled.
    """

    color: str
    marker: str


def palette(centers: Any) -> list[Style]:
    """Choose colors and markers that distinguish neighboring clusters.

    There are 24 colors and eight markers. The first 24 clusters take colors in order, and similar
    colors have different markers; beyond that, each color is reused for clusters that are far from
    each other, with different markers where possible. Figures should not rely on this alone, but
    also label the clusters.

    Parameters
    ----------
    centers : array of shape (k, d)
        Positions of the clusters in the figure; NaN for a cluster without one.

    Returns
    -------
    list of Style
        One per cluster.

    Examples
    --------
    >>> from bckm.study import views
    >>> row = views.palette([[float(i), 0.0] for i in range(50)])
    >>> any(a.color == b.color for a, b in zip(row, row[1:]))
    False
    >>> row[0]
    Style(color='#00558c', marker='o')
    """
    places = np.nan_to_num(np.asarray(centers, float))
    span = np.ptp(places, axis=0) if len(places) else 1.0
    places = places / np.where(span > 0, span, 1.0)  # as the axes of a picture do
    color = _spread(places, np.zeros((len(places), 0), np.int64), len(COLORS))
    if len(places) <= len(COLORS):
        hue = len(MARKERS)
        marker = (color % hue + color // hue) % hue  # one hue, another marker
    else:
        marker = _spread(places, color[:, None], len(MARKERS))
    return [Style(COLORS[c], MARKERS[m]) for c, m in zip(color, marker, strict=True)]


def _spread(places: FloatArray, before: IntArray, number: int) -> IntArray:
    """Choose one of so many values for each place; the nearer two equal ones, the worse.

    Those that are equal `before` too count ten times.
    """
    k = len(places)
    found = np.full(k, -1, np.int64)
    for sweep in range(1 if k <= number else _SWEEPS if k <= _MANY else 2):
        changed = False
        for i in range(k):
            square = ((places - places[i]) ** 2).sum(axis=1)
            push = 1.0 / (square + 1e-6)
            if before.shape[1]:
                push *= np.where((before == before[i]).all(axis=1), 10.0, 1.0)
            push[i] = 0.0
            known = found >= 0
            cost = np.bincount(found[known], push[known], number)
            best = int(cost.argmin())
            if sweep == 0 or cost[best] < cost[found[i]] * (1 - 1e-9):
                changed |= best != found[i]
                found[i] = best
        if not changed:
            break
    return found


def thinned(count: int, room: float) -> list[int]:
    """Select which tick numbers to write if `room` of them fit: all, every second, fifth, ...

    Examples
    --------
    >>> from bckm.study.views import thinned
    >>> thinned(12, 4.5)
    [0, 5, 10]
    """
    steps = (10**power * factor for power in range(18) for factor in (1, 2, 5))
    return list(range(0, count, next(step for step in steps if count / step <= room)))


def matched(labels: Any, reference: Any, n_clusters: int) -> IntArray:
    """Match the clusters of `labels` to those of `reference`, maximizing the common samples.

    Parameters
    ----------
    labels, reference : array of int, shape (n,)
        Two clusterings of the same samples.
    n_clusters : int
        Number of clusters of both.

    Returns
    -------
    array of int, shape (k,)
        Entry i is the cluster of `reference` matched to cluster i of `labels`; each occurs once.

    Examples
    --------
    >>> from bckm.study import views
    >>> views.matched([1, 1, 0, 2], [0, 0, 2, 1], 3).tolist()
    [2, 0, 1]
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    k = n_clusters
    both = np.asarray(labels, np.int64) * k + np.asarray(reference, np.int64)
    common = np.bincount(both, minlength=k * k).reshape(k, k)
    row, column = linear_sum_assignment(common, maximize=True)
    found = np.empty(k, np.int64)
    found[row] = column
    return found


def clean(text: Any, most: int = 40) -> str:
    r"""Turn user text into one short line that can be drawn.

    Line breaks and tabs become spaces; control characters, direction marks, lone surrogates, and
    more than two accents on one letter are dropped; text longer than `most` is cut.

    Parameters
    ----------
    text : any
        What to show.
    most : int
        Length of the longest line.

    Examples
    --------
    >>> from bckm.study import views
    >>> views.clean("weight\nof the \x07parcel, in kilograms and with its wrapping")
    'weight of the parcel, in kilograms and…'
    """
    drawn: list[str] = []
    marks = 0
    for one in unicodedata.normalize("NFC", str(text)[: 16 * most]):
        category = unicodedata.category(one)
        # accents can pile up on one letter until they cover the page
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if one.isspace():
            drawn.append(" ")
        elif category[0] != "C" and marks <= 2:
            drawn.append(one)
    line = " ".join("".join(drawn).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
