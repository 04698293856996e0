"""Sparse data: the same answers as for dense data, and never a dense copy of them."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import bckm
from bckm._core import arrays
from bckm._core.deadline import Deadline
from bckm.assign._sparse_transport import SparseTransportAssigner
from bckm.feasibility import feasible_start
from bckm.kernels import missing
from bckm.problem.problem import Problem
from tests.support.transport import optimum

FORMATS = {
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "lil": sp.lil_array,
    "matrix": sp.csr_matrix,
}
N, D, K = 60, 12, 4


def words(seed, n=N, d=D, k=K):
    """Counts of few words in each sample; samples of a topic share words."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(k, size=n)
    dense = rng.random((n, d)) * (rng.random((n, d)) < 0.25)
    dense[np.arange(n), topic] += 1.0 + rng.random(n)
    return dense


def rules_of(seed, n=N):
    """Rules of every kind that `words` can obey."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    links = {"must_link": order[:12].reshape(-1, 3).tolist()}
    apart = {"cannot_link": order[12:32].reshape(-1, 2).tolist()}
    load = rng.integers(1, 5, n)
    return {
        "nothing": bckm.Constraints(),
        "sizes": bckm.Constraints(size_min=13, size_max=17),
        "unequal": bckm.Constraints(size_min=[5, 10, 15, 20], size_max=[9, 14, 20, 30]),
        "links": bckm.Constraints(**links, **apart),
        "all": bckm.Constraints(**links, **apart, size_min=12, size_max=18),
        "rows": bckm.Constraints(capacities={"kg": bckm.Capacity(load, 30, 48)}, **apart),
        "soft": bckm.Constraints(**links, size_max=18)
        & bckm.Constraints(**apart).soft(confidence=0.3),
    }


ENGINES = {
    "nearest": ["nothing"],
    "transport": ["nothing", "sizes", "unequal"],
    "exact": ["nothing", "sizes", "unequal", "links", "all", "rows", "soft"],
    "pump": ["sizes", "links", "all"],
    "greedy": ["sizes", "links", "all", "rows"],
    "auto": ["nothing", "sizes", "unequal", "links", "all", "rows", "soft"],
}
CASES = [(solver, asked) for solver, kinds in ENGINES.items() for asked in kinds]


def same(one, other):
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.inertia == pytest.approx(other.inertia, rel=1e-9)
    assert one.lower_bound == pytest.approx(other.lower_bound, rel=1e-9)
    np.testing.assert_allclose(one.centers, other.centers, atol=1e-12)
    assert type(one.centers) is np.ndarray


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("solver", "asked"), CASES)
def test_the_same_answer_as_for_dense_data(solver, asked, seed):
    dense, rules = words(seed), rules_of(seed)[asked]
    weight = np.random.default_rng(seed).integers(1, 4, N) if seed == 2 else None
    options = {
        "solver": solver,
        "search": "none",
        "n_init": 2,
        "sample_weight": weight,
        "random_state": seed,
    }
    expected = bckm.kmeans(dense, K, rules, **options)
    found = bckm.kmeans(sp.csr_array(dense), K, rules, **options)
    same(found, expected)
    assert bckm.verify(found.labels, K, rules) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("asked", ["sizes", "links", "all", "rows", "soft"])
def test_prices_of_sparse_data_are_nearly_those_of_dense_data(asked):
    dense, rules = words(1), rules_of(1)[asked]
    centers = bckm.kmeans(dense, K, rules, search="none", random_state=0).centers
    found, expected = (
        bckm.assign_to(X, centers, rules, solver="lagrangian") for X in (sp.csr_array(dense), dense)
    )
    assert found.lower_bound == pytest.approx(expected.lower_bound, rel=1e-3)
    assert found.lower_bound <= expected.objective
    assert expected.lower_bound <= found.objective <= 1.05 * expected.objective


@pytest.mark.sampled(4)
@pytest.mark.parametrize("weightless", [False, True])
@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format(name, init, weightless):
    dense, rules = words(5), rules_of(5)["all"]
    weight = np.where(np.arange(N) % 7 == 0, 0.0, 1.5) if weightless else None
    options = {"init": init, "n_init": 2, "sample_weight": weight, "random_state": 0}
    expected = bckm.kmeans(dense, K, rules, search="none", **options)
    X = FORMATS[name](dense)
    same(bckm.kmeans(X, K, rules, search="none", **options), expected)
    moved = bckm.assign_to(X[:50] if name != "coo" else X, expected.centers)
    same(moved, bckm.assign_to(dense[: X.shape[0] if name == "coo" else 50], expected.centers))
    assert bckm.check(X, K, rules)


def test_numbers_of_other_types_and_entries_that_are_stored_twice():
    dense = words(1)
    expected = bckm.kmeans(np.round(dense), K, search="none", n_init=1, random_state=0)
    for dtype in (np.float32, np.int16):
        X = sp.csr_array(np.round(dense).astype(dtype))
        same(bckm.kmeans(X, K, search="none", random_state=0), expected)
    once = sp.csr_array(np.round(dense))
    halves = np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr
    twice = sp.csr_array(halves, once.shape)
    kept = twice.data.copy()
    same(bckm.kmeans(twice, K, search="none", random_state=0), expected)
    assert twice.nnz == 2 * once.nnz
    np.testing.assert_array_equal(twice.data, kept)


def test_given_centers_may_be_sparse():
    dense = words(2)
    X = sp.csr_array(dense)
    expected = bckm.kmeans(dense, K, init=dense[:K], search="none")
    same(bckm.kmeans(X, K, init=X[:K], search="none"), expected)
    same(bckm.assign_to(X, X[:K]), bckm.assign_to(dense, dense[:K]))
    with pytest.raises(ValueError, match=r"init has shape \(60, 12\); expected \(4, 12\)"):
        bckm.kmeans(X, K, init=X)


@pytest.mark.parametrize("scale", [1e-130, 1e-8, 1.0, 1e8, 1e140])
def test_scale(scale):
    X, rules = sp.csr_array(words(3)), rules_of(3)["all"]
    expected = bckm.kmeans(X, K, rules, random_state=0)
    found = bckm.kmeans(X * scale, K, rules, random_state=0)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.inertia == pytest.approx(expected.inertia * scale**2, rel=1e-9)


def test_rows_permuted():
    X, order = sp.csr_array(words(4)), np.random.default_rng(0).permutation(N)
    rules = bckm.Constraints(size_min=13, size_max=17)
    expected = bckm.kmeans(X, K, rules, random_state=0).labels
    found = bckm.kmeans(X[order], K, rules, random_state=0).labels
    np.testing.assert_array_equal(found, expected[order])


def test_equal_samples_have_no_distance():
    """Nothing is left of cancelled squares: three different rows, three clusters, no inertia."""
    rows = np.random.default_rng(0).random((3, 7)) * 1e3
    X = sp.csr_array(np.repeat(rows, 5, axis=0))
    for rules in (bckm.Constraints(), bckm.Constraints(size_max=5)):
        result = bckm.kmeans(X, 3, rules, n_init=5, random_state=0)
        assert result.inertia < 1e-24  # the means of equal samples round
        assert result.assignment_status is bckm.Status.OPTIMAL
    assert (arrays.squared_distances(X, rows).min(axis=1) == 0.0).all()
    weight = np.random.default_rng(1).random(15)
    assert arrays.totals(X, weight, np.arange(15) // 5, rows).cost == 0.0


def test_distances_of_rows_and_centers():
    dense, centers = words(6), words(7)[:5]
    X = sp.csr_array(dense)
    expected = arrays.squared_distances(dense, centers)
    np.testing.assert_allclose(arrays.squared_distances(X, centers), expected, atol=1e-13)
    np.testing.assert_allclose(arrays.squared_distances(centers, X), expected.T, atol=1e-13)
    prices = np.arange(5.0) / 10
    for given in (None, prices):
        labels, least = arrays.nearest(X, centers, given)
        twins = arrays.nearest(dense, centers, given)
        np.testing.assert_array_equal(labels, twins[0])
        np.testing.assert_allclose(least, twins[1], atol=1e-13)


def test_nearest_in_blocks(monkeypatch):
    dense, centers = words(6), words(7)[:5]
    expected = arrays.nearest(dense, centers)[0]
    monkeypatch.setattr(arrays, "BLOCK", 35)
    np.testing.assert_array_equal(arrays.nearest(sp.csr_array(dense), centers)[0], expected)


def test_a_row_without_entries_and_data_without_any():
    X = sp.csr_array(np.array([[0.0, 0.0], [0.0, 0.1], [5.0, 0.0], [5.0, 1.0]]))
    result = bckm.kmeans(X, 2, bckm.Constraints(size_max=2), random_state=0)
    assert result.labels[0] == result.labels[1] != result.labels[2]
    nothing = bckm.kmeans(sp.csr_array((6, 3)), 2, bckm.Constraints(must_link=[(0, 1)]))
    assert nothing.inertia == 0.0


@pytest.mark.skipif(bool(missing), reason="needs the compiled kernels")
@pytest.mark.parametrize("seed", range(30))
def test_flat_steps_are_optimal(seed):
    """On the span of the centers: few or many features, centers that are equal or dependent."""
    rng = np.random.default_rng(seed)
    n, d, k = 24, int(rng.choice([1, 3, 30])), int(rng.integers(2, 6))
    dense = rng.integers(0, 3, (n, d)) * (rng.random((n, d)) < 0.4) * 1.0
    centers = dense[rng.integers(n, size=k)] * rng.integers(0, 2, (k, 1)) + (seed % 2)
    rules = bckm.Constraints(size_min=n // k - 1, size_max=-(-n // k) + 1)
    weight = rng.random(n) + 0.1 if seed % 3 == 0 else None
    problem = Problem.build(sp.csr_array(dense), k, rules, weight)
    s = problem.structure
    assigner = bckm.assign.choose("auto", problem).prepare(problem)
    assert isinstance(assigner, SparseTransportAssigner)
    at = problem.centers_in(centers)
    found = assigner(at, feasible_start(s, problem.rules, Deadline()), Deadline())
    best = optimum(problem.cost(at), s.lower, s.upper)
    assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert problem.within(found.labels, at) == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert best - found.bound <= 1e-9 * best + 1e-12
    assert s.feasible(found.labels)


@pytest.mark.skipif(bool(missing), reason="needs the compiled kernels")
def test_a_flat_step_without_time_returns_the_labels_it_was_given():
    X = sp.csr_array(words(8))
    problem = Problem.build(X, K, bckm.Constraints(size_min=15, size_max=15))
    start = np.random.default_rng(0).permutation(N) % K
    at = problem.points[:K].toarray()
    found = SparseTransportAssigner(problem, bckm.assign.choose("transport", problem))(
        at, start, Deadline(0)
    )
    np.testing.assert_array_equal(found.labels, start)
    assert found.cost == pytest.approx(problem.within(start, at))
    assert found.bound <= found.cost


def test_the_problem_is_that_of_dense_data():
    dense, rules, weight = words(8), rules_of(8)["links"], np.arange(N) % 3
    one, other = (Problem.build(X, K, rules, weight) for X in (sp.csr_array(dense), dense))
    inside = one.scatter * one.x_scale**2, other.scatter * other.x_scale**2
    assert inside[0] == pytest.approx(inside[1], rel=1e-12)
    spread = one.variance * one.x_scale**2, other.variance * other.x_scale**2
    assert spread[0] == pytest.approx(spread[1], rel=1e-12)
    points = other.centers_out(other.points)
    np.testing.assert_allclose(one.centers_out(one.points.toarray()), points, atol=1e-14)
    np.testing.assert_array_equal(one.structure.item, other.structure.item)


# never dense ----------------------------------------------------------------------------------


@pytest.fixture
def never_dense(monkeypatch):
    """Make dense forms of anything large an error."""
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix):
        before = kind.toarray

        def guarded(self, *args, before=before, **options):
            assert self.shape[0] * self.shape[1] < 10_000_000, f"{self.shape} was made dense"
            return before(self, *args, **options)

        monkeypatch.setattr(kind, "toarray", guarded)
        monkeypatch.setattr(kind, "todense", guarded)


def large(n, d, k, seed=0, each=10):
    """Samples with `each` words, half of them from their topic."""
    rng = np.random.default_rng(seed)
    row = np.repeat(np.arange(n), each)
    word = rng.integers(d, size=row.size)
    own = rng.random(row.size) < 0.5
    word[own] = (row % k * 50 + rng.integers(50, size=row.size))[own]
    return sp.csr_array((rng.random(row.size) + 0.1, (row, word)), (n, d))


@pytest.mark.full
def test_a_matrix_that_fits_into_no_memory_when_dense(never_dense):
    X = large(20_000, 1_000_000, 5)  # 160 GB
    rules = bckm.Constraints(size_min=3_900, size_max=4_100)
    tracemalloc.start()
    result = bckm.kmeans(X, 5, rules, random_state=0, max_iter=4, n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bckm.verify(result.labels, 5, rules) == []
    assert result.assignment_status is bckm.Status.OPTIMAL
    topic = np.arange(20_000) % 5
    purity = np.mean([np.bincount(topic[result.labels == i]).max() for i in range(5)]) / 4_000
    assert purity > 0.9
    assert peak < 600e6


@pytest.mark.parametrize("asked", ["links", "all"])
def test_links_stay_sparse(never_dense, asked):
    X = large(2_000, 100_000, 3)
    order = np.random.default_rng(0).permutation(2_000)
    sizes = {"size_min": 600, "size_max": 750} if asked == "all" else {}
    rules = bckm.Constraints(order[:1200].reshape(-1, 2), order[1200:1300].reshape(-1, 2), **sizes)
    model = bckm.ConstrainedKMeans(3, random_state=0, max_iter=5).fit(X, constraints=rules)
    assert bckm.verify(model.labels_, 3, rules) == []
    assert model.predict(X).shape == (2_000,)
    assert model.transform(X).shape == (2_000, 3)
    assert -model.inertia_ <= model.score(X) < 0
    assert np.bincount(model.assign(X, size_max=700)).max() <= 700


# what needs dense data ------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["local", "global"])
def test_moves_need_dense_data(search):
    with pytest.raises(bckm.UnsupportedError, match=r"sparse; use search='auto'.*TruncatedSVD"):
        bckm.kmeans(sp.csr_array(words(0)), K, search=search)


def test_auto_is_none():
    X, rules = sp.csr_array(words(0)), rules_of(0)["all"]
    found = bckm.kmeans(X, K, rules, random_state=0)
    plain = bckm.kmeans(X, K, rules, search="none", n_init=1, random_state=0)
    assert found.inertia == plain.inertia
    assert [step.objective for step in found.history] == [step.objective for step in plain.history]
    assert {step.kind for step in found.history} == {"assign"}


@pytest.mark.full
def test_certify(never_dense):
    dense, rules = words(0, n=30), bckm.Constraints(size_min=6, size_max=9)
    wide = sp.hstack([sp.csr_array(dense), sp.csr_array((30, 1_000_000))], format="csr")
    found = bckm.certify(bckm.kmeans(wide, K, rules, random_state=0), wide, rules, tol=1e-3)
    plain = bckm.kmeans(dense, K, rules, search="none", n_init=1, random_state=0)
    twin = bckm.certify(plain, dense, rules)
    assert found.objective == pytest.approx(twin.objective, rel=1e-9)
    assert 0 < found.lower_bound <= found.objective
    assert found.lower_bound == pytest.approx(twin.lower_bound, rel=1e-2)


# bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_located(value):
    X = sp.csr_array((np.array([1.0, 2.0, value]), ([0, 2, 3], [1, 0, 2])), (5, 3))
    with pytest.raises(ValueError, match=r"sample 3, feature 2"):
        bckm.kmeans(X, 2)
    with pytest.raises(ValueError, match=r"sample 3, feature 2"):
        bckm.assign_to(X, np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (sp.csr_array((0, 4)), "0 samples and 4 features"),
        (sp.csr_array((4, 0)), "4 samples and 0 features"),
        (sp.csr_array(np.eye(4) * 1j), "Complex"),
        (sp.csr_array(np.eye(4) * 1e200), "overflows; rescale"),
        (sp.csr_array(-np.eye(4) * 1e200), "overflows; rescale"),
        (sp.coo_array(np.ones(4)), "two dimensions"),
    ],
)
def test_bad_data(X, message):
    with pytest.raises(ValueError, match=message):
        bckm.kmeans(X, 2)


def test_features_of_centers():
    with pytest.raises(ValueError, match="centers have 3 features, but X has 12"):
        bckm.assign_to(sp.csr_array(words(0)), np.zeros((2, 3)))
