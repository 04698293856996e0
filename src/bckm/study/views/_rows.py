"""The points that k-means saw, block by block: scaled, embedded, around their mean."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bckm._core.arrays import blocks
from bckm._core.types import FloatArray, IntArray
from bckm.problem.metric import read_metric
from bckm.study import Study

_NUMBERS = 2**18  # in a block


class Rows:
    """Embedded rows of a study around their weighted mean, divided by one number for all.

    The data may be far from the origin and of any size: differences from the first row are taken
    before anything is squared.
    """

    def __init__(self, study: Study) -> None:
        self.study, self.metric = study, read_metric(study.metric)
        weight = study.sample_weight
        n = study.n_samples
        self.weight = np.full(n, 1.0 / n)
        if weight is not None and weight.max() > 0:
            share = weight / weight.max()
            self.weight = share / share.sum()
        first = self._raw(slice(0, 1))[0]
        self.shape = (n, first.size)
        self.middle, self.unit = first, 1.0
        shift = np.zeros(first.size)
        for part, rows in self.parts():
            shift += self.weight[part] @ rows
        self.middle = first + shift
        largest = max(float(np.abs(rows).max()) for _, rows in self.parts())
        # equal rows differ from their mean by rounding alone
        noise = 4 * np.finfo(float).eps * float(np.abs(self.middle).max())
        self.unit = largest if largest > noise else np.inf

    def _raw(self, part: slice | IntArray) -> FloatArray:
        scaled = self.study.scaling.apply(self.study.X[part])
        return np.asarray(self.metric.embedded(scaled), float)

    def take(self, which: slice | IntArray) -> FloatArray:
        """Some of the rows."""
        return self.around(self._raw(which))

    def around(self, points: FloatArray) -> FloatArray:
        """Any embedded points in these terms."""
        return np.asarray((points - self.middle) / self.unit)

    def parts(self) -> Iterator[tuple[slice, FloatArray]]:
        """All rows."""
        for part in blocks(*self.shape, _NUMBERS):
            yield part, self.take(part)
