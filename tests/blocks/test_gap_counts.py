"""What rows cost more elsewhere, counted: the model of the dual, and which pairs matter."""

import numpy as np
import pytest

from bckm.blocks.gap_counts import (
    BINS,
    Flow,
    GapCounts,
    Shares,
    bin_of,
    others_of,
    pairs_of,
    top_of,
)
from bckm.kernels import missing

pytestmark = pytest.mark.skipif(missing != "", reason="without kernels")


class Case:
    """Rows, centers and the counts of their gaps at prices of zero."""

    def __init__(self, seed, n=4000, k=9, spread=1.0):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, 3)) + spread * rng.integers(0, 3, (n, 1))
        self.centers = self.X[:k].copy()
        self.costs = np.square(self.X[:, None] - self.centers).sum(axis=2)
        self.label = self.costs.argmin(axis=1)
        self.units = np.bincount(self.label, minlength=k).astype(float)
        self.other = others_of(self.centers, np.zeros(k), self.centers)
        farthest = np.zeros(k)
        np.maximum.at(farthest, self.label, self.costs.min(axis=1))
        self.top = top_of(self.centers, np.zeros(k), farthest, self.other)
        gap = self.costs - self.costs.min(axis=1)[:, None]
        self.gap = np.take_along_axis(gap, self.other[self.label].astype(int), axis=1)

    def counts(self, shift=0.0):
        k, m = self.other.shape
        shift = np.full((k, m), shift)
        place = bin_of(self.gap - shift[self.label], self.top)
        count = np.zeros((k, m, BINS), np.uint32)
        np.add.at(count, (self.label[:, None], np.arange(m), place), 1)
        return GapCounts(self.other, count, shift, self.top)

    def dual(self, prices, size):
        value = self.costs - prices
        return value.min(axis=1).sum() + size * prices.sum()


@pytest.mark.parametrize("shift", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_prices_of_the_model_raise_the_dual(seed, shift):
    """Whatever is far: rows count for each cluster that they could go to, so it is never too far.

    And from table to table fewer samples are wrong, down to a few.
    """
    case, prices = Case(seed, spread=4.0 * (seed % 2)), np.zeros(9)
    size = case.units.sum() / 9
    bound, dual = np.full(9, size), case.dual(prices, size)
    gaps = case.counts(shift)
    table = gaps.table(1e9 * np.ones(9), prices, case.units, 1)
    after, left = table.climb(bound, bound, 0.01 * size, 60, 60)
    assert case.dual(after, size) > dual
    assert np.abs(left).sum() / 2 <= 0.2 * np.abs(case.units - size).sum()
    now = np.bincount((case.costs - after).argmin(axis=1), minlength=9)
    wrong = np.abs(now - size).sum()
    assert wrong < 0.8 * np.abs(case.units - size).sum()
    # no fewer moves than there are, but for rows within a bin
    to = (case.costs - after).argmin(axis=1)
    flow = np.bincount(case.label * 9 + to, minlength=81).reshape(9, 9)
    there = np.take_along_axis(flow, case.other.astype(int), axis=1)
    assert table.moves(after).sum() >= 0.9 * there.sum()


def test_limits_of_pairs_have_as_many_rows_or_there_is_a_shorter_way():
    case = Case(1)
    gaps = case.counts()
    many = np.full(9, 40.0)
    limit = gaps.table(many, np.zeros(9), case.units, 1).limits
    assert limit.shape == (9, 8)
    direct, rows = np.full((9, 9), np.inf), np.zeros((9, 9))
    for a in range(9):
        direct[a, case.other[a]] = limit[a]
        rows[a, case.other[a]] = (case.gap[case.label == a] <= limit[a]).sum(axis=0)
    way = (direct[:, :, None] + direct[None]).min(axis=1)
    apart = ~np.eye(9, dtype=bool)
    assert (rows <= 80)[apart].all()
    assert ((rows >= 10) | (way <= direct * (1 + 1e-9)))[apart].all()
    assert (rows < 10)[apart].any()
    which = np.zeros(limit.shape, bool)
    which[2, 3] = True
    more = gaps.beyond(limit, which, 4.0)
    assert more[2, 3] > limit[2, 3]
    assert np.array_equal(more[~which], limit[~which])


def test_others_are_the_nearest_and_those_that_were_met(monkeypatch):
    monkeypatch.setattr("bckm.blocks.gap_counts.OTHERS", 2)
    centers = np.arange(6.0)[:, None] * np.ones((1, 2))
    near = others_of(centers, np.zeros(6), centers)
    assert near.tolist() == [[1, 2], [0, 2], [1, 3], [2, 4], [3, 5], [3, 4]]
    met = Flow.none().later(Flow(np.array([0 * 6 + 5]), np.ones(1)))
    assert others_of(centers, np.zeros(6), centers, met)[[0, 5]].tolist() == [[1, 5], [0, 4]]
    met = met.later(Flow(np.array([0 * 6 + 3, 0 * 6 + 4]), np.ones(2)))
    assert others_of(centers, np.zeros(6), centers, met)[0].tolist() == [3, 4]  # the last ones


def test_shares_are_learned_by_pair():
    other = np.array([[1, 2], [0, 2], [0, 1]], np.int32)
    shares = Shares()
    assert (shares.of(other) == 1).all()
    promised = np.array([[100.0, 100.0], [0.0, 50.0], [0.0, 0.0]])
    shares.learn(other, promised, Flow(np.array([1, 5]), np.array([48.0, 50.0])))
    found = shares.of(other)
    assert found[0, 0] == pytest.approx(0.5)
    assert found[0, 1] == pytest.approx(0.1)  # as far as it may change at once
    assert (found[1:] == 1).all()
    assert pairs_of(other).tolist() == [1, 2, 3, 5, 6, 7]
