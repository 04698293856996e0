"""What tests of the kernels share: rows, passes that were asked about them, and checks."""

import cupy as cp
import numpy as np

from bckm._core.rounding import UNIT
from bckm.blocks.gpu.cupy_passes import CupyPasses
from tests.support import numpy_passes
from tests.support.row_data import drawn_rows

FEATURES = (1, 2, 3, 7, 8, 9, 16, 17, 63, 64, 65, 128, 200, 1024)
DTYPES = (np.float32, np.float64)


def rows_of(n, d, kind, dtype, seed=0):
    return np.ascontiguousarray(drawn_rows(0, n, d, kind, seed), dtype)


def seen_by(X, question):
    """Passes that were asked, rows, labels and slacks."""
    rows = cp.asarray(X)
    passes = CupyPasses(rows, X.dtype)
    passes.ask(question, X.dtype)
    label, slack = passes.empty(rows, np.int32), passes.empty(rows, np.float32)
    passes.best(rows, label, slack)
    return passes, rows, label, slack


def check_best(X, question, label, slack):
    """No label that float64 does not confirm, and no more slack than there is."""
    centers, prices, k, d = question.centers, question.prices, question.k, X.shape[1]
    points = question.frame.inside(X)
    label, slack = label.get(), slack.get().astype(np.float64)
    assert (label >= 0).all()
    assert (label < k).all()
    for begin in range(0, len(X), 1000):
        part = slice(begin, begin + 1000)
        own, each = label[part], np.arange(len(label[part]))
        dot = np.square(points[part]).sum(axis=1)[:, None] - 2 * (points[part] @ centers.T)
        value = dot + np.square(centers).sum(axis=1) - prices
        here = value[each, own].copy()
        size = np.square(points[part]).sum(axis=1) + np.square(centers).sum(axis=1).max()
        noise = 8 * (d + 8) * UNIT * (size + np.abs(prices).max())
        assert (here <= value.min(axis=1) + noise).all()
        value[each, own] = np.inf
        gap = value.min(axis=1) - here
        assert (slack[part] <= gap + noise).all() if k > 1 else (slack[part] > 1e38).all()
    return label


def twin_of(X, question, label, slack):
    """The same in plain NumPy: passes that were asked, rows, labels and slacks."""
    plain = numpy_passes.CupyPasses(numpy_passes.DeviceArray(X), X.dtype)
    plain.ask(question, X.dtype)
    return plain, *(numpy_passes.DeviceArray(one) for one in (X, label.get(), slack.get()))


def check_told(told, n, k):
    """Moves are in the order of rows and clusters, each of them once; returned are its numbers."""
    index, place, cluster, cost = told
    assert (np.diff(index) > 0).all()
    assert index.size == 0 or (index[0] >= 0 and index[-1] < n)
    keys = index[place] * k + cluster
    assert (np.diff(keys) > 0).all()
    assert cost.shape == keys.shape
    assert (cost >= 0).all()
    return keys
