"""The same data in other units, moved, permuted, rules in another order: the same answer."""

import numpy as np
import pytest

import bckm
from bckm.problem.problem import Problem
from tests.support.families import FAMILIES
from tests.support.searching import give_up_soon
from tests.support.statements import stated

pytestmark = pytest.mark.sampled(5)

SOLVERS = ("auto", "transport", "exact", "pump", "greedy")


def _instances():
    """Random problems of all kinds, each with starting centers."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, k = 60, 4
        X = rng.normal(size=(k, 3))[rng.integers(k, size=n)] * 1.5 + rng.normal(size=(n, 3))
        together = rng.permutation(n)[:15].reshape(-1, 3).tolist()
        group = np.arange(n)
        for members in together:
            group[members] = members[0]
        apart = [p for p in rng.integers(n, size=(25, 2)).tolist() if group[p[0]] != group[p[1]]]
        load = rng.integers(1, 6, n)
        asked = [
            {"must_link": together, "cannot_link": apart, "size_min": 13, "size_max": 17},
            {"size_min": [5, 10, 15, 20], "size_max": [10, 15, 20, 30], "must_link": together},
            {"cannot_link": apart},
            stated([bckm.Capacity(load, load.sum() / k - 4, load.sum() / k + 4)]),
        ][seed]
        centers = X[rng.choice(n, k, replace=False)]
        yield X, k, bckm.Constraints(**asked), centers
    for family in ("odd_cycles", "packing", "mix"):
        rng = np.random.default_rng(7)
        n = 40 if family == "mix" else 60  # the hardest one
        X, k, rules = FAMILIES[family](rng, n)
        yield X, k, rules, X[rng.choice(n, k, replace=False)]
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 2))
    yield X, 5, bckm.Constraints(), X[:5]
    yield X, 5, bckm.Constraints(size_min=16, size_max=16), X[:5]
    yield X, 5, bckm.Constraints(size_min=14, size_max=19), X[:5]
    yield X, 5, bckm.Constraints(size_min=[4, 8, 12, 16, 20], size_max=[9, 13, 17, 21, 30]), X[:5]
    yield X, 5, bckm.Constraints(size_max=[5, 10, 15, 20, 30]), X[:5]


INSTANCES = list(_instances())
SIZES_ONLY = [
    number
    for number, (_, _, rules, _) in enumerate(INSTANCES)
    if not (rules.must_link or rules.cannot_link or rules.capacities)
]
CASES = [
    (number, solver)
    for solver in SOLVERS
    for number in (SIZES_ONLY if solver == "transport" else range(len(INSTANCES)))
]
every_case = pytest.mark.parametrize(("number", "solver"), CASES)


def _fit(X, k, rules, centers, solver):
    return bckm.kmeans(X, k, rules, init=centers, solver=solver).labels


@pytest.mark.sampled(3)
@every_case
def test_scale_and_offset(number, solver):
    X, k, rules, centers = INSTANCES[number]
    labels = _fit(X, k, rules, centers, solver)
    for exponent in range(-8, 9, 2):
        scale = 10.0**exponent
        np.testing.assert_array_equal(_fit(X * scale, k, rules, centers * scale, solver), labels)
    offset = 1e6 * X.std()
    np.testing.assert_array_equal(_fit(X + offset, k, rules, centers + offset, solver), labels)


def permuted(rules, order):
    """Rules for rows in another order."""
    place = np.argsort(order)  # where a sample went
    return bckm.Constraints(
        [place[list(s)].tolist() for s in rules.must_link],
        [place[list(s)].tolist() for s in rules.cannot_link],
        size_min=rules.size_min,
        size_max=rules.size_max,
        **stated([bckm.Capacity(b.values[order], b.min, b.max) for b in rules.capacities]),
    )


def reordered(rules, rng):
    """Return the same rules, stated in another order."""

    def shuffled(links):
        turned = [tuple(rng.permutation(s).tolist()) for s in links]
        return [turned[i] for i in rng.permutation(len(turned))]

    return bckm.Constraints(
        shuffled(rules.must_link),
        shuffled(rules.cannot_link),
        size_min=rules.size_min,
        size_max=rules.size_max,
        **stated(rules.capacities),
    )


@every_case
def test_rows_permuted(number, solver):
    X, k, rules, centers = INSTANCES[number]
    n = len(X)
    labels = _fit(X, k, rules, centers, solver)
    order = np.random.default_rng(1).permutation(n)
    moved = permuted(rules, order)
    np.testing.assert_array_equal(_fit(X[order], k, moved, centers, solver), labels[order])


@pytest.mark.sampled(3)
@every_case
def test_rules_reordered(number, solver):
    X, k, rules, centers = INSTANCES[number]
    labels = _fit(X, k, rules, centers, solver)
    other = reordered(rules, np.random.default_rng(2))
    np.testing.assert_array_equal(_fit(X, k, other, centers, solver), labels)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_scaled(solver):
    X, k, rules, centers = INSTANCES[SIZES_ONLY[1] if solver == "transport" else 0]
    weight = np.random.default_rng(3).uniform(0.5, 2, len(X))
    one = bckm.kmeans(X, k, rules, init=centers, solver=solver, sample_weight=weight)
    for scale in (1e-8, 1e8):
        two = bckm.kmeans(X, k, rules, init=centers, solver=solver, sample_weight=weight * scale)
        np.testing.assert_array_equal(one.labels, two.labels)
        assert two.inertia == pytest.approx(one.inertia * scale, rel=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("solver", SOLVERS)
def test_order_of_unequal_bounds_does_not_matter(solver):
    """Blobs of 10, 30, 60 and 100 samples with exactly these sizes asked in any order."""
    from itertools import permutations

    rng = np.random.default_rng(0)
    sizes = np.array([10, 30, 60, 100])
    middle = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
    X = np.repeat(middle, sizes, axis=0) + rng.normal(size=(200, 2))
    found = []
    for order in permutations(sizes.tolist()):
        rules = bckm.Constraints(size_min=order, size_max=order)
        result = bckm.kmeans(X, 4, rules, solver=solver, n_init=2, random_state=0)
        assert result.sizes.tolist() == list(order)
        found.append(result.inertia)
    assert max(found) - min(found) <= 1e-9 * min(found)


def test_one_far_outlier_does_not_blur_the_rest():
    """Costs of the outlier are 1e12 times those of the others: absolute tolerances would drown."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    far = np.vstack([X, [[1e6, 1e6]]])
    rules = bckm.Constraints(size_max=11, cannot_link=[(0, 1), (2, 3)])
    centers = np.vstack([X[:4], far[-1:]])
    result = bckm.kmeans(far, 5, rules, init=centers, solver="exact", tol=0)
    assert result.assignment_status == "optimal"
    without = bckm.kmeans(X, 4, rules, init=centers[:4], solver="exact", tol=0)
    np.testing.assert_array_equal(result.labels[:-1], without.labels)


# -- search -----------------------------------------------------------------------------------

SEARCHED = [(number, "transport") for number in SIZES_ONLY] + [
    *((number, "exact") for number in (SIZES_ONLY[2], 2)),
    *((number, "greedy") for number in range(len(INSTANCES)) if number not in SIZES_ONLY),
]


@pytest.mark.parametrize("search", ["local", "auto", "global"])
@pytest.mark.parametrize(("number", "solver"), SEARCHED)
def test_search(number, solver, search, monkeypatch):
    """Clusters found by way of many others have the same numbers too."""
    give_up_soon(monkeypatch, patience=10)
    X, k, rules, _ = INSTANCES[number]
    rng = np.random.default_rng(number)
    weight = rng.uniform(0.5, 2, len(X))

    def fit(X, rules=rules, weight=weight):
        options = {"sample_weight": weight, "n_init": 2, "random_state": 0, "tol": 0}
        return bckm.kmeans(X, k, rules, solver=solver, search=search, **options)

    labels = fit(X).labels
    for scale in (1e-6, 1e6):
        np.testing.assert_array_equal(fit(X * scale).labels, labels)
    np.testing.assert_array_equal(fit(X + 1e6 * X.std()).labels, labels)
    np.testing.assert_array_equal(fit(X, weight=weight * 1e3).labels, labels)
    order = rng.permutation(len(X))
    moved = fit(X[order], permuted(rules, order), weight[order])
    np.testing.assert_array_equal(moved.labels, labels[order])
    np.testing.assert_array_equal(fit(X, reordered(rules, rng)).labels, labels)
    if search != "local":  # interchangeable clusters come in the order of their first items
        structure = Problem.build(X, k, rules, weight).structure
        place, classes = structure.item, structure.cluster_class
        first = np.array([place[labels == i].min() for i in range(k)])
        for one in np.unique(classes):
            assert (np.diff(first[classes == one]) > 0).all()
