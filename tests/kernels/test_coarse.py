"""Cells, steps on few points and estimates of displaced centers do what NumPy does."""

import numpy as np
import pytest

from bckm import kernels
from bckm._core.arrays import squared_distances
from bckm.kernels import native

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


def cells(X, number, each=1):
    cut = native.equal_cells(native.Points(X), number, each)
    assert np.array_equal(np.sort(cut.order), np.arange(len(X)))
    return cut, [part.tolist() for part in np.split(cut.order, cut.small[1:])]


@pytest.mark.parametrize(
    ("n", "number", "each"), [(500, 40, 3), (300, 100, 3), (7, 7, 1), (9, 1, 4)]
)
def test_all_cells_hold_as_many_points_and_small_ones_are_parts_of_large_ones(n, number, each):
    X = np.random.default_rng(0).normal(size=(n, 3))
    cut, _ = cells(X, number, each)
    assert len(cut.first) == number
    assert len(cut.small) == number * each
    assert np.array_equal(cut.small[::each], cut.first)
    held = np.diff(cut.small, append=n)
    assert held.min() >= 1
    assert held.max() - held.min() <= 2


def test_cells_end_where_there_is_a_gap():
    left = 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        blob = rng.choice(20, 1200, p=rng.dirichlet(np.full(20, 2.0)))
        X = 100 * rng.random((20, 2))[blob] + rng.normal(size=(1200, 2))
        left += sum(X[part].var(axis=0).sum() * len(part) for part in cells(X, 100)[1])
    assert left < 70e3  # 87e3 if parts are cut in halves


def test_rounding_has_no_say_in_cells():
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=-1).reshape(-1, 2)
    some, order = np.random.default_rng(2).normal(size=(500, 3)), native.equal_cells
    for X in (grid, some):
        one = order(native.Points(X), 50, 2)
        other = order(native.Points(1e6 * X + 1e6), 50, 2)
        assert np.array_equal(one.order, other.order)
        assert np.array_equal(one.small, other.small)


def test_values_that_float32_cannot_tell_apart_are_in_order():
    X = 1.0 + 1e-12 * np.random.default_rng(3).permutation(64.0 * np.arange(64))[:, None]
    _, parts = cells(X, 64)
    assert (np.diff(X[np.ravel(parts), 0]) > 0).all()


def test_numbers_of_cells_that_make_no_sense():
    points = native.Points(np.zeros((10, 2)))
    for number, each in ((0, 1), (1, 0), (11, 1), (4, 3)):
        with pytest.raises(ValueError, match="one point in each"):
            native.equal_cells(points, number, each)


def instance(seed, n=90, k=6, d=3):
    rng = np.random.default_rng(seed)
    X = 3 * rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    weight = rng.uniform(0.5, 2.0, n) if seed % 2 else np.ones(n)
    label = rng.integers(k, size=n).astype(np.int32) if seed % 3 else np.zeros(n, np.int32)
    centers = np.array(
        [X[label == i].mean(axis=0) if (label == i).any() else X[i] for i in range(k)]
    )
    return X, weight, label, centers, rng.normal(size=k)


def halves(X, weight, center):
    """Means of both sides of a center along the main axis."""
    away = X - center
    spread = weight @ away**2
    axis = (spread == spread.max()).astype(float)
    for _ in range(6):
        axis = (weight * (away @ axis)) @ away
        axis /= np.linalg.norm(axis)
    side = away @ axis > 0
    return [
        np.average(X[s], axis=0, weights=weight[s]) if s.any() else center for s in (side, ~side)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_estimates_of_displaced_centers(seed):
    X, weight, label, centers, prices = instance(seed)
    n, k = len(X), len(centers)
    least, most = np.full(k, 20.0), np.full(k, 40.0)
    found = native.displacements(
        native.Points(X, None, weight), centers, prices, label, least, most
    )
    split = np.array(
        [halves(X[label == i], weight[label == i], c) if (label == i).any() else [c, c]
         for i, c in enumerate(centers)]
    ).swapaxes(0, 1)  # fmt: skip
    assert found.halves.reshape(2, k, -1) == pytest.approx(split)
    rows = np.arange(n)
    away = squared_distances(X, centers) * weight[:, None]
    value = away - prices
    best, own = value[rows, label].copy(), away[rows, label]
    value[rows, label] = np.inf
    other, heir = value.min(axis=1), value.argmin(axis=1)
    lost = np.bincount(label, other - own, k)
    near = squared_distances(X, split.reshape(2 * k, -1)).reshape(n, 2, k).min(axis=1)
    after = near * weight[:, None] - best[:, None]
    after[rows, label] += best - other
    number = np.clip((after < 0).sum(axis=0), least, most).astype(int)
    taken = after.argsort(axis=0).argsort(axis=0) < number
    assert found.lost == pytest.approx(lost)
    assert found.gained == pytest.approx(lost + (after * taken).sum(axis=0))
    pairs = (k, k)
    left = np.zeros(pairs)
    np.add.at(left, (label, heir), 1)
    assert np.array_equal(found.left.reshape(pairs), left)
    drawn = np.zeros(pairs)
    for j in range(k):
        np.subtract.at(drawn[j], label[taken[:, j]], 1)
        np.add.at(drawn[j], heir[(label == j) & ~taken[:, j]], 1)
    np.fill_diagonal(drawn, 0)
    assert np.array_equal(found.drawn.reshape(pairs), drawn)
    gaps = np.zeros(pairs)
    np.add.at(gaps, (label, heir), np.maximum(other - best, 0))
    assert found.gaps.reshape(pairs) == pytest.approx(gaps)


@pytest.mark.parametrize("seed", range(5))
def test_what_it_costs_until_sizes_are_right_again(seed):
    rng, k, near = np.random.default_rng(seed), 4 + 9 * seed, 0.1
    left, drawn = (rng.poisson(1.0, (k, k)).astype(float) for _ in range(2))
    np.fill_diagonal(left, 0)
    gaps, room = left * rng.random((k, k)), (rng.random(k) < 0.2).astype(float)
    found = native.settling(left, -drawn, gaps, room, near)
    number = left + left.T
    wide = np.maximum(gaps + gaps.T, near * number)
    borders = np.divide(number**2, 2 * wide, out=np.zeros((k, k)), where=number > 0)
    each = borders.sum(axis=1)
    rise = np.linalg.inv(np.diag(each + np.where(room, 1e3, 1.0) * each.mean()) - borders)
    assert found.left == pytest.approx(0.5 * np.einsum("ia,ab,ib->i", left, rise, left))
    assert found.drawn == pytest.approx(0.5 * np.einsum("ia,ab,ib->i", drawn, rise, drawn))
    assert found.both.reshape(k, k) == pytest.approx(-left @ rise @ drawn.T)


def test_without_borders_nothing_is_to_settle():
    nothing = np.zeros((3, 3))
    found = native.settling(nothing, -np.ones((3, 3)), nothing, np.zeros(3), 1.0)
    assert not np.any([found.left, found.drawn, *found.both.reshape(3, 3)])
    with pytest.raises(ValueError, match="as many as clusters"):
        native.settling(nothing, np.ones((3, 2)), nothing, np.zeros(3), 1.0)
    with pytest.raises(ValueError, match="above zero"):
        native.settling(nothing, nothing, nothing, np.zeros(3), 0.0)


def alternated(X, k, lower, upper, seconds=1e9, **rule):
    rng = np.random.default_rng(0)
    label = np.zeros(len(X), np.int32)
    rule = {"steps": 50, "little": 0.0, "best": np.inf, "hope": 8.0, "constant": 0.0} | rule
    done = native.alternate_few(
        native.Points(X), X[rng.choice(len(X), k, replace=False)], np.zeros(k), label,
        np.empty((len(X), 8)), np.full((k, X.shape[1]), np.nan),
        np.full(k, lower), np.full(k, upper), *rule.values(), seconds, 1,
    )  # fmt: skip
    return done, label


def test_steps_end_in_a_local_optimum_within_bounds():
    X = np.random.default_rng(4).normal(size=(120, 2))
    done, label = alternated(X, 5, 22, 26)
    held = np.bincount(label, minlength=5)
    assert held.min() >= 22
    assert held.max() <= 26
    means = np.array([X[label == i].mean(axis=0) for i in range(5)])
    assert done.centers.reshape(5, 2) == pytest.approx(means)
    assert done.cost == pytest.approx(((X - means[label]) ** 2).sum())
    value = squared_distances(X, means) - done.prices
    again, _ = alternated(X, 5, 22, 26, steps=done.steps + 5)
    assert again.steps == done.steps  # it ended by itself
    # prices are those that led to the labels: by now nobody wants to leave
    assert value[np.arange(120), label] == pytest.approx(value.min(axis=1), abs=1e-6)


def test_when_steps_end():
    X = np.random.default_rng(5).normal(size=(120, 2))
    whole, _ = alternated(X, 5, 0, 120)
    costs = [alternated(X, 5, 0, 120, steps=number)[0].cost for number in range(1, whole.steps + 1)]
    gain = -np.diff(costs)
    assert (gain > -1e-9).all()
    # the second step is the first that can be too little
    few = alternated(X, 5, 0, 120, little=0.02)[0].steps
    assert few == 2 + np.argmax(gain < 0.02 * np.array(costs[1:]))
    assert alternated(X, 5, 0, 120, little=1e-3, constant=1e6)[0].steps == 2
    # a goal that is out of reach, and one that steps get below
    assert alternated(X, 5, 0, 120, best=1e-3 * costs[-1], hope=1.0)[0].steps == 2
    assert alternated(X, 5, 0, 120, best=0.999 * costs[0], hope=1e9)[0].steps == whole.steps
    assert alternated(X, 5, 0, 120, seconds=0.0)[0].stopped
