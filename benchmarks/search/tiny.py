"""A folder of instances so small that all labels can be tried: for tests of the program."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np

import bckm
from benchmarks.sizes import judge

SAMPLES, CLUSTERS = 9, 3


def write(folder: Path) -> None:
    """Write known.json, its data and its links, with optima found by trying all labels."""
    folder.mkdir(parents=True, exist_ok=True)
    X = np.random.default_rng(11).random((SAMPLES, 2))
    np.savez(folder / "tiny.npz", X=X, y=np.arange(SAMPLES) % CLUSTERS, k=CLUSTERS)
    links = {"ml": [[0, 1]], "cl": [[1, 2], [3, 4]]}
    (folder / "tiny.json").write_text(json.dumps({"ml_1_cl_2_0": links}), encoding="utf-8")
    sizes = [1, 3, 5]
    asked = {
        "tiny/none": (bckm.Constraints(), {"n_ml": 0, "n_cl": 0}),
        "tiny/ml_1_cl_2_0": (bckm.Constraints(links["ml"], links["cl"]), {"n_ml": 1, "n_cl": 2}),
        "cardinality/tiny/uneven": (
            bckm.Constraints(size_min=sizes, size_max=sizes),
            {"sizes": sizes},
        ),
    }
    listed = []
    for name, (rules, about) in asked.items():
        best = _best(X, rules)
        listed.append(
            {"instance": name, "data": "tiny.npz", "k": CLUSTERS, "best": best}
            | {"lower_bound": best, "gap": 0.0, "status": "all labels tried"}
            | about
        )
    (folder / "known.json").write_text(json.dumps(listed), encoding="utf-8")


def _best(X: np.ndarray, rules: bckm.Constraints) -> float:
    """The least inertia of all labels that the checker accepts; it is asked as rarely as can be."""
    labels = np.array(list(product(range(CLUSTERS), repeat=SAMPLES)))
    member = labels[:, :, None] == np.arange(CLUSTERS)  # (labels, samples, clusters)
    size, total = member.sum(axis=1), np.einsum("lnk,nd->lkd", member, X)
    cost = np.square(X).sum() - (np.square(total).sum(axis=2) / np.maximum(size, 1)).sum(axis=1)
    for at in np.argsort(cost):
        if not bckm.verify(labels[at], CLUSTERS, rules):
            return judge.inertia(X, labels[at], CLUSTERS)
    raise ValueError(f"no labels obey {rules}.")
