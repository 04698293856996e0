"""Shortest paths over listed moves, against assignments that SciPy proves optimal."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bckm.kernels import missing, native

pytestmark = pytest.mark.skipif(missing != "", reason="without kernels")

SETTLED, ASKING, STUCK = 0, 1, 3


class Case:
    """Points, centers and bounds; moves of points up to a limit."""

    def __init__(self, seed, n, k, *, loose=0, dtype=np.float64, prices=0.0):
        rng = np.random.default_rng(seed)
        self.X = rng.random((n, 3)).astype(dtype)
        self.centers = rng.random((k, 3)) * rng.choice([0.3, 1.0])
        self.prices = prices * rng.standard_normal(k)
        least = n // k - loose
        self.lower = np.full(k, max(0, least))
        self.upper = np.full(k, -(-n // k) + loose)
        apart = self.X.astype(np.float64)[:, None] - self.centers
        self.costs = np.square(apart).sum(axis=2)
        value = self.costs - self.prices
        self.label = value.argmin(axis=1).astype(np.int32)
        self.gap = value - value.min(axis=1)[:, None]

    @property
    def k(self):
        return len(self.centers)

    def paths(self, limit):
        """Paths, and the limits of all pairs, (k, k)."""
        counts, limits = np.bincount(self.label, minlength=self.k), np.full((self.k, self.k), limit)
        bounds = (counts, self.lower, self.upper)
        return native.RowPaths(self.centers, self.prices, *bounds, limits), limits

    def add(self, paths, near):
        row, cluster = np.nonzero(near & (np.arange(self.k) != self.label[:, None]))
        rows, place = np.unique(row, return_inverse=True)
        origin = np.zeros(3)
        paths.add_rows(np.ascontiguousarray(self.X[rows]), rows, self.label[rows], origin, 1.0)
        paths.add_moves(place, cluster.astype(np.int32), self.gap[row, cluster])

    def near(self, limits):
        """Which moves cost at most the limits of their pairs."""
        return self.gap <= limits[self.label]

    def raised(self, limits, asked, more):
        """Limits that let so many moves more through where they were asked for."""
        out = limits.copy()
        for a, b in np.argwhere(asked):
            gaps = np.sort(self.gap[self.label == a, b])
            beyond = gaps[gaps > limits[a, b]]
            out[a, b] = beyond[more - 1] if beyond.size >= more else np.inf
        return out

    def settled(self, limit, more, *, again=True):
        """Prices in the end, and how often more was asked for; with `again` all moves come each
        time, or else those that are new."""
        paths, limits = self.paths(limit)
        self.add(paths, self.near(limits))
        asks = 0
        while (found := paths.run(50)) != SETTLED:
            assert found != STUCK
            if found != ASKING:
                continue
            asks += 1
            assert paths.asked.any()
            before, limits = limits, self.raised(limits, paths.asked, more)
            paths.raise_limits(limits)
            assert not paths.asked.any()
            self.add(paths, self.near(limits) & ~(self.near(before) & (not again)))
            assert asks < 1000
        return paths.prices, paths.sizes, asks

    def optimum(self):
        """What the best labels within the bounds cost, by an assignment to single seats."""
        seats = np.repeat(np.arange(self.k), self.upper)
        must = np.concatenate(
            [np.arange(u) < low for low, u in zip(self.lower, self.upper, strict=True)]
        )
        cost = self.costs[:, seats]
        empty = seats.size - len(self.X)
        filler = np.where(must, 1e6, 0.0) * np.ones((empty, 1))
        full = np.concatenate([cost, filler])
        row, column = linear_sum_assignment(full)
        return float(full[row, column].sum())


@pytest.mark.parametrize("seed", range(60))
def test_prices_prove_the_best_labels(seed):
    """Whatever is listed at first, samples in their best clusters are an optimal assignment."""
    dtype = np.float32 if seed % 4 == 3 else np.float64
    case = Case(seed, 60 + seed, 2 + seed % 8, loose=seed % 3 * 2, dtype=dtype)
    prices, sizes, asks = case.settled(0.02 if seed % 2 else np.inf, 1 + seed % 5)
    value = case.costs - prices
    label, order = value.argmin(axis=1), np.sort(value, axis=1)
    assert np.array_equal(np.bincount(label, minlength=case.k), sizes)
    assert (sizes >= case.lower).all()
    assert (sizes <= case.upper).all()
    cost = case.costs[np.arange(label.size), label].sum()
    assert cost == pytest.approx(case.optimum(), rel=1e-12)
    assert (order[:, 1] - order[:, 0]).min() > 1e-9  # nobody is at a border
    # what a price other than zero belongs to is at its bound
    free = (sizes > case.lower) & (sizes < case.upper)
    assert np.abs(prices[free]).max(initial=0) < 1e-12
    assert seed % 2 or asks == 0


def test_prices_that_are_given_are_where_it_begins():
    """The same end from other prices, but for what limits hide."""
    case, other = Case(1, 90, 5), Case(1, 90, 5, prices=0.05)
    for limit, hidden in ((np.inf, 1e-12), (0.05, 5e-3)):
        ends = [one.settled(limit, 3)[0] for one in (case, other)]
        assert np.allclose(*(end - end.mean() for end in ends), rtol=0, atol=hidden)
    labels = [(case.costs - end).argmin(axis=1) for end in ends]
    assert np.array_equal(*labels)


@pytest.mark.parametrize("again", [True, False])
def test_limits_are_raised_as_often_as_it_takes(again):
    """Few moves at a time, of rows that came before and others."""
    case = Case(7, 150, 6)
    prices, sizes, asks = case.settled(1e-3, 2, again=again)
    assert asks > 3
    label = (case.costs - prices).argmin(axis=1)
    assert np.array_equal(np.bincount(label, minlength=case.k), sizes)
    cost = case.costs[np.arange(label.size), label].sum()
    assert cost == pytest.approx(case.optimum(), rel=1e-12)


def test_rows_that_come_again_are_the_same_rows():
    """Whether old moves come once more or not, paths are the same to the last bit."""
    case = Case(8, 150, 6)
    ends = [case.settled(1e-3, 3, again=again) for again in (True, False)]
    assert ends[0][2] == ends[1][2] > 1
    assert np.allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-12)
    # nor do they change where they are: labels of known rows are not read
    paths, limits = case.paths(np.inf)
    case.add(paths, case.near(limits))
    rows = np.arange(len(case.X))
    paths.add_rows(case.X, rows, np.zeros(rows.size, np.int32), np.zeros(3), 1.0)
    assert paths.run(1000) == SETTLED
    value = case.costs - paths.prices
    assert np.array_equal(np.bincount(value.argmin(axis=1), minlength=case.k), paths.sizes)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("loose", [0, 1])
def test_many_clusters(loose):
    """Where only short arcs are looked at, nobody is at a border either."""
    case = Case(9, 520, 260, loose=loose)
    prices, sizes, _ = case.settled(2.0, 100)
    value = case.costs - prices
    label, order = value.argmin(axis=1), np.sort(value, axis=1)
    assert np.array_equal(np.bincount(label, minlength=case.k), sizes)
    assert (sizes >= case.lower).all()
    assert (sizes <= case.upper).all()
    cost = case.costs[np.arange(label.size), label].sum()
    assert cost == pytest.approx(case.optimum(), rel=1e-12)
    assert (order[:, 1] - order[:, 0]).min() > 1e-9


def test_too_few_samples_are_told():
    """No path leads where nothing can come from."""
    case = Case(2, 30, 3)
    case.lower = case.upper = np.array([20, 20, 20])
    paths, limits = case.paths(np.inf)
    case.add(paths, case.near(limits))
    assert paths.run(1000) == STUCK


def test_the_order_of_moves_does_not_matter():
    """Lists come from many threads."""
    case, found = Case(5, 200, 6), []
    for seed in (0, 1):
        paths, _ = case.paths(np.inf)
        row, cluster = np.nonzero(np.arange(case.k) != case.label[:, None])
        order = np.random.default_rng(seed).permutation(row.size)
        paths.add_rows(case.X, np.arange(200), case.label, np.zeros(3), 1.0)
        row, cluster = row[order], cluster[order].astype(np.int32)
        paths.add_moves(row, cluster, case.gap[row, cluster])
        assert paths.run(1000) == SETTLED
        found.append(paths.prices)
    assert np.allclose(*found, rtol=0, atol=1e-12)


def test_what_does_not_fit_is_refused():
    case = Case(0, 20, 3)
    paths, _ = case.paths(1.0)
    none, row = np.zeros(3), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="one number and one label"):
        paths.add_rows(case.X, row, case.label, none, 1.0)
    with pytest.raises(ValueError, match="clusters that there are"):
        paths.add_rows(case.X[:1], row, np.array([3], np.int32), none, 1.0)
    with pytest.raises(ValueError, match="increasing"):
        paths.add_rows(case.X[:2], np.array([4, 4]), case.label[:2], none, 1.0)
    with pytest.raises(ValueError, match="places of the last rows"):
        paths.add_moves(row, np.array([1], np.int32), np.zeros(1))  # there are none
    paths.add_rows(case.X[:2], np.array([4, 6]), case.label[:2], none, 1.0)
    for place in (-1, 2):
        with pytest.raises(ValueError, match="places of the last rows"):
            paths.add_moves(np.array([place]), np.array([1], np.int32), np.zeros(1))
    with pytest.raises(ValueError, match="clusters that there are"):
        paths.add_moves(row, np.array([-1], np.int32), np.zeros(1))
    with pytest.raises(ValueError, match="one limit per pair"):
        paths.raise_limits(np.ones((2, 3)))
    bounds, limits = (case.lower, case.upper), np.ones((3, 3))
    with pytest.raises(ValueError, match="one size and two bounds"):
        native.RowPaths(case.centers, case.prices, row, *bounds, limits)
    sizes = (np.array([20, 0, 0]), *bounds)
    with pytest.raises(ValueError, match="one limit per pair"):
        native.RowPaths(case.centers, case.prices, *sizes, limits[:2])
