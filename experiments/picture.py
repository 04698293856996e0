"""The picture of the README: the demo's customers under plain k-means and under rules.

python -m experiments.picture docs/figures/demo
"""

from __future__ import annotations

import sys
from importlib.resources import as_file
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import bckm
from bckm.cli.demo import CUSTOMERS
from bckm.plan import Plan, clauses_of, compile_plan
from bckm.plotting import ComparisonDisplay
from bckm.tables import read_table
from experiments.figures import save


def draw(path: Path) -> None:
    """Draw both clusterings with the links; broken ones in red."""
    rules = {"size": ["28:32"], "together": ["together"], "apart": ["apart"]}
    plan = Plan(clusters=8, columns=("x_km", "y_km"), clauses=clauses_of(rules))
    with as_file(CUSTOMERS) as data:
        asked = compile_plan(plan, read_table(data))
    studies = [
        bckm.Study.of(
            bckm.kmeans(asked.X, 8, given, n_init=10, random_state=0),
            asked.X,
            asked.constraints,
            feature_names=["km to the east", "km to the north"],
        )
        for given in (None, asked.constraints)
    ]
    sizes = [f"{one.result.sizes.min()} to {one.result.sizes.max()}" for one in studies]
    names = (f"plain k-means: clusters of {sizes[0]}", f"bckm: clusters of {sizes[1]}")
    save(ComparisonDisplay.from_studies(*studies, names=names).figure_, path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
