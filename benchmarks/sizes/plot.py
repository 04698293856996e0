"""Time per iteration against N and against k, on logarithmic axes."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.sizes.measure import Row

# colors that color-blind readers tell apart (Okabe and Ito), and a marker each
LINES = {
    ("ours", "balanced"): ("bckm, balanced sizes", "#009E73", "o"),
    ("ours", "slack"): ("bckm, sizes within 20 %", "#0072B2", "s"),
    ("lloyd", "none"): ("scikit-learn, no bounds", "#D55E00", "^"),
}


def grow(rows: list[Row], path: Path) -> None:
    """Left the cases of growing N, right those of growing k."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for axis, name, fixed in zip(axes, "Nk", "kN", strict=True):
        shown = [row for row in rows if row["case"].startswith(f"{name} =") and _done(row)]
        for (method, bounds), (label, color, marker) in LINES.items():
            points = sorted(
                (row["settings"][name.lower()], row["per_iteration"])
                for row in shown
                if (row["method"], row["bounds"]) == (method, bounds)
            )
            if points:
                axis.loglog(*zip(*points, strict=True), color=color, marker=marker, label=label)
        if shown:
            about = shown[0]["settings"]
            axis.set_title(f"{fixed} = {about[fixed.lower()]:,}, d = {about['d']}")
        axis.set_xlabel({"N": "samples, N", "k": "clusters, k"}[name])
        axis.set_ylabel("seconds per iteration")
        axis.grid(alpha=0.3, which="both", linewidth=0.5)
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=3, loc="outside upper center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _done(row: Row) -> bool:
    return row["status"] == "done"
