"""First centers, and which bounds they get."""

import numpy as np
import pytest

import bckm
from bckm import Constraints, Stay, kmeans
from bckm._core.deadline import Deadline
from bckm.fit import greedy_seeds, seeding
from bckm.fit.seeding import Starts, anchors, known_items, match, scatter, spread
from bckm.problem.problem import Problem


def seeds(problem, rng, first=False):
    return spread(problem, rng, Deadline(), first).centers


def problem(n=40, k=4, **asked):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, Problem.build(X, k, Constraints(**asked))


def test_seeds_are_different_items():
    _, p = problem()
    for draw in (spread, scatter):
        centers = draw(p, np.random.default_rng(1), Deadline()).centers
        assert len(np.unique(centers, axis=0)) == 4
        assert all((p.points == c).all(axis=1).any() for c in centers)


def test_seeds_of_fewer_points_than_clusters():
    p = Problem.build(np.zeros((5, 2)), 3, Constraints())
    for draw in (spread, scatter):
        assert draw(p, np.random.default_rng(0), Deadline()).centers.shape == (3, 2)


def test_heavy_far_points_are_preferred():
    X = np.concatenate([np.zeros((50, 1)), [[100.0]], [[101.0]]])
    p = Problem.build(X, 2, Constraints())
    for seed in range(20):
        centers = p.centers_out(seeds(p, np.random.default_rng(seed))).ravel()
        assert sorted(centers > 50) == [False, True]


def test_anchors_are_the_heaviest_groups_that_are_pairwise_apart():
    _, p = problem(
        must_link=[(0, 1, 2), (3, 4), (5, 6, 7, 8), (9, 10)],
        cannot_link=[(0, 3), (3, 5), (0, 5), (9, 20), (21, 22, 23, 24)],
    )
    item = p.structure.item
    assert set(anchors(p)) == {item[0], item[3], item[5]}
    first = seeds(p, np.random.default_rng(0), first=True)
    np.testing.assert_array_equal(first[:3], p.points[anchors(p)])
    later = seeds(p, np.random.default_rng(0))
    assert not np.array_equal(first, later)


def test_no_groups_no_anchors():
    assert anchors(problem(cannot_link=[(0, 1), (2, 3)])[1]).size == 0
    assert anchors(problem(must_link=[(0, 1), (2, 3)])[1]).size == 0
    assert anchors(problem(must_link=[(0, 1)], cannot_link=[(0, 3)])[1]).size == 0


def test_only_the_first_start_begins_with_anchors():
    """A later start that is better must be able to win."""
    X, _ = problem()
    rules = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
    found = []
    kmeans(X, 4, rules, n_init=4, random_state=0, on_step=found.append)
    assert len({step.objective for step in found if step.iteration == 1}) > 1


def test_match_gives_the_larger_bounds_to_the_fuller_clusters():
    X = np.concatenate([np.zeros((30, 1)), np.full((10, 1), 9.0)])
    p = Problem.build(X, 2, Constraints(size_min=[10, 30], size_max=[10, 30]))
    centers = p.centers_in(np.array([[0.0], [9.0]]))
    np.testing.assert_array_equal(match(p, centers), centers[::-1])
    p = Problem.build(X, 2, Constraints(size_min=5))
    np.testing.assert_array_equal(match(p, centers), centers)


def many(**asked):
    X = np.random.default_rng(0).normal(size=(30_000, 2))
    return Problem.build(X, 5, Constraints(**asked))


def test_seeds_of_very_many_items_are_drawn_from_a_part(monkeypatch):
    p = many(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
    sizes = []

    draw = greedy_seeds._draw

    def counted(weight, *others):
        sizes.append(weight.size)
        return draw(weight, *others)

    monkeypatch.setattr(greedy_seeds, "_draw", counted)
    a, b = (seeds(p, np.random.default_rng(seed)) for seed in (0, 1))
    assert set(sizes) == {20_000}
    assert all((p.points == c).all(axis=1).any() for c in a)
    assert len(np.unique(np.concatenate([a, b]), axis=0)) == 10
    first = seeds(p, np.random.default_rng(0), first=True)
    np.testing.assert_array_equal(first[:2], p.points[anchors(p)])
    monkeypatch.setattr(seeding, "ENOUGH", 20)
    monkeypatch.setattr(seeding, "ENOUGH_EACH", 4)
    seeds(p, np.random.default_rng(0))
    assert sizes[-1] == 20


def test_match_counts_a_part_of_very_many_items(monkeypatch):
    monkeypatch.setattr(seeding, "ENOUGH", 100)
    monkeypatch.setattr(seeding, "ENOUGH_EACH", 1)
    X = np.repeat([[0.0], [9.0], [30.0]], [7000, 2000, 1000], axis=0)
    p = Problem.build(X, 3, Constraints(size_min=[2000, 7000, 1000]))
    centers = p.centers_in(np.array([[0.0], [9.0], [30.0]]))
    np.testing.assert_array_equal(match(p, centers), centers[[1, 0, 2]])


@pytest.mark.parametrize("places", [[0.0, 9.0], [9.0, 0.0]])
def test_match_counts_samples_not_items(monkeypatch, places):
    monkeypatch.setattr(seeding, "ENOUGH", 10)
    monkeypatch.setattr(seeding, "ENOUGH_EACH", 1)
    X = np.repeat(places, [40, 100])[:, None]
    together = np.arange(40, 140).reshape(10, 10).tolist()
    p = Problem.build(X, 2, Constraints(together, size_min=[100, 40]))
    centers = p.centers_in(np.array(places)[:, None])
    np.testing.assert_array_equal(match(p, centers), centers[::-1])


def test_clusters_of_known_samples_begin_at_their_means_under_their_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 20 * np.repeat([[0, 0], [1, 0], [0, 1]], 20, axis=0)
    labels = np.repeat([2, 0, 1], 20)
    for before in (Stay(labels, price=1.0), Stay(labels, at_most=3)):
        stay = Problem.build(X, 3, Constraints(stay=before))
        centers = stay.centers_out(match(stay, seeds(stay, rng, first=True)))
        for i in range(3):
            np.testing.assert_allclose(centers[i], X[labels == i].mean(axis=0))
    fixed = Problem.build(X, 3, Constraints(fixed={0: 2, 1: 2, 20: 0}))
    home = known_items(fixed)
    where = dict(zip(home.items.tolist(), home.clusters.tolist(), strict=True))
    assert where == {fixed.structure.item[p]: i for p, i in ((0, 2), (1, 2), (20, 0))}
    any_order = fixed.centers_in(np.array([[0.0, 0.0], [0.0, 20.0], [20.0, 0.0]]))
    np.testing.assert_array_equal(match(fixed, any_order), any_order[[2, 1, 0]])


def test_forbidden_places_alone_say_nothing_of_homes():
    X = np.random.default_rng(0).normal(size=(12, 2))
    problem = Problem.build(X, 4, Constraints(forbidden=[(0, 0), (0, 1)]))
    assert known_items(problem).items.size == 0
    assert problem.pinned
    assert not Problem.build(X, 4, Constraints(size_max=[3, 4, 5, 6])).pinned


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.Philox, np.random.MT19937])
def test_generators_are_those_that_spawn_would_give(bits):
    """In any order, and however much was drawn: each run of a search has its own."""
    rng = np.random.Generator(bits(7)).spawn(2)[1]
    starts = Starts((), None, rng)
    drawn = {number: starts.generator(number).random(3).tolist() for number in (4, 0, 2)}
    rng.random(5)
    spawned = [child.random(3).tolist() for child in rng.spawn(5)]
    assert drawn == {number: spawned[number] for number in drawn}


# init as a callable, and as an array -----------------------------------------------------------


def first_rows(X, n_clusters, random_state):
    assert isinstance(random_state, np.random.RandomState)
    return X[random_state.permutation(len(X))[:n_clusters]]


@pytest.mark.parametrize("metric", ["euclidean", "latlon"])
def test_a_callable_draws_the_centers_of_each_start(metric):
    X = np.random.default_rng(0).normal(size=(40, 2))
    calls = []

    def init(*args, **kwargs):
        calls.append(first_rows(*args, **kwargs))
        return calls[-1]

    options = {"metric": metric, "search": "none", "random_state": 0}
    found = bckm.kmeans(X, 3, init=init, n_init=4, **options)
    assert len({centers.tobytes() for centers in calls}) == 4
    each = [bckm.kmeans(X, 3, init=centers, **options).inertia for centers in calls]
    assert found.inertia == pytest.approx(min(each), rel=1e-12)
    again = bckm.kmeans(X, 3, init=init, n_init=4, **options)
    assert again.labels.tolist() == found.labels.tolist()
    model = bckm.ConstrainedKMeans(3, init=init, n_init=4, **options).fit(X)
    assert model.labels_.tolist() == found.labels.tolist()
    calls.clear()
    bckm.kmeans(X, 3, init=init, **options)
    assert len({centers.tobytes() for centers in calls}) == 10  # as in scikit-learn


def test_bad_callables(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=r"init has shape \(2, 2\); expected \(3, 2\)"):
        bckm.kmeans(X, 3, init=lambda X, n_clusters, random_state: X[:2])
    with pytest.raises(bckm.UnsupportedError, match="init must be a name or centers; got a call"):
        bckm.kmeans(X, 3, init=first_rows, random_state=0, checkpoint=tmp_path / "c")
    with pytest.raises(TypeError, match="init is a callable, which cannot be saved"):
        bckm.save(bckm.ConstrainedKMeans(3, init=first_rows), tmp_path / "m.bckm")


def test_given_centers_are_the_only_start():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.warns(RuntimeWarning, match="n_init=3 is ignored: the centers of init") as caught:
        bckm.kmeans(X, 3, init=X[:3], n_init=3)
    assert caught[0].filename == __file__
