"""Rules as plain arrays, for compiled code."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.kernels import native
from bckm.problem.linear import Loads
from bckm.problem.soft import Soft
from bckm.problem.structure import Structure


def native_rules(s: Structure) -> native.Rules:
    """What labels must obey, for compiled code."""
    nothing = sp.csr_array((0, 0))
    rows = s.apart_from_loads
    return native.Rules(
        _whole(s.count),
        _whole(s.lower),
        _whole(s.upper),
        *_lists(s.neighbors if s.conflict_sets else nothing),
        *_lists(rows.by_column),
        _floats(rows.by_column.data),
        rows.lower,
        rows.upper,
        *_loads(s.loads),
    )


def native_soft(soft: Soft) -> native.Soft:
    """What labels should obey, for compiled code."""
    return native.Soft(
        *_lists(soft.ties),
        _floats(soft.ties.data),
        *_lists(soft.cluster_cost),
        _floats(soft.cluster_cost.data),
        float(soft.base_cost.sum()),
        *_loads(soft.loads),
        _floats(soft.lower_penalty),
        _floats(soft.upper_penalty),
    )


def _loads(loads: Loads) -> tuple[FloatArray, FloatArray, FloatArray]:
    return _floats(loads.amount), _floats(loads.lower), _floats(loads.upper)


def _lists(matrix: Sparse) -> tuple[IntArray, IntArray]:
    return _whole(matrix.indptr), _whole(matrix.indices)


def _whole(values: IntArray) -> IntArray:
    return np.ascontiguousarray(values, np.int64)


def _floats(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, np.float64)
