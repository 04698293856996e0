"""`certify`: what it returns, how it ends, what it refuses."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm.estimator import ConstrainedKMeans
from bckm.fit.result import CERTIFIABLE


def blobs(n=60, k=3, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, 2)) * 6
    return centers[np.arange(n) % k] + spread * rng.normal(size=(n, 2))


def links(n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(n)[:40].reshape(-1, 2).tolist()
    same = [p for p in pairs if p[0] % k == p[1] % k]
    apart = [p for p in pairs if p[0] % k != p[1] % k]
    return bckm.Constraints(must_link=same, cannot_link=apart)


@pytest.fixture(scope="module")
def result():
    return bckm.kmeans(blobs(spread=2.5), 3, links(), n_init=20, random_state=0)


def test_a_good_clustering_is_proven_good(result):
    certificate = bckm.certify(result)
    assert certificate.status is bckm.Ending.CLOSED
    assert 0 <= certificate.gap <= 1e-4
    assert certificate.gap == 1 - certificate.lower_bound / result.inertia
    assert certificate.inertia == result.inertia
    assert certificate.rules == ("must-links", "cannot-links")
    assert certificate.left_out == ()
    assert certificate.iterations > 0
    assert "of the optimum: no clustering that obeys the rules" in str(certificate)


def test_a_bad_clustering_is_not(result):
    X = blobs(spread=2.5)
    bad = bckm.kmeans(X, 3, links(), init=X[:3], max_iter=1, tol=0)
    assert bad.inertia > result.inertia * 1.02
    certificate = bckm.certify(bad)
    assert certificate.status is bckm.Ending.EXHAUSTED
    assert certificate.gap > 0.02
    assert certificate.lower_bound == pytest.approx(result.inertia, rel=1e-3)
    assert certificate.lower_bound <= result.inertia


def test_cuts_raise_the_bound(result):
    steps = []
    bckm.certify(result, tol=1e-6, on_step=steps.append)
    bounds = [step.lower_bound for step in steps]
    assert bounds == sorted(bounds)
    assert steps[0].iteration == 0
    plain = max(step.lower_bound for step in steps if step.cuts == 0)
    assert bounds[-1] > plain * 1.001


@pytest.mark.parametrize("scale", [2.0**20, 1e-6, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_units_and_origin_do_not_matter(result, scale, shift):
    moved = bckm.kmeans((blobs(spread=2.5) + shift) * scale, 3, links(), n_init=20, random_state=0)
    first, other = bckm.certify(result), bckm.certify(moved)
    assert other.status is bckm.Ending.CLOSED
    assert other.lower_bound / scale**2 == pytest.approx(first.lower_bound, rel=2e-4)
    if shift == 0 and scale == 2.0**20:
        assert other.lower_bound == first.lower_bound * scale**2


def test_permuted_samples_give_the_same_bound():
    X = blobs(spread=2.5)
    order = np.random.default_rng(1).permutation(len(X))
    first = bckm.certify(bckm.kmeans(X, 3, n_init=20, random_state=0))
    other = bckm.certify(bckm.kmeans(X[order], 3, n_init=20, random_state=0))
    assert other.lower_bound == pytest.approx(first.lower_bound, rel=1e-6)


def test_weights_are_repetitions():
    X, weight = blobs(40, spread=2.5), np.arange(40) % 3 + 1.0
    again = np.repeat(np.arange(40), weight.astype(int))
    linked = bckm.Constraints(must_link=[np.flatnonzero(again == p).tolist() for p in range(40)])
    first = bckm.kmeans(X, 3, sample_weight=weight, n_init=20, random_state=0)
    other = bckm.kmeans(X[again], 3, linked, n_init=20, random_state=0)
    assert first.inertia == pytest.approx(other.inertia)
    bounds = [bckm.certify(found).lower_bound for found in (first, other)]
    assert bounds[0] == pytest.approx(bounds[1], rel=2e-4)


def test_sizes_raise_the_bound():
    X = np.concatenate([blobs(20, 1), blobs(40, 1, seed=1)])
    free = bckm.certify(bckm.kmeans(X, 2, n_init=20, random_state=0))
    rules = bckm.Constraints(size_min=30, size_max=30)
    sized = bckm.certify(bckm.kmeans(X, 2, rules, n_init=20, random_state=0))
    assert sized.gap < 0.02
    assert sized.lower_bound > 1.1 * free.inertia
    assert sized.rules == ("size bounds",)


def test_rows_are_left_out_and_named():
    X = blobs(12)
    load = bckm.AttributeSum(np.arange(12), upper=24, name="load")
    found = bckm.kmeans(X, 3, bckm.Constraints(rows=load), random_state=0)
    certificate = bckm.certify(found)
    assert certificate.left_out == ("linear rows",)
    assert "linear rows were left out" in str(certificate)
    assert certificate.lower_bound <= bckm.kmeans(X, 3, n_init=50, random_state=0).inertia


def test_no_inertia_no_gap():
    points = np.random.default_rng(0).normal(size=(4, 3))
    found = bckm.kmeans(np.repeat(points, 7, axis=0), 4, n_init=10, random_state=0)
    certificate = bckm.certify(replace(found, inertia=1e-30))  # as rounding may leave it
    assert certificate.gap == 0
    assert certificate.lower_bound <= certificate.inertia
    assert certificate.status is bckm.Ending.CLOSED


def test_one_cluster_is_optimal():
    certificate = bckm.certify(bckm.kmeans(blobs(), 1))
    assert certificate.gap < 1e-9
    assert certificate.iterations == 0


def test_time_limit(result):
    at_once = bckm.certify(result, time_limit=0)
    assert at_once.status is bckm.Ending.TIME_LIMIT
    assert at_once.iterations == 0
    assert 0 < at_once.lower_bound < result.inertia
    soon = bckm.certify(result, tol=0, time_limit=0.1)
    assert soon.status is bckm.Ending.TIME_LIMIT
    assert soon.seconds < 2
    assert at_once.lower_bound < soon.lower_bound <= result.inertia
    assert "time limit" in str(soon)


@pytest.mark.parametrize("at", [0, 40])
def test_ctrl_c_returns_the_best_bound(result, at):
    def stop(step):
        if step.iteration == at:
            raise KeyboardInterrupt

    certificate = bckm.certify(result, tol=0, on_step=stop)
    assert certificate.status is bckm.Ending.INTERRUPTED
    assert certificate.iterations == at
    assert 0 < certificate.lower_bound <= result.inertia


def test_numbers_are_rounded_to_the_safe_side(result):
    certificate = replace(bckm.certify(result), lower_bound=123.456789, gap=1.201e-4)
    assert "below 123.4567 " in str(certificate)
    assert str(certificate).startswith("within 0.013 % ")


def test_results_can_be_stored(result):
    again = pickle.loads(pickle.dumps(result))
    assert bckm.certify(again).lower_bound == bckm.certify(result).lower_bound
    assert "problem" not in repr(result)
    fitted = ConstrainedKMeans(3, random_state=0).fit(blobs())
    fitted = pickle.loads(pickle.dumps(fitted))
    assert bckm.certify(fitted.result_).gap < 1e-3


def test_means_of_assign_to_are_not_certified(result):
    X = blobs(spread=2.5)
    found = bckm.assign_to(X, result.centers + 0.1, links())
    with pytest.raises(ValueError, match=r"not the means of its clusters.*bckm\.assign_to"):
        bckm.certify(found)
    assert bckm.certify(bckm.assign_to(X, result.centers, links())).gap < 1e-3


def test_many_items_are_refused():
    n = CERTIFIABLE + 1
    large = bckm.kmeans(np.arange(n)[:, None], 2, random_state=0)
    assert large.problem is None
    with pytest.raises(ValueError, match=r"2,001 samples .* at most 2,000 items"):
        bckm.certify(large)
    # must-linked samples count once
    linked = bckm.Constraints(must_link=[(0, 1)])
    assert bckm.kmeans(np.arange(n)[:, None], 2, linked, random_state=0).problem is not None


def test_bad_arguments(result):
    with pytest.raises(TypeError, match="certify takes the Result"):
        bckm.certify(result.labels)
    with pytest.raises(ValueError, match="tol must be"):
        bckm.certify(result, tol=-1)
    with pytest.raises(ValueError, match="time_limit must be"):
        bckm.certify(result, time_limit="soon")
    with pytest.raises(TypeError, match="on_step must be callable"):
        bckm.certify(result, on_step=1)
