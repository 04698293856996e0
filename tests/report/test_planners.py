"""What a planner looks for: who is where, who moved, what fits, and nothing that shows nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm import report
from bckm.report._bars import _free
from tests.support.markup import foreign_html

RNG = np.random.default_rng(5)
STOPS = RNG.uniform(0, 40, (60, 2))
KG = RNG.integers(5, 60, 60).astype(float)
NAMES = [f"Van {i}" for i in range(1, 4)]


def vans(at_most: int = 9, **more: object) -> bckm.Study:
    """Stops of three vans, some of which had another van before."""
    before = np.arange(60) % 3
    before[:2] = -1
    most = float(np.ceil(KG.sum() / 3 * 1.05))
    rules = bckm.Constraints(
        capacities={"kg": bckm.Capacity(KG, max=most)},
        stay=bckm.Stay(before, at_most=at_most),
        cluster_names=NAMES,
    )
    result = bckm.kmeans(STOPS, 3, rules, random_state=0, n_init=1, search="none")
    options: dict[str, object] = {
        "feature_names": ["x_km", "y_km"],
        "sample_id": [f"S-{p:02d}" for p in range(60)],
    }
    return bckm.Study.of(result, STOPS, rules, **{**options, **more})  # type: ignore[arg-type]


def part(page: str, key: str) -> str:
    found = re.search(rf'<section id="{key}">(.*?)</section>', page)
    return found[1] if found else ""


def test_members_of_every_cluster_are_listed() -> None:
    study = vans()
    listed = part(report.html(study), "members").split("<details>")[1:]
    assert len(listed) == 3
    for i, told in enumerate(listed):
        mine = np.flatnonzero(study.result.labels == i)
        assert f"<bdi>{NAMES[i]}</bdi>: {mine.size} samples" in told
        assert re.findall(r"<li><bdi>(.*?)</bdi></li>", told) == [f"S-{p:02d}" for p in mine]


def test_long_lists_of_members_are_shortened() -> None:
    X = np.concatenate([np.zeros(4_000), np.ones(6)])[:, None]
    study = bckm.Study.of(bckm.assign_to(X, [[0.0], [1.0]]), X)
    told = part(report.html(study), "members")
    assert told.count("<li>") == 1_500 + 6
    assert "… and 2,500 more" in told
    assert "Cluster 0: 4,000 samples" in re.sub("<svg.*?</svg>|<bdi>|</bdi>", "", told)


def test_who_moved_is_told_and_drawn() -> None:
    study = vans()
    told = part(report.html(study), "moved")
    before = study.constraints.stay[0].values
    gone = [p for p in range(2, 60) if before[p] != study.result.labels[p]]
    assert 0 < len(gone) <= 9
    assert f"{len(gone)} of 58 samples with a previous cluster moved; 2 samples had none." in told
    rows = re.findall(r"<tr><th.*?><bdi>(.*?)</bdi></th><td>(.*?)</td><td>(.*?)</td></tr>", told)
    found = {name: tuple(re.sub("<.*?>", "", one) for one in way) for name, *way in rows}
    expected = {f"S-{p:02d}": (NAMES[before[p]], NAMES[study.result.labels[p]]) for p in gone}
    expected |= {f"S-{p:02d}": ("new", NAMES[study.result.labels[p]]) for p in (0, 1)}
    assert found == expected
    summary = report.summary(study)["moved"]
    assert {one["sample"]: (one["before"] or "new", one["after"]) for one in summary} == expected
    source = report.markdown(study)
    assert all(f"| {name} | {' | '.join(way)} |" in source for name, way in expected.items())
    assert told.count('class="past ') == told.count('class="gone ') == len(gone)
    for name, way in expected.items():
        assert way[0] == "new" or f"<title>{name}: {way[0]} → {way[1]}</title>" in told


def test_many_moves_are_counted_instead_of_drawn() -> None:
    told = part(report.html(vans(at_most=58)), "moved")
    assert "<svg" not in told
    assert "How many samples went from where to where" in told


def test_without_previous_clusters_nobody_moved() -> None:
    assert "Moved from" not in report.html(
        bckm.Study.of(bckm.kmeans(STOPS, 2, random_state=0, n_init=1), STOPS)
    )


def test_places_have_a_scale_bar_and_a_distance_with_its_unit() -> None:
    page = report.html(vans())
    bar = re.search(r">([\d,.]+) km</text></g>", part(page, "plane"))
    assert bar is not None
    lines = re.findall(
        r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="\2" class="ruler"/>',
        part(page, "plane"),
    )
    ticks = re.findall(
        r'<text x="([\d.]+)" y="[\d.]+" class="tick" text-anchor="middle">(\d+)<', page
    )
    (x1, a), (x2, b) = [(float(x), float(at)) for x, at in ticks[-2:]]
    wide = float(lines[0][2]) - float(lines[0][0])
    assert wide / float(bar[1]) == pytest.approx((x2 - x1) / (b - a), rel=0.02)
    assert re.search(r"Typical distance to the center</dt><dd>[\d.]+ km</dd>", page)
    assert "Distinctive features" not in page  # coordinates are none
    page = report.html(vans(feature_names=["a", "b"]))
    assert 'class="ruler"' not in page.split("</style>")[1]
    assert "Distinctive features" in page


def test_a_map_has_a_scale_bar_in_kilometers() -> None:
    X = np.stack([RNG.uniform(48.1, 48.12, 30), RNG.uniform(11.5, 11.53, 30)], axis=1)
    result = bckm.kmeans(X, 2, metric="latlon", random_state=0, n_init=1)
    page = part(report.html(bckm.Study.of(result, X)), "plane")
    assert "Clusters on the map" in page
    assert re.search(r">(200|500) m</text></g>", page)


@pytest.mark.parametrize(
    ("top", "foot", "lines"),
    [(50.0, 150.0, []), (50.0, 150.0, [40.0]), (50.0, 52.0, [40.0]), (50.0, 150.0, [40.0, 60.0])],
)
def test_no_bound_crosses_a_value(top: float, foot: float, lines: list[float]) -> None:
    base, within = _free(top, foot, lines)
    assert all(not base - 9 <= y <= base + 1 for y in lines)
    assert top < base < foot if within else base < top


def test_values_next_to_their_bound_stand_in_their_columns() -> None:
    page = part(report.html(vans()), "amounts")
    edges = {float(y) for y in re.findall(r'y1="([\d.]+)" x2="[\d.]+" y2="\1" class="bound"', page)}
    values = re.findall(r'<text x="[\d.]+" y="([\d.]+)" class="value( within)?"', page)
    assert edges
    assert len(values) == 6
    for chart in page.split("<figure>")[2:]:  # the loads
        edge = float(re.findall(r'y1="([\d.]+)" x2="[\d.]+" y2="\1" class="bound"', chart)[0])
        for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)" class="value', chart):
            assert not float(y) - 9 <= edge <= float(y) + 1


def test_what_is_the_same_in_every_cluster_is_a_sentence() -> None:
    X = np.arange(12.0)[:, None]
    rules = bckm.Constraints(size_min=4, size_max=4)
    study = bckm.Study.of(bckm.kmeans(X, 3, rules, random_state=0, n_init=1), X, rules)
    told = part(report.html(study), "amounts")
    assert "Sizes: 4 in every cluster (allowed: exactly 4)." in told
    assert "<svg" not in told


def test_a_fit_of_one_step_has_no_course() -> None:
    X = np.array([[0.0], [1.0], [8.0], [9.0]])
    result = bckm.kmeans(X, 2, init=[[0.5], [8.5]], n_init=1, search="none")
    told = part(report.html(bckm.Study.of(result, X)), "course")
    assert "<svg" not in told
    assert "The best start took one step to 1; there is no course to draw." in told
    X = RNG.uniform(size=(300, 2))
    result = bckm.kmeans(X, 9, init=X[:9], n_init=1, search="none")
    assert result.n_iter > 3
    short = bckm.Study.of(replace(result, history=result.history[:2]), X)
    assert "took 2 steps to" in part(report.html(short), "course")
    assert "<svg" in part(report.html(bckm.Study.of(result, X)), "course")


def classes(**more: object) -> bckm.Study:
    """Mixed groups of 40 pupils."""
    X = np.stack([RNG.normal(3, 1, 40).round(1), np.arange(40) % 2], axis=1)
    rules = bckm.Constraints(size_min=10, size_max=10, cluster_names=["5a", "5b", "5c", "<d>"])
    result = bckm.kmeans(X, 4, rules, objective="mixed", random_state=0, n_init=1)
    return bckm.Study.of(result, X, rules, feature_names=["grade", "girl"])


def test_mixed_groups_are_told_to_be_alike() -> None:
    study = classes()
    page = report.html(study)
    assert foreign_html(page) == []
    told = part(page, "alike")
    means = [study.X[study.result.labels == i, 1].mean() for i in range(4)]
    assert means == [0.5] * 4
    row = re.search(r"<tr><th[^>]*><bdi>girl</bdi></th>(.*?)</tr>", told)
    assert row is not None
    assert re.findall(r'<td class="n">([\d.]+)', row[1]) == ["0", "0", "0.5", *["0.5"] * 4]
    assert "least possible" in row[1]
    found = report.summary(study)["mixed"]
    assert [one[1] for one in found["means"]] == means
    assert (found["spread"][1], report.summary(vans())["mixed"]) == (0.0, None)
    assert "| girl | 0 | 0.5 | 0.5 | 0.5 | 0.5 | 0.5 |" in report.markdown(study)
    assert "Inertia" not in report.markdown(study)
    assert told.count("<title>5a: ") == 2
    assert "&lt;d&gt;: " in told
    for word in ("Inertia", "Gap", "Typical distance", "Closest to", "Distinctive", "Profile of"):
        assert word not in page.split("</style>")[1]
    for key in ("plane", "course", "profile"):
        assert not part(page, key)
    assert len(part(page, "members").split("<details>")) == 5


def test_small_differences_of_means_are_not_rounded_away() -> None:
    study = classes()
    spread = report.summary(study)["mixed"]["spread"][0]
    assert 0 < spread < 0.1
    row = re.search(r"<bdi>grade</bdi></th><td[^>]*>([\d.]+)", part(report.html(study), "alike"))
    assert row is not None
    assert float(row[1]) == float(f"{spread:.2g}")
    assert f"| grade | {row[1]} |" in report.markdown(study)


def test_mixed_groups_are_not_compared_with_compact_ones() -> None:
    study = classes()
    compact = bckm.Study.of(bckm.kmeans(study.X, 4, random_state=0, n_init=1), study.X)
    found = report.compare([study, compact], ["mixed", "compact"])
    assert [row["ratio"] for row in found.rows] == [None, None]
    assert "Objectives are not compared" in found.text()
    assert report.compare([study, study], ["a", "b"]).rows[1]["ratio"] == 1
