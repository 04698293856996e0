"""The picture of the README: the demo's customers under plain k-means and under rules.

python -m experiments.picture docs/figures/demo
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import bckm
from bckm import demo
from experiments.figures import save

COLOURS = plt.get_cmap("Dark2").colors  # no red: that is for broken links


def draw(path: Path) -> None:
    """Draw both clusterings with the links; broken ones in red."""
    _, X, rules = demo.read()
    pictures = {
        "plain k-means": bckm.kmeans(X, demo.VANS, n_init=10, random_state=0),
        "bckm": bckm.kmeans(X, demo.VANS, rules, n_init=10, random_state=0),
    }
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    for axis, (name, result) in zip(axes, pictures.items(), strict=True):
        for i in range(demo.VANS):
            axis.scatter(*X[result.labels == i].T, s=14, color=COLOURS[i], zorder=2)
        for links, wrong in ((rules.must_link, np.not_equal), (rules.cannot_link, np.equal)):
            style = "-" if links is rules.must_link else ":"
            for samples in links:
                for a, b in pairwise(samples):
                    broken = wrong(result.labels[a], result.labels[b])
                    axis.plot(
                        *X[[a, b]].T, style, color="red" if broken else "0.6",
                        linewidth=1.4 if broken else 0.8, zorder=1,
                    )  # fmt: skip
        count = len(bckm.verify(result.labels, rules, demo.VANS))
        sizes = f"{result.sizes.min()} to {result.sizes.max()}"
        axis.set_title(f"{name}: clusters of {sizes}, {count} violations", fontsize=11)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_aspect("equal")
    figure.supxlabel("— must be together   ··· must be apart   red: broken", fontsize=10)
    save(figure, path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
