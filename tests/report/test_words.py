"""What a reader of reports stumbled over: marks, digits, sums that mean nothing, grammar."""

from __future__ import annotations

import re

import numpy as np
import pytest

import bckm
from bckm import report
from bckm.report.words import beyond


def line(n: int) -> np.ndarray:
    return np.arange(float(n))[:, None]


def violated_sum() -> bckm.Study:
    """Loads of 2,579.8 and 2,580.4 where at most 2,580 is wished."""
    X = np.array([[0.0], [1.0], [50.0], [51.0]])
    kg = bckm.Capacity([1290, 1289.8, 1290.2, 1290.2], max=2580)
    rules = bckm.Constraints(capacities={"kg": kg}).soft(price=1.0)
    result = bckm.kmeans(X, 2, rules, init=[[0.0], [50.0]], label_bounds="given")
    return bckm.Study.of(result, X, rules)


def test_a_value_beyond_its_bound_shows_by_how_much() -> None:
    study = violated_sum()
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
    page = report.html(violated_sum())
    assert "▲ out of bounds" in page
    marks = re.findall(r'<path d="M\S+ (\S+)l\S+ (\S+) [^"]*z" class="off"/>', page)
    assert marks
    assert all(float(down) > 0 for _, down in marks)  # from the tip downwards: ▲


def test_loads_of_few_clusters_tell_their_values() -> None:
    X = line(120)
    kg = bckm.Capacity(240.0 + np.arange(120) % 7, max=4000)
    rules = bckm.Constraints(capacities={"kg": kg})
    page = report.html(bckm.Study.of(bckm.kmeans(X, 12, rules, random_state=0, n_init=1), X, rules))
    assert len(re.findall(r'class="value"[^>]*>\d,\d\d\d</text>', page)) == 12


def test_a_study_is_told_in_a_line() -> None:
    X = line(4)
    study = bckm.Study.of(bckm.kmeans(X, 1), X, title="Four")
    assert repr(study) == str(study) == "Study('Four', 4 samples, 1 cluster)"


def test_saved_is_told_of_links_and_places_alone() -> None:
    X = [[0.0], [1.0], [8.0], [9.0], [10.0]]
    rules = bckm.Constraints(must_link=[(0, 2)]).soft(price=0.125)
    rules &= bckm.Constraints(size_max=2).soft(price=0.25)
    study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    link, size = sorted(study.result.violated, key=lambda one: one.penalty)
    assert min(link.saved, size.saved) > 1
    page, source, text = report.html(study), report.markdown(study), report.text(study)
    assert re.search(r'<td class="n">0.125</td><td class="n">[\d.]+</td>', page)
    assert '<td class="n">0.25</td><td class="n">–</td>' in page
    assert re.search(r"\| 0\.25 \| – \|", source)
    assert re.search(r"^ *0\.25 +– ", text, re.MULTILINE)
    assert "one by one" not in page
    assert page.count(">Penalty: what violating") == source.count("Penalty: what violating") == 1


def test_tiles_are_explained_and_how_it_was_done_comes_last() -> None:
    X = line(6)
    page = report.html(bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X))
    tiles, repeat = page.split('id="result"')[1].split("<table")[0], page.split('id="repeat"')[1]
    assert "<dt>Inertia</dt><dd>sum of the squared distances" in tiles
    assert "<dt>Gap</dt><dd>with the centers where they are" in tiles
    assert "Penalty" not in tiles
    assert not re.search("Iterations|Solver", tiles)
    assert "<bdi>iterations</bdi>" in repeat


def test_notes_are_sentences() -> None:
    X = line(4)
    result = bckm.kmeans(X, 2, random_state=0)
    told = bckm.Study.of(result, X, settings={"notes": ["Column a is left out.", "So is <b>."]})
    page, source = report.html(told), report.markdown(told)
    assert "<h3>Notes</h3><ul><li><bdi>Column a is left out.</bdi></li>" in page
    assert "- Column a is left out.\n- So is &#60;b&#62;.\n" in source
    none = bckm.Study.of(result, X, settings={"notes": []})
    assert "otes" not in report.html(none).split("<body>")[1] + report.markdown(none)


def test_one_is_singular() -> None:
    X = line(5)
    stay = bckm.Stay([0, 0, 0, 1, 1], at_most=1)
    rules = bckm.Constraints(cannot_link=[(0, 3, 4)], stay=stay, size_max=[5, 1, 2], size_min=1)
    rules &= bckm.Constraints(must_link=[(1, 2)], fixed={0: 0}).soft(price=1.0)
    study = bckm.Study.of(bckm.kmeans(X, 3, rules, random_state=0), X, rules)
    for told in (report.html(study), report.markdown(study), report.text(study)):
        assert not re.search(
            r"\b1 (of 1 )?(soft )?(sets|pairs|limits|samples|bounds|rules)\b", told
        )
        assert re.search(r"\b1 of 1 set apart", told)
        assert "1 of 1 limit on moves" in told
    one = bckm.Constraints(must_link=[(1, 2)])
    found = report.summary(bckm.Study.of(bckm.kmeans(X, 2, one, random_state=0), X, one))
    assert found["headline"].endswith("; 1 rule met.")


def test_moves_are_counted_and_named() -> None:
    X = [[0.0], [1.0], [9.0], [10.0], [8.5]]
    rules = bckm.Constraints(stay=bckm.Stay([0, 0, 1, 1, 0], at_most=2))
    study = bckm.Study.of(
        bckm.kmeans(X, 2, rules, random_state=0), X, rules, sample_id=["a", "b", "c", "d", "Eve"]
    )
    assert study.result.labels.tolist() == [0, 0, 1, 1, 1]
    assert "<small>1 of 2 moves used: <bdi>Eve</bdi></small>" in report.html(study)
    assert "(1 of 2 moves used: Eve)" in report.markdown(study)
    assert "\n  1 of 2 moves used: Eve\n" in report.text(study)


@pytest.mark.parametrize("ticks", ["", "`", "````"])
def test_the_command_can_be_copied_from_markdown(ticks: str) -> None:
    X = line(4)
    command = f"bckm fit customers.csv -k 2 --title '<b>|{ticks}'"
    study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X, settings={"command": command})
    fence = "`" * max(3, len(ticks) + 1)
    assert f"\n{fence}\n{command}\n{fence}\n" in report.markdown(study)


def test_a_comparison_tells_gaps_as_a_report_does() -> None:
    X = line(6)
    study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X)
    told = re.search(r"gap of the last step (.*?) ·", report.text(study))
    assert told is not None
    assert report.compare([study, study], ["a", "b"]).text().count(told[1]) == 2


def crowd(kept: int, lost: int) -> bckm.Study:
    """Pairs within and between two clusters."""
    X = np.concatenate([line(30), 1000 + line(30)])
    inside = [(p, q) for p in range(30) for q in range(p)][:kept]
    across = [(p, q) for p in range(30) for q in range(30, 60)][:lost]
    rules = bckm.Constraints(must_link=inside) & wishes(across)
    return bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0, n_init=1), X, rules)


def wishes(pairs: list[tuple[int, int]]) -> bckm.Constraints:
    return bckm.Constraints(must_link=pairs).soft(price=1e-3)


def test_many_links_are_pale_and_violated_ones_strong() -> None:
    few, many = report.html(crowd(100, 3)), report.html(crowd(101, 3))
    assert 'class="link together"' in few
    assert 'class="link together many"' in many
    assert 'class="link together lost"' in few
    assert 'class="link together lost"' in many


def test_violated_links_are_no_block() -> None:
    page = report.html(crowd(1, 900))
    way = re.search(r'<path d="([^"]*)" class="link together lost"/>', page)
    assert way is not None
    assert 10 < way[1].count("M") < 100
    assert f"Of 901 links {way[1].count('M')} violated ones are drawn: so many lines" in page
    assert 'class="link together"' not in page  # those that are met: all or none


def test_links_that_would_hide_the_samples_are_left_out() -> None:
    page = report.html(crowd(435, 0))
    assert 'class="link' not in page
    assert "435 links, all met, are not drawn: so many lines would hide the samples." in page


def test_displays_draw_many_links_alike() -> None:
    from bckm.plotting import ClustersDisplay

    few, many = (ClustersDisplay.from_study(crowd(number, 3)).links_ for number in (100, 101))
    assert few["together", True].get_alpha() == 1
    assert many["together", True].get_alpha() == 0.25
    assert many["together", True].get_linewidth() < few["together", True].get_linewidth()
    assert many["together", False].get_alpha() == few["together", False].get_alpha() == 1
