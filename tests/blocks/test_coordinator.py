"""Exact steps over blocks: against the in-memory engine, against plain NumPy, in any blocks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import bckm
from bckm._core.deadline import Deadline, TimeUp
from bckm.blocks import attempt, coordinator, planning
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.coordinator import Coordinator
from bckm.blocks.labeling import label_block
from bckm.blocks.modeling import solved_model
from bckm.blocks.pairs import Pairs
from bckm.blocks.planning import Plan
from bckm.blocks.settling import Settling
from bckm.blocks.step import Memory
from bckm.kernels import missing
from tests.support.transport import draw, prove

compiled = pytest.mark.skipif(bool(missing), reason=missing)


class Scattered:
    """A source whose blocks end where they were told to."""

    names, in_file = None, False

    def __init__(self, X, ends):
        self.X, self.ends, self.shape, self.dtype = X, ends, X.shape, X.dtype

    def blocks(self):
        begin = 0
        for end in [*self.ends, len(self.X)]:
            yield begin, self.X[begin:end]
            begin = end


def coordinated(X, lower, upper, *, ends=(), share=0.3, threads=1, **options):
    holder = ArrayHolder(Scattered(X, list(ends)), threads)
    survey = holder.survey(share, 1)
    survey.check()
    return Coordinator(holder, survey, survey.frame(), lower, upper, threads, **options)


def labels_of(coordinator, step):
    labeling = coordinator.labeling(step)
    parts = [label_block(x, at, labeling) for at, x in coordinator.holder.source.blocks()]
    return np.concatenate(parts)


def check(coordinator, centers, step, X, lower, upper):
    """Sizes, cost, means and proof, from nothing but X, labels and prices."""
    labels, k = labels_of(coordinator, step), len(centers)
    sizes = np.bincount(labels, minlength=k)
    assert np.array_equal(sizes, step.sizes)
    assert (sizes >= lower).all()
    assert (sizes <= upper).all()
    points, ones = coordinator.frame.inside(X), np.ones(len(X))
    upper = np.minimum(upper, len(X))
    proof = prove(points, ones, centers, lower, upper, labels, step.prices)
    close = 1e-11 * proof.cost
    assert abs(step.cost - proof.cost) <= 1e-12 * proof.cost + proof.noise
    assert proof.cost - proof.value <= close + proof.noise
    assert step.bound <= min(step.cost, proof.value + proof.noise)
    rounding = 100 * (16 + sum(centers.shape)) * proof.noise
    # each point is off by its rounding, which matters beside tight clusters
    off = 1e-15 * np.sqrt(len(X) * (1 + np.square(centers).sum(axis=1).max()))
    rounding += 4 * off * (np.sqrt(step.cost) + off)
    assert step.cost - step.bound <= close + rounding
    for i in range(k):
        mean = points[labels == i].mean(axis=0) if sizes[i] else centers[i]
        np.testing.assert_allclose(step.means[i], mean, rtol=1e-12, atol=1e-14)
    return labels


def cuts(rng, n):
    """Five partitionings, with empty blocks."""
    yield []
    yield [n // 2, n // 2]
    for number in (1, 3, 9):
        yield np.sort(rng.integers(0, n + 1, number)).tolist()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(20))
def test_drawn_instances_in_any_blocks(batch):
    for seed in range(batch * 25, (batch + 1) * 25):
        drawn, rng = draw(seed), np.random.default_rng(seed)
        X, lower, upper = drawn.X, drawn.lower, drawn.upper
        first = None
        for number, ends in enumerate(cuts(rng, len(X))):
            c = coordinated(X, lower, upper, ends=ends, threads=1 + number % 3)
            centers = c.frame.inside(drawn.centers)
            step = c.step(centers, np.zeros(drawn.k))
            if first is None:
                first = step, check(c, centers, step, X, lower, upper)
                known = bckm.assign_to(X, drawn.centers, drawn.rules)
                cost = step.cost * c.frame.x_scale**2
                noise = 1e-15 * len(X) * c.frame.x_scale**2 * (1 + np.abs(centers).max()) ** 2
                assert cost == pytest.approx(known.inertia, rel=1e-9, abs=noise), seed
            else:
                assert np.array_equal(labels_of(c, step), first[1]), seed
                assert step.cost == first[0].cost
                for name in ("prices", "means", "sizes"):
                    assert np.array_equal(getattr(step, name), getattr(first[0], name)), name
        again = c.step(step.means, step.prices, step.memory)
        check(c, step.means, again, X, lower, upper)
        assert again.cost <= step.cost * (1 + 1e-12)


def rows(kind, n, d, rng):
    """Data of several kinds."""
    if kind == "heavy tails":
        return rng.standard_t(1.5, size=(n, d))
    if kind == "curve":
        t = rng.random(n)[:, None] * 20
        return np.sin(t * np.arange(1, d + 1) / 3) + 0.01 * rng.normal(size=(n, d))
    if kind == "ellipse":
        return rng.normal(size=(n, d)) * np.geomspace(1, 1e-3, d)
    if kind == "grid":
        return rng.integers(0, 3, size=(n, d)).astype(float)
    if kind == "sparse integers":
        return (rng.random((n, d)) < 0.15) * rng.integers(1, 6, (n, d))
    if kind == "far blobs":
        centers = 30 * rng.normal(size=(12, d))
        return centers[rng.choice(12, n, p=rng.dirichlet(np.ones(12)))] + rng.normal(size=(n, d))
    return rng.random((n, d)) + 1e6  # offset


KINDS = ["heavy tails", "curve", "ellipse", "grid", "sparse integers", "far blobs", "offset"]


@compiled
@pytest.mark.parametrize("kind", KINDS)
def test_few_looks_and_a_proof(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    n, d, k = 20_000, 4, 12
    X = rows(kind, n, d, rng).astype(np.float64 if kind == "offset" else np.float32)
    sizes = np.full(k, n // k), np.full(k, n // k + 1)
    c = coordinated(X, *sizes, ends=[7000, 7001], share=0.1)
    centers, prices, memory = c.frame.inside(X[rng.choice(n, k, replace=False)]), np.zeros(k), None
    for number in range(3):
        step = c.step(centers, prices, memory)
        check(c, centers, step, X, *sizes)
        assert step.passes <= (6 if number == 0 else 4)
        assert step.cost - step.bound <= 1e-9 * step.cost
        centers, prices, memory = step.means, step.prices, step.memory


@compiled
def test_many_clusters_and_features():
    """From random rows of unequal blobs, where some clusters are far too large at first."""
    rng = np.random.default_rng(5)
    n, d, k = 2500, 130, 128
    blob = rng.choice(12, n, p=rng.dirichlet(np.ones(12)))
    X = (2 * rng.normal(size=(12, d)))[blob] + rng.normal(size=(n, d))
    sizes = np.full(k, int(0.9 * n / k)), np.full(k, int(1.1 * n / k) + 1)
    c = coordinated(X, *sizes, ends=[1500], share=0.5)
    centers, prices, memory = c.frame.inside(X[rng.choice(n, k, replace=False)]), np.zeros(k), None
    for number in range(2):
        step = c.step(centers, prices, memory)
        check(c, centers, step, X, *sizes)
        assert step.passes <= (6 if number == 0 else 4)
        centers, prices, memory = step.means, step.prices, step.memory


def test_more_rows_than_a_message_may_hold():
    """A look that would return too many returns some of them, and the next one asks for less."""
    rng = np.random.default_rng(6)
    n, d, k = 12_000, 3, 8
    X = np.concatenate([rng.normal(size=(n // 2, d)), rng.integers(0, 3, (n // 2, d))])
    sizes = np.full(k, n // k), np.full(k, n // k)
    found = []
    for ends in ([], [100, 7000]):
        c = coordinated(X, *sizes, ends=ends, share=0.05, most=600)
        centers = c.frame.inside(X[np.random.default_rng(1).choice(n, k, replace=False)])
        step = c.step(centers, np.zeros(k))
        check(c, centers, step, X, *sizes)
        found.append(step)
    assert np.array_equal(found[0].prices, found[1].prices)


def noisy_lattice(n, noise, seed):
    """Rows at and around 81 places, and centers at some of them, of which two may be equal."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 4)).astype(float)
    X[: n // 2] += noise * rng.normal(size=(n // 2, 4))
    return X, X[rng.choice(n, 12, replace=False)]


@compiled
@pytest.mark.parametrize(("noise", "seed"), [(1e-6, 1), (1e-9, 1), (1e-6, 0)])
def test_more_rows_around_borders_than_a_message_may_hold(noise, seed):
    X, centers = noisy_lattice(30_000, noise, seed)
    lower = upper = np.full(12, 2500)
    c = coordinated(X, lower, upper, share=0.1, most=600)
    centers = c.frame.inside(centers)
    step = c.step(centers, np.zeros(12))
    check(c, centers, step, X, lower, upper)


@compiled
def test_more_rows_between_equal_centers_than_a_message_may_hold():
    """No price tells them apart: labels within the bounds, with a bound on what they cost."""
    X, _ = noisy_lattice(30_000, 1e-3, 3)
    places = np.random.default_rng(0).integers(0, 3, (11, 4)).astype(float)
    lower = upper = np.full(12, 2500)
    found = []
    for ends in ([], [100, 20_000]):
        c = coordinated(X, lower, upper, ends=ends, share=0.1, most=600)
        centers = c.frame.inside(np.concatenate([places, places[:1]]))
        step = c.step(centers, np.zeros(12))
        labels = labels_of(c, step)
        assert np.bincount(labels, minlength=12).tolist() == [2500] * 12
        cost = np.square(c.frame.inside(X) - centers[labels]).sum()
        assert step.cost == pytest.approx(cost, rel=1e-9)
        assert step.bound <= step.cost <= step.bound * (1 + 1e-5)
        found.append(step)
    assert np.array_equal(found[0].means, found[1].means)


@compiled
@pytest.mark.parametrize("away", [coordinator.AWAY, ()])
@pytest.mark.parametrize(("noise", "seed"), [(1e-6, 1), (1e-9, 0), (1e-9, 3)])
def test_there_are_labels_where_rows_at_borders_are_far_too_many(noise, seed, away, monkeypatch):
    """Nothing is proven to be the best, but sizes are right and the bound is one."""
    monkeypatch.setattr(coordinator, "AWAY", away)
    rng, k, n = np.random.default_rng(seed), 20, 30_000
    X, _ = noisy_lattice(n, noise, seed)
    places = rng.integers(0, 3, (k - 4, 4)).astype(float)
    places = np.concatenate([places, places[rng.integers(0, k - 4, 4)]])
    lower = upper = np.full(k, n // k)
    best = bckm.assign_to(X, places, bckm.Constraints(size_min=n // k, size_max=n // k)).inertia
    found = []
    for ends in ([], [100, 20_000]):
        c = coordinated(X, lower, upper, ends=ends, share=0.1, most=400)
        centers = c.frame.inside(places)
        step = c.step(centers, np.zeros(k))
        labels = labels_of(c, step)
        assert np.bincount(labels, minlength=k).tolist() == [n // k] * k
        cost = np.square(c.frame.inside(X) - centers[labels]).sum()
        assert step.cost == pytest.approx(cost, rel=1e-9)
        exact = best / c.frame.x_scale**2
        assert step.bound <= exact * (1 + 1e-12)
        assert exact * (1 - 1e-12) <= step.cost <= 1.03 * exact
        found.append(step)
    assert np.array_equal(found[0].means, found[1].means)
    assert found[0].bound == found[1].bound


@compiled
def test_masses_of_equal_rows_are_divided():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))[rng.integers(0, 6, 30_000)]
    lower = upper = np.full(10, 3000)
    c = coordinated(X, lower, upper, ends=[11, 15_000], share=0.05)
    centers = c.frame.inside(rng.normal(size=(10, 3)))
    step = c.step(centers, np.zeros(10))
    assert step.passes <= 6
    check(c, centers, step, X, lower, upper)
    assert c.labeling(step).ties is not None
    other = coordinated(X, lower, upper, ends=[29_000], share=0.05)
    assert np.array_equal(labels_of(other, other.step(centers, np.zeros(10))), labels_of(c, step))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (40, 40), (500, 1), (3, 2)])
def test_as_many_samples_as_clusters_and_one_cluster(n, k):
    X = np.random.default_rng(n).normal(size=(n, 2))
    lower, upper = np.full(k, n // k), np.full(k, -(-n // k))
    c = coordinated(X, lower, upper, ends=[0, n // 2, n], share=1.0)
    centers = c.frame.inside(X[:k])
    check(c, centers, c.step(centers, np.zeros(k)), X, lower, upper)


def test_nothing_is_kept_from_step_to_step():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    lower = upper = np.full(10, 500)
    c = coordinated(X, lower, upper, share=0.1)
    centers = c.frame.inside(X[:10])
    first = c.step(centers, np.zeros(10))
    second = c.step(first.means, first.prices, first.memory)
    fresh = coordinated(X, lower, upper, share=0.1, ends=[99])
    tree = first.memory.to_tree()
    again = fresh.step(first.means, first.prices, Memory(**tree))
    for name in ("prices", "means", "sizes", "cost", "bound"):
        assert np.array_equal(getattr(second, name), getattr(again, name)), name


def test_the_deadline_is_heard():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    c = coordinated(X, np.full(10, 500), np.full(10, 500))
    with pytest.raises(TimeUp):
        c.step(c.frame.inside(X[:10]), np.zeros(10), None, Deadline.after(0.0))


@compiled
def test_labels_are_best_at_the_prices_but_for_exceptions():
    X = np.random.default_rng(1).normal(size=(20_000, 3)).astype(np.float32)
    lower = upper = np.full(8, 2500)
    c = coordinated(X, lower, upper, share=0.1)
    centers = c.frame.inside(X[:8])
    step = c.step(centers, np.zeros(8))
    value = cdist(c.frame.inside(X), centers, "sqeuclidean") - step.prices
    assert (value.argmin(axis=1) != labels_of(c, step)).sum() <= 8
    assert c.labeling(step).index.size <= 8


@compiled
def test_labels_within_the_bounds_have_to_do_where_none_are_proven(monkeypatch):
    monkeypatch.setattr(Settling, "beyond", lambda self, prices: 1.0)
    monkeypatch.setattr(attempt, "ROUNDS", 3)
    X = np.random.default_rng(2).normal(size=(20_000, 3))
    lower = upper = np.full(8, 2500)
    c = coordinated(X, lower, upper, share=0.1)
    centers = c.frame.inside(X[:8])
    step = c.step(centers, np.zeros(8))
    labels = labels_of(c, step)
    assert np.bincount(labels, minlength=8).tolist() == [2500] * 8
    points = c.frame.inside(X)
    assert step.cost == pytest.approx(np.square(points - centers[labels]).sum(), rel=1e-12)
    monkeypatch.undo()
    best = c.step(centers, np.zeros(8))
    assert step.bound <= best.cost <= step.cost <= 1.01 * best.cost
    assert step.bound >= 0.99 * best.cost


@compiled
@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [4, 5, 7, 9])
def test_groups_far_from_each_other_take_few_looks(seed):
    """Few rows tell how prices of a whole group must move: models are solved as far as they go."""
    rng, k, n = np.random.default_rng(seed), 20, 20_000
    groups = 100 * rng.normal(size=(12, 4))
    which = rng.choice(12, n, p=rng.dirichlet(np.ones(12)))
    X = groups[which] + 0.05 * rng.normal(size=(n, 4))
    lower = upper = np.full(k, n // k)
    c = coordinated(X, lower, upper, share=0.1, most=3000)
    centers, prices, memory = c.frame.inside(X[:k]), np.zeros(k), None
    for _ in range(3):
        step = c.step(centers, prices, memory)
        assert step.passes <= 8
        check(c, centers, step, X, lower, upper)
        centers, prices, memory = step.means, step.prices, step.memory


@compiled
def test_equal_rows_at_borders_are_divided_once_prices_can_do_no_better():
    """From random rows of a lattice: looks went on, as if other prices could."""
    rng, n, k = np.random.default_rng(0), 20_000, 40
    X, sizes = np.round(2 * rng.normal(size=(n, 6))), np.full(k, n // k)
    c = coordinated(X, sizes, sizes, share=0.2)
    centers = c.frame.inside(X[:k])
    step = c.step(centers, np.zeros(k))
    assert step.passes <= 4
    assert step.log[0]["wrong"] > 400
    check(c, centers, step, X, sizes, sizes)


@compiled
@pytest.mark.parametrize("away", [10, 100])
def test_what_rows_of_a_look_cannot_tell_is_asked_of_the_sample(away):
    """A cluster far from all others has too many samples, and not one of them came."""
    rng, n, k = np.random.default_rng(0), 20_000, 20
    near = 995 + 20 * (-1) ** np.arange(k - 1)
    X = rng.normal(size=(n, 4))
    X[near.sum() :] = away + 0.01 * X[near.sum() :]
    sizes = np.append(near, n - near.sum())
    c = coordinated(X, sizes, sizes, share=0.2)
    centers = c.frame.inside(X[np.append(np.arange(k - 1), n - 1)])
    prices = c.step(centers, np.zeros(k)).prices
    sizes = np.full(k, n // k)
    c = coordinated(X, sizes, sizes, share=0.2)
    trial = attempt.Attempt(c.task, centers, Deadline())
    limit = 0.1 * cdist(centers, centers).min(where=~np.eye(k, dtype=bool), initial=1)
    plan = Plan(np.full((k, k), limit), np.full(k, limit))
    seen = trial.look(prices, plan, 0)
    assert not trial.lacks(seen)
    model = solved_model(trial, seen)
    assert model.model.state.infeasibility < 0.1 * seen.infeasibility


def lattice(rng, n):
    """Groups of lattice points, far from each other."""
    where, which = np.round(1000 * rng.normal(size=(5, 16))), rng.dirichlet(np.ones(5))
    return where[rng.choice(5, n, p=which)] + np.round(rng.normal(size=(n, 16)) * ([1, 2] * 8))


def counts(rng, n):
    """Groups of counts, many of them zero."""
    shape, scale = rng.gamma(0.5, 1.0, (12, 16)), 10 ** rng.uniform(0, 1.5, (12, 16))
    which = rng.choice(12, n, p=rng.dirichlet(np.ones(12)))
    return np.floor(rng.gamma(shape[which] + 0.05) * scale[which]) * (rng.random((n, 16)) < 0.6)


@compiled
@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("most", [2**13, 2**14])
@pytest.mark.parametrize("kind", [lattice, counts])
def test_gaps_that_come_in_levels_take_few_looks(kind, most, seed, monkeypatch):
    """Between rows at borders and the next ones there was no room: looks went round, unproven."""
    monkeypatch.setattr(planning, "LITTLE", 2000)
    monkeypatch.setattr(planning, "EACH", 16)
    rng, n, k = np.random.default_rng(seed), 30_000, 50
    X, sizes = kind(rng, n), np.full(k, n // k)
    c = coordinated(X, sizes, sizes, share=0.2, most=most)
    centers = c.frame.inside(X[:k])
    step = c.step(centers, np.zeros(k))
    assert step.passes <= 5
    check(c, centers, step, X, sizes, sizes)
    others = coordinated(X, sizes, sizes, share=0.2, most=most, ends=[1, 9_999], threads=2)
    again = others.step(centers, np.zeros(k))
    assert again.prices.tobytes() == step.prices.tobytes()
    assert again.means.tobytes() == step.means.tobytes()


@compiled
@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_sample_of_groups_of_all_scales_learns_and_leads_to_prices(seed):
    """Narrow groups far from each other, whose clusters float32 does not tell apart."""
    rng, n, k = np.random.default_rng(seed), 24_000, 50
    group, scales = rng.choice(5, n, p=rng.dirichlet(np.ones(5))), 10 ** rng.uniform(-1, 1, 5)
    X = 300 * rng.normal(size=(5, 16))[group] + scales[group, None] * rng.normal(size=(n, 16))
    sizes = np.full(k, n // k)
    c = coordinated(X, sizes, sizes, share=0.4)
    sample = c.task.sample
    centers = c.frame.inside(X[rng.choice(n, k, replace=False)])
    step = c.step(centers, np.zeros(k))
    units = np.zeros(k)
    for _ in range(2):
        value = cdist(sample.points, centers, "sqeuclidean") - step.prices
        units = np.bincount(value.argmin(axis=1), minlength=k)
        assert np.abs(step.memory.lesson - (units - units.sum() / k)).sum() <= 4
        lesson, centers = step.memory.lesson, step.means
        model = sample.model(centers, step.prices, lesson, Deadline())
        value = cdist(sample.points, centers, "sqeuclidean") - model.prices
        units = np.bincount(value.argmin(axis=1), minlength=k)
        assert np.abs(units - units.sum() / k - lesson).sum() / 2 <= k
        step = c.step(centers, step.prices, step.memory)
        assert step.passes <= 4


@compiled
def test_large_prices_cost_no_digits_of_the_proof():
    """Sizes are whole numbers, and only rows at borders round: see `rounding_of_sums`."""
    rng = np.random.default_rng(0)
    where = 3.0 * rng.normal(size=(6, 4))  # one or two samples of each group have to leave it
    X = where[np.repeat(range(6), [2003, 1499, 2502, 1998, 998, 1000])]
    X += 0.01 * rng.normal(size=X.shape)
    size, first = np.full(20, 500), np.cumsum([0, 2003, 1499, 2502, 1998, 998])
    near = np.repeat(first, [4, 3, 5, 4, 2, 2]) + np.arange(20)
    c = coordinated(X, size, size, share=0.2)
    step = c.step(c.frame.inside(X[near]), np.zeros(20))
    step = c.step(step.means, step.prices, step.memory)
    assert np.abs(step.prices).mean() > 10 * step.cost / len(X)
    assert step.cost - step.bound <= 1e-13 * step.cost
    check(c, step.question.centers, step, X, size, size)


@compiled
def test_worse_labels_of_the_returned_rows_lower_no_bound():
    """What two rows lose by an exchange is no part of what is proven."""
    X = np.random.default_rng(4).normal(size=(20_000, 3))
    lower = upper = np.full(8, 2500)
    c = coordinated(X, lower, upper, share=0.1)
    step = c.step(c.frame.inside(X[:8]), np.zeros(8))
    found = step.settled
    settling = Settling(step.question, step.answer, lower, upper, Pairs(step.question.centers))
    one = int(np.flatnonzero(found.parts.cluster != found.parts.cluster[0])[0])
    cluster = found.parts.cluster.copy()
    cluster[[0, one]] = cluster[[one, 0]]
    worse = settling._proven(found.prices, replace(found.parts, cluster=cluster), found.sizes)
    assert worse.cost > found.cost * (1 + 1e-8)
    assert worse.bound == pytest.approx(found.bound, rel=1e-12)
