"""Whatever the data: `lower_bound` is at most the exact value, in fractions, and so on."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import bckm
from tests.support import exact_costs as exactly

pytestmark = pytest.mark.sampled(3)

LAYOUTS = pytest.mark.parametrize("layout", [np.asarray, csr_array], ids=["dense", "sparse"])
CLOSE = Fraction(1, 10**9)
SOLVERS = ("auto", "exact", "lagrangian", "pump", "greedy", "transport", "nearest")


def blobs(n=60, d=2):
    X = np.random.default_rng(0).normal(size=(n, d))
    X[: n // 2] += 4
    return X


def check(found, X, rules, k, weight=None, others=()):
    """The numbers of a result against exact ones; `others` are further labels that obey."""
    cost = exactly.costs(X, found.embedded, weight)
    true = exactly.of_labels(cost, found.labels)
    least = min([true, *(exactly.of_labels(cost, labels) for labels in others)])
    nothing = Fraction(1e-27) * sum(map(Fraction, np.ones(len(X)) if weight is None else weight))
    nothing *= Fraction(float(np.ptp(X))) ** 2
    assert Fraction(found.lower_bound) <= least
    assert abs(Fraction(found.inertia) - true) <= CLOSE * true + nothing
    if found.assignment_status == "optimal":
        assert true <= least * (1 + 2 * CLOSE) + nothing
    assert bckm.verify(found.labels, k, rules) == []


# -- far from zero ----------------------------------------------------------------------------


@LAYOUTS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [1e5, 1e7, 1e8, 1e12])
def test_data_far_from_zero_have_their_inertia_and_their_clusters(layout, weighted, shift):
    X, rules = blobs(), bckm.Constraints(size_min=15)
    X = np.round(X * 2**10) / 2**10  # so that the shift loses nothing
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    near = bckm.kmeans(layout(X), 3, rules, sample_weight=weight, random_state=0)
    far = bckm.kmeans(layout(X + shift), 3, rules, sample_weight=weight, random_state=0)
    assert far.labels.tolist() == near.labels.tolist()
    # means are rounded to what numbers of this size can tell
    assert far.inertia == pytest.approx(near.inertia, rel=1e-9 + len(X) * (shift * 2e-16) ** 2)
    assert far.assignment_status == "optimal"
    check(far, X + shift, rules, 3, weight)
    again = bckm.assign_to(layout(X + shift), X[:3] + shift, rules, sample_weight=weight)
    assert again.status == "optimal"
    check(again, X + shift, rules, 3, weight)


@LAYOUTS
def test_some_columns_far_from_zero_and_some_entries_not_stored(layout):
    rng = np.random.default_rng(3)
    X = blobs(80, 5) * (rng.random((80, 5)) < 0.6)
    X[:, 2] += 1e9
    X[:, 4] -= 1e6
    X[5, 2] = X[7, 4] = 0.0  # one outlier each: these zeros are real
    rules = bckm.Constraints(size_min=1)
    found = bckm.kmeans(layout(X), 4, rules, random_state=0)
    check(found, X, rules, 4)
    assert found.labels[5] not in np.delete(found.labels, 5)


@LAYOUTS
def test_features_that_only_one_cluster_has(layout):
    """Zero in one half, far from it in the other: nothing to center, and differences are small."""
    X = blobs(40, 2)
    wide = np.zeros((40, 4))
    wide[:20, :2], wide[20:, 2:] = X[:20] + 1e7, X[20:] + 1e7
    for rules in (bckm.Constraints(), bckm.Constraints(size_min=20)):
        found = bckm.kmeans(layout(wide), 2, rules, random_state=0)
        assert len(set(found.labels[:20])) == len(set(found.labels[20:])) == 1
        check(found, wide, rules, 2)


@LAYOUTS
def test_an_estimator_far_from_zero(layout):
    X = blobs() + 1e8
    model = bckm.ConstrainedKMeans(3, size_min=15, tol=0, random_state=0).fit(layout(X))
    assert model.predict(layout(X)).tolist() == model.labels_.tolist()
    assert model.assign(layout(X)).tolist() == model.labels_.tolist()
    exact = exactly.costs(X, model.cluster_centers_)
    true = [[float(value) ** 0.5 for value in row] for row in exact]
    assert model.transform(layout(X)) == pytest.approx(np.array(true), rel=1e-9)
    assert model.score(layout(X)) == pytest.approx(-float(sum(map(min, exact))), rel=1e-9)


# -- any data, rules and engines ----------------------------------------------------------------


def drawn(seed):
    """A small problem with something in it that is hard on float64."""
    rng = np.random.default_rng(seed)
    n, k, d = (int(rng.integers(low, high)) for low, high in ((4, 7), (1, 4), (1, 4)))
    X = rng.normal(size=(n, d))
    match seed % 5:
        case 1:
            X[: n // 2] += 10.0 ** rng.integers(0, 9)
        case 2:
            X *= rng.random((n, d)) < 0.5
        case 3:
            X = np.round(X)
        case 4:
            X += 10.0 ** rng.integers(0, 9) * (rng.random((n, 1)) < 0.5) * (rng.random(d) < 0.7)
    X += 10.0 ** rng.choice([-99, 0, 3, 6, 9, 12]) * (rng.random(d) < 0.7)
    X *= 10.0 ** int(rng.choice([0, 0, 0, -130, -100, -30, 30, 100, 130]))
    weight = None
    match seed % 6:
        case 1:
            weight = rng.uniform(0.5, 2, n) * 10.0 ** int(rng.choice([-20, 0, 20]))
        case 2:
            weight = 10.0 ** rng.uniform(-12, 12, n)
        case 3:
            weight = rng.integers(0, 3, n).astype(float)
            weight[0] = 1.0
    asked = {"size_min": int(rng.integers(0, n // k + 1)), "size_max": n - (k > 1)}
    if seed % 4 == 3:
        asked = {}
    if seed % 4 == 1 and k > 1:
        asked["cannot_link"] = [(0, 1)]
    if seed % 4 == 2 and k < n - 1:
        asked["must_link"] = [(0, n - 1)]
    return X, k, bckm.Constraints(**asked), weight, rng


def check_all(solver, layout, seeds):
    for seed in seeds:
        X, k, rules, weight, rng = drawn(seed)
        others = exactly.feasible(len(X), rules, k)
        given = X[rng.integers(len(X), size=k)]
        asked = {"solver": solver, "sample_weight": weight}
        try:
            fit = bckm.kmeans(layout(X), k, rules, random_state=0, **asked)
            fixed = bckm.assign_to(layout(X), given, rules, **asked)
        except (bckm.UnsupportedError, bckm.InfeasibleError):
            continue
        for found in (fit, fixed):
            check(found, X, rules, k, weight, others)


@LAYOUTS
@pytest.mark.parametrize("solver", SOLVERS)
def test_bounds_are_below_the_exact_least(solver, layout):
    check_all(solver, layout, range(10))


@pytest.mark.slow
@LAYOUTS
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("part", range(1, 2))
def test_bounds_are_below_the_exact_least_of_many(solver, layout, part):
    check_all(solver, layout, range(100 * part, 100 * part + 40))


@LAYOUTS
@pytest.mark.parametrize("seed", range(6))
def test_certified_bounds_are_below_the_exact_least(seed, layout):
    X, k, rules, weight, _ = drawn(5 * seed)
    weight = None if weight is None or max(weight) > 1e9 else weight
    X = X / 2.0 ** np.floor(np.log2(np.abs(X).max()))
    result = bckm.kmeans(layout(X), k, rules, sample_weight=weight, random_state=0)
    proof = bckm.certify(result, layout(X), rules, sample_weight=weight, time_limit=2)
    every = exactly.feasible(len(X), rules, k)
    least = min(exactly.around_means(X, labels, weight) for labels in every)
    assert Fraction(proof.lower_bound) <= least


# -- sizes of numbers --------------------------------------------------------------------------


@LAYOUTS
@pytest.mark.parametrize("scale", [1e-300, 1e-165, 1e-120, 1.0, 1e120, 1e155, 1e300])
@pytest.mark.parametrize("weights", [None, 1e-300, 1e300])
def test_the_same_clusters_at_any_scale_or_a_sentence(layout, scale, weights):
    X, rules = blobs(24), bckm.Constraints(size_min=6)
    weight = None if weights is None else np.linspace(1, 2, len(X)) * weights
    usual = None if weights is None else np.linspace(1, 2, len(X))
    power = 2 * np.log10(scale) + (0 if weights is None else np.log10(weights))
    if abs(power) <= 300 and scale < 1e150:
        near = bckm.kmeans(layout(X), 3, rules, sample_weight=usual, random_state=0)
        far = bckm.kmeans(layout(X * scale), 3, rules, sample_weight=weight, random_state=0)
        assert far.labels.tolist() == near.labels.tolist()
        assert far.assignment_status == "optimal"
        check(far, X * scale, rules, 3, weight)
        proof = bckm.certify(far, layout(X * scale), rules, sample_weight=weight, tol=0.5)
        assert 0 < proof.lower_bound <= far.inertia
    else:
        way = "overflow" if power > 0 or scale > 1e150 else "underflow"
        for call in (
            lambda data: bckm.kmeans(data, 3, rules, sample_weight=weight),
            lambda data: bckm.assign_to(data, X[:3] * scale, rules, sample_weight=weight),
            lambda data: bckm.ConstrainedKMeans(3).fit(data, sample_weight=weight),
        ):
            with pytest.raises(ValueError, match=rf"{way}s?[.;] [Rr]escale"):
                call(layout(X * scale))


def test_samples_that_are_all_alike_have_no_scale():
    for value in (0.0, 5e-324, 1e-165, 1e-20, 0.1, 1e149):
        found = bckm.kmeans(np.full((6, 2), value), 2, random_state=0)
        assert (found.inertia, found.lower_bound, found.assignment_status) == (0.0, 0.0, "optimal")


@LAYOUTS
def test_centers_beyond_all_measure_are_refused(layout):
    X = blobs(10) * 1e-130
    with pytest.raises(ValueError, match=r"centers are 1e\+100 from X.*squared distances overflow"):
        bckm.assign_to(layout(X), np.full((2, 2), 1e100))
    with pytest.raises(ValueError, match=r"init are 1e\+100 from X"):
        bckm.kmeans(layout(X), 2, init=np.full((2, 2), 1e100))
    found = bckm.assign_to(layout(X * 1e130), [[0.0, 0.0], [1e100, 0.0]])
    assert np.isfinite(found.inertia)
