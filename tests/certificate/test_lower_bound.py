"""The lower bound against brute force: it is never above the optimum, and mostly near it."""

import numpy as np
import pytest

import bckm
from bckm.certificate._cuts import MEMBERS, Stars
from bckm.certificate._relaxation import Multipliers, SDPRelaxation
from bckm.certificate._spectral import Packing, Spectral
from bckm.problem.problem import Problem
from tests.support.instances import draw, inertias, obeying

SEEDS = range(150)


def feasible(seeds=SEEDS):
    for seed in seeds:
        drawn = draw(seed)
        labels = obeying(drawn)
        if len(labels):
            yield seed, drawn, labels


@pytest.mark.full
@pytest.mark.parametrize("seeds", [range(80), pytest.param(range(80, 200), marks=pytest.mark.slow)])
def test_never_above_the_optimum_and_mostly_near_it(seeds):
    gaps = []
    for seed, drawn, labels in feasible(seeds):
        result = bckm.kmeans(drawn.X, drawn.k, drawn.constraints, sample_weight=drawn.weight)
        certificate = bckm.certify(result, drawn.X, drawn.constraints, sample_weight=drawn.weight)
        optimum = inertias(drawn, labels).min()
        assert certificate.lower_bound <= optimum * (1 + 1e-15), seed
        assert certificate.lower_bound <= certificate.objective, seed
        s = Problem.build(drawn.X, drawn.k, drawn.constraints).structure
        assert bool(certificate.left_out) == bool(s.linear.number or s.loads.number), seed
        if optimum > 1e-9 and not certificate.left_out:
            gaps.append(float(1 - certificate.lower_bound / optimum))
    # unequal sizes, known only by the smallest and the largest, are the others
    assert len(gaps) > 7
    assert np.quantile(gaps, 0.85) < 1e-3


def test_the_relaxation_holds_every_clustering():
    for seed, drawn, labels in feasible():
        problem = Problem.build(drawn.X, drawn.k, drawn.constraints, drawn.weight)
        relaxation = SDPRelaxation.of(problem)
        stars = _random_stars(np.random.default_rng(seed), relaxation.items.size)
        rows = stars.rows(relaxation.root, relaxation.packing)
        for one, inertia in zip(labels[:200], inertias(drawn, labels[:200]), strict=True):
            y = _clustering(problem, relaxation, one)
            assert (relaxation.lower <= y).all(), seed
            assert (y <= relaxation.upper).all(), seed
            assert (rows @ y <= 1e-14).all(), seed
            matrix = relaxation.packing.unpack(y)
            near = relaxation.spectral.nearest(matrix).matrix
            assert near == pytest.approx(matrix, abs=1e-12), seed
            cost = relaxation.scale * (1 + relaxation.cost @ y)
            scale = float(np.square(drawn.X).sum())
            assert problem.objective(cost) == pytest.approx(float(inertia), abs=1e-13 * scale), seed


def test_any_multipliers_give_a_bound():
    for seed, drawn, labels in feasible():
        rng = np.random.default_rng(seed)
        problem = Problem.build(drawn.X, drawn.k, drawn.constraints, drawn.weight)
        relaxation = SDPRelaxation.of(problem)
        optimum = inertias(drawn, labels).min()
        best = relaxation.bound(relaxation.at_zero)
        for scale in 10.0 ** rng.uniform(-4, 2, 6):
            stars = _random_stars(rng, relaxation.items.size)
            multipliers = Multipliers(
                scale * rng.normal(size=relaxation.cost.size),
                stars.rows(relaxation.root, relaxation.packing),
                scale * rng.exponential(size=len(stars.table)),
            )
            best = max(best, relaxation.bound(multipliers))
        assert problem.objective(best * relaxation.scale) <= optimum * (1 + 1e-15), seed


def test_a_star_is_found_where_no_triangle_is_broken():
    z = np.eye(6)
    z[0, 1:4] = z[1:4, 0] = 0.5  # each pair of members is far apart: three halves are too much
    assert Stars.broken(z).table.tolist() == [[0, 1, 2, 3] + [-1] * (MEMBERS - 3)]
    z[0, 4] = z[4, 0] = 1.25
    assert [0, 4] + [-1] * (MEMBERS - 1) in Stars.broken(z).table.tolist()
    z[0, 4] = z[4, 0] = 0.9
    assert [0, 1, 4] + [-1] * (MEMBERS - 2) in Stars.broken(z).table.tolist()
    assert len(Stars.broken(np.eye(6)).table) == 0


def test_stars_that_are_found_are_broken():
    rng = np.random.default_rng(0)
    root, packing = np.ones(25), Packing.of(25)
    for _ in range(10):
        z = rng.uniform(size=(25, 25)) ** 3
        z = np.maximum(z, z.T)
        np.fill_diagonal(z, 0.5)
        stars = Stars.broken(z)
        assert (stars.table[:, 3] >= 0).any()
        assert (stars.rows(root, packing) @ packing.pack(z) > 0).all()


def test_the_spectral_set():
    rng = np.random.default_rng(0)
    for _ in range(30):
        m = int(rng.integers(2, 12))
        least = int(rng.integers(1, m + 1))
        most = int(rng.integers(least, m + 1))
        root = rng.uniform(0.1, 2, m)
        spectral = Spectral.of(root, least, most)
        matrix = rng.normal(size=(m, m))
        matrix += matrix.T
        found = spectral.nearest(matrix).matrix
        assert found @ root == pytest.approx(root)
        values = np.linalg.eigvalsh(found)
        assert values.min() > -1e-12
        assert values.max() < 1 + 1e-12
        assert least - 1e-9 < values.sum() < most + 1e-9
        # a projection: no other point of the set lies in its direction
        other = spectral.nearest(rng.normal(size=(m, m)) + rng.normal(size=(m, m)).T).matrix
        assert np.vdot(matrix - found, other - found) < 1e-9
        # far out, the nearest point is the one of least <matrix, Y>
        far = spectral.nearest(-1e6 * matrix).matrix
        assert spectral.minimum(matrix) == pytest.approx(np.vdot(matrix, far), abs=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("guess", [0, 3, 9, 40])
def test_any_guess_of_the_rank_is_good(guess):
    rng = np.random.default_rng(0)
    spectral = Spectral.of(rng.uniform(0.1, 2, 120), 12, 14)
    matrix = rng.normal(size=(120, 120)) / 20
    matrix += matrix.T
    full, found = spectral.nearest(matrix), spectral.nearest(matrix, guess)
    assert full.rank == found.rank > 14
    assert found.matrix == pytest.approx(full.matrix, abs=1e-10)


def test_packing():
    rng = np.random.default_rng(0)
    packing = Packing.of(5)
    a, b = (m + m.T for m in rng.normal(size=(2, 5, 5)))
    assert packing.unpack(packing.pack(a)) == pytest.approx(a)
    assert packing.pack(a) @ packing.pack(b) == pytest.approx(np.vdot(a, b))
    assert packing.place(packing.column, packing.row).tolist() == list(range(15))


def _random_stars(rng: np.random.Generator, m: int) -> Stars:
    table = np.full((8, 1 + MEMBERS), -1)
    for row in table:
        some = rng.permutation(m)[: 1 + min(m - 1, int(rng.integers(1, 1 + MEMBERS)))]
        row[: some.size] = some
    return Stars(table if m > 1 else table[:0])


def _clustering(problem: Problem, relaxation: SDPRelaxation, labels: np.ndarray) -> np.ndarray:
    items = np.empty(problem.structure.n_items, np.int64)
    items[problem.structure.item] = labels
    items = items[relaxation.items]
    root = relaxation.root
    shared = items[:, None] == items
    return relaxation.packing.pack(np.outer(root, root) * shared / (shared @ root**2)[:, None])
