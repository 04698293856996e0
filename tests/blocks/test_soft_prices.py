"""Some rows lead to prices: of any data, from anywhere, and from the counts of all rows."""

from dataclasses import replace

import numpy as np
import pytest

from bckm._core.arrays import squared_distances
from bckm._core.deadline import Deadline, TimeUp
from bckm.assign.soft_newton import sides
from bckm.assign.transport_state import SizeBounds
from bckm.blocks.frame import Frame
from bckm.blocks.soft_prices import SoftPrices
from tests.support.numpy_passes import SoftRows

NEVER, NONE = Deadline(), np.zeros(8)


class Case:
    """Rows, and centers among them but for the last one, which is far from all of them.

    blobs: of very unequal numbers, far apart; uniform. Sizes are equal, or may differ by `room`.
    """

    def __init__(self, kind, room=0.0, seed=0, n=2000, k=8):
        rng = np.random.default_rng(seed)
        if kind == "blobs":
            blob = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
            self.X = 20 * rng.normal(size=(k, 3))[blob] + rng.normal(size=(n, 3))
        else:
            self.X = rng.random((n, 3))
        self.centers = self.X[rng.choice(n, k, replace=False)]
        self.centers[-1] = self.X.max(axis=0) + 3 * np.ptp(self.X)
        self.n, self.k = n, k
        self.bounds = SizeBounds(np.full(k, n / k * (1 - room)), np.full(k, n / k * (1 + room)))
        self.rng = rng

    def soft(self, rows=None, scale=1.0):
        """Prices by some of the rows."""
        some = self.X if rows is None else rows
        frame = Frame.none(self.X.shape[1])
        return SoftPrices(SoftRows(scale * some), frame, scale * self.centers, self.bounds, self.n)

    def labels(self, prices):
        """The best cluster of each row."""
        return (squared_distances(self.X, self.centers) - prices).argmin(axis=1)

    def counts(self, prices):
        """How many rows each cluster holds."""
        return np.bincount(self.labels(prices), minlength=self.k)

    def wrong(self, prices):
        """How many rows are in the wrong cluster."""
        return np.abs(self.bounds.gradient(self.counts(prices), prices)).sum() / 2

    def dual(self, prices):
        """What prices are to raise."""
        value = squared_distances(self.X, self.centers) - prices
        return value.min(axis=1).sum() + sides(self.bounds, prices)

    def far_off(self):
        """Prices under which few clusters hold almost all rows."""
        square = np.square(self.X - self.X.mean(axis=0)).sum(axis=1).max()
        return 3 * square * self.rng.normal(size=self.k)


@pytest.mark.parametrize("begin", ["zero", "far off"])
@pytest.mark.parametrize("room", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["blobs", "uniform"])
def test_any_prices_lead_to_where_bounds_are_obeyed(kind, room, begin):
    """Whether clusters are empty at first, or hold almost all rows."""
    case = Case(kind, room)
    prices = NONE if begin == "zero" else case.far_off()
    assert case.counts(prices).min() == 0
    assert case.wrong(prices) > 0.1 * case.n
    found = case.soft().lead(prices, NONE, NEVER)
    assert case.wrong(found) <= 0.02 * case.n
    assert case.dual(found) > case.dual(prices)


@pytest.mark.parametrize("hotter", [1.0, 100.0])
def test_corrections_begin_at_the_temperature_that_is_asked_for(hotter, monkeypatch):
    case = Case("uniform", n=20_000)
    soft, asked, soften = case.soft(case.X), [], SoftRows.soften

    def watched(self, prices, temperature):
        asked.append(temperature)
        return soften(self, prices, temperature)

    soft._see(NONE)
    wrong = soft._left(soft.bounds, NONE) / soft.rows.size
    first = soft._temperature(min(2 * wrong, 0.2))
    monkeypatch.setattr(SoftRows, "soften", watched)
    soft.correct(NONE, case.counts(NONE), NEVER, hotter)
    assert np.isclose(max(asked), hotter * first)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("room", [0.0, 0.1])
def test_counts_of_all_rows_correct_prices(room, seed):
    """One row of ten leads to where some percent are wrong; from there they get fewer quickly."""
    case = Case("uniform", room, seed, n=20_000)
    soft = case.soft(case.X[case.rng.random(case.n) < 0.1])
    prices = soft.lead(NONE, NONE, NEVER)
    wrong = [case.wrong(prices)]
    assert wrong[0] > 0.01 * case.n
    while wrong[-1] > 0.0075 * case.n:
        prices = soft.correct(prices, case.counts(prices), NEVER)
        wrong.append(case.wrong(prices))
        assert wrong[-1] <= 0.6 * wrong[-2]
    prices = soft.correct(prices, case.counts(prices), NEVER)
    assert case.wrong(prices) < wrong[0] / 5


def test_prices_at_which_few_rows_are_wrong_are_left_to_looks():
    """One of a hundred: what was drawn knows no better, and a look at all rows does."""
    case = Case("uniform", n=20_000)
    soft = case.soft(case.X[case.rng.random(case.n) < 0.1])
    best = soft.lead(NONE, NONE, NEVER)
    first = np.where(np.arange(case.k) == 0, np.ptp(best), 0.0)
    little, more = best + 2e-4 * first, best + 1e-3 * first
    asked = soft.bounds.lower
    shares = [np.abs(soft._coldest(p).shared - asked).sum() / 2 for p in (little, more)]
    assert 0.005 < shares[0] / soft.rows.size < 0.01 < shares[1] / soft.rows.size
    assert soft.lead(little, NONE, NEVER) is little
    assert soft.lead(more, NONE, NEVER) is not more


@pytest.mark.parametrize("seed", [0, 1, 3])
@pytest.mark.parametrize("room", [0.0, 0.1])
def test_lessons_lead_back(room, seed):
    """What the rows have above their share is asked of them: they find the prices of all rows."""
    case = Case("uniform", room, seed, n=10_000)
    soft = case.soft(case.X[case.rng.random(case.n) < 0.1])
    without = prices = soft.lead(NONE, NONE, NEVER)
    for _ in range(5):
        prices = soft.correct(prices, case.counts(prices), NEVER)
    lesson = soft.lesson(prices, case.counts(prices))
    assert 10 < np.abs(lesson).sum() < 0.2 * soft.rows.size
    assert abs(lesson.sum() - soft.rows.size + soft.share * case.n) < 1e-6
    for begin in (NONE, case.far_off()):
        again = soft.lead(begin, lesson, NEVER)
        moved = np.mean(case.labels(again) != case.labels(prices))
        assert moved < 0.01
        assert moved < np.mean(case.labels(without) != case.labels(prices)) / 4


def test_equal_rows_tell_nothing_where_all_are_at_borders():
    case = Case("uniform")
    case.X[:] = 0.5
    case.centers[:] = 0.25
    prices = np.array([2.0, 2.0, 0, 0, 0, 0, 0, 1])
    soft = case.soft()
    assert np.array_equal(soft.lead(prices, NONE, NEVER), prices)
    assert np.array_equal(soft.correct(prices, case.counts(prices), NEVER), prices)
    assert np.array_equal(soft.lesson(prices, case.counts(prices)), NONE)


def test_equal_rows_in_one_cluster_are_no_trouble():
    """No prices bring sizes within bounds, and gaps end at a border."""
    case = Case("uniform")
    case.X[:] = 0.5
    found = case.soft().lead(NONE, NONE, NEVER)
    assert np.isfinite(found).all()
    assert case.dual(found) >= case.dual(NONE)


@pytest.mark.parametrize("scale", [1e-6, 2.0**-20, 2.0**20, 1e6])
def test_units_do_not_matter(scale):
    """No number is absolute; powers of two change no bit."""
    case = Case("uniform", 0.1)
    expected = case.soft().lead(NONE, NONE, NEVER)
    soft = case.soft(scale=scale)
    found = soft.lead(NONE, NONE, NEVER) / scale**2
    if scale == 2.0 ** np.rint(np.log2(scale)):
        assert np.array_equal(found, expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    counts = case.counts(expected)
    corrected = soft.correct(scale**2 * expected, counts, NEVER) / scale**2
    expected = case.soft().correct(expected, counts, NEVER)
    np.testing.assert_allclose(corrected, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_time_is_up():
    case = Case("uniform")
    soft, late = case.soft(), Deadline.after(0.0)
    with pytest.raises(TimeUp):
        soft.lead(NONE, NONE, late)
    with pytest.raises(TimeUp):
        soft.correct(NONE, case.counts(NONE), late)


class FewListed(SoftRows):
    """Rows that know their best three clusters; others cost so much that no row goes there."""

    def __init__(self, rows):
        super().__init__(rows)
        self.asked = []

    def list(self, question):
        self.asked.append(question.prices)
        listing = super().list(question)
        value = self.costs - question.prices
        listed = value <= np.sort(value, axis=1)[:, 2:3]
        self.costs = np.where(listed, self.costs, 1e30)
        part = np.zeros(question.k, np.int64)  # the best one of all is listed
        return replace(listing, known=listed.mean(axis=0), part=part)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("room", [0.0, 0.1])
def test_who_is_listed_by_few_rows_does_not_rise_for_ever(room, seed):
    """A small blob lies apart: too few rows know its cluster, until its price has risen."""
    rng = np.random.default_rng(seed)
    case = Case("uniform", room, n=1000, k=6)
    case.X = rng.normal(size=(1000, 2))
    case.X[:50] += 5
    case.centers = case.X[rng.choice(np.arange(50, 1000), 6, replace=False)]
    case.centers[-1] = case.X[0]
    rows, none = FewListed(case.X), np.zeros(6)
    soft = SoftPrices(rows, Frame.none(2), case.centers, case.bounds, 1000)
    found = soft.lead(none, none, NEVER)
    assert case.wrong(found) <= 0.02 * case.n
    assert max(np.ptp(prices) for prices in rows.asked) <= 2 * np.ptp(found)


class NowhereBetter(SoftRows):
    """Rows whose dual is rounded so that it is larger nowhere but where it was asked first."""

    def __init__(self, rows):
        super().__init__(rows)
        self.first, self.asked = None, 0

    def soften(self, prices, temperature):
        found = super().soften(prices, temperature)
        self.first = prices if self.first is None else self.first
        self.asked += 1
        found.soft -= 0.0 if np.array_equal(prices, self.first) else 1e9
        return found


def test_where_no_step_is_good_enough_there_is_an_end():
    """At the last temperature the same steps are not tried again and again."""
    case = Case("uniform")
    rows = NowhereBetter(case.X)
    soft = SoftPrices(rows, Frame.none(3), case.centers, case.bounds, case.n)
    prices = case.soft().lead(NONE, NONE, NEVER)
    assert case.wrong(prices) > 0
    assert np.array_equal(soft.correct(prices, case.counts(prices), NEVER), prices)
    assert 8 < rows.asked < 40  # eight trials of a step at each temperature
