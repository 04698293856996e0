"""Items and rules as plain arrays, for compiled moves."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.kernels import native
from bckm.problem.linear import Loads
from bckm.problem.soft import Soft
from bckm.problem.structure import Structure


def as_arrays(
    structure: Structure,
    soft: Soft | None = None,
    points: FloatArray | None = None,
    weight: FloatArray | None = None,
    unit: float = 1.0,
) -> tuple[native.Points, native.Rules, native.Soft]:
    """Items, hard and soft rules, the first arguments of all moves; without points all are at 0.

    Points that are divided by something leave costs in a `unit`: penalties are then divided by it.
    """
    m = structure.n_items
    return (
        native.Points(np.zeros((m, 1)) if points is None else points, cost_weight=weight),
        _rules(structure),
        _soft(Soft.none(m, structure.n_clusters) if soft is None else soft, unit),
    )


def _rules(s: Structure) -> native.Rules:
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


def _soft(soft: Soft, unit: float) -> native.Soft:
    return native.Soft(
        *_lists(soft.ties),
        _floats(soft.ties.data) / unit,
        *_lists(soft.cluster_cost),
        _floats(soft.cluster_cost.data) / unit,
        float(soft.base_cost.sum()) / unit,
        *_loads(soft.loads),
        _floats(soft.lower_penalty) / unit,
        _floats(soft.upper_penalty) / unit,
    )


def _loads(loads: Loads) -> tuple[FloatArray, FloatArray, FloatArray]:
    return _floats(loads.amount), _floats(loads.lower), _floats(loads.upper)


def _lists(matrix: Sparse) -> tuple[IntArray, IntArray]:
    return _whole(matrix.indptr), _whole(matrix.indices)


def _whole(values: IntArray) -> IntArray:
    return np.ascontiguousarray(values, np.int64)


def _floats(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, np.float64)
