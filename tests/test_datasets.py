"""Generators, links from labels, loaders."""

from types import SimpleNamespace

import numpy as np
import pytest

import bckm
from bckm import datasets


def test_gaussians_have_the_covariance_of_the_paper():
    X, y = datasets.make_gaussians(4, n_samples=2000, n_features=30, sigma=0.5, random_state=0)
    within = np.concatenate([X[y == c] - X[y == c].mean(axis=0) for c in range(4)])
    assert within.var() == pytest.approx(0.5, rel=0.05), "covariance sigma I: deviation sqrt(sigma)"
    assert np.abs(np.stack([X[y == c].mean(axis=0) for c in range(4)])).max() < 1.2
    again = datasets.make_gaussians(4, n_samples=2000, n_features=30, sigma=0.5, random_state=0)
    np.testing.assert_array_equal(X, again.X)


def test_links_by_class_follow_the_classes():
    y = np.repeat([3, 1, 2], [10, 6, 5])
    links = datasets.links_by_class(y, 0.2, random_state=1)
    assert sorted(map(len, links.must_link)) == [2, 2], "ceil: 2, 2 and 1 samples"
    assert sorted(map(len, links.cannot_link)) == [2, 3]
    labels = np.unique(y, return_inverse=True)[1]
    assert bckm.verify(labels, 3, links) == []


@pytest.mark.parametrize("seed", range(5))
def test_random_links_are_different_pairs_of_the_right_kind(seed):
    y = np.random.default_rng(seed).integers(3, size=40)
    links = datasets.random_links(y, 300, random_state=seed)
    pairs = [tuple(sorted(p)) for p in links.must_link + links.cannot_link]
    assert len(set(pairs)) == 300
    assert all(a < b < 40 for a, b in pairs)
    assert all(y[a] == y[b] for a, b in links.must_link)
    assert all(y[a] != y[b] for a, b in links.cannot_link)


def test_every_pair_can_be_drawn_and_no_more():
    y = np.zeros(7)
    links = datasets.random_links(y, 21, random_state=0)
    assert len({tuple(sorted(p)) for p in links.must_link}) == 21
    with pytest.raises(ValueError, match="only 21 pairs; got n_pairs=22"):
        datasets.random_links(y, 22)


def test_a_share_of_wrong_pairs():
    y = np.arange(50) % 2
    links = datasets.random_links(y, 200, wrong=0.1, random_state=0)
    wrong = sum(y[a] != y[b] for a, b in links.must_link)
    wrong += sum(y[a] == y[b] for a, b in links.cannot_link)
    assert wrong == 20


def test_take_classes():
    data = datasets.load("digits")
    part = datasets.take_classes(data, 3, 20, random_state=0)
    assert np.bincount(part.y).tolist() == [20, 20, 20]
    with pytest.raises(ValueError, match="only 0 classes have 500"):
        datasets.take_classes(data, 3, 500)


def test_load_from_a_folder(tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.ones((2, 3), np.uint8), y=np.array([1, 0], np.int32))
    found = datasets.load("mine", tmp_path)
    assert found.X.dtype == np.float64
    assert found.y.tolist() == [1, 0]
    with pytest.raises(FileNotFoundError, match="has mine"):
        datasets.load("other", tmp_path)
    np.savez(tmp_path / "bad.npz", Z=np.ones(2))
    with pytest.raises(ValueError, match="contains Z; X and y"):
        datasets.load("bad", tmp_path)


def test_load_names_what_is_there():
    with pytest.raises(ValueError, match="digits, iris, wine"):
        datasets.load("umist")


@pytest.mark.parametrize("name", ["orl", "mnist"])
def test_fetched_data_are_read_alike(name, monkeypatch):
    """The code path for users with internet, on small local data."""
    found = SimpleNamespace(data=np.ones((3, 4), np.float32), target=np.array(["7", "2", "7"]))
    import sklearn.datasets

    monkeypatch.setattr(sklearn.datasets, "fetch_olivetti_faces", lambda: found)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *_, **__: found)
    X, y = datasets.load(name)
    assert X.shape == (3, 4)
    assert y.tolist() == [1, 0, 1]
