"""Labels that are made when they are asked for look like an array of them."""

import numpy as np
import pytest

from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.frame import Frame
from bckm.blocks.holders import holder_of
from bckm.blocks.labeling import Labeling
from bckm.blocks.labels import Labels
from bckm.blocks.sources import ArrayRows


@pytest.fixture(name="case")
def drawn():
    rng = np.random.default_rng(0)
    X, centers, prices = rng.normal(size=(500, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    index = np.array([7, 100, 499])
    labeling = Labeling(Frame(np.zeros(3), 1.0), centers, prices, index, np.array([0, 1, 2]))
    expected = (np.square(X[:, None] - centers).sum(axis=2) - prices).argmin(axis=1)
    expected[index] = [0, 1, 2]
    return X, labeling, expected


def test_labels_look_like_an_array(case):
    X, labeling, expected = case
    labels = Labels(ArrayRows(X, rows=64), labeling)
    assert len(labels) == labels.size == 500
    assert labels.shape == (500,)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(list(labels), expected)
    rows = np.array([499, 0, 3, 3])
    for which in (
        slice(None),
        slice(60, 130),
        slice(3, 400, 7),
        slice(None, None, -1),
        slice(9, 3),
        rows,
        expected == 1,
        -1,
        np.int64(7),
    ):
        np.testing.assert_array_equal(labels[which], expected[which])
    assert labels.tolist() == expected.tolist()
    assert np.asarray(labels, np.int64).dtype == np.int64
    assert [at for at, _ in labels.blocks()] == list(range(0, 500, 64))
    with pytest.raises(IndexError):
        labels[500]


def test_holders_give_arrays_for_arrays_and_count_them(case):
    X, labeling, expected = case
    holder = ArrayHolder(X)
    assert isinstance(holder.labels(labeling), np.ndarray)
    np.testing.assert_array_equal(holder.labels(labeling), expected)
    np.testing.assert_array_equal(holder.count(labeling), np.bincount(expected, minlength=4))
    assert holder.passes == 3
    assert holder_of(X) is None
