"""What a reader of reports stumbled over: marks, digits, sums that mean nothing, grammar."""

from __future__ import annotations

import re

import numpy as np
import pytest

import bckm
from bckm import report
from bckm.report._words import beyond


def line(n: int) -> np.ndarray:
    return np.arange(float(n))[:, None]


def given_up_sum() -> bckm.Study:
    """Loads of 2,579.8 and 2,580.4 where at most 2,580 is wished."""
    X = np.array([[0.0], [1.0], [50.0], [51.0]])
    kg = bckm.AttributeSum([1290, 1289.8, 1290.2, 1290.2], upper=2580, name="kg")
    rules = bckm.Constraints(rows=kg).soft(price=1.0)
    result = bckm.kmeans(X, 2, rules, init=[[0.0], [50.0]], bounds="fixed")
    return bckm.Study.of(result, X, rules)


def test_a_value_beyond_its_bound_shows_by_how_much() -> None:
    study = given_up_sum()
    for told in (report.html(study), report.markdown(study), report.text(study)):
        assert "2,580.4" in told
    page = report.html(study)
    assert '<span class="bad">2,580.4 ▲</span>' in page
    assert "in cluster 1 is 2,580.4, 0.4 above its bound of 2,580." in page
    assert ">2,580.4</text>" in page  # above its column


@pytest.mark.parametrize("value", [-2580.4, 1234549.6, 0.33334, 1e-9, 7e15])
def test_digits_suffice_for_any_size(value: float) -> None:
    for bound in (value * (1 + 1e-7), value * (1 - 1e-7)):
        assert beyond(value, bound) != beyond(bound, value)
        assert "e" not in beyond(value, bound) or not 1e-4 < abs(value) < 1e15


def test_the_mark_of_the_legend_is_that_of_the_chart() -> None:
    page = report.html(given_up_sum())
    assert "▲ beyond its bounds" in page
    marks = re.findall(r'<path d="M\S+ (\S+)l\S+ (\S+) [^"]*z" class="off"/>', page)
    assert marks
    assert all(float(down) > 0 for _, down in marks)  # from the tip downwards: ▲


def test_loads_of_few_clusters_tell_their_values() -> None:
    X = line(120)
    kg = bckm.AttributeSum(np.full(120, 250.0), upper=4000, name="kg")
    rules = bckm.Constraints(rows=kg)
    page = report.html(bckm.Study.of(bckm.kmeans(X, 12, rules, random_state=0, n_init=1), X, rules))
    assert len(re.findall(r'class="value"[^>]*>\d,\d\d\d</text>', page)) == 12


def test_a_study_is_told_in_a_line() -> None:
    X = line(4)
    study = bckm.Study.of(bckm.kmeans(X, 1), X, title="Four")
    assert repr(study) == str(study) == "Study('Four', 4 samples, 1 cluster)"
