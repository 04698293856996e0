"""Judging a metric: what held-back samples are compared with."""

import numpy as np

from bckm.metric.judging import FOLDS, Folds
from bckm.metric.links_seen import Seen


def test_means_of_few_samples_are_not_punished():
    """Where sets do not differ, a sample is nearer to its own in half of the cases."""
    size = np.repeat([3, 40], [20, 3])
    set_of = np.repeat(np.arange(size.size), size)
    nothing = np.empty((0, 2), np.int64)
    seen = Seen(np.arange(set_of.size), set_of, nothing, np.empty(0), nothing, 0)
    points = np.random.default_rng(0).normal(size=(set_of.size, 50))
    folds = Folds(seen)
    farther = np.empty(set_of.size)
    for at in range(FOLDS):
        farther[~folds.visible(at)] = folds.scores(points, at, 50.0)[:, 0]
    for members in (3, 40):
        assert abs(farther[size[set_of] == members].mean() - 0.5) < 0.1
