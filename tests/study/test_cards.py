"""Cards of notebooks: what they say, and that names stay names."""

import numpy as np
import pytest

import bckm
from tests.support.hostile import HOSTILE
from tests.support.markup import HtmlReader, foreign_html

N, K = len(HOSTILE), 3
X = np.random.default_rng(0).normal(size=(N, 2))


def text(card: str) -> str:
    reader = HtmlReader()
    reader.feed(card)
    return " | ".join(part for part in reader.text if not part.startswith(".bckm-card"))


@pytest.fixture(scope="module")
def study():
    hard = bckm.Constraints(
        must_link=[HOSTILE[:3]], cannot_link=[HOSTILE[4:6]], fixed={HOSTILE[7]: 1}, by="sample_id"
    )
    pairs = list(zip(HOSTILE[20:60], HOSTILE[60:100], strict=True))
    rules = hard & bckm.Constraints(must_link=pairs, by="sample_id").soft(price=1e-9)
    result = bckm.kmeans(X, K, rules, sample_id=HOSTILE, random_state=0)
    names = HOSTILE[100:102]
    return bckm.Study.of(
        result, X, rules, sample_id=HOSTILE, feature_names=names, title=HOSTILE[110]
    )


def test_names_stay_names(study):
    for thing in (study.result, study, study.constraints):
        assert foreign_html(thing._repr_html_()) == []


def test_what_they_say():
    rules = bckm.Constraints(size_max=[80, 70, 60], fixed={4: 1}) & bckm.Constraints(
        must_link=[(0, 1), (2, 3)], cannot_link=[(p, p + 1) for p in range(20, 40)]
    ).soft(price=2)
    result = bckm.kmeans(X, K, rules, random_state=0)
    told = text(result._repr_html_())
    assert f"Result: {N} samples in 3 clusters" in told
    assert f"inertia | {result.inertia:,.6g}" in told
    assert all(f"cluster {i} | {size} | █" in told for i, size in enumerate(result.sizes))
    assert "status | converged: the clusters no longer change" in told
    asked = text(rules._repr_html_())
    assert "size_max | 80, 70, 60 | fixed | 4: 1" in asked
    assert "soft must_link | (0, 1), (2, 3) (price 2)" in asked
    assert "soft cannot_link | 20: (20, 21)," in asked
    assert "… 16 more (price 2)" in asked
    study = text(bckm.Study.of(result, X, rules, title="Vans")._repr_html_())
    assert "Vans" in study
    assert "features | feature 0 | ,  | feature 1 | hard rules | all met" in study
    assert asked.removeprefix("Constraints | ") in study


def test_clusters_have_their_names():
    rules = bckm.Constraints(cluster_names=["red", "<b>", "blue"])
    result = bckm.kmeans(X, K, rules, random_state=0)
    card = bckm.Study.of(result, X, rules)._repr_html_()
    assert foreign_html(card) == []
    assert f"<b> | {result.sizes[1]} | █" in text(card)


def test_soft_rules_that_cost(study):
    result = study.result
    assert result.violated
    told = text(result._repr_html_())
    assert f"for {len(result.violated)} soft rules | objective |" in told
    assert told.count("are must-linked, but are in clusters") == 5


def test_many_clusters_and_nothing_asked():
    result = bckm.kmeans(X, 30, random_state=0, n_init=1)
    assert "cluster 19" in text(result._repr_html_())
    assert text(result._repr_html_()).endswith("and 10 more")
    assert (
        text(bckm.Constraints()._repr_html_()) == "Constraints | rules | none: no cluster is empty"
    )


def test_one_line():
    result = bckm.kmeans(X, K, random_state=0)
    assert repr(result).startswith("Result(200 samples in 3 clusters of ")
    assert "\n" not in repr(result)
