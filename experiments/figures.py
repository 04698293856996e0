"""The figures, drawn from the tidy tables; legible at the width of a paper column."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from experiments.summary import Row, summarize, unique

# colors that color-blind readers tell apart (Okabe and Ito), and a marker each
STYLE = {
    "KM": ("#999999", "o"),
    "CKSC": ("#56B4E9", "s"),
    "HKC": ("#7F4F24", "^"),
    "BKM": ("#E69F00", "v"),
    "CKM": ("#0072B2", "D"),
    "BCLS": ("#CC79A7", "P"),
    "COP": ("#D55E00", "X"),
    "BCKM": ("#009E73", "*"),
    "auto": ("#000000", "p"),
    "learned": ("#8B0000", "h"),
}


def synthetic(rows: list[Row], sigmas: list[str], path: Path) -> None:
    """NMI (left) and CPU seconds (right) against the number of clusters, a row per sigma."""
    clusters = sorted(unique(rows, "n_clusters"), key=int)
    figure, axes = plt.subplots(
        len(sigmas), 2, figsize=(7, 1.0 + 2.0 * len(sigmas)), sharex=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for row, sigma in enumerate(sigmas):
        for method, (color, marker) in STYLE.items():
            cells = [summarize(rows, sigma=sigma, n_clusters=k, method=method) for k in clusters]
            if not any(cells):
                continue
            look = {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.2}
            x = [int(k) for k, cell in zip(clusters, cells, strict=True) if cell]
            shown = [cell for cell in cells if cell]
            nmi = np.array([cell.nmi for cell in shown])
            spread = np.array([cell.nmi_spread for cell in shown])
            axes[row, 0].plot(x, nmi, label=method, **look)
            low, high = np.clip([nmi - spread, nmi + spread], 0, 1)
            axes[row, 0].fill_between(x, low, high, color=color, alpha=0.12)
            axes[row, 1].plot(x, [cell.cpu_seconds for cell in shown], **look)
        axes[row, 0].set_ylabel(f"NMI   (σ = {sigma})")
        axes[row, 1].set_ylabel("CPU seconds")
        axes[row, 1].set_yscale("log")
        axes[row, 1].set_ylim(0.005, 2)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.set_xticks([int(k) for k in clusters])
    for axis in axes[-1]:
        axis.set_xlabel("number of clusters")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=5, loc="outside upper center")
    save(figure, path)


def cluster_sizes(rows: list[Row], path: Path) -> None:
    """Bars of the cluster sizes, k-means beside BCKM; a row per sigma."""
    clusters = sorted(unique(rows, "n_clusters"), key=int)
    sigmas = unique(rows, "sigma")
    figure, axes = plt.subplots(
        len(sigmas), len(clusters), figsize=(7, 0.6 + 1.8 * len(sigmas)), squeeze=False,
        layout="constrained", width_ratios=[2 + int(k) ** 0.5 for k in clusters],
    )  # fmt: skip
    for line, sigma in zip(axes, sigmas, strict=True):
        for axis, k in zip(line, clusters, strict=True):
            for at, method in enumerate(("KM", "BCKM")):
                sizes = _sizes(rows, k, sigma, method)
                where = np.arange(len(sizes)) + 0.4 * at
                axis.bar(where, sizes, 0.4, label=method, color=STYLE[method][0])
            axis.set_xticks([])
        line[0].set_ylabel(f"samples   (σ = {sigma})")
    for axis, k in zip(axes[0], clusters, strict=True):
        axis.set_title(f"k = {k}", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("cluster, by size")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=2, loc="outside upper center")
    save(figure, path)


def _sizes(rows: list[Row], k: str, sigma: str, method: str) -> list[int]:
    """Sizes that a method found with the first seed, largest first."""
    wanted = (k, sigma, method, "0")
    row = next(r for r in rows if (r["n_clusters"], r["sigma"], r["method"], r["seed"]) == wanted)
    return sorted(map(int, row["sizes"].split()), reverse=True)


def save(figure: plt.Figure, path: Path) -> None:
    """Write a figure as PNG and SVG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # a fixed salt and no date: the same numbers give the same file
    with plt.rc_context({"svg.hashsalt": "bckm"}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=160)
    plt.close(figure)
