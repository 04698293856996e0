"""CKSC: the kernel is the optimum of its problem, and links help."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from bckm.methods import CKSC, cksc

pytestmark = pytest.mark.full


def linked(y, share, rng):
    """Random pairs of a share of the samples, linked by their classes."""
    chosen = rng.choice(y.size, int(share * y.size), replace=False)
    pairs = rng.permutation(chosen)[: 2 * (chosen.size // 2)].reshape(-1, 2)
    pairs = np.concatenate([pairs, np.roll(pairs, 1, axis=0)[:, ::-1]], axis=0)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


@pytest.mark.parametrize("seed", range(5))
def test_links_improve_two_moons(seed):
    X, y = make_moons(300, noise=0.16, random_state=seed)
    links = linked(y, 0.4, np.random.default_rng(seed))
    model = CKSC(2, n_neighbors=10, random_state=0)
    without = adjusted_rand_score(y, model.fit(X).labels_)
    with_links = adjusted_rand_score(y, model.fit(X, **links).labels_)
    assert with_links > without + 0.1
    assert with_links > 0.8


def random_case(seed, n=40, m=6):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, m))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    together, apart = rng.integers(n, size=(2, 25, 2))
    return rows, together, apart


@pytest.mark.parametrize("seed", range(4))
def test_kernel_meets_the_conditions_of_an_optimum(seed):
    """The gradient G at A is positive semidefinite and <G, A> = 0, by plain loops."""
    rows, together, apart = random_case(seed)
    found, _ = cksc.learn_kernel(rows, together, apart)
    gradient = np.zeros_like(found)
    terms = [(p, p, 1.0) for p in range(len(rows))]
    terms += [(p, q, 1.0) for p, q in together] + [(p, q, 0.0) for p, q in apart]
    for p, q, target in terms:
        both = np.outer(rows[p], rows[q])
        gradient += 2 * (rows[p] @ found @ rows[q] - target) * (both + both.T) / 2
    assert np.linalg.eigvalsh(found)[0] >= -1e-12
    assert np.linalg.eigvalsh(gradient)[0] >= -1e-4
    assert abs((gradient * found).sum()) <= 1e-4


def test_kernel_is_the_same_in_small_blocks(monkeypatch):
    case = random_case(0)
    whole, _ = cksc.learn_kernel(*case)
    monkeypatch.setattr(cksc, "BLOCK", 7)
    np.testing.assert_allclose(cksc.learn_kernel(*case)[0], whole, atol=1e-8)


def test_without_links_the_kernel_is_the_identity():
    X, _ = make_moons(200, noise=0.1, random_state=0)
    model = CKSC(2, random_state=0).fit(X)
    np.testing.assert_allclose(model.kernel_, np.eye(2), atol=1e-12)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("restarts", [300, 1])
def test_sparse_eigenvectors_are_the_dense_ones(monkeypatch, restarts):
    """Also where the first sparse attempt gives up. Inner products of rows ignore rotations."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    graph = cksc._graph(X, 10, local=True)
    dense = cksc.smoothest(graph, 6, np.random.RandomState(0))
    monkeypatch.setattr(cksc, "DENSE", 0)
    monkeypatch.setattr(cksc, "RESTARTS", restarts)
    sparse = cksc.smoothest(graph, 6, np.random.RandomState(0))
    np.testing.assert_allclose(sparse @ sparse.T, dense @ dense.T, atol=1e-6)


def test_number_of_eigenvectors():
    X = np.random.default_rng(0).normal(size=(200, 3))

    def size(X, k, links, **parameters):
        model = CKSC(k, n_init=1, random_state=0, **parameters).fit(X, must_link=links)
        return len(model.kernel_)

    assert size(X, 3, None) == 3
    assert size(X, 2, [(0, 1)]) == 20
    assert size(X, 30, [(0, 1)]) == 35
    assert size(X[:40], 5, [(0, 1)]) == 10
    assert size(X, 2, [(0, 1)], n_eigenvectors=4) == 4


@pytest.mark.parametrize("scale", ["local", "median"])
def test_graph_is_symmetric_with_weights_up_to_one(scale):
    X = np.concatenate([np.random.default_rng(0).normal(size=(50, 2)), [[1e4, 0.0]]])
    graph = cksc._graph(X, 5, local=scale == "local").toarray()
    np.testing.assert_array_equal(graph, graph.T)
    assert graph.max() <= 1
    assert ((graph > 0).sum(axis=1) >= 5).all()  # the far sample has its edges too
