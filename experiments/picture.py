"""The picture of the README: the demo's customers under plain k-means and under rules.

python -m experiments.picture docs/figures/demo
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import bckm
from bckm.cli import _demo as demo
from bckm.plotting import ComparisonDisplay
from experiments.figures import save


def draw(path: Path) -> None:
    """Draw both clusterings with the links; broken ones in red."""
    _, X, rules = demo.read()
    studies = [
        bckm.Study.of(
            bckm.kmeans(X, demo.VANS, asked, n_init=10, random_state=0),
            X,
            rules,
            feature_names=["km to the east", "km to the north"],
        )
        for asked in (None, rules)
    ]
    sizes = [f"{one.result.sizes.min()} to {one.result.sizes.max()}" for one in studies]
    names = (f"plain k-means: clusters of {sizes[0]}", f"bckm: clusters of {sizes[1]}")
    save(ComparisonDisplay.from_studies(*studies, names=names).figure_, path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
