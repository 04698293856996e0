"""Data sets and rules for experiments: the paper's generator, links from labels, loaders."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import array_of
from bckm.constraints import Constraints


class Labeled(NamedTuple):
    """Samples and their classes.

    Examples
    --------
    >>> from bckm.datasets import load
    >>> int(load("iris").y.max())
    2
    """

    X: FloatArray
    y: IntArray


def make_gaussians(
    n_clusters: int,
    *,
    n_samples: int = 500,
    n_features: int = 512,
    sigma: float = 0.1,
    random_state: int | None = None,
) -> Labeled:
    """Draw the synthetic data of the paper: equal Gaussians around uniform centers.

    Centers are uniform in the box [-1, 1]^d; each cluster has ``n_samples // n_clusters`` samples
    with covariance sigma I, that is standard deviation sqrt(sigma).

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_samples : int
        Number of samples, rounded down to a multiple of `n_clusters`.
    n_features : int
        Dimension d.
    sigma : float
        Variance of each feature around the center.
    random_state : int, optional
        Seed.

    Examples
    --------
    >>> from bckm.datasets import make_gaussians
    >>> X, y = make_gaussians(3, n_samples=10, n_features=4, random_state=0)
    >>> X.shape, y.tolist()
    ((9, 4), [0, 0, 0, 1, 1, 1, 2, 2, 2])
    """
    rng = np.random.default_rng(random_state)
    y = np.repeat(np.arange(n_clusters), n_samples // n_clusters)
    centers = rng.uniform(-1, 1, (n_clusters, n_features))
    X = centers[y] + np.sqrt(sigma) * rng.normal(size=(y.size, n_features))  # noqa: N806
    return Labeled(X, y)


def links_by_class(y: Any, share: float = 0.2, random_state: int | None = None) -> Constraints:
    """Draw links from labels as the paper does.

    In each class, ceil(share * size) samples are drawn. Those of one class form a must-link set;
    the t-th drawn samples of all classes form a cannot-link set.

    Parameters
    ----------
    y : array (n,)
        Classes.
    share : float
        Share of each class to draw.
    random_state : int, optional
        Seed.

    Examples
    --------
    >>> from bckm.datasets import links_by_class
    >>> links = links_by_class([0, 0, 0, 1, 1, 1], share=0.5, random_state=0)
    >>> [len(s) for s in links.must_link], [len(s) for s in links.cannot_link]
    ([2, 2], [2, 2])
    """
    rng = np.random.default_rng(random_state)
    y = array_of(y, "y")
    drawn = [
        rng.permutation(rows)[: int(np.ceil(share * rows.size))].tolist()
        for rows in (np.flatnonzero(y == c) for c in np.unique(y))
    ]
    apart = [
        [samples[t] for samples in drawn if t < len(samples)] for t in range(max(map(len, drawn)))
    ]
    return Constraints(
        must_link=[samples for samples in drawn if len(samples) > 1],
        cannot_link=[samples for samples in apart if len(samples) > 1],
    )


def random_links(
    y: Any, n_pairs: int, *, wrong: float = 0.0, random_state: int | None = None
) -> Constraints:
    """Draw random pairs of samples and link them by their labels.

    Parameters
    ----------
    y : array (n,)
        Classes.
    n_pairs : int
        Number of distinct pairs.
    wrong : float
        Share of the pairs that get the wrong kind of link. Wrong pairs may contradict others.
    random_state : int, optional
        Seed.

    Examples
    --------
    >>> from bckm.datasets import random_links
    >>> random_links([0, 0, 1, 1], 6, random_state=0)
    Constraints(must_link=2, cannot_link=4)
    """
    rng = np.random.default_rng(random_state)
    y = array_of(y, "y")
    possible = y.size * (y.size - 1) // 2
    if n_pairs > possible:
        raise ValueError(f"{y.size} samples have only {possible} pairs; got n_pairs={n_pairs}.")
    # pair number t of the upper triangle, drawn without writing the triangle down
    t = rng.choice(possible, n_pairs, replace=False)
    b = ((1 + np.sqrt(8 * t.astype(float) + 1)) / 2).astype(np.int64)
    b -= b * (b - 1) // 2 > t
    pairs = np.stack([t - b * (b - 1) // 2, b], axis=1)
    together = y[pairs[:, 0]] == y[pairs[:, 1]]
    together ^= rng.permutation(n_pairs) < round(wrong * n_pairs)
    return Constraints(must_link=pairs[together], cannot_link=pairs[~together])


def take_classes(
    data: Labeled, n_classes: int, per_class: int, random_state: int | None = None
) -> Labeled:
    """Draw some classes and the same number of samples from each.

    Examples
    --------
    >>> from bckm.datasets import load, take_classes
    >>> take_classes(load("digits"), 4, 10, random_state=0).X.shape
    (40, 64)
    """
    rng = np.random.default_rng(random_state)
    classes, sizes = np.unique(data.y, return_counts=True)
    enough = classes[sizes >= per_class]
    if enough.size < n_classes:
        raise ValueError(
            f"only {enough.size} classes have {per_class} samples; got n_classes={n_classes}."
        )
    chosen = rng.choice(enough, n_classes, replace=False)
    rows = [rng.permutation(np.flatnonzero(data.y == c))[:per_class] for c in chosen]
    return Labeled(
        data.X[np.concatenate(rows)], np.repeat(np.arange(n_classes), per_class).astype(np.int64)
    )


def load(name: str, folder: str | Path | None = None) -> Labeled:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        With `folder`: any ``NAME.npz`` in it with ``X`` and ``y``. Without: "digits", "iris",
        "wine" (part of scikit-learn), or, with internet, "orl" (the Olivetti faces) and "mnist".
    folder : path, optional
        Folder of the files.

    Examples
    --------
    >>> from bckm.datasets import load
    >>> load("wine").X.shape
    (178, 13)
    """
    if folder is not None:
        return _load_file(name, Path(folder))
    from sklearn import datasets

    bundled = {
        "digits": datasets.load_digits,
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "orl": datasets.fetch_olivetti_faces,
        "mnist": lambda: datasets.fetch_openml("mnist_784", version=1, as_frame=False),
    }
    if name not in bundled:
        raise ValueError(
            f"unknown data set {name!r}; choose from {', '.join(bundled)}. For others, pass the "
            "folder of their .npz files."
        )
    found = bundled[name]()
    return Labeled(
        np.asarray(found.data, dtype=np.float64),
        np.unique(np.asarray(found.target), return_inverse=True)[1].astype(np.int64),
    )


def _load_file(name: str, folder: Path) -> Labeled:
    path = folder / f"{name}.npz"
    if not path.is_file():
        there = ", ".join(sorted(p.stem for p in folder.glob("*.npz"))) or "no .npz files"
        raise FileNotFoundError(f"{path} does not exist; the folder has {there}.")
    with np.load(path, allow_pickle=False) as file:
        if not {"X", "y"} <= set(file.files):
            raise ValueError(f"{path} contains {', '.join(file.files)}; X and y are required.")
        return Labeled(file["X"].astype(np.float64), file["y"].astype(np.int64))
