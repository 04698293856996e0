"""A metric that is learned from links: what it gains, and that it does not hurt.

For every data set (``*.npz`` with X and y) of a folder: links from shares of each class, hard, and
the same as soft pairs of which some are wrong. NMI of clustering with these links by the plain and
by the learned metric, in the mean of the draws; the worst loss decides.

    python -m benchmarks.metric [--data FOLDER] [--sets NAME,...] [--draws 5]
"""

from __future__ import annotations

import argparse
import time
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import bckm
from bckm.datasets import Labeled, links_by_class, take_classes

DATA = Path(__file__).parents[2] / "shared" / "datasets"
SHARES = (0.05, 0.1, 0.2)
WRONG = 0.05  # share of soft links that are
WORST = -0.02  # what the mean of the draws may lose
SAMPLES, CLASSES = 500, 15  # at most


def links_of(y: np.ndarray, share: float, wrong: float, seed: int) -> bckm.Constraints:
    """Links of a share of each class: hard sets, or soft pairs, some of them wrong."""
    links = links_by_class(y, share, seed)
    if not wrong:
        return links
    rng = np.random.default_rng(seed + 1000)
    together, apart = (
        np.array([pair for link in kind for pair in pairwise(link)]).reshape(-1, 2)
        for kind in (links.must_link, links.cannot_link)
    )
    turned, parted = (rng.random(len(pairs)) < wrong for pairs in (together, apart))
    return bckm.Constraints(
        must_link=np.concatenate([together[~turned], apart[parted]]),
        cannot_link=np.concatenate([apart[~parted], together[turned]]),
    ).soft(confidence=1.0)


def drawn(path: Path, seed: int) -> Labeled:
    """Some samples of some classes of a data set."""
    held = np.load(path)
    y = np.unique(held["y"], return_inverse=True)[1]
    k = min(CLASSES, int(y.max()) + 1)
    each = min(SAMPLES // k, int(np.bincount(y).min()))
    return take_classes(Labeled(held["X"].astype(float), y), k, each, seed)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sets", default="")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--search", default="none")
    asked = parser.parse_args()
    wanted = [name for name in asked.sets.split(",") if name]
    gains: dict[tuple[str, float, float], float] = {}
    print(
        f"{'data':15} {'share':>5} {'wrong':>5} {'plain':>6} {'learned':>7} {'gain':>6} "
        f"{'kept':>4} CPU s"
    )
    for path in sorted(asked.data.glob("*.npz")):
        if wanted and path.stem not in wanted:
            continue
        for share in SHARES:
            for wrong in (0.0, WRONG):
                found, kept, began = [], 0, time.process_time()
                for draw in range(asked.draws):
                    data = drawn(path, zlib.crc32(path.stem.encode()) % 1000 + draw)
                    k = len(np.unique(data.y))
                    if share * np.bincount(data.y).max() <= 1:  # no two samples of a class
                        continue
                    rules = links_of(data.y, share, wrong, draw)
                    options = {"random_state": draw, "search": asked.search, "n_jobs": 1}
                    results = [
                        bckm.kmeans(data.X, k, rules, metric=metric, **options)
                        for metric in ("euclidean", "learned")
                    ]
                    kept += results[1].metric.name == "euclidean"
                    found.append([normalized_mutual_info_score(data.y, r.labels) for r in results])
                if not found:
                    continue
                plain, learned = np.mean(found, axis=0)
                gains[path.stem, share, wrong] = learned - plain
                print(
                    f"{path.stem:15} {share:5.2f} {wrong:5.2f} {plain:6.3f} {learned:7.3f} "
                    f"{learned - plain:+6.3f} {kept:4d} {time.process_time() - began:5.1f}",
                    flush=True,
                )
    worst = min(gains, key=lambda one: gains[one])
    print(f"mean gain {np.mean(list(gains.values())):+.3f}, worst {gains[worst]:+.3f} ({worst})")
    print("kept its promise" if gains[worst] >= WORST else f"BROKE its promise of {WORST}")


if __name__ == "__main__":
    main()
