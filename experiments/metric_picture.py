"""The picture of docs/metric.md: what must-links say about distances, in the plane.

python -m experiments.metric_picture docs/figures/metric
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import bckm
from bckm.study import views
from experiments.figures import save

PAIRS = 8  # must-links in each class


def samples() -> tuple[np.ndarray, np.ndarray, bckm.Constraints]:
    """Three long classes side by side, and pairs of samples that are known to be of one class."""
    rng = np.random.default_rng(4)
    kind = np.arange(210) % 3
    along, across = rng.uniform(-7, 7, 210), rng.normal(2.2 * kind, 0.45)
    X, turn = np.stack([along, across], axis=1), np.radians(28)
    X = X @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    pairs = [
        rng.permutation(np.flatnonzero(kind == one))[: 2 * PAIRS].reshape(-1, 2) for one in range(3)
    ]
    return X, kind, bckm.Constraints(must_link=np.concatenate(pairs))


def draw(path: Path) -> None:
    """Draw the clusters of the plain metric, the learned space, and what was found there."""
    X, kind, rules = samples()
    plain, learned = (
        bckm.kmeans(X, 3, rules, metric=metric, random_state=0)
        for metric in ("euclidean", "learned")
    )
    agree = [normalized_mutual_info_score(kind, one.labels) for one in (plain, learned)]
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
    panels = (
        (X, plain, f"plain metric, links kept: NMI {agree[0]:.2f}"),
        (learned.metric.embedded(X), learned, "the learned space"),
        (X, learned, f"learned metric: NMI {agree[1]:.2f}"),
    )
    for axis, (points, result, title) in zip(axes, panels, strict=True):
        _panel(axis, points, result, rules)
        axis.set_title(title, fontsize=11)
    save(figure, path)


def _panel(
    axis: plt.Axes, points: np.ndarray, result: bckm.Result, rules: bckm.Constraints
) -> None:
    """Samples by their clusters, must-links as lines."""
    for pair in rules.must_link:
        axis.plot(*points[list(pair)].T, color="#333333", linewidth=0.7, alpha=0.65, zorder=1)
    for i, style in enumerate(views.palette(result.centers)):
        mine = points[result.labels == i]
        axis.scatter(*mine.T, s=17, color=style.color, marker=style.marker, linewidths=0, zorder=2)
    axis.set_aspect("equal", adjustable="datalim")
    axis.set_xticks([])
    axis.set_yticks([])


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
