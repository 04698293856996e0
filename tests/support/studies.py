"""Studies with given labels, whatever a fit would find."""

import numpy as np

import bckm
from bckm.metric.embedding import Sample
from bckm.metric.named import read_metric


def result_of(X, labels, k, metric="euclidean", **rest):
    space = read_metric(metric)
    points = np.asarray(space.embedded(X))
    held = [points[labels == i] if (labels == i).any() else points[:1] for i in range(k)]
    means = np.stack([own.mean(axis=0) for own in held])
    inertia = float(((points - means[labels]) ** 2).sum())
    known = {
        "labels": labels,
        "centers": space.centers(
            means, labels, Sample(X, points, np.arange(len(X)), np.ones(len(X)))
        ),
        "embedded": means,
        "metric": space,
        "inertia": inertia,
        "lower_bound": inertia,
        "status": bckm.Status.CONVERGED,
        "assignment_status": bckm.Status.OPTIMAL,
        "history": (),
        "seconds": 0.0,
        "sizes": np.bincount(labels, minlength=k),
        "solver": "none",
    }
    return bckm.Result(**{**known, **rest})


def study_of(X, labels, rules=None, k=None, **rest):
    X, labels = np.asarray(X, float), np.asarray(labels, np.int64)
    k = int(labels.max()) + 1 if k is None else k
    metric = rest.pop("metric", "euclidean")
    return bckm.Study.of(result_of(X, labels, k, metric), X, rules, **rest)


def random_study(n=60, d=4, k=3, seed=0, rules=None, **rest):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1)
    labels = np.r_[np.arange(k), rng.integers(k, size=n - k)]
    return study_of(X, labels, rules, k=k, **rest)
