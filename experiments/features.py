"""Standard feature maps of pictures, each a function of pictures (n, height, width) in [0, 1].

The paper does not say which features it clustered; `experiments.choice` chose one for each data
set by looking at k-means alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage

TINY = 1e-12
DARK = 1 / 255  # one level of gray, added before a logarithm
CELL = 4  # pixels along the side of a cell of the histograms
ANGLES = 9
FAINT = 0.01  # a cell without gradients stays near zero


def _flat(pictures: np.ndarray) -> np.ndarray:
    return pictures.reshape(len(pictures), -1)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + TINY)


def pixels(pictures: np.ndarray) -> np.ndarray:
    """As they are."""
    return _flat(pictures)


def unit_length(pictures: np.ndarray) -> np.ndarray:
    """Each picture divided by its length."""
    return _unit(_flat(pictures))


def standardized(pictures: np.ndarray) -> np.ndarray:
    """Each picture to mean 0 and variance 1."""
    rows = _flat(pictures)
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / (rows.std(axis=1, keepdims=True) + TINY)


def square_root(pictures: np.ndarray) -> np.ndarray:
    """Square roots of pixels."""
    return np.sqrt(_flat(pictures))


def log_pixels(pictures: np.ndarray) -> np.ndarray:
    """Logarithms of pixels: light multiplies."""
    return np.log(_flat(pictures) + DARK)


def small(pictures: np.ndarray) -> np.ndarray:
    """Blurred, every second pixel along both sides."""
    return _flat(ndimage.gaussian_filter(pictures, (0, 1, 1))[:, ::2, ::2])


def whitened(pictures: np.ndarray) -> np.ndarray:
    """As many principal components as hold 95 % of the variance, each divided by its deviation."""
    from sklearn.decomposition import PCA

    return PCA(0.95, whiten=True, svd_solver="full").fit_transform(_flat(pictures))


def _slopes(pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Differences of log pixels, downwards and to the right."""
    light = np.log(pictures + DARK)
    down, right = np.gradient(light, axis=(1, 2))
    return down, right


def edges(pictures: np.ndarray) -> np.ndarray:
    """Lengths of the gradients of log pixels, each picture divided by its length."""
    return _unit(_flat(np.hypot(*_slopes(pictures))))


def gradients(pictures: np.ndarray) -> np.ndarray:
    """Gradients of log pixels, each picture divided by its length."""
    return _unit(np.concatenate([_flat(slope) for slope in _slopes(pictures)], axis=1))


def histograms(pictures: np.ndarray) -> np.ndarray:
    """Histograms of the directions of gradients in cells, each cell divided by its length."""
    down, right = np.gradient(pictures, axis=(1, 2))
    length = np.hypot(down, right)
    place = (np.arctan2(down, right) % np.pi) * (ANGLES / np.pi)
    low = np.floor(place)
    cells = []
    for at in range(ANGLES):
        # a gradient counts for the two directions that are nearest to its own
        share = np.where(low % ANGLES == at, 1 - (place - low), 0.0)
        share += np.where((low + 1) % ANGLES == at, place - low, 0.0)
        cells.append(ndimage.uniform_filter(share * length, (0, CELL, CELL))[:, 2::CELL, 2::CELL])
    stacked = np.stack(cells, axis=-1)
    norm = np.linalg.norm(stacked, axis=-1, keepdims=True)
    return _flat(stacked / (norm + FAINT))


MAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "pixels": pixels,
    "unit length": unit_length,
    "standardized": standardized,
    "square root": square_root,
    "log pixels": log_pixels,
    "small": small,
    "whitened": whitened,
    "edges": edges,
    "gradients": gradients,
    "histograms": histograms,
}

# height and width of the pictures of a file
PICTURE = {
    "mnist": (28, 28),
    "yale": (32, 32),
    "yaleb": (32, 32),
    "orl": (32, 32),
    "umist": (28, 23),
    "digits": (8, 8),
}
# what `python -m experiments features` found: the map whose k-means comes nearest to the published
# one, in the mean of the rows of a data set; digits are as MNIST, which the paper has
CHOSEN = {
    "mnist": "log pixels",
    "yale": "small",
    "yaleb": "whitened",
    "orl": "edges",
    "umist": "small",
    "digits": "log pixels",
}


def mapped(X: np.ndarray, source: str, name: str) -> np.ndarray:
    """Rows of pixels of a file, by a map."""
    return MAPS[name](X.reshape(len(X), *PICTURE[source]))
