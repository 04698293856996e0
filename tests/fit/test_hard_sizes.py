"""Whole fits under sizes that are hard: nothing hangs, and every step is proven optimal."""

import time
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import bckm
from bckm import ConstrainedKMeans, Constraints, kernels, kmeans
from tests.support.ctrl_c import interrupted, needs_signals

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


SECONDS = 40  # most fits take about a second; a hang is what is looked for


def even(n, k, slack=0):
    return Constraints(size_min=max(0, n // k - slack), size_max=-(-n // k) + slack)


def identical(rng):
    return np.ones((100_000, 2)), 200, {}


def few_points(rng):
    return np.repeat(rng.normal(size=(50, 3)), 2000, axis=0), 30, {}


def few_samples_each(rng):
    return rng.normal(size=(10_000, 3)), 500, {"max_iter": 1}


def many_clusters(rng):
    return rng.normal(size=(20_000, 2)), 1000, {"max_iter": 2, "time_limit": 10 * SECONDS}


def one_outlier(rng):
    X = rng.normal(size=(20_000, 3))
    X[17] *= 1e8
    return X, 10, {}


def far_centers(rng):
    X = rng.normal(size=(20_000, 3))
    return X, 10, {"init": 1e6 + rng.normal(size=(10, 3))}


def half_zero(rng):
    X = rng.exponential(size=(20_000, 4))
    X[rng.random(20_000) < 0.5] = 0.0
    return X, 20, {}


def half_zero_sparse(rng):
    X = rng.poisson(0.3, size=(20_000, 6)).astype(float)
    return X, 25, {}


def one_direction(rng):
    return rng.exponential(size=(20_000, 1)) ** 4, 40, {}


def skewed(rng):
    return np.exp(3 * rng.normal(size=(20_000, 2))), 50, {"max_iter": 5}


CASES = [
    identical,
    few_points,
    few_samples_each,
    many_clusters,
    one_outlier,
    far_centers,
    half_zero,
    half_zero_sparse,
    one_direction,
    skewed,
]


HARD_FITS = [
    pytest.param(
        case,
        slack,
        marks=[pytest.mark.slow if slack else pytest.mark.full] * (case is many_clusters),
    )
    for case in CASES
    for slack in (0, 3)
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("case", "slack"), HARD_FITS)
def test_every_step_of_a_hard_fit_is_proven(case, slack):
    X, k, options = case(np.random.default_rng(0))
    rules = even(len(X), k, slack)
    options = {"max_iter": 10, "random_state": 0, "time_limit": SECONDS, **options}
    began = time.process_time()
    found = kmeans(X, k, rules, solver="transport", search="none", **options)
    assert time.process_time() - began < 2 * options["time_limit"]
    assert found.status in ("converged", "iteration_limit"), "no step hangs"
    assert bckm.verify(found.labels, k, rules) == []
    scale = float(np.square(X - X.mean(axis=0)).sum())
    for step in found.history:
        gap = step.assigned - step.lower_bound
        # costs that vanish, as of identical samples, are as good as rounding permits
        assert 0 <= gap <= 1e-12 * step.assigned + 1e-26 * scale  # with all rounding
    # the last step again, by another way: prices and centers of the result, in plain NumPy
    at = cdist(X, found.centers, "sqeuclidean")
    subsidy, tax = np.maximum(found.prices, 0), np.maximum(-found.prices, 0)
    lower, upper = np.resize(rules.size_min, k), np.resize(rules.size_max, k)
    dual = (at - found.prices).min(axis=1).sum() + lower @ subsidy - upper @ tax
    # what rounding may take off: of the sums, and of centers on their way to the units of X
    rounding = 1e-12 * found.inertia + 1e-15 * len(X) * float(np.abs(found.prices).max())
    assert found.lower_bound == pytest.approx(dual, rel=0, abs=rounding + 1e-15 * scale)
    assert all(b.objective <= a.objective for a, b in pairwise(found.history))


# -- whole fits -------------------------------------------------------------------------------


def blobs(seed, n, k, d=3):
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(4))
def test_threads_change_no_bit_of_a_fit(seed):
    X = blobs(seed, 20_000, 12)
    if seed == 1:
        X = np.round(X, 1)
    weight = np.random.default_rng(seed).integers(0, 3, len(X)) if seed == 2 else None
    rules = [
        even(20_000, 12),
        even(20_000, 12, 50),
        even(20_000, 12),
        Constraints(size_min=np.arange(12) * 100, size_max=np.arange(12) * 150 + 1500),
    ][seed]
    found = []
    for jobs in (1, 2, 3):
        one = kmeans(X, 12, rules, random_state=seed, n_jobs=jobs, sample_weight=weight, max_iter=8)
        assert one.solver == "transport"
        steps = [(s.objective, s.assigned, s.lower_bound, s.moved) for s in one.history]
        arrays = (one.labels, one.centers, one.prices)
        found.append((one.inertia, one.lower_bound, steps, *(a.tobytes() for a in arrays)))
    assert found[0] == found[1] == found[2]


def test_which_engine_serves():
    X = blobs(0, 60, 3)
    sizes = even(60, 3)
    assert kmeans(X, 3, sizes, random_state=0).solver == "transport"
    assert kmeans(X, 3, random_state=0).solver == "transport"
    assert kmeans(X, 3, Constraints(size_min=0), random_state=0).solver == "transport"
    linked = Constraints(cannot_link=[(0, 1)])
    assert kmeans(X, 3, linked, random_state=0).solver == "exact"
    assert kmeans(X, 3, linked & sizes, random_state=0).solver == "exact"
    assert kmeans(X, 3, sizes & Constraints(must_link=[(0, 1)]), random_state=0).solver == "exact"
    for rules in (linked, sizes & Constraints(must_link=[(0, 1)])):
        with pytest.raises(bckm.UnsupportedError):
            kmeans(X, 3, rules, solver="transport")


@pytest.mark.parametrize("seed", range(5))
def test_transport_and_exact_agree(seed):
    """Two engines that share no code: the same optimal steps, so the same fit."""
    X = blobs(seed, 90, 5)
    rules = [even(90, 5), even(90, 5, 3), Constraints(size_max=25), Constraints(size_min=12)]
    rules.append(Constraints(size_min=[5, 10, 15, 20, 25], size_max=[10, 15, 20, 25, 30]))
    for asked in rules:
        options = {"init": X[:5], "tol": 0, "label_bounds": "given"}
        one = kmeans(X, 5, asked, solver="transport", **options)
        two = kmeans(X, 5, asked, solver="exact", **options)
        assert np.array_equal(one.labels, two.labels)
        assert one.inertia == pytest.approx(two.inertia, rel=1e-12)
        assert one.assignment_status == "optimal"


@pytest.mark.full
@pytest.mark.parametrize("n", [200, 2000])
def test_unequal_bounds_in_any_order(n):
    rng = np.random.default_rng(1)
    sizes = np.array([10, 30, 60, 100]) * n // 200
    middle = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
    X = np.repeat(middle, sizes, axis=0) + rng.normal(size=(n, 2))
    found = []
    for order in permutations(sizes.tolist()):
        one = kmeans(
            X, 4, Constraints(size_min=order, size_max=order), random_state=0, solver="transport"
        )
        assert one.sizes.tolist() == list(order)
        found.append(one.inertia)
    assert max(found) - min(found) <= 1e-9 * min(found)


# -- stopping ---------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0.0, 1e-3, 0.02, 0.1, 0.3])
def test_a_time_limit_leaves_feasible_labels(limit):
    X = np.exp(2 * np.random.default_rng(0).normal(size=(30_000, 2)))
    rules = even(30_000, 300)
    began = time.perf_counter()
    found = kmeans(X, 300, rules, solver="transport", random_state=0, time_limit=limit, tol=0)
    assert time.perf_counter() - began < limit + 5
    assert bckm.verify(found.labels, 300, rules) == []
    assert found.status == ("time_limit" if found.history else "not_started")
    assert found.lower_bound <= found.inertia


def test_a_stop_in_the_middle_of_a_fit():
    X, rules, seen = np.random.default_rng(0).normal(size=(5000, 2)), even(5000, 8), []

    def stop(step):
        seen.append(step)
        if len(seen) == 2:
            raise KeyboardInterrupt

    found = kmeans(X, 8, rules, random_state=0, tol=0, on_step=stop)
    assert found.status == "interrupted"
    assert found.n_iter >= 1
    assert bckm.verify(found.labels, 8, rules) == []
    assert found.prices is None


@pytest.mark.sampled(1)
@needs_signals
@pytest.mark.parametrize("wait", [0.0, 0.5])
def test_a_real_ctrl_c_inside_settle(wait):
    """Paths that would take long, from prices that are no help, are interrupted from outside."""
    code = """
import time
import numpy as np
from tests.kernels.test_sweep import Known, sweep
from bckm.kernels import native
rng = np.random.default_rng(0)
n, k = 60_000, 600
X, centers = rng.normal(size=(n, 3)), 3 + rng.normal(size=(k, 3))
points, prices, known = native.Points(X), np.zeros(k), Known(n)
sweep(points, centers, prices, known)
size = np.full(k, n // k)
print("begun", flush=True)
began = time.perf_counter()
try:
    native.settle(points, centers, prices, known.label, known.slack, size, size, 10**5, 1e9, 1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print("after", time.perf_counter() - began)
"""
    assert interrupted(code, wait + 0.2, most=5).startswith("interrupted")


# -- prediction -------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(8))
def test_predict_knows_the_labels_of_the_fit(seed):
    k = 6
    X = blobs(seed, 900, k)
    asked = [
        {"size_min": 150, "size_max": 150},
        {"size_min": 140, "size_max": 160},
        {"size_max": 170},
        {"size_min": [50, 100, 150, 150, 200, 250], "size_max": [50, 100, 150, 150, 200, 250]},
    ][seed % 4]
    model = ConstrainedKMeans(k, **asked, tol=0, random_state=0).fit(X)
    assert model.result_.status == "converged"
    labels = model.predict(X)
    value = cdist(X, model.cluster_centers_, "sqeuclidean") - model.result_.prices
    wrong = np.flatnonzero(labels != model.labels_)
    ahead = value[wrong, model.labels_[wrong]] - value[wrong].min(axis=1)
    assert (ahead <= 1e-9 * np.abs(value).max()).all(), "ties"
    assert wrong.size <= k - 1
    order = np.random.default_rng(seed).permutation(900)
    assert np.array_equal(model.predict(X[order]), labels[order])
    assert np.array_equal(model.predict(X[order[:50]]), labels[order[:50]])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [7, 100, 450, 900, 3000])
def test_a_new_batch_keeps_scaled_bounds(n):
    low, up = np.array([50, 100, 150, 250]), np.array([150, 300, 400, 500])
    model = ConstrainedKMeans(4, size_min=low, size_max=up, random_state=0).fit(blobs(0, 900, 4))
    new = blobs(5, n, 2)
    labels = model.assign(new)
    sizes = np.bincount(labels, minlength=4)
    least, most = low * n // 900, -(-up * n // 900)
    assert (sizes >= least).all()
    assert (sizes <= most).all()
    best = bckm.assign_to(
        new, model.cluster_centers_, Constraints(size_min=least, size_max=most), solver="exact"
    )
    cost = cdist(new, model.cluster_centers_, "sqeuclidean")[np.arange(n), labels].sum()
    assert cost == pytest.approx(best.inertia, rel=1e-9)
