"""Labels without conflicts by tabu search: against all labels there are, and planted ones."""

import itertools

import numpy as np
import pytest

import bckm
from bckm import Constraints, kernels
from bckm._core.deadline import Deadline
from bckm.construct.oscillation import oscillate
from bckm.problem.problem import Problem

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


def drawn(rng, n, k, number):
    pairs = np.array(
        sorted({tuple(sorted(rng.choice(n, 2, replace=False))) for _ in range(number)})
    )
    closed = rng.random((n, k)) < 0.2
    return pairs, closed


def lists(pairs, n):
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort(both.T[::-1])]
    start = np.searchsorted(both[:, 0], np.arange(n + 1))
    return start.astype(np.int32), both[:, 1].astype(np.int32)


def broken(labels, pairs, closed):
    clashes = np.count_nonzero(labels[pairs[:, 0]] == labels[pairs[:, 1]])
    return clashes + np.count_nonzero(closed[np.arange(labels.size), labels])


def test_small_graphs_against_all_labels():
    obeyed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(3, 8)), int(rng.integers(1, 4))
        pairs, closed = drawn(rng, n, k, int(rng.integers(1, 2 * n)))
        labels = rng.integers(k, size=n).astype(np.int32)
        before = broken(labels, pairs, closed)
        found = kernels.native.recolor(*lists(pairs, n), closed, labels, 1e6, seed, 1e9)
        assert found.left == broken(labels, pairs, closed) <= before
        every = (np.array(one) for one in itertools.product(range(k), repeat=n))
        assert (found.left == 0) == any(broken(one, pairs, closed) == 0 for one in every)
        obeyed += found.left == 0
    assert 10 < obeyed < 50


def planted(n, k, number, seed):
    rng = np.random.default_rng(seed)
    hidden = rng.integers(k, size=n)
    pairs = rng.integers(n, size=(3 * number, 2))
    return pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]][:number]


@pytest.mark.parametrize(("n", "k", "number"), [(500, 10, 8000), (200, 5, 1150), (400, 16, 12000)])
def test_planted_colorings_are_found_with_little_work(n, k, number):
    asked = Constraints(cannot_link=planted(n, k, number, 0))
    s = Problem.build(np.zeros((n, 1)), k, asked).structure
    labels = oscillate(s, np.zeros(n, np.int64), 1e8, Deadline())
    assert labels is not None
    assert s.feasible(labels)
    assert bckm.check(n, k, asked).verdict.value == "feasible"


def test_clusters_that_must_not_be_empty():
    """Two labels would do, but there are five clusters."""
    s = Problem.build(np.zeros((20, 1)), 5, Constraints(cannot_link=[(0, 1)])).structure
    labels = oscillate(s, np.zeros(20, np.int64), 1e7, Deadline())
    assert set(labels.tolist()) == set(range(5))


def test_the_same_every_time_and_work_is_limited():
    n, k = 300, 6
    pairs = planted(n, k, 3600, 1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    found = []
    for effort in (1e6, 1e6, 1e4):
        labels = np.zeros(n, np.int32)
        told = kernels.native.recolor(
            *lists(pairs, n), np.zeros((n, k), bool), labels, effort, 3, 1e9
        )
        assert told.work < effort + 2e5
        found.append((told.moves, labels.tolist()))
    assert found[0] == found[1]
    assert found[2][0] < found[0][0]


def test_it_hears_the_deadline():
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    labels = np.zeros(6, np.int32)
    told = kernels.native.recolor(*lists(pairs, 6), np.zeros((6, 5), bool), labels, 1e15, 0, 0.05)
    assert told.stopped
    assert told.left == broken(labels, pairs, np.zeros((6, 5), bool)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": np.zeros(2, np.int32)},
        {"label": np.array([0, 1, 2], np.int32)},
        {"closed": np.zeros((3, 0), bool)},
        {"conflict_with": np.array([1, 7], np.int32)},
        {"conflict_start": np.array([0, 1, 2], np.int32)},
    ],
    ids=str,
)
def test_wrong_arrays_are_refused(wrong):
    given = {
        "conflict_start": np.array([0, 1, 2, 2], np.int32),
        "conflict_with": np.array([1, 0], np.int32),
        "closed": np.zeros((3, 2), bool),
        "label": np.zeros(3, np.int32),
    }
    with pytest.raises((ValueError, TypeError)):
        kernels.native.recolor(**{**given, **wrong}, effort=1.0, seed=0, seconds=1.0)
