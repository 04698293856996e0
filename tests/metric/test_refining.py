"""Clusters that teach a metric: which of their members do."""

import numpy as np

from bckm.metric.refining import sure_members


def sure(x, labels, linked=()):
    points = np.asarray(x, float)[:, None]
    mask = np.isin(np.arange(len(points)), linked)
    return sure_members(points, np.ones(len(points)), np.asarray(labels), mask).tolist()


def test_members_near_another_cluster_do_not_teach():
    x = [0, 1, 2, 3, 40, 60, 97, 98, 99, 100]
    labels = [0] * 5 + [1] * 5
    assert sure(x, labels) == [True] * 4 + [False] * 2 + [True] * 4
    # what links say is sure, whatever the distance; then the next one is not
    assert sure(x, labels, linked=[4]) == [True, True, True, False, True, False] + [True] * 4


def test_one_cluster_and_one_without_members_are_no_rivals():
    assert all(sure([0, 1, 5], [0, 0, 0]))
    # nobody has label 1, whose center is nowhere: 3 and -3 are the doubtful ones
    x = [-9, -8, -7, -6, -3, 9, 8, 7, 6, 3]
    assert sure(x, [0] * 5 + [2] * 5) == 2 * ([True] * 4 + [False])
