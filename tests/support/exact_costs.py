"""Costs in exact arithmetic: what numbers of the library are to be compared with."""

from fractions import Fraction
from itertools import product

import numpy as np

import bckm


def _exact(values):
    return [[Fraction(float(v)) for v in row] for row in np.atleast_2d(values)]


def costs(X, centers, weight=None):
    """Weighted squared distance of each sample to each center; lists of fractions."""
    weight = np.ones(len(X)) if weight is None else weight
    (shares,), at = _exact(weight), _exact(centers)
    return [
        [share * sum((a - b) ** 2 for a, b in zip(row, center, strict=True)) for center in at]
        for row, share in zip(_exact(X), shares, strict=True)
    ]


def of_labels(cost, labels):
    """What labels cost."""
    return sum(row[label] for row, label in zip(cost, labels, strict=True))


def around_means(X, labels, weight=None):
    """Inertia of labels around the exact means of their clusters."""
    weight = np.ones(len(X)) if weight is None else weight
    (shares,), rows, total = _exact(weight), _exact(X), Fraction(0)
    for cluster in set(labels):
        members = [p for p, label in enumerate(labels) if label == cluster]
        mass = sum(shares[p] for p in members)
        if mass == 0:
            continue
        for feature in range(len(rows[0])):
            first = sum(shares[p] * rows[p][feature] for p in members)
            second = sum(shares[p] * rows[p][feature] ** 2 for p in members)
            total += second - first**2 / mass
    return total


def feasible(n_samples, rules, k):
    """All labels that obey the rules."""
    every = product(range(k), repeat=n_samples)
    return [labels for labels in every if not bckm.verify(np.array(labels), k, rules)]
