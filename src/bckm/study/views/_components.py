"""The two main components of data: exact where they are small one way, by iteration else."""

from __future__ import annotations

import numpy as np

from bckm._core.types import FloatArray
from bckm.study.views._rows import Rows

_EXACT = 2_000  # samples or features up to which all eigenvectors are computed
_MORE, _ROUNDS = 10, 15  # of the iteration: further directions, and how often it goes on
_NOTHING = 1e-12  # share of the first variance below which a component is rounding


def components(rows: Rows) -> tuple[FloatArray, tuple[float, float]]:
    """Directions (d, 2) of the largest variance, and their shares of all of it.

    A direction along which nothing varies is zero.
    """
    n, d = rows.shape
    if d <= min(n, _EXACT) or d <= _EXACT // 4:
        axes, variance, whole = _by_covariance(rows)
    elif n <= _EXACT:
        axes, variance, whole = _by_products(rows)
    else:
        axes, variance, whole = _by_iteration(rows)
    found = np.zeros((d, 2))
    share = np.zeros(2)
    for at in range(min(2, axes.shape[1])):
        if variance[at] > _NOTHING * max(variance[0], 1e-300):
            found[:, at] = _signed(axes[:, at])
            share[at] = variance[at] / whole
    return found, (float(share[0]), float(share[1]))


def _signed(axis: FloatArray) -> FloatArray:
    size = np.abs(axis)
    # the first of the largest loadings, so that rounding decides no sign
    first = int(np.argmax(size >= (1 - 1e-6) * size.max()))
    return np.asarray(axis * np.sign(axis[first]) / np.linalg.norm(axis))


def _by_covariance(rows: Rows) -> tuple[FloatArray, FloatArray, float]:
    covariance = np.zeros((rows.shape[1], rows.shape[1]))
    for part, block in rows.parts():
        covariance += (block * rows.weight[part, None]).T @ block
    values, vectors = np.linalg.eigh(covariance)
    return vectors[:, ::-1], values[::-1], float(np.trace(covariance))


def _by_products(rows: Rows) -> tuple[FloatArray, FloatArray, float]:
    """From products of samples, for fewer samples than features."""
    block = rows.take(slice(None)) * np.sqrt(rows.weight)[:, None]
    values, vectors = np.linalg.eigh(block @ block.T)
    return block.T @ vectors[:, ::-1][:, :2], values[::-1], float(values.sum())


def _by_iteration(rows: Rows) -> tuple[FloatArray, FloatArray, float]:
    """Subspace iteration from a fixed start: nothing as large as d x d or n x n."""
    d = rows.shape[1]
    space = np.linalg.qr(np.random.default_rng(0).normal(size=(d, 2 + _MORE)))[0]
    whole, before = 0.0, np.zeros(2)
    for _ in range(_ROUNDS):
        image, whole = np.zeros_like(space), 0.0
        for part, block in rows.parts():
            weighted = block * rows.weight[part, None]
            image += weighted.T @ (block @ space)
            whole += float(np.einsum("ij,ij->", weighted, block))
        values, turn = np.linalg.eigh(space.T @ image)
        values, axes = values[::-1], space @ turn[:, ::-1]
        if np.allclose(values[:2], before, rtol=1e-4, atol=0.0):
            break
        before = values[:2]
        space = np.linalg.qr(image)[0]
    return axes, values, whole
