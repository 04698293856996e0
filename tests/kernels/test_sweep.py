"""The distance pass: exact labels, slacks that hold, the same for all threads and machines."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bckm import kernels
from bckm._core.deadline import Deadline
from bckm.assign.transport_state import SizeBounds, TransportState
from bckm.kernels import native
from tests.kernels.test_build import VARIANTS, python

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)

EPS = np.finfo(float).eps


class Known:
    """The arrays that a sweep fills."""

    def __init__(self, n):
        self.label, self.runner_up = np.zeros(n, np.int32), np.zeros(n, np.int32)
        self.margin, self.slack = np.zeros(n, np.float32), np.full(n, -1, np.float32)

    def arrays(self):
        return self.label, self.runner_up, self.margin, self.slack


def sweep(points, centers, prices, known, *, keep=False, threads=1):
    none = np.zeros(len(centers))
    return native.sweep(points, centers, prices, *known.arrays(), None, none, none, keep, threads)


def values(X, centers, prices, weight=1.0):
    return np.reshape(weight, (-1, 1)) * cdist(X, centers, "sqeuclidean") - prices


def assert_best(value, known):
    """Labels are those of float64, and no slack promises more than there is."""
    n, k = value.shape
    own = value[np.arange(n), known.label]
    rounding = 40 * EPS * (np.abs(value).min(axis=1) + np.abs(own))
    assert (own <= value.min(axis=1) + rounding).all()
    if k > 1:
        rest = value.copy()
        rest[np.arange(n), known.label] = np.inf
        assert (known.slack <= rest.min(axis=1) - own + rounding).all()


@pytest.mark.sampled(20)
@pytest.mark.parametrize("k", [1, 2, 5, 8, 9, 33, 100])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 16, 30, 129])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_those_of_float64(k, d, weighted):
    rng = np.random.default_rng(k * d)
    n = 500
    X, centers = rng.normal(size=(n, d)), rng.normal(size=(k, d))
    X[:k] = centers[: min(n, k)]
    prices = rng.normal(size=k) * d * 0.3
    weight = rng.uniform(0, 3, n) ** 4 if weighted else np.ones(n)
    known = Known(n)
    points = native.Points(X, cost_weight=weight if weighted else None)
    swept = sweep(points, centers, prices, known)
    value = values(X, centers, prices, weight)
    assert_best(value, known)
    assert swept.evaluated == n
    assert swept.regret == 0
    before = np.bincount(np.zeros(n, int), minlength=k)
    assert (before + swept.gained == np.bincount(known.label, minlength=k)).all()
    cost = value + prices
    grown = cost[np.arange(n), known.label].sum() - cost[:, 0].sum()
    assert swept.change == pytest.approx(grown, abs=1e-12 * cost.sum())
    if k > 1:
        assert (known.slack > 0).mean() > 0.9, "a slack is worth something"
        ahead = np.sort(value, axis=1)[:, 1] - value.min(axis=1)
        assert np.median(known.slack / ahead) > 0.9
        lead = known.margin + prices[known.label] - prices[known.runner_up]
        assert np.allclose(lead, ahead, atol=1e-4 * np.abs(value).max())
        assert (known.runner_up != known.label).all()


@pytest.mark.parametrize("exponent", range(7, 17))
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_near_ties_are_decided_in_float64(exponent, offset):
    """Points on the border between two centers, moved off it by next to nothing."""
    rng = np.random.default_rng(exponent)
    n, d = 400, 3
    centers = rng.normal(size=(6, d))
    a, b = centers[:2]
    middle = (a + b) / 2
    along = rng.normal(size=(n, d))
    along -= np.outer(along @ (b - a), b - a) / ((b - a) @ (b - a))
    X = middle + 0.1 * along + np.outer(rng.normal(size=n) * 10.0**-exponent, b - a) + offset
    centers += offset
    prices = np.array([0, 0, -9.0, -9, -9, -9])
    known = Known(n)
    sweep(native.Points(X), centers, prices, known)
    value = values(X, centers, prices)
    assert_best(value, known)
    clear = np.abs(value[:, 0] - value[:, 1]) > 20 * EPS * (np.abs(value[:, 0]) + 1)
    assert (known.label[clear] == value.argmin(axis=1)[clear]).all()
    if exponent <= 11:
        assert clear.mean() > 0.8


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e-12, 1e-6, 1e6, 1e12, 1e30, 1e150])
def test_any_scale(scale):
    """Squares that float32 does not have are no harm."""
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(300, 3)) * scale, rng.normal(size=(7, 3)) * scale
    prices = rng.normal(size=7) * scale**2
    known = Known(300)
    with np.errstate(all="ignore"):
        sweep(native.Points(X), centers, prices, known)
        assert (known.label == values(X, centers, prices).argmin(axis=1)).all()


@pytest.mark.parametrize("far", [1e3, 1e8, 1e19, 1e30])
def test_far_centers_points_and_prices(far):
    rng = np.random.default_rng(1)
    X, centers, prices = rng.normal(size=(300, 2)), rng.normal(size=(9, 2)), rng.normal(size=9)
    centers[3] += far
    prices[4] = -far
    prices[3] = far * far
    X[7] = -far
    known = Known(300)
    sweep(native.Points(X), centers, prices, known)
    assert_best(values(X, centers, prices), known)


@pytest.mark.parametrize("weighted", [False, True])
def test_views_with_rows_supply_and_steps(weighted):
    rng = np.random.default_rng(2)
    X, centers, prices = rng.normal(size=(200, 3)), rng.normal(size=(6, 3)), rng.normal(size=6)
    rows, supply = rng.integers(200, size=90), rng.integers(1, 9, 90)
    weight = rng.random(200) if weighted else np.ones(200)
    for step in (1, 2, 7, 100):
        points = native.Points(X, rows, weight if weighted else None, supply, step)
        seen = rows[::step]
        assert points.n == seen.size
        known = Known(points.n)
        swept = sweep(points, centers, prices, known)
        value = values(X[seen], centers, prices, weight[seen])
        assert_best(value, known)
        units = np.bincount(known.label, supply[::step], 6)
        units[0] -= supply[::step].sum()
        assert (swept.gained == units).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_regret_of_kept_labels(weighted):
    rng = np.random.default_rng(3)
    n = 3000
    X, centers, prices = rng.normal(size=(n, 4)), rng.normal(size=(11, 4)), rng.normal(size=11)
    weight = rng.random(n) if weighted else np.ones(n)
    supply = rng.integers(1, 5, n)
    known = Known(n)
    known.label[:] = rng.integers(11, size=n)
    before = known.label.copy()
    points = native.Points(X, None, weight if weighted else None, supply)
    swept = sweep(points, centers, prices, known, keep=True)
    value = values(X, centers, prices, weight)
    lost = value[np.arange(n), before] - value.min(axis=1)
    assert swept.regret == pytest.approx(supply @ lost, rel=1e-13)
    assert (known.label == before).all()
    assert swept.evaluated == n
    assert swept.change == 0
    assert not swept.gained.any()
    best = lost == 0
    assert (known.slack[~best] <= 0).all()
    assert (known.slack[best] > 0).mean() > 0.9


def test_threads_change_nothing():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30_000, 5))
    found = []
    for threads in (1, 2, 3):
        known, points = Known(len(X)), native.Points(X)
        answers = []
        for seed in range(3):
            other = np.random.default_rng(seed)
            centers, prices = other.normal(size=(17, 5)), other.normal(size=17)
            known.slack[:] = -1
            got = sweep(points, centers, prices, known, threads=threads, keep=seed == 2)
            answers += [got.gained.tobytes(), got.evaluated, got.regret, got.change]
        found.append((*answers, *(a.tobytes() for a in known.arrays())))
    assert found[0] == found[1] == found[2]


@pytest.mark.full
def test_every_instruction_set_gives_the_same_labels():
    code = """
import zlib
import numpy as np
from tests.kernels.test_sweep import Known, native, sweep
print(native.isa())
for d in (1, 3, 8, 40):
    for k in (2, 7, 50):
        rng = np.random.default_rng(d * k)
        X = np.round(rng.normal(size=(2000, d)), 2)
        centers = X[:k] if k % 2 else (X[:k] + X[k : 2 * k]) / 2
        for weight in (None, rng.random(2000)):
            points, known = native.Points(X, cost_weight=weight), Known(2000)
            sweep(points, centers, np.round(rng.normal(size=k), 1), known)
            print(zlib.crc32(known.label.tobytes()))
"""
    printed = [python(code, BCKM_ISA=name).split("\n") for name in VARIANTS]
    assert printed[0][0] == "baseline"
    assert printed[0][1:] == printed[1][1:] == printed[2][1:]
    assert len(set(printed[0][1:])) == 24


def state_of(X, k, weight=None, threads=1):
    bounds = SizeBounds(np.zeros(k), np.full(k, float(len(X))))
    extremes = (1.0, 1.0) if weight is None else (float(weight.min()), float(weight.max()))
    return TransportState(native.Points(X, cost_weight=weight), None, bounds, extremes, threads)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(150))
def test_what_is_known_stays_true_while_prices_and_centers_move(seed):
    rng = np.random.default_rng(seed)
    n, k, d = int(rng.integers(1, 300)), int(rng.integers(1, 9)), int(rng.integers(1, 6))
    X, centers = rng.normal(size=(n, d)), rng.normal(size=(k, d))
    weight = None
    if seed % 3 == 0:
        weight = rng.random(n) ** 3
        weight[rng.random(n) < 0.1] = 1e-12
    state, prices, skipped = state_of(X, k, weight), np.zeros(k), 0
    for _ in range(25):
        what = rng.integers(8)
        size = 10.0 ** rng.integers(-6, 2)
        if what in (0, 1):
            prices = prices + size * rng.normal(size=k)
        elif what == 2:
            centers = centers + size * rng.normal(size=(k, d))
        elif what == 3:  # some stand still
            centers = centers + size * rng.normal(size=(k, d)) * (rng.random((k, 1)) < 0.3)
        elif what == 4:
            prices, centers = prices + size, centers.copy()
        elif what == 5:  # as after `settle`: labels changed from outside
            before = state.label.copy()
            state.label[rng.random(n) < 0.2] = rng.integers(k)
            state.relabel(before)
        elif what == 6:  # exchange
            centers = centers[rng.permutation(k)]
        keep = bool(rng.random() < 0.3)
        looked, before = state.evaluated, state.label.copy()
        regret = state.evaluate(centers, prices, Deadline(), keep=keep)
        skipped += n - (state.evaluated - looked)
        value = values(X, centers, prices, 1.0 if weight is None else weight)
        own = value[np.arange(n), state.label]
        rounding = 1e-13 * (np.abs(value).max() + 1)
        if keep:
            assert (state.label == before).all()
            assert regret == pytest.approx((own - value.min(axis=1)).sum(), abs=n * rounding)
        else:
            assert (own <= value.min(axis=1) + rounding).all(), what
        if k > 1:
            rest = value.copy()
            rest[np.arange(n), state.label] = np.inf
            assert (state.slack <= rest.min(axis=1) - own + rounding).all(), what
        assert (state.units == np.bincount(state.label, minlength=k)).all()
        if rng.random() < 0.6:
            cost = state.totals_at_centers().cost
            assert cost == pytest.approx((own + prices[state.label]).sum(), rel=1e-9)
    assert skipped > 0


def test_prices_that_all_rise_and_fall_alike():
    """What rounding takes from prices when a large constant comes and goes is part of the drift."""
    rng = np.random.default_rng(0)
    X, centers, prices = rng.normal(size=(20_000, 3)), rng.normal(size=(5, 3)), rng.normal(size=5)
    for shift in 10.0 ** np.arange(6, 16):
        state = state_of(X, 5)
        state.evaluate(centers, prices, Deadline())
        state.evaluate(centers, prices + shift, Deadline())
        after = (prices + shift) - shift
        state.evaluate(centers, after, Deadline())
        value = values(X, centers, after, 1.0)
        own = value[np.arange(len(X)), state.label]
        assert (own <= value.min(axis=1) + 1e-14).all(), shift


def test_centers_that_all_move_alike():
    """Moves that differ by 1e-9 of their length: |m_i|^2 - 2 m_i m_a + |m_a|^2 would be zero."""
    centers = np.array([[0.0, 0.0], [1e-9, 0.0]])
    X = np.stack([np.full(2001, 0.0), np.linspace(-10, 10, 2001)], axis=1)
    X[:, 0] = 5e-10 - 5.5e-9 * np.sign(X[:, 1])
    state, prices = state_of(X, 2), np.zeros(2)
    state.evaluate(centers, prices, Deadline())
    state.totals_at_centers()
    moved = centers + np.array([[0.0, 1.0], [0.0, 1.0 + 1e-9]])
    state.evaluate(moved, prices, Deadline())
    value = values(X, moved, prices)
    own = value[np.arange(len(X)), state.label]
    assert (own <= value.min(axis=1) + 1e-13).all()


BAD = {
    "label too short": lambda a: a.update(label=a["label"][:-1].copy()),
    "label too large": lambda a: a["label"].__setitem__(3, 4),
    "label negative": lambda a: a["label"].__setitem__(3, -1),
    "label of 64 bits": lambda a: a.update(label=a["label"].astype(np.int64)),
    "label not contiguous": lambda a: a.update(label=np.zeros(40, np.int32)[::2]),
    "runner_up too short": lambda a: a.update(runner_up=a["runner_up"][:-1].copy()),
    "margin too short": lambda a: a.update(margin=a["margin"][:-1].copy()),
    "slack too long": lambda a: a.update(slack=np.zeros(21, np.float32)),
    "slack of 64 bits": lambda a: a.update(slack=a["slack"].astype(float)),
    "radius too short": lambda a: a.update(radius=np.zeros(19, np.float32)),
    "prices too short": lambda a: a.update(prices=np.zeros(3)),
    "centers with other features": lambda a: a.update(centers=np.zeros((4, 2))),
    "no centers": lambda a: a.update(centers=np.zeros((0, 3)), prices=np.zeros(0)),
    "fixed too short": lambda a: a.update(fixed=np.zeros(3)),
    "slope too long": lambda a: a.update(slope=np.zeros(5)),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments_of_a_sweep(what):
    rng = np.random.default_rng(0)
    known = Known(20)
    arguments = {
        "points": native.Points(rng.normal(size=(20, 3))),
        "centers": rng.normal(size=(4, 3)),
        "prices": np.zeros(4),
        **vars(known),
        "radius": None,
        "fixed": np.zeros(4),
        "slope": np.zeros(4),
        "keep_labels": False,
        "threads": 1,
    }
    native.sweep(**arguments)
    BAD[what](arguments)
    with pytest.raises((ValueError, TypeError)):
        native.sweep(**arguments)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads_are_refused(threads):
    code = f"""
import numpy as np
from tests.kernels.test_sweep import Known, native, sweep
try:
    points, centers = native.Points(np.ones((20, 3))), np.ones((4, 3))
    sweep(points, centers, np.zeros(4), Known(20), threads={threads})
except ValueError:
    print("refused")
"""
    assert python(code) == "refused"


@pytest.mark.parametrize(
    "bad",
    [
        {"data": np.zeros((3, 0))},
        {"data": np.zeros(3)},
        {"rows": np.array([0, 3])},
        {"rows": np.array([0, -1])},
        {"cost_weight": np.ones(2)},
        {"supply": np.ones(2, np.int64)},
        {"rows": np.array([0, 1]), "supply": np.ones(3, np.int64)},
        {"step": 0},
        {"step": -1},
    ],
    ids=str,
)
def test_bad_points(bad):
    with pytest.raises((ValueError, TypeError)):
        native.Points(**{"data": np.zeros((3, 2)), **bad})


@pytest.mark.parametrize("units", [0, -1])
def test_points_without_samples_are_refused(units):
    with pytest.raises(ValueError, match="supply"):
        native.Points(np.zeros((3, 2)), supply=np.array([1, units, 1]))
