"""A Newton step against the Laplacian system that it claims to solve."""

import numpy as np
import pytest

from bckm import kernels
from bckm.kernels import native

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


def line(n_each, gap=1.0):
    """Samples at equal distances from borders 0-1, 1-2 and 2-0, as many on both sides."""
    label, runner_up, margin = [], [], []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        for side in ((a, b), (b, a)):
            label += [side[0]] * n_each
            runner_up += [side[1]] * n_each
            margin += (gap * (np.arange(n_each) + 0.5) / n_each).tolist()
    return np.array(label, np.int32), np.array(runner_up, np.int32), np.array(margin, np.float32)


def step_of(label, runner_up, margin, gradient, active=None, prices=None, supply=None, threads=1):
    k = len(gradient)
    points = native.Points(np.zeros((len(label), 1)), None, None, supply)
    active = np.ones(k, bool) if active is None else np.array(active)
    prices = np.zeros(k) if prices is None else np.array(prices, float)
    gradient = np.array(gradient, float)
    return native.newton_step(points, prices, label, runner_up, margin, gradient, active, threads)


def laplacian(density):
    return density * (3 * np.eye(3) - np.ones((3, 3)))


@pytest.mark.parametrize("supply", [None, 3])
def test_samples_spread_evenly(supply):
    """2000 samples per unit of price and side: the density at each of the borders."""
    label, runner_up, margin = line(2000)
    units = None if supply is None else np.full(len(label), supply)
    gradient = np.array([100.0, -60.0, -40.0])
    step = step_of(label, runner_up, margin, gradient, supply=units)
    # a price up by t takes t * 2000 samples over each border
    wanted = np.linalg.pinv(laplacian(2000 * (supply or 1))) @ gradient
    moved = step - step.mean()
    assert moved == pytest.approx(wanted, rel=0.35)
    assert np.sign(moved).tolist() == np.sign(gradient).tolist()


def test_inactive_clusters_stay():
    label, runner_up, margin = line(2000)
    step = step_of(label, runner_up, margin, [50.0, 0.0, 0.0], active=[True, False, False])
    assert step[1:].tolist() == [0.0, 0.0]
    assert step[0] == pytest.approx(50 / 4000, rel=0.35)


def test_prices_belong_to_the_gaps():
    """Margins are without prices: the same gaps from other prices give the same step."""
    label, runner_up, margin = line(500)
    prices = np.array([0.3, -0.2, 0.7])
    gradient = [20.0, -5.0, -15.0]
    shifted = (margin - (prices[label] - prices[runner_up])).astype(np.float32)
    one = step_of(label, runner_up, margin, gradient)
    two = step_of(label, runner_up, shifted, gradient, prices=prices)
    assert two == pytest.approx(one, rel=0.1)


def test_the_scale_of_costs_is_that_of_the_step():
    label, runner_up, margin = line(300)
    one = step_of(label, runner_up, margin, [9.0, -4.0, -5.0])
    for scale in (2.0**-60, 2.0**-20, 2.0**40):
        other = step_of(label, runner_up, (margin * scale).astype(np.float32), [9.0, -4.0, -5.0])
        assert other == pytest.approx(one * scale, rel=1e-5)


def test_no_step_is_longer_than_what_was_measured():
    label, runner_up, margin = line(5, gap=1e-3)
    step = step_of(label, runner_up, margin, [1e6, -5e5, -5e5])
    assert np.abs(step).max() <= 3 * 1.5e-3


def test_a_cluster_without_border():
    label, runner_up, margin = line(100)
    step = step_of(label, runner_up, margin, [5.0, -5.0, 0.0, 3.0])
    assert np.isfinite(step).all()
    assert step[3] > 0


@pytest.mark.parametrize("odd", [np.inf, np.nan, -1.0, 0.0, 1e-45, 3e38])
def test_odd_gaps(odd):
    label, runner_up, margin = line(50)
    margin[::7] = odd
    step = step_of(label, runner_up, margin, [5.0, -5.0, 0.0])
    assert step is None or np.isfinite(step).all()
    margin[:] = odd
    step = step_of(label, runner_up, margin, [5.0, -5.0, 0.0])
    assert step is None or np.isfinite(step).all()


def test_one_cluster_has_no_border():
    zero = np.zeros(9, np.int32)
    assert step_of(zero, zero, np.zeros(9, np.float32), [1.0]) is None


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    n, k = 120_000, 12
    label = rng.integers(k, size=n).astype(np.int32)
    runner_up = ((label + 1 + rng.integers(k - 1, size=n)) % k).astype(np.int32)
    margin, gradient = rng.exponential(size=n).astype(np.float32), rng.normal(size=k) * 100
    found = [step_of(label, runner_up, margin, gradient, threads=t).tobytes() for t in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("bad", ["label", "runner_up", "margin", "gradient", "active"])
def test_bad_arguments(bad):
    label, runner_up, margin = line(10)
    arguments = {
        "points": native.Points(np.zeros((60, 1))),
        "prices": np.zeros(3),
        "label": label,
        "runner_up": runner_up,
        "margin": margin,
        "gradient": np.ones(3),
        "active": np.ones(3, bool),
        "threads": 1,
    }
    native.newton_step(**arguments)
    arguments[bad] = arguments[bad][:-1].copy()
    with pytest.raises((ValueError, TypeError)):
        native.newton_step(**arguments)
    if bad in ("label", "runner_up"):
        arguments[bad] = np.full(60, 3, np.int32)
        with pytest.raises(ValueError, match="labels"):
            native.newton_step(**arguments)
