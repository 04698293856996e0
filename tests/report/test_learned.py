"""What reports and views tell of a learned metric."""

from __future__ import annotations

import functools
import json
from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm import report
from bckm.report._facts import squares
from bckm.study import views
from tests.archive.make import linked
from tests.support.hostile import HOSTILE
from tests.support.markup import foreign_html, foreign_markdown


@functools.cache
def learned(scale: str = "none") -> bckm.Study:
    X, rules = linked()
    scaling = bckm.Scaling.of(X, scale)
    result = bckm.kmeans(scaling.apply(X), 3, rules, metric="learned", random_state=0)
    names = ["wide", "kind", "noise"]
    return bckm.Study.of(result, X, rules, feature_names=names, scaling=scaling)


@functools.cache
def kept() -> bckm.Study:
    """A fit that fell back to the plain metric."""
    X, _ = linked()
    rules = bckm.Constraints(must_link=[(0, 3)])
    return bckm.Study.of(bckm.kmeans(X, 3, rules, metric="learned", random_state=0), X, rules)


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_numbers_are_those_of_the_learned_space(scale: str) -> None:
    study = learned(scale)
    assert squares(study).sum() == pytest.approx(study.result.inertia)
    X, labels = study.X, study.result.labels
    means = [X[labels == i].mean(axis=0) for i in range(3)]
    assert study.centers == pytest.approx(np.array(means))  # in the terms of X
    for told in (report.html(study), report.markdown(study)):
        assert "Inertia in the learned space" in told
        assert "in squared units" not in told
        assert "Bounds, penalties and prices are those of the learned space." in told
        assert study.result.metric.judgment.message in told
    text = report.text(study)
    assert "inertia in the learned space" in text
    assert study.result.metric.judgment.message in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80


def test_features_that_count_more_and_less() -> None:
    study = learned()
    found = views.feature_weights(study)
    assert found is not None
    assert [study.feature_names[j] for j in found.features] == ["kind", "noise", "wide"]
    assert (np.diff(found.learned - found.plain) < 0).all()
    assert found.plain.sum() == pytest.approx(1)
    assert found.learned.sum() == pytest.approx(1)
    # of scaled data the plain shares are equal
    scaled = views.feature_weights(learned("standard"))
    assert scaled is not None
    assert scaled.plain == pytest.approx(np.full(3, 1 / 3))
    assert scaled.features[0] == 1
    few = views.feature_weights(study, 1)
    assert few is not None
    assert (few.features.tolist(), few.left_out) == ([1, 0], 1)
    assert "1 feature in between not shown" not in report.html(study)


def test_a_summary_has_it_as_numbers() -> None:
    found = report.summary(learned())
    json.dumps(found, allow_nan=False)
    told = found["learned_metric"]
    assert found["metric"] == "learned"
    assert (told["learned"], told["n_links"], told["n_sets"]) == (True, 27, 3)
    assert len(told["feature_shares"]["plain"]) == len(found["features"])
    assert told["feature_shares"]["learned"][1] > 0.5
    fallen = report.summary(kept())
    json.dumps(fallen, allow_nan=False)
    assert fallen["metric"] == "euclidean"
    assert not fallen["learned_metric"]["learned"]
    assert fallen["learned_metric"]["plain_score"] is None
    X, _ = linked()
    plain = bckm.Study.of(bckm.kmeans(X, 3, random_state=0), X)
    assert report.summary(plain)["learned_metric"] is None
    assert "Learned metric" not in report.html(plain)


def test_a_metric_that_was_not_taken_is_told_too() -> None:
    study = kept()
    for told in (report.html(study), report.markdown(study), report.text(study, width=500)):
        assert "the plain metric is kept: 1 must-link in 1 set" in told
        assert "in the learned space" not in told
        assert "Learned metric" not in told
    assert views.feature_weights(study) is None


def test_pictures_are_of_the_learned_space() -> None:
    study = learned()
    points = study.result.metric.embedded(study.X)
    plane = views.plane(study)
    assert plane.x_label.startswith("learned component 1 (")
    apart = np.linalg.norm(plane.points[:, None] - plane.points, axis=2)
    assert (apart <= np.linalg.norm(points[:, None] - points, axis=2) + 1e-9).all()
    from sklearn.metrics import silhouette_samples

    expected = silhouette_samples(points, study.result.labels)
    assert views.silhouette(study).values == pytest.approx(expected)
    assert "vary most in the learned space (PCA)" in report.html(study)


def test_units_differ_from_those_of_another_metric() -> None:
    study = learned()
    rules = study.constraints
    plain = bckm.Study.of(bckm.kmeans(study.X, 3, rules, random_state=0), study.X, rules)
    found = report.compare([study, plain], ["learned", "plain"])
    assert found.rows[0]["ratio"] is None
    assert [row["metric"] for row in found.rows] == ["learned", "euclidean"]
    assert any("A learned metric has a space of its own." in one for one in found.remarks)
    assert "euclidean" in found.text()
    same = report.compare([study, study], ["one", "other"])
    assert same.rows[0]["ratio"] == 1.0
    assert "learned" not in same.text()
    metric = study.result.metric
    twice = type(metric)(metric.origin, 2 * metric.matrix, metric.variance, metric.judgment)
    other = replace(study, result=replace(study.result, metric=twice))
    different = report.compare([study, other])
    assert different.rows[0]["ratio"] is None


def test_it_is_said_in_one_line_and_on_cards() -> None:
    study = learned()
    assert "learned metric, inertia" in repr(study.result)
    assert "learned" not in repr(kept().result)
    for thing in (study, study.result):
        card = thing._repr_html_()
        assert "learned metric" in card
        assert study.result.metric.judgment.message in card
        assert "inertia in the learned space" in card
    assert "the plain metric is kept" in kept()._repr_html_()


def test_messages_and_names_stay_text() -> None:
    study = learned()
    metric = study.result.metric
    for at in range(0, len(HOSTILE) - 3, 20):
        judgment = replace(metric.judgment, message=HOSTILE[at + 3])
        spoiled = type(metric)(metric.origin, metric.matrix, metric.variance, judgment)
        found = replace(
            study,
            result=replace(study.result, metric=spoiled),
            feature_names=tuple(HOSTILE[at : at + 3]),
        )
        assert foreign_html(report.html(found)) == []
        assert foreign_html(found._repr_html_()) == []
        assert foreign_markdown(report.markdown(found)) == set()
