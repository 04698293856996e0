"""The exact end of a step: any budget, prices and number of samples per point, one optimum."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bckm import kernels
from bckm.kernels import native
from tests.kernels.test_build import VARIANTS, python
from tests.kernels.test_sweep import Known, sweep
from tests.support.transport import optimum, prove

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


class Instance:
    """Points, each for some samples, with centers, bounds and prices to begin with."""

    def __init__(self, seed, n=60, heavy=False, clusters=None):
        rng = np.random.default_rng(seed)
        k, d = int(rng.integers(2, 9)), int(rng.integers(1, 5))
        k = clusters or k
        self.X, self.centers = rng.normal(size=(n, d)), rng.normal(size=(k, d))
        if seed % 4 == 1:
            self.X, self.centers = np.round(self.X), np.round(self.centers)  # ties
        if seed % 4 == 2:
            self.centers[0] += 30.0
        self.pull = rng.random(n) if seed % 5 == 0 else None
        self.supply = rng.integers(1, 12, n) if heavy else None
        self.samples = n if self.supply is None else int(self.supply.sum())
        sizes = rng.multinomial(self.samples, rng.dirichlet(np.ones(k)))
        room = rng.integers(0, 4, (2, k)) * (seed % 3 > 0)
        self.lower, self.upper = np.maximum(0, sizes - room[0]), sizes + room[1]
        self.prices = np.zeros(k) if seed % 2 else rng.normal(size=k)
        self.points = native.Points(self.X, None, self.pull, self.supply)

    def settle(self, budget=1000, seconds=1e9, threads=1, **more):
        """Sweep and settle; labels of points and the result."""
        known = Known(self.points.n)
        sweep(self.points, self.centers, self.prices, known)
        answer = native.settle(
            self.points,
            self.centers,
            self.prices,
            known.label,
            known.slack,
            self.lower,
            self.upper,
            budget,
            seconds,
            threads,
            **more,
        )
        return known.label, answer

    def settle_few(self, seconds=1e9, threads=1, **other):
        """The same with all costs at hand; labels, slacks and the result."""
        n, k = self.points.n, len(self.lower)
        arguments = {
            "points": self.points,
            "centers": self.centers,
            "prices": self.prices,
            "label": np.zeros(n, np.int32),
            "slack": np.zeros(n, np.float32),
            "table": np.empty((n, -(-k // 8) * 8)),
            "tabled": np.full(self.centers.shape, np.nan),
            "lower": self.lower,
            "upper": self.upper,
            "seconds": seconds,
            "threads": threads,
        } | other
        answer = native.settle_few(**arguments)
        return arguments["label"], arguments["slack"], answer

    def expand(self, label, answer):
        """Points and labels of single samples."""
        supply = np.ones(len(label), int) if self.supply is None else self.supply
        rest, point, labels = supply.copy(), [], []
        splits = zip(answer.split_point, answer.split_cluster, answer.split_units, strict=True)
        for p, cluster, units in splits:
            assert units > 0
            assert cluster != label[p]
            rest[p] -= units
            point += [p] * units
            labels += [cluster] * units
        assert (rest > 0).all()
        point += np.repeat(np.arange(len(label)), rest).tolist()
        labels += np.repeat(label, rest).tolist()
        return np.array(point), np.array(labels)

    def check(self, label, answer):
        """Assert feasible and optimal; the cost."""
        assert not answer.stopped
        point, labels = self.expand(label, answer)
        sizes = np.bincount(labels, minlength=len(self.lower))
        assert (sizes >= self.lower).all()
        assert (sizes <= self.upper).all()
        pull = np.ones(len(self.X)) if self.pull is None else self.pull
        proof = prove(
            self.X[point],
            pull[point],
            self.centers,
            self.lower,
            self.upper,
            labels,
            answer.prices,
        )
        assert proof.cost - proof.value <= 1e-12 * proof.cost + proof.noise
        value = pull[point, None] * cdist(self.X[point], self.centers, "sqeuclidean")
        value -= answer.prices
        own = value[np.arange(labels.size), labels]
        value[np.arange(labels.size), labels] = np.inf
        for a, least in enumerate(answer.least_moves):  # what no sample of the cluster gets below
            gap = (value.min(axis=1) - own)[labels == a]
            assert least <= gap.min(initial=np.inf) + 1e-12 * np.abs(own).max()
        return proof.cost


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(60))
def test_any_budget_gives_the_optimum(seed):
    drawn = Instance(seed)
    pull = np.ones(60) if drawn.pull is None else drawn.pull
    cost = pull[:, None] * cdist(drawn.X, drawn.centers, "sqeuclidean")
    best = optimum(cost, drawn.lower, drawn.upper)
    rows = []
    for budget in (-1, 1, 2, 5, 20, 60, 10_000):
        label, answer = drawn.settle(budget)
        assert drawn.check(label, answer) == pytest.approx(best, rel=1e-12)
        rows.append(answer.rows)
    assert max(rows) <= 60


@pytest.mark.parametrize("seed", range(6))
def test_many_clusters(seed):
    # where searches look at short arcs only
    instance = Instance(seed, n=900, clusters=300)
    label, answer = instance.settle(budget=[5, 600][seed % 2])
    assert answer.paths > 100
    instance.check(label, answer)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(80))
def test_few_points_give_the_optimum_and_slacks(seed):
    drawn = Instance(seed, clusters=[None, None, 17, 24][seed % 4])
    pull = np.ones(60) if drawn.pull is None else drawn.pull
    cost = pull[:, None] * cdist(drawn.X, drawn.centers, "sqeuclidean")
    label, slack, answer = drawn.settle_few()
    assert drawn.check(label, answer) == pytest.approx(
        optimum(cost, drawn.lower, drawn.upper), rel=1e-12
    )
    value = cost - answer.prices
    own = value[np.arange(60), label]
    regret = np.maximum(0, own - value.min(axis=1)).sum()
    assert answer.regret == pytest.approx(regret, abs=1e-12 * cost.sum())
    value[np.arange(60), label] = np.inf
    gap = value.min(axis=1) - own
    assert (slack <= gap).all()
    least = np.array([gap[label == a].min() for a in label])  # of its cluster, or its own
    assert (slack >= least * (1 - 1e-5) - 1e-12 * cost.max()).all()
    if seed % 4 != 1 and (drawn.upper > 0).all():  # prices do not depend on those before
        exact = drawn.settle(exact_prices=True)[1].prices
        np.testing.assert_allclose(answer.prices, exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("moved", [0, 1, 5, 12, 17])
def test_costs_are_kept_where_centers_stay(moved):
    drawn = Instance(7, n=700, clusters=17)
    table = {"table": np.empty((700, 24)), "tabled": np.full(drawn.centers.shape, np.nan)}
    drawn.settle_few(**table)
    centers = drawn.centers.copy()
    centers[np.random.default_rng(moved).choice(17, moved, replace=False)] += 0.1
    label, slack, answer = drawn.settle_few(centers=centers, **table)
    new = drawn.settle_few(centers=centers)
    assert (label.tobytes(), slack.tobytes()) == (new[0].tobytes(), new[1].tobytes())
    assert answer.prices.tobytes() == new[2].prices.tobytes()
    assert (table["tabled"] == centers).all()


def test_costs_that_were_not_found_are_not_kept():
    drawn = Instance(7, n=700, clusters=17)
    tabled = drawn.centers + 1.0
    assert drawn.settle_few(seconds=0.0, tabled=tabled)[2].stopped
    assert np.isnan(tabled).all()


@pytest.mark.parametrize("seed", range(3))
def test_threads_change_nothing_where_points_are_few(seed):
    found = []
    for threads in (1, 3):
        drawn = Instance(seed, n=3000, clusters=40)
        label, slack, answer = drawn.settle_few(threads=threads)
        drawn.check(label, answer)
        assert answer.paths > 100
        found.append((label.tobytes(), slack.tobytes(), answer.prices.tobytes(), answer.regret))
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(4))
def test_searches_go_on_from_what_is_left_of_the_last_tree(seed):
    # paths that many searches find, with and without a hub; arcs that have changed break branches
    drawn = Instance(seed, n=1200, clusters=60)
    label, _, few = drawn.settle_few()
    assert few.paths > few.rounds > 100
    cost = drawn.check(label, few)
    label, answer = drawn.settle(budget=300)
    assert drawn.check(label, answer) == pytest.approx(cost, rel=1e-12)


@pytest.mark.full
def test_every_instruction_set_settles_ties_alike():
    # registers take other numbers of clusters at a time: the first sample has to win in each
    code = """
import zlib
import numpy as np
from tests.kernels.test_settle import Instance, native
print(native.isa())
for seed in (1, 5, 9, 13):  # rounded: masses of equal costs
    for clusters in (3, 21, 40, 100):
        drawn = Instance(seed, n=1500, clusters=clusters)
        label, slack, answer = drawn.settle_few()
        print(answer.paths, *(zlib.crc32(a.tobytes()) for a in (label, slack, answer.prices)))
"""
    printed = [python(code, BCKM_ISA=name).split("\n") for name in VARIANTS]
    assert printed[0][0] == "baseline"
    assert printed[0][1:] == printed[1][1:] == printed[2][1:]
    assert len(set(printed[0][1:])) == 16


def test_few_points_without_time_or_room():
    drawn = Instance(2, n=2000)
    assert drawn.settle_few(seconds=0.0)[2].stopped
    for wrong in (
        {"table": np.empty((2000, 7))},
        {"table": np.empty((1999, 8))},
        {"tabled": drawn.centers[1:].copy()},
        {"label": np.zeros(1999, np.int32)},
        {"slack": np.zeros(1999, np.float32)},
        {"lower": drawn.lower[1:]},
        {"points": native.Points(drawn.X, None, None, np.full(2000, 2))},
    ):
        with pytest.raises((ValueError, TypeError)):
            drawn.settle_few(**wrong)


def test_small_budgets_look_at_few_points():
    """So that the tests above do say something about points that are not explicit."""
    few = many = 0
    for seed in range(60):
        drawn = Instance(seed, n=400)
        label, answer = drawn.settle(1)
        drawn.check(label, answer)
        few += 0 < answer.rows < 380
        many += answer.rows > 40
    assert few > 20
    assert many > 5


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(60))
def test_points_of_several_samples_are_split(seed):
    drawn = Instance(seed, n=25, heavy=True)
    pull = np.ones(25) if drawn.pull is None else drawn.pull
    cost = pull[:, None] * cdist(drawn.X, drawn.centers, "sqeuclidean")
    best = optimum(np.repeat(cost, drawn.supply, axis=0), drawn.lower, drawn.upper)
    for budget in (1, 3, 100):
        label, answer = drawn.settle(budget)
        assert drawn.check(label, answer) == pytest.approx(best, rel=1e-12)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(60))
def test_exact_prices_follow_from_the_labels_alone(seed):
    """Whatever was evaluated on the way, and whatever the prices were before."""
    found = []
    for budget, shift in ((1, 0.0), (60, 0.3), (10_000, -0.2)):
        drawn = Instance(seed, n=150, heavy=seed % 3 == 0)
        drawn.prices = drawn.prices + shift * np.arange(drawn.prices.size)
        label, answer = drawn.settle(budget, exact_prices=True)
        drawn.check(label, answer)
        found.append(answer.prices)
    if seed % 4 != 1 and (drawn.upper > 0).all():  # without ties, and where all prices are bounded
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], rtol=1e-9, atol=1e-9)


def test_halves_of_a_point_are_named_by_cluster():
    """The label is the first of those clusters that have most samples of a point."""
    for seed in range(40):
        drawn = Instance(seed, n=25, heavy=True)
        label, answer = drawn.settle()
        for point in np.unique(answer.split_point):
            parts = answer.split_point == point
            rest = drawn.supply[point] - answer.split_units[parts].sum()
            alike = answer.split_cluster[parts][answer.split_units[parts] == rest]
            assert (label[point] < alike).all()
            assert rest >= answer.split_units[parts].max()
            assert (np.diff(answer.split_cluster[parts]) > 0).all()


def test_splits_do_occur():
    splits = [Instance(seed, n=25, heavy=True).settle()[1].split_point.size for seed in range(60)]
    assert np.count_nonzero(splits) > 30


def test_all_samples_at_one_point():
    X, centers = np.zeros((1, 2)), np.eye(3, 2)
    points = native.Points(X, None, None, np.array([100]))
    known = Known(1)
    sweep(points, centers, np.zeros(3), known)
    lower, upper = np.array([20, 30, 10]), np.array([30, 40, 40])
    answer = native.settle(
        points, centers, np.zeros(3), known.label, known.slack, lower, upper, 5, 1e9, 1
    )
    sizes = np.bincount(answer.split_cluster, answer.split_units, 3)
    sizes[known.label[0]] += 100 - sizes.sum()
    assert sizes.tolist() == [20, 40, 40] or sizes.tolist() == [30, 30, 40]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_threads_change_nothing(seed):
    found = []
    for threads in (1, 2, 3):
        drawn = Instance(seed, n=20_000, heavy=seed % 2 == 0)
        label, answer = drawn.settle(200, threads=threads)
        found.append((label.tobytes(), answer.prices.tobytes(), answer.rows))
    assert found[0] == found[1] == found[2]


def test_no_time_leaves_the_labels():
    drawn = Instance(2, n=200)
    known = Known(200)
    sweep(drawn.points, drawn.centers, drawn.prices, known)
    label, answer = drawn.settle(seconds=0.0)
    assert answer.stopped
    assert (label == known.label).all()
    assert np.isfinite(answer.prices).all()
    assert answer.split_point.size == 0


def test_nothing_to_do():
    drawn = Instance(1, n=50)
    drawn.prices[:] = 0
    drawn.lower, drawn.upper = np.zeros_like(drawn.lower), np.full_like(drawn.upper, 50)
    label, answer = drawn.settle()
    drawn.check(label, answer)
    assert answer.paths == answer.rounds == 0
    assert (answer.prices == 0).all()


BAD = {
    "label too short": lambda a: a.update(label=a["label"][:-1].copy()),
    "label too large": lambda a: a["label"].__setitem__(3, 99),
    "label negative": lambda a: a["label"].__setitem__(3, -1),
    "label of 64 bits": lambda a: a.update(label=a["label"].astype(np.int64)),
    "label not contiguous": lambda a: a.update(label=np.zeros(120, np.int32)[::2]),
    "slack too short": lambda a: a.update(slack=a["slack"][:-1].copy()),
    "slack of 64 bits": lambda a: a.update(slack=a["slack"].astype(float)),
    "prices not a number": lambda a: a.update(prices=a["prices"] * np.nan),
    "prices too long": lambda a: a.update(prices=np.append(a["prices"], 0.0)),
    "lower too short": lambda a: a.update(lower=a["lower"][:-1].copy()),
    "upper too short": lambda a: a.update(upper=a["upper"][:-1].copy()),
    "lower negative": lambda a: a["lower"].__setitem__(0, -1),
    "lower above upper": lambda a: a["lower"].__setitem__(0, a["upper"][0] + 1),
    "too few": lambda a: a.update(lower=0 * a["lower"], upper=a["upper"] // 2),
    "too many": lambda a: a.update(lower=a["lower"] + 60, upper=a["upper"] + 60),
    "centers with other features": lambda a: a.update(centers=np.zeros((len(a["prices"]), 9))),
}


def arguments_of(drawn):
    known = Known(drawn.points.n)
    sweep(drawn.points, drawn.centers, drawn.prices, known)
    return {
        "points": drawn.points,
        "centers": drawn.centers,
        "prices": drawn.prices,
        "label": known.label,
        "slack": known.slack,
        "lower": drawn.lower,
        "upper": drawn.upper,
        "budget": 10,
        "seconds": 1e9,
        "threads": 1,
    }


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments(what):
    arguments = arguments_of(Instance(3))
    native.settle(**arguments)
    arguments = arguments_of(Instance(3))
    BAD[what](arguments)
    with pytest.raises((ValueError, TypeError)):
        native.settle(**arguments)


def test_bounds_and_budgets_beyond_all_samples():
    drawn = Instance(4)
    label, answer = drawn.settle()
    best = drawn.check(label, answer)
    loose = Instance(4)
    loose.prices[:] = 0
    loose.upper = loose.upper + 10**6
    label, answer = loose.settle(10**15)
    assert loose.check(label, answer) <= best * (1 + 1e-12)


def test_searches_can_be_limited():
    one = Instance(7, n=400, clusters=8)
    _, whole = one.settle()
    assert whole.rounds > 2
    known = Known(one.points.n)
    sweep(one.points, one.centers, one.prices, known)
    label, cut = one.settle(most_rounds=2)
    assert cut.stopped
    assert cut.rounds == 2
    assert np.array_equal(label, known.label)
    assert np.isfinite(cut.prices).all()
    _, enough = one.settle(most_rounds=whole.rounds)
    assert not enough.stopped
    assert np.array_equal(enough.prices, whole.prices)
