"""`certify`: what it returns, how it ends, what it refuses."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm.estimator import ConstrainedKMeans


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


X, RULES = blobs(spread=2.5), links()


@pytest.fixture(scope="module")
def result():
    return bckm.kmeans(X, 3, RULES, n_init=20, random_state=0)


@pytest.fixture(scope="module")
def certificate(result):
    return bckm.certify(result, X, RULES)


def fit_and_certify(X, k, rules=None, **options):
    found = bckm.kmeans(X, k, rules, n_init=20, random_state=0, **options)
    return bckm.certify(found, X, rules, **options)


def test_a_good_clustering_is_proven_good(result, certificate):
    assert certificate.status is bckm.Ending.CLOSED
    assert 0 <= certificate.gap <= 1e-4
    assert certificate.gap == 1 - certificate.lower_bound / result.inertia
    assert certificate.objective == result.inertia
    assert certificate.rules == ("must-links", "cannot-links")
    assert certificate.left_out == ()
    assert certificate.iterations > 0
    assert "of the optimum: no clustering that obeys the rules" in str(certificate)


def test_a_bad_clustering_is_not(result):
    bad = bckm.kmeans(X, 3, RULES, init=X[:3], max_iter=1, tol=0)
    assert bad.inertia > result.inertia * 1.02
    certificate = bckm.certify(bad, X, RULES)
    assert certificate.status is bckm.Ending.EXHAUSTED
    assert certificate.gap > 0.02
    assert certificate.lower_bound == pytest.approx(result.inertia, rel=1e-3)
    assert certificate.lower_bound <= result.inertia


def test_cuts_raise_the_bound(result):
    steps = []
    bckm.certify(result, X, RULES, tol=1e-6, on_step=steps.append)
    bounds = [step.lower_bound for step in steps]
    assert bounds == sorted(bounds)
    assert steps[0].iteration == 0
    plain = max(step.lower_bound for step in steps if step.cuts == 0)
    assert bounds[-1] > plain * 1.001


@pytest.mark.full
@pytest.mark.parametrize("scale", [2.0**20, 1e-6, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_units_and_origin_do_not_matter(certificate, scale, shift):
    other = fit_and_certify((X + shift) * scale, 3, RULES)
    assert other.status is bckm.Ending.CLOSED
    assert other.lower_bound / scale**2 == pytest.approx(certificate.lower_bound, rel=2e-4)
    if shift == 0 and scale == 2.0**20:
        assert other.lower_bound == certificate.lower_bound * scale**2


@pytest.mark.full
def test_permuted_samples_give_the_same_bound():
    order = np.random.default_rng(1).permutation(len(X))
    first, other = fit_and_certify(X, 3), fit_and_certify(X[order], 3)
    assert other.lower_bound == pytest.approx(first.lower_bound, rel=1e-6)


@pytest.mark.full
def test_weights_are_repetitions():
    X, weight = blobs(40, spread=2.5), np.arange(40) % 3 + 1.0
    again = np.repeat(np.arange(40), weight.astype(int))
    linked = bckm.Constraints(must_link=[np.flatnonzero(again == p).tolist() for p in range(40)])
    first = fit_and_certify(X, 3, sample_weight=weight)
    other = fit_and_certify(X[again], 3, linked)
    assert first.objective == pytest.approx(other.objective)
    assert first.lower_bound == pytest.approx(other.lower_bound, rel=2e-4)


def test_sizes_raise_the_bound():
    X = np.concatenate([blobs(20, 1), blobs(40, 1, seed=1)])
    free = fit_and_certify(X, 2)
    sized = fit_and_certify(X, 2, bckm.Constraints(size_min=30, size_max=30))
    assert sized.gap < 0.02
    assert sized.lower_bound > 1.1 * free.objective
    assert sized.rules == ("size bounds",)


def test_rows_are_left_out_and_named():
    X = blobs(12)
    load = bckm.Capacity(np.arange(12), max=24)
    certificate = fit_and_certify(X, 3, bckm.Constraints(capacities={"load": load}))
    assert certificate.left_out == ("capacities, quotas or linear rules",)
    assert "linear rules were ignored" in str(certificate)
    assert certificate.lower_bound <= bckm.kmeans(X, 3, n_init=50, random_state=0).inertia


def test_no_inertia_no_gap():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 7, axis=0)
    found = bckm.kmeans(X, 4, n_init=10, random_state=0)
    certificate = bckm.certify(replace(found, inertia=1e-30), X)  # as rounding may leave it
    assert certificate.gap == 0
    assert certificate.lower_bound <= certificate.objective
    assert certificate.status is bckm.Ending.CLOSED


def test_one_cluster_is_optimal():
    certificate = fit_and_certify(X, 1)
    assert certificate.gap < 1e-9
    assert certificate.iterations == 0


def test_time_limit(result):
    at_once = bckm.certify(result, X, RULES, time_limit=0)
    assert at_once.status is bckm.Ending.TIME_LIMIT
    assert at_once.iterations == 0
    assert 0 < at_once.lower_bound < result.inertia
    soon = bckm.certify(result, X, RULES, tol=0, time_limit=0.1)
    assert soon.status is bckm.Ending.TIME_LIMIT
    assert soon.seconds < 2
    assert at_once.lower_bound < soon.lower_bound <= result.inertia
    assert "time limit" in str(soon)


@pytest.mark.parametrize("at", [0, 40])
def test_ctrl_c_returns_the_best_bound(result, at):
    def stop(step):
        if step.iteration == at:
            raise KeyboardInterrupt

    certificate = bckm.certify(result, X, RULES, tol=0, on_step=stop)
    assert certificate.status is bckm.Ending.INTERRUPTED
    assert certificate.iterations == at
    assert 0 < certificate.lower_bound <= result.inertia


def test_numbers_are_rounded_to_the_safe_side(certificate):
    rounded = replace(certificate, lower_bound=123.456789, gap=1.201e-4)
    assert "below 123.4567 " in str(rounded)
    assert str(rounded).startswith("within 0.013 % ")


def test_results_can_be_stored(result):
    again = pickle.loads(pickle.dumps(result))
    first, second = (bckm.certify(one, X, RULES, time_limit=0) for one in (result, again))
    assert first.lower_bound == second.lower_bound
    small = blobs(18)
    fitted = ConstrainedKMeans(3, random_state=0).fit(small)
    fitted = pickle.loads(pickle.dumps(fitted))
    assert bckm.certify(fitted.result_, small).gap < 1e-3


@pytest.mark.full
def test_means_of_assign_to_are_not_certified(result):
    found = bckm.assign_to(X, result.centers + 0.1, RULES)
    with pytest.raises(ValueError, match=r"not the means of its clusters.*bckm\.assign_to"):
        bckm.certify(found, X, RULES)
    assert bckm.certify(bckm.assign_to(X, result.centers, RULES), X, RULES).gap < 1e-3


@pytest.mark.full
def test_many_items_are_refused():
    X = np.arange(2_001.0)[:, None]
    with pytest.raises(ValueError, match=r"at most 2,000 items .* X has 2,001"):
        bckm.certify(bckm.kmeans(X, 2, random_state=0), X)
    # must-linked samples count once
    linked = bckm.Constraints(must_link=[(0, 1)])
    bckm.certify(bckm.kmeans(X, 2, linked, random_state=0), X, linked, time_limit=0)


@pytest.mark.parametrize(
    ("words", "data", "rules", "options"),
    [
        ("has 60 samples, but X has 59", X[:59], RULES, {}),
        ("has 2 features, but X has 1", X[:, :1], RULES, {}),
        ("labels of the result violate a rule: cluster 0", X, bckm.Constraints(size_max=2), {}),
        ("the inertia of the result is .*, but here it is", X * 2, RULES, {}),
        ("the inertia of the result is", X, RULES, {"sample_weight": np.arange(60)}),
        ("penalty of soft rules", X, bckm.Constraints(size_max=5).soft(price=1.0), {}),
    ],
)
def test_data_and_rules_of_another_fit_are_refused(result, words, data, rules, options):
    with pytest.raises(ValueError, match=f"{words}.*; pass the X, constraints and sample_weight"):
        bckm.certify(result, data, rules, **options)


def test_rules_about_ids():
    names = [f"p{row}" for row in range(60)]
    rules = bckm.Constraints(must_link=[("p0", "p3")], by="sample_id")
    found = bckm.kmeans(X, 3, rules, sample_id=names, random_state=0)
    asked = {"sample_id": names, "time_limit": 0}
    assert bckm.certify(found, X, rules, **asked).rules == ("must-links",)


def test_bad_arguments(result):
    with pytest.raises(TypeError, match="certify needs the Result"):
        bckm.certify(result.labels, X)
    with pytest.raises(ValueError, match="tol must be"):
        bckm.certify(result, X, RULES, tol=-1)
    with pytest.raises(ValueError, match="time_limit must be"):
        bckm.certify(result, X, RULES, time_limit="soon")
    with pytest.raises(TypeError, match="on_step must be callable"):
        bckm.certify(result, X, RULES, on_step=1)
