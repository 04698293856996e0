"""The benchmark of rules at scale: it measures what it says."""

import numpy as np
import pytest

import bckm
from benchmarks import rules


@pytest.mark.parametrize("near", [False, True])
def test_an_instance_can_be_obeyed_and_its_links_bind(near):
    case = rules.instance(600, 5, 30, 0.05, near, seed=1)
    assert len(case.rules.must_link) == len(case.rules.cannot_link) == 30
    found = rules.measure(case, max_iter=10)
    assert found.broken == 0
    assert found.solver == "lagrangian"
    assert 0 <= found.last_gap < 0.05
    assert 0 <= found.gap < 0.2
    assert found.inertia > 1  # rules cost something
    assert min(found.fit, found.plain, found.sklearn, found.feasible) > 0
    plain = bckm.kmeans(case.X, case.k, random_state=0)
    together = sum(plain.labels[p] == plain.labels[q] for p, q in case.rules.cannot_link)
    assert (together > 15) == near


def test_the_table_says_what_was_measured():
    case = rules.instance(200, 3, 5, 0.1, near=False, seed=0)
    found = rules.measure(case, max_iter=3)
    heading, _, row = rules.table([("some rules", found)]).splitlines()
    assert heading.count("|") == row.count("|")
    assert f"{found.fit / found.plain:.1f}" in row
    assert f"{found.gap:.3%}" in row


def test_loads_are_within_their_bounds():
    case = rules.instance(400, 4, 10, 0.05, near=True, seed=2)
    labels = bckm.kmeans(case.X, case.k, case.rules, random_state=0).labels
    sums = np.bincount(labels, case.rules.capacities[0].values)
    assert sums.max() <= 1.05 * sums.mean() + 1e-6
    assert sums.min() >= 0.95 * sums.mean() - 1e-6
