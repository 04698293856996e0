"""Placing items in conflict: compiled against the same in Python."""

import numpy as np
import pytest

from bckm import Constraints, kernels
from bckm._core.deadline import Deadline, TimeUp
from bckm.construct.placement import place
from bckm.problem.problem import Problem

UNORDERED = ("samples", "cost", "blocked")  # what only `place_conflicting` is told

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


def drawn(seed):
    """Structures with conflicts, sizes, items of several samples and forbidden clusters."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    pairs = rng.integers(0, n, (int(rng.integers(1, 4 * n)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    asked = Constraints(
        rng.integers(0, n, (n // 5, 2)),
        pairs,
        size_min=rng.integers(0, 4, k) if seed % 2 else 0,
        size_max=rng.integers(4, 20, k) if seed % 3 else None,
        forbidden=[(int(rng.integers(n)), int(rng.integers(k)))] if seed % 5 == 0 else None,
    )
    return rng, Problem.build(rng.normal(size=(n, 2)), k, asked, few=True).structure


def test_it_places_as_python_does(monkeypatch):
    blocked = otherwise = 0
    for seed in range(150):
        rng, s = drawn(seed)
        cost = rng.integers(0, 3, (s.n_items, s.n_clusters)).astype(float) if seed % 2 else None
        found = place(s, cost, Deadline())
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "missing", "left out")
            slowly = place(s, cost, Deadline())
        if found.tolist() != slowly.tolist():  # in order, since that breaks nothing
            assert cost is None, seed
            assert not s.forbidden.size, seed
            assert s.feasible(found) or not s.feasible(slowly), seed
            otherwise += 1
        blocked += not s.feasible(found)
    assert 30 < blocked < 140, "some find a place for all"
    assert otherwise > 5


def test_it_hears_the_deadline():
    _, s = drawn(3)
    with pytest.raises(TimeUp):
        place(s, None, Deadline.after(0.0))


def arguments(**changed):
    start, others = np.array([0, 1, 2, 2], np.int32), np.array([1, 0], np.int32)
    given = {
        "conflict_start": start,
        "conflict_with": others,
        "count": np.ones(3, np.int64),
        "lower": np.zeros(2, np.int64),
        "upper": np.full(2, 3),
        "samples": 3,
        "cost": None,
        "order": np.array([0, 1]),
        "label": np.full(3, -1),
        "sizes": np.zeros(2, np.int64),
        "blocked": np.zeros((3, 2), bool),
        "seconds": 1.0,
    }
    return {**given, **changed}


def test_labels_sizes_and_blocked_clusters_are_written():
    asked = arguments()
    assert kernels.native.place_conflicting(**asked)
    assert asked["label"].tolist() == [0, 1, -1]
    assert asked["sizes"].tolist() == [1, 1]
    assert asked["blocked"].tolist() == [[False, False], [True, False], [False, False]]


def test_in_order_each_goes_to_the_first_cluster_that_fits():
    rng = np.random.default_rng(0)
    done = 0
    for _ in range(200):
        m, k = int(rng.integers(2, 12)), int(rng.integers(1, 5))
        graph = np.triu(rng.random((m, m)) < rng.choice([0.1, 0.4]), 1)
        graph |= graph.T
        linked = np.flatnonzero(graph.any(axis=1))
        count, order = rng.integers(1, 4, m), rng.permutation(linked)
        lower = rng.integers(0, 3, k)
        upper = lower + rng.integers(1, count.sum(), k)
        label, sizes = np.full(m, -1), np.zeros(k, np.int64)
        wanted, held, left = label.copy(), sizes.copy(), int(count.sum())
        for j in order:
            left -= count[j]
            for i in range(k):
                after = held + count[j] * (np.arange(k) == i)
                fits = after[i] <= upper[i] and np.maximum(lower - after, 0).sum() <= left
                if fits and not (wanted[graph[j]] == i).any():
                    wanted[j], held = i, after
                    break
            if wanted[j] < 0:
                wanted[:], held = -1, sizes.copy()
                break
        start = np.append(0, np.cumsum(graph.sum(axis=1))).astype(np.int32)
        others = np.nonzero(graph)[1].astype(np.int32)
        found = kernels.native.place_in_order(
            start, others, count, lower, upper, order, label, sizes, 10.0
        )
        assert found == ((wanted[order] >= 0).all() if order.size else True)
        assert (label.tolist(), sizes.tolist()) == (wanted.tolist(), held.tolist())
        done += found
    assert 20 < done < 180


def test_in_order_hears_the_deadline():
    asked = {key: value for key, value in arguments().items() if key not in UNORDERED}
    assert not kernels.native.place_in_order(**{**asked, "seconds": 0.0})
    assert asked["label"].tolist() == [-1, -1, -1]
    assert kernels.native.place_in_order(**asked)


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": np.array([0, 3])},
        {"order": np.array([0, 0])},
        {"order": np.array([0])},
        {"conflict_with": np.array([1, 7], np.int32)},
        {"conflict_start": np.array([0, 1, 2], np.int32)},
        {"label": np.array([-1, 0, -1])},
        {"label": np.array([-1, -1, 2])},
        {"label": np.full(2, -1)},
        {"sizes": np.zeros(3, np.int64)},
        {"blocked": np.zeros((3, 3), bool)},
        {"cost": np.zeros((2, 2))},
        {"upper": np.full(3, 3)},
        {"lower": np.zeros(0, np.int64), "upper": np.zeros(0, np.int64)},
    ],
    ids=str,
)
def test_wrong_arrays_are_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        kernels.native.place_conflicting(**arguments(**wrong))
