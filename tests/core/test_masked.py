"""Masked cells have no value: refused like NaN, or unknown where NaN is."""

import numpy as np
import pytest

import bckm
from bckm import Capacity, Constraints, LinearRows, Quota, Stay, datasets, methods
from bckm.problem.scaling import Scaling

X = np.array([[0.0, 0.0], [1.0, 1.0], [8.0, 8.0], [9.0, 9.0]])
DATA = np.ma.masked_array(X, mask=[[0, 0], [0, 1], [0, 0], [0, 0]])
NUMBERS = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0])
LABELS = np.ma.masked_array([0, 0, 1, 1], mask=[0, 1, 0, 0])
TWO = np.ma.masked_array([3, 3], mask=[0, 1])
IDS = np.ma.masked_array([1, 2, 3, 4], mask=[0, 0, 0, 1])
LINKS = Constraints(must_link=[(1, 2)], by="sample_id")
ROW = np.ma.masked_array(np.ones((1, 8)), mask=[[0] * 7 + [1]])


def fitted():
    return bckm.ConstrainedKMeans(2, random_state=0).fit(X)


@pytest.mark.parametrize(
    "door",
    [
        lambda: bckm.kmeans(DATA, 2),
        lambda: bckm.kmeans(list(DATA), 2),
        lambda: bckm.kmeans(DATA + 1, 2, metric="cosine"),
        lambda: bckm.kmeans(X, 2, sample_weight=NUMBERS),
        lambda: bckm.kmeans(X, 2, init=DATA[:2]),
        lambda: bckm.kmeans(X, 2, LINKS, sample_id=IDS),
        lambda: bckm.check(DATA, 2),
        lambda: bckm.assign_to(DATA, X[:2]),
        lambda: bckm.assign_to(X, DATA[:2]),
        lambda: bckm.verify(LABELS, 2, Constraints()),
        lambda: bckm.ConstrainedKMeans(2).fit(DATA),
        lambda: bckm.ConstrainedKMeans(2).fit(X, sample_weight=NUMBERS),
        lambda: bckm.ConstrainedKMeans(2, init=DATA[:2]).fit(X),
        lambda: bckm.ConstrainedKMeans(2, size_max=TWO).fit(X),
        lambda: fitted().predict(DATA),
        lambda: fitted().transform(DATA),
        lambda: fitted().assign(DATA),
        lambda: fitted().score(X, sample_weight=NUMBERS),
        lambda: bckm.Study.of(bckm.kmeans(X, 2), DATA),
        lambda: Scaling.of(DATA, "standard"),
        lambda: Scaling.of(X).apply(DATA),
        lambda: methods.KM(2).fit(DATA),
        lambda: methods.COP(2, init=DATA[:2]).fit(X),
        lambda: datasets.links_by_class(LABELS),
        lambda: datasets.random_links(LABELS, 2),
        lambda: Capacity({"a": 1, "b": np.ma.masked}, max=9),
        lambda: Constraints(size_max=TWO),
        lambda: Constraints(size_min=TWO),
        lambda: Constraints(must_link=[(0, 1), (2, 3)]).soft(price=TWO),
        lambda: Constraints(must_link=LABELS.reshape(2, 2)),
        lambda: Constraints(fixed=LABELS.reshape(2, 2)),
        lambda: Constraints(must_link=[(0, 1)]).take(TWO),
        lambda: LINKS.locate(IDS),
        lambda: Capacity(NUMBERS, max=4),
        lambda: Capacity([1, np.ma.masked], max=4),
        lambda: Capacity([1, 2], max=TWO),
        lambda: LinearRows(ROW, upper=3),
        lambda: LinearRows(np.ones((2, 4)), upper=TWO),
        lambda: Stay(LABELS, price=1),
        lambda: Stay([0, 0, 1, 1], price=NUMBERS),
        lambda: Quota(["a", "b"], count_max=np.ma.masked),
    ],
)
def test_masked_cells_are_refused(door):
    with pytest.raises(ValueError, match=r"masked|None"):
        door()


def test_masked_categories_are_unknown_like_nan():
    nan = [0, np.nan, 1, 1]
    assert Quota(LABELS, "10%").values.tolist() == Quota(nan, "10%").values.tolist()
    assert Constraints(groups=LABELS).must_link == Constraints(groups=nan).must_link
    assert Constraints.from_labels(LABELS).must_link == ((2, 3),)
    assert Constraints(groups=["a", "a", np.ma.masked, "a"]).must_link == ((0, 1, 3),)


def test_masks_that_hide_nothing_pass():
    labels = bckm.kmeans(np.ma.masked_array(X), 2, random_state=0).labels
    assert not bckm.verify(np.ma.masked_array(labels), 2, Constraints(size_min=2))
