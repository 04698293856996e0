"""Who hears of a fit: steps, better labels, phases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bckm
from bckm.fit.listener import PHASES, Best

RULES = {
    "none": bckm.Constraints(),
    "sizes": bckm.Constraints(size_min=8, size_max=12),
    "links": bckm.Constraints(must_link=[(0, 1)], cannot_link=[(2, 3)], size_max=15),
}


def _heard(search="auto", rules=None, **options):
    X = np.random.default_rng(3).normal(size=(40, 2))
    found, phases = [], []
    result = bckm.kmeans(
        X,
        4,
        rules,
        random_state=0,
        search=search,
        on_best=lambda best: found.append((best, best.labels)),
        on_phase=phases.append,
        **options,
    )
    return X, result, found, phases


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("search", ["none", "auto"])
def test_better_labels(rules, search):
    X, result, found, phases = _heard(search, rules)
    told = [best.objective for best, _ in found]
    assert told == sorted(told, reverse=True)
    assert len(set(told)) == len(told)
    assert told[-1] == pytest.approx(result.objective, rel=1e-8)
    assert (found[-1][1] == result.labels).all()  # numbered as in the result
    for best, labels in found:
        assert isinstance(best, Best)
        assert best.seconds >= 0
        assert not bckm.verify(labels, 4, rules)
        means = np.array([X[labels == i].mean(axis=0) for i in range(4)])
        assert best.objective == pytest.approx(((X - means[labels]) ** 2).sum(), rel=1e-9)
    assert phases[:2] == ["rules", "seeding"]
    assert set(phases) <= set(PHASES)
    assert all(one != other for one, other in itertools.pairwise(phases))


def test_labels_are_made_when_asked(monkeypatch):
    from bckm.problem.structure import Structure

    made = []
    expand = Structure.expand
    monkeypatch.setattr(Structure, "expand", lambda *given: made.append(1) or expand(*given))
    X = np.random.default_rng(0).normal(size=(30, 2))
    bckm.kmeans(X, 3, random_state=0)
    without = len(made)
    found = []
    bckm.kmeans(X, 3, random_state=0, on_best=found.append)
    assert found
    assert len(made) == 2 * without
    assert repr(found[0]).startswith("Best(objective ")


def test_listening_changes_nothing():
    X, result, _, _ = _heard(rules=RULES["sizes"])
    assert (bckm.kmeans(X, 4, RULES["sizes"], random_state=0).labels == result.labels).all()


def test_interrupting_listener():
    def stop(_):
        raise KeyboardInterrupt

    X = np.random.default_rng(3).normal(size=(40, 2))
    result = bckm.kmeans(X, 4, RULES["sizes"], random_state=0, on_best=stop)
    assert result.status is bckm.Status.INTERRUPTED
    assert not bckm.verify(result.labels, 4, RULES["sizes"])


def test_blocks():
    rows = bckm.ArrayRows(np.random.default_rng(0).normal(size=(300, 2)))
    found, phases = [], []
    result = bckm.kmeans(
        rows,
        3,
        bckm.Constraints(size_max=110),
        random_state=0,
        on_best=lambda best: found.append(np.asarray(best.labels)),
        on_phase=phases.append,
    )
    assert phases == ["seeding", "assignment"]
    assert all(np.bincount(labels).max() <= 110 for labels in found)
    again = bckm.kmeans(rows, 3, bckm.Constraints(size_max=110), random_state=0)
    assert (np.asarray(again.labels) == np.asarray(result.labels)).all()
    assert again.counters == result.counters


@pytest.mark.parametrize("name", ["on_step", "on_best", "on_phase"])
def test_not_callable(name):
    with pytest.raises(TypeError, match=f"{name} must be callable"):
        bckm.kmeans([[0.0], [1.0]], 2, **{name: 3})
