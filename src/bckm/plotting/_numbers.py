"""Numbers of clusters at their centers, moved aside where they would cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bckm._core.types import FloatArray
from bckm.plotting._drawing import INK, say
from bckm.study.views import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

_ROUNDS = 300


def write_numbers(
    ax: Axes, centers: FloatArray, styles: Sequence[Style], names: Sequence[str] | None = None
) -> list[Annotation]:
    """Write what each cluster is called at its center; a thin line leads to one that had to move.

    Centers that are NaN (clusters that are nowhere) get nothing.
    """
    there = np.flatnonzero(np.isfinite(centers).all(axis=1))
    words = [str(i) for i in range(len(centers))] if names is None else list(names)
    font = 9.0 if there.size <= 20 else 7.5 if there.size <= 80 else 6.0
    ax.apply_aspect()
    pixel = 72.0 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    places = ax.transData.transform(centers[there]) * pixel  # in points
    box = np.array([[0.62 * font * len(words[i]) + 0.75 * font, 1.75 * font] for i in there])
    room = np.reshape(ax.get_window_extent().extents, (2, 2)) * pixel
    moved = pushed_apart(places, box.reshape(-1, 2), room)
    found = []
    for at, i in enumerate(there.tolist()):
        step = moved[at] - places[at]
        far = float(np.hypot(*step)) > 0.9 * font
        color = styles[i].color
        artist = ax.annotate(
            "",
            tuple(centers[i]),
            tuple(step),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=font,
            color=INK,
            zorder=5,
            bbox={
                "boxstyle": "round,pad=0.22", "facecolor": "white", "edgecolor": color,
                "linewidth": 1.1, "alpha": 0.92,
            },
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.8, "shrinkB": 0.0}
            if far
            else None,
        )  # fmt: skip
        found.append(artist)
        say(artist, words[i], 12)
    return found


def pushed_apart(places: FloatArray, box: FloatArray, room: FloatArray) -> FloatArray:
    """Move boxes (widths, heights) around places until none covers another, inside the room."""
    number = len(places)
    # equal places need directions to part in
    angle, length = 2.4 * np.arange(number), 0.1 * np.sqrt(np.arange(number))
    moved = places + np.stack([np.cos(angle), np.sin(angle)], axis=1) * length[:, None]
    need = (box[:, None] + box[None]) / 2 + 1.0
    for _ in range(_ROUNDS):
        apart = (moved[:, None] - moved[None]) / need  # in boxes
        over = 1.0 - np.abs(apart).max(axis=2)
        np.fill_diagonal(over, 0.0)
        if (over <= 0.02).all():
            break
        far = np.linalg.norm(apart, axis=2, keepdims=True)
        push = apart / np.where(far > 0, far, 1.0) * np.maximum(over, 0.0)[..., None] * need
        moved = moved + 0.35 * push.sum(axis=1)
        moved = np.clip(moved, room[0] + box / 2, np.maximum(room[1] - box / 2, room[0] + box / 2))
    return moved
