"""Rows that lead to prices: their lists, softened duals and steps against plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from bckm.blocks.gpu import cupy_soft
from tests.gpu.seen import DTYPES, rows_of, seen_by
from tests.support.looks import drawn_question

pytestmark = pytest.mark.gpu

BEST, LEAST_SHARE, WIDEST = 6, 4e-3, 12.0  # as in soft.cu


def values_of(X, question):
    """|c|^2 - 2 x c - price of each row and cluster."""
    points, centers = question.frame.inside(X), question.centers
    return np.square(centers).sum(axis=1) - question.prices - 2 * points @ centers.T


def listed_of(soft, n, k):
    """Values of the clusters that are listed, infinite elsewhere."""
    value, cluster = soft._value.get(), soft._cluster.get().astype(int)
    listed = np.full((n, k), np.inf)
    for those, at in zip(value, cluster, strict=True):
        row = np.flatnonzero(those < 1e38)
        listed[row, at[row]] = those[row]
    return listed


class Spread:
    """Rows shared among the clusters that are listed, in NumPy; `value` (n, k) at some prices."""

    def __init__(self, value, temperature):
        k = value.shape[1]
        order = np.sort(value, axis=1)
        far = (value - order[:, :1]) / temperature
        top = value <= order[:, min(BEST, k) - 1 :][:, :1]
        share = np.where(far < WIDEST, np.exp(-np.minimum(far, 50)), 0.0)
        total = share.sum(axis=1)
        share /= total[:, None]
        self.soft = float((order[:, 0] - temperature * np.log(total)).sum())
        self.hard, self.shared = float(order[:, 0].sum()), share.sum(axis=0)
        self.units = np.bincount(value.argmin(axis=1), minlength=k)
        joined = np.where(top & (share >= LEAST_SHARE), share, 0.0)
        edge, others = joined.T @ joined, np.zeros((k, k))
        rest = np.where(~top & (share >= LEAST_SHARE), share * (1 - share), 0.0)
        np.add.at(others, value.argmin(axis=1), rest)
        self.edge = (edge + others + others.T) / temperature
        np.fill_diagonal(self.edge, 0.0)


SHAPES = ((3, 2), (16, 8), (5, 9), (1, 40), (16, 100), (7, 160), (8, 161), (130, 300), (64, 1000))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_listed_clusters(d, k, dtype):
    """The best one, and the best of each part, are listed; no value is wrong."""
    n = max(3001, k)
    X = rows_of(n, d, "uniform", dtype, seed=k)
    question = drawn_question(X, k, seed=k)
    passes, rows, _, _ = seen_by(X, question)
    half = n // 2
    soft = passes.soft_rows([(rows[:half], np.arange(half)), (rows[half:], np.arange(n - half))])
    assert soft.size == n
    listing = soft.list(question)
    value, listed = values_of(X, question), listed_of(soft, n, k)
    noise = 1e-6 + 1e-5 * np.abs(value).max()
    ok = np.isfinite(listed)
    assert np.abs(listed - value)[ok].max() <= noise
    best = np.sort(value, axis=1)
    assert np.abs(listed.min(axis=1) - best[:, 0]).max() <= noise
    order = cupy_soft.parts_of(question.centers)
    assert np.array_equal(np.sort(order), np.arange(k))
    for begin in range(0, k, cupy_soft.part_of(k)):
        part = order[begin : begin + cupy_soft.part_of(k)]
        here = listed[:, part].min(axis=1)
        assert np.abs(here - value[:, part].min(axis=1)).max() <= noise
    few = slice(None, None, max(1, n // cupy_soft.SOME))
    assert np.abs(listing.gaps - (best[few, 1] - best[few, 0])).max() <= 2 * noise
    # so are the second best, and most of the third; what is not listed costs more than `reach`
    known = np.take_along_axis(ok, np.argsort(value, axis=1)[:, 1:3], axis=1).mean(axis=0)
    assert known[0] > 0.999
    assert known[-1] > 0.8
    unlisted = np.where(ok, np.inf, value).min(axis=1) - best[:, 0]
    assert np.median(unlisted) >= listing.reach - 2 * noise
    share = ok[:: max(1, n // cupy_soft.FEW)].mean(axis=0)
    np.testing.assert_allclose(listing.known, share, atol=1e-9)  # each row counts once
    again = soft.list(question)
    assert np.array_equal(again.gaps, listing.gaps)
    assert again.reach == listing.reach


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_softened_dual_and_steps(d, k, dtype):
    """Sums, curvature and steps as in NumPy, from the same lists; the same bits when repeated."""
    n, rng = max(5003, k), np.random.default_rng(k)
    X = rows_of(n, d, "uniform", dtype, seed=k)
    question = drawn_question(X, k, seed=k)
    passes, rows, _, _ = seen_by(X, question)
    soft = passes.soft_rows([(rows, np.arange(n))])
    temperature = float(np.quantile(soft.list(question).gaps, 0.2))
    prices = question.prices + temperature * rng.normal(size=k)
    listed = listed_of(soft, n, k)
    value = listed - (prices - question.prices).astype(np.float32)
    found = soft.soften(prices, temperature)
    # no row is left out of the curvature: fewer than would be enough lie near borders
    assert n < cupy_soft.BORDERING
    heats = temperature * cupy_soft.HOTTER ** np.arange(cupy_soft.HEATS)
    spreads = [Spread(value, one) for one in heats]
    expected = spreads[0]
    scale = float(np.abs(value[np.isfinite(value)]).max()) * n
    assert abs(found.soft - expected.soft) <= 1e-5 * scale
    assert abs(found.hard - expected.hard) <= 1e-5 * scale
    np.testing.assert_allclose(found.shared, expected.shared, rtol=1e-3, atol=1e-4 * n)
    assert abs(found.shared.sum() - n) <= 1e-6 * n
    assert found.units.sum() == n
    assert np.abs(found.units - expected.units).sum() <= 2 + 1e-3 * n  # at a border
    # the most of all temperatures, since few rows that lie near a border do not tell enough
    curvature = np.maximum.reduce([one.edge for one in spreads])
    weight = found._weight.get().astype(np.float64)
    assert np.array_equal(weight, weight.T)
    assert np.abs(weight - curvature).max() <= 1e-3 * curvature.max()
    # a step, and how much of the gradient a move takes
    gradient, active = rng.normal(size=k), rng.random(k) < 0.9
    active[:2] = True
    degree, here = weight.sum(axis=1), np.flatnonzero(active)
    for damping in (1e-3, 1.0):
        matrix = np.diag(degree + damping * (degree + degree.mean())) - weight
        step = np.zeros(k)
        step[here] = np.linalg.solve(matrix[np.ix_(here, here)], gradient[here])
        mine = found.step(gradient, active, damping)
        if k <= cupy_soft.DIRECTLY:
            assert np.abs(mine - step).max() <= 1e-9 * np.abs(step).max()
        assert not mine[~active].any()
        left, all_of_it = (
            np.sqrt((np.square(one) / np.diag(matrix))[here].sum())
            for one in (matrix @ mine - gradient, gradient)
        )
        assert left <= 2 * cupy_soft.ACCURACY * all_of_it
        assert np.array_equal(found.step(gradient, active, damping), mine)
    pulled = degree * step - weight @ step
    assert np.abs(found.pull(step) - pulled).max() <= 1e-9 * np.abs(degree * step).max()
    again = soft.soften(prices, temperature)
    assert (again.soft, again.hard) == (found.soft, found.hard)
    assert np.array_equal(again.shared, found.shared)
    assert np.array_equal(again.units, found.units)
    assert bool((again._weight == found._weight).all())


@pytest.mark.parametrize("k", [5, 200])
def test_no_step_where_no_row_is_near_a_border(k):
    """Each row is at a center, and others are far: nothing is known of the curvature."""
    X = np.repeat(np.arange(k, dtype=np.float32)[:, None], 20, axis=0)
    question = replace(drawn_question(X, k), prices=np.zeros(k))
    question = replace(question, centers=question.frame.inside(X[::20]))
    passes, rows, _, _ = seen_by(X, question)
    soft = passes.soft_rows([(rows, np.arange(len(X)))])
    soft.list(question)
    found = soft.soften(question.prices, 1e-30)
    assert np.array_equal(found.units, np.full(k, 20))
    assert np.array_equal(found.shared, np.full(k, 20))
    assert found.step(np.ones(k), np.ones(k, bool), 1e-3) is None


@pytest.mark.parametrize("k", [40, 300])
def test_one_of_many_rows_tells_of_borders(k, monkeypatch):
    """Of rows near borders some are enough: the curvature is about the same."""
    X = rows_of(200_003, 5, "uniform", np.float32)
    question = drawn_question(X, k)
    passes, rows, _, _ = seen_by(X, question)
    soft = passes.soft_rows([(rows, np.arange(len(X)))])
    temperature = float(np.quantile(soft.list(question).gaps, 0.5))
    some = soft.soften(question.prices, temperature)
    monkeypatch.setattr(cupy_soft, "BORDERING", 2**30)
    all_rows = soft.soften(question.prices, temperature)
    assert some.soft == all_rows.soft
    assert np.array_equal(some.shared, all_rows.shared)
    mine, whole = some._weight.get(), all_rows._weight.get()
    assert not np.array_equal(mine, whole)
    much = whole > 0.1 * whole.max()
    assert 0.8 < np.median(mine[much] / whole[much]) < 1.25


def test_rows_that_lead_to_prices_are_those_of_their_chunks():
    X = rows_of(3000, 4, "blobs", np.float64)
    passes, rows, _, _ = seen_by(X, drawn_question(X, 5))
    parts = [(rows[:1000], np.array([0, 7, 999])), (rows[1000:], np.array([3, 1999]))]
    assert np.array_equal(passes.soft_rows(parts)._rows.get(), X[[0, 7, 999, 1003, 2999]])
