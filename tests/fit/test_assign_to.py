"""Labels for centers that stay, and prices: of a fit, of a batch, of a single sample."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import bckm
from bckm import ConstrainedKMeans, Constraints, InfeasibleError, Status, kmeans
from bckm._core import arrays as _arrays
from bckm._core.deadline import Deadline
from bckm.assign.base import MatrixAssigner
from bckm.kernels import missing
from bckm.programs.highs import DEPENDENT, Model
from tests.support.instances import draw, obeying
from tests.support.lp_engine import Priced
from tests.support.rule_instances import draw as draw_rules


@pytest.fixture
def priced(monkeypatch):
    for module in ("in_memory", "assign_to"):
        monkeypatch.setattr(f"bckm.fit.{module}.choose", lambda *_, **__: Priced())


def blobs(seed=0, n=120, k=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) * 30 + 100 * rng.normal(size=(k, 2))[rng.integers(k, size=n)]


EVEN = Constraints(size_min=28, size_max=32)


# -- a batch ----------------------------------------------------------------------------------


@pytest.mark.sampled(30)
@pytest.mark.parametrize("seed", range(150))
def test_a_batch_against_brute_force(seed):
    drawn = draw(20_000 + seed)
    allowed = obeying(drawn)
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(drawn.k, drawn.X.shape[1]))
    if not len(allowed):
        with pytest.raises(InfeasibleError):
            bckm.assign_to(drawn.X, centers, drawn.constraints)
        return
    weight = np.ones(len(drawn.X)) if drawn.weight is None else drawn.weight
    cost = weight[:, None] * cdist(drawn.X, centers, "sqeuclidean")
    best = cost[np.arange(len(drawn.X)), allowed].sum(axis=1).min()
    found = bckm.assign_to(
        drawn.X, centers, drawn.constraints, solver="exact", sample_weight=drawn.weight
    )
    assert (allowed == found.labels).all(axis=1).any()
    assert found.inertia == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert found.status is Status.OPTIMAL
    assert found.lower_bound <= found.inertia
    assert np.array_equal(found.centers, centers)
    assert found.sizes.tolist() == np.bincount(found.labels, minlength=drawn.k).tolist()
    assert found.history == ()
    assert found.prices is None


def test_centers_stay_and_labels_keep_their_bounds():
    X, centers = [[0.0], [1.0], [2.0], [9.0]], np.array([[0.0], [100.0]])
    found = bckm.assign_to(X, centers, Constraints(size_min=[1, 3]))
    assert found.labels.tolist() == [0, 1, 1, 1]
    assert found.centers.tolist() == [[0.0], [100.0]]
    assert found.inertia == pytest.approx(99**2 + 98**2 + 91**2)
    centers[:] = 7
    assert found.centers.tolist() == [[0.0], [100.0]], "a copy"


def test_fewer_samples_than_clusters():
    centers = [[0.0], [5.0], [9.0]]
    found = bckm.assign_to([[8.0]], centers, Constraints(size_min=0))
    assert found.labels.tolist() == [2]
    with pytest.raises(InfeasibleError, match="only 1 sample"):
        bckm.assign_to([[8.0]], centers)


def test_statuses_of_a_batch(monkeypatch):
    X, rules = blobs(), EVEN & Constraints(cannot_link=[(0, 1)])
    centers = X[:4]
    assert bckm.assign_to(X, centers, rules, solver="exact").status is Status.OPTIMAL
    assert bckm.assign_to(X, centers, rules, solver="greedy").status is Status.FEASIBLE
    late = bckm.assign_to(X, centers, rules, time_limit=0)
    assert late.status is Status.NOT_STARTED
    assert bckm.verify(late.labels, 4, rules) == []

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(MatrixAssigner, "__call__", interrupted)
    stopped = bckm.assign_to(X, centers, rules)
    assert stopped.status is Status.NOT_STARTED
    assert bckm.verify(stopped.labels, 4, rules) == []
    squares = cdist(X, centers, "sqeuclidean")
    assert stopped.inertia == pytest.approx(squares[np.arange(120), stopped.labels].sum())
    assert stopped.lower_bound <= squares.min(axis=1).sum(), "there was no time for a better one"


@pytest.mark.parametrize(
    ("centers", "message"),
    [
        ([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], "centers have 2 features, but X has 1"),
        ([0.0, 1.0], r"centers has shape \(2,\)"),
        (np.empty((0, 1)), r"centers has shape \(0, 1\)"),
        ([[np.nan]], "centers contains NaN"),
        ("k-means++", "centers must be an array"),
    ],
)
def test_wrong_centers(centers, message):
    with pytest.raises(ValueError, match=message):
        bckm.assign_to([[0.0], [1.0], [2.0]], centers)


# -- prices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"tol": 0}, {"tol": 0.1}, {"max_iter": 2, "tol": 0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_prices_of_a_fit_belong_to_its_centers(priced, options, weighted):
    X = blobs()
    weight = np.random.default_rng(1).uniform(5, 90, 120) if weighted else np.ones(120)
    found = kmeans(
        X, 4, EVEN, sample_weight=weight, random_state=0, n_init=1, search="none", **options
    )
    cost = weight[:, None] * cdist(X, found.centers, "sqeuclidean")
    value = (cost - found.prices).min(axis=1).sum() + (
        28 * np.maximum(found.prices, 0) - 32 * np.maximum(-found.prices, 0)
    ).sum()
    assert found.lower_bound == pytest.approx(value, rel=1e-9)
    assert (found.prices != 0).any()
    best = bckm.assign_to(X, found.centers, EVEN, sample_weight=weight)
    assert best.inertia == pytest.approx(value, rel=1e-9), "prices are optimal"
    steps = found.counters["calls"] - found.n_iter
    assert steps == 1, "one assignment at the final centers, whichever way it ended"
    if found.status is Status.CONVERGED and options["tol"] == 0:
        assert found.assignment_status is Status.OPTIMAL


def test_no_prices_without_an_assignment_at_the_centers(priced):
    def stop(step):
        raise KeyboardInterrupt

    assert kmeans(blobs(), 4, EVEN, random_state=0, on_step=stop).prices is None
    assert kmeans(blobs(), 4, EVEN, random_state=0, time_limit=0).prices is None


def test_engines_without_prices_have_none():
    for solver in ("exact", "pump", "greedy"):
        assert kmeans(blobs(), 4, EVEN, random_state=0, solver=solver).prices is None


def test_a_batch_has_prices_too(priced):
    X = blobs()
    found = bckm.assign_to(X, X[:4], EVEN)
    cost = cdist(X, X[:4], "sqeuclidean") - found.prices
    own = cost[np.arange(120), found.labels]
    assert (own <= cost.min(axis=1) + 1e-9 * cost.max()).all()


# -- predict ----------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(5))
def test_predict_uses_prices(priced, seed):
    X = blobs(seed)
    uneven = {"size_min": [48, 48, 8, 8], "size_max": [52, 52, 12, 12]}
    model = ConstrainedKMeans(4, **uneven, tol=0, random_state=0).fit(X)
    labels = model.predict(X)
    assert labels.dtype == np.int32
    wrong = np.flatnonzero(labels != model.labels_)
    assert wrong.size <= 3, "at most the samples on a border: one less than clusters"
    adjusted = cdist(X, model.cluster_centers_, "sqeuclidean") - model.result_.prices
    gap = adjusted[wrong, model.labels_[wrong]] - adjusted[wrong].min(axis=1)
    assert (gap <= 1e-9 * adjusted.max()).all(), "ties"
    plain = cdist(X, model.cluster_centers_).argmin(axis=1)
    assert (plain != model.labels_).sum() > 3, "prices matter here"
    assert [model.predict(X[[p]])[0] for p in range(120)] == labels.tolist()


@pytest.mark.full
def test_predict_counts_samples_with_the_mean_weight(priced):
    X = blobs(3)
    uneven = {"size_min": [48, 48, 8, 8], "size_max": [52, 52, 12, 12]}
    one = ConstrainedKMeans(4, **uneven, random_state=0).fit(X)
    seven = ConstrainedKMeans(4, **uneven, random_state=0)
    seven.fit(X, sample_weight=np.full(120, 7.0))
    assert seven.result_.prices == pytest.approx(7 * one.result_.prices)
    assert (seven.predict(X) != one.predict(X)).sum() <= 3, "but for ties"
    assert (seven.predict(X) != cdist(X, one.cluster_centers_).argmin(axis=1)).sum() > 3


def test_predict_and_score_in_blocks(priced, monkeypatch):
    X = blobs()
    model = ConstrainedKMeans(4, size_min=29, size_max=31, random_state=0).fit(X)
    labels, score = model.predict(X), model.score(X)
    shapes = []

    def counted(points, centers, *rest):
        shapes.append(len(points))
        return inner(points, centers, *rest)

    name = "squared_distances" if missing else "_native_nearest"
    inner = getattr(_arrays, name)
    monkeypatch.setattr(_arrays, "BLOCK", 28 if missing else 14)  # 4 centers, 2 features
    monkeypatch.setattr(_arrays, name, counted)
    assert np.array_equal(model.predict(X), labels)
    assert set(shapes) == {7, 120 % 7}
    assert model.score(X) == score
    assert score == pytest.approx(-(cdist(X, model.cluster_centers_).min(axis=1) ** 2).sum())


# -- the estimator ----------------------------------------------------------------------------


def test_assign_of_the_estimator_scales_the_bounds_of_fit():
    X = blobs()
    model = ConstrainedKMeans(4, size_min=[10, 20, 30, 40], size_max=60, random_state=0).fit(X)
    rng = np.random.default_rng(9)
    for n, low, up in ((120, [10, 20, 30, 40], 60), (50, [4, 8, 12, 16], 25), (7, [0, 1, 1, 2], 4)):
        # far from all clusters but the first: every bound binds
        new = model.cluster_centers_[0] + rng.normal(size=(n, 2))
        labels = model.assign(new)
        assert labels.dtype == np.int32
        sizes = np.bincount(labels, minlength=4)
        assert sizes[0] == min(up, n - sum(low[1:])), (n, sizes)
        assert (sizes >= low).all()
        rules = Constraints(size_min=low, size_max=up)
        best = bckm.assign_to(new, model.cluster_centers_, rules).inertia
        assert cdist(new, model.cluster_centers_, "sqeuclidean")[
            np.arange(n), labels
        ].sum() == pytest.approx(best)


def test_given_bounds_and_rules_replace_those_of_fit():
    X = blobs()
    model = ConstrainedKMeans(4, size_min=25, size_max=35, random_state=0).fit(X)
    new = np.repeat(model.cluster_centers_[:1], 20, axis=0)
    sizes = np.bincount(model.assign(new), minlength=4)
    assert sizes.max() == 6  # ceil(35 * 20 / 120), and at least floor(25 * 20 / 120) = 4
    assert sizes.min() == 4
    sizes = np.bincount(model.assign(new, size_max=8), minlength=4)
    assert (sizes.max(), sizes.min()) == (8, 4)
    sizes = np.bincount(
        model.assign(new, constraints=Constraints(size_min=0, size_max=20)), minlength=4
    )
    assert sizes[0] == 20
    labels = model.assign(new, cannot_link=[(0, 1)], must_link=[(2, 3)])
    assert labels[0] != labels[1]
    assert labels[2] == labels[3]


def test_implied_bounds_of_fit():
    model = ConstrainedKMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    near = int(model.predict([[0.0]])[0])
    assert model.assign([[0.0]] * 3).tolist() == [near] * 3, "fewer samples: empty clusters may be"
    assert len(set(model.assign([[0.0]] * 4).tolist())) == 2
    assert np.bincount(model.assign([[0.0]] * 40)).min() == 1, "not empty, and no more than that"


def test_float32_gives_what_float64_gives():
    X = blobs().astype(np.float32)
    options = {"size_min": 28, "size_max": 32, "random_state": 0}
    single, double = (ConstrainedKMeans(4, **options).fit(x) for x in (X, X.astype(float)))
    assert np.array_equal(single.labels_, double.labels_)
    assert np.array_equal(single.cluster_centers_, double.cluster_centers_)
    assert np.array_equal(single.predict(X), double.predict(X.astype(float)))
    assert single.score(X) == double.score(X.astype(float))


def test_no_search_for_dependent_equations():
    """HiGHS gives it 1 % of the time limit; equal sizes and links of 10,000 samples took 150 s."""
    model = Model(sp.csr_array(np.ones((2, 3))), np.ones(2), np.ones(2))
    assert model._solver.getOptionValue("presolve_rule_off")[1] == DEPENDENT == 1024 + 2048


def test_a_search_without_a_thread_is_a_lack_of_memory(monkeypatch):
    """Where a process may take no more memory, Python says RuntimeError to a new thread."""

    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("bckm.programs.highs.Thread.start", refuse)
    model = Model(sp.csr_array(np.ones((1, 2))), np.ones(1), np.ones(1), integer=True)
    with pytest.raises(MemoryError, match="its own thread"):
        model.solve(np.ones(2), Deadline())


def test_soft_links_beside_a_linear_row_are_searched_as_whole_numbers():
    """HiGHS called labels optimal that others beat by 0.6 %: some columns were not integral."""
    X = [-116, -104, -153, 161, 149, -70, -44, 103, 54, -27, 2, -28, -86, -94, -227, 101]
    X = np.reshape(X, (8, 2)).astype(float)
    centers = np.array([[-629.0, -492.0], [400.0, 680.0], [-317.0, -67.0]])
    row = [2, 0, -1, 2, 0, 2, -1, 2, 1, 0, 0, -1, 1, -1, 2, 1, 2, -1, 2, 1, 1, 0, 1, 2]
    rules = Constraints(
        linear=bckm.LinearRows([row], 0, 4),
        fixed={2: 0, 5: 0},
        forbidden=[(0, 2), (7, 1), (6, 0)],
    )
    rules &= Constraints(cannot_link=[(0, 4)]).soft(price=1.0)
    found = bckm.assign_to(X, centers, rules, solver="exact")
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(3_166_630)


@pytest.mark.parametrize("number", [207, 755])
def test_a_single_step_is_searched_to_the_end(number):
    """Less effort, as within a fit: these labels cost up to twelve times the least."""
    drawn = draw_rules([16, 814371037, number])
    rng = np.random.default_rng([16, 814371037, number, 0])
    for _ in range(2):  # as the reliability campaign draws them
        centers = drawn.X[rng.integers(len(drawn.X), size=drawn.k)]
        if rng.random() < 0.6:
            centers = centers + np.ptp(drawn.X) * rng.normal(size=centers.shape)
    found = bckm.assign_to(drawn.X, centers, drawn.constraints, sample_weight=drawn.weight)
    assert found.assignment_status is Status.OPTIMAL
