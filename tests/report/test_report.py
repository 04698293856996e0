"""What reports tell is so: numbers against the data, names instead of positions, all forms."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest

import bckm
from bckm import report
from bckm._core.html import Css, el
from bckm._core.names import Name
from bckm._core.terminal import clean
from bckm.report import _style
from bckm.report._facts import Facts, squares
from tests.support.instances import draw
from tests.support.markup import foreign_html


def drawn_study(seed: int) -> bckm.Study | None:
    case = draw(seed)
    try:
        result = bckm.kmeans(
            case.X, case.k, case.constraints, sample_weight=case.weight, random_state=0, n_init=1
        )
    except bckm.InfeasibleError:
        return None
    ids = [f"s{p}" for p in range(len(case.X))] if seed % 2 else None
    return bckm.Study.of(result, case.X, case.constraints, sample_id=ids, sample_weight=case.weight)


@functools.cache
def drawn_studies() -> list[bckm.Study]:
    return [study for seed in range(60) if (study := drawn_study(seed)) is not None]


def blobs(n: int, k: int, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centers = 10 * rng.normal(size=(k, d))
    return centers[rng.integers(k, size=n)] + rng.normal(size=(n, d)), centers


def test_all_forms_of_drawn_studies() -> None:
    assert len(drawn_studies()) > 20
    for study in drawn_studies():
        found = report.summary(study)
        json.dumps(found, allow_nan=False)
        assert found["sizes"] == study.result.sizes.tolist()
        assert all(one["kept"] == one["asked"] for one in found["rules"] if not one["soft"])
        assert found["broken"] == []
        assert foreign_html(report.html(study)) == []
        assert report.markdown(study).startswith("# Clusters\n")
        assert max(map(len, report.text(study).splitlines())) <= 80


def test_reports_are_repeatable_and_leave_the_study_alone() -> None:
    study = drawn_studies()[0]
    before = study.X.copy(), study.result.labels.copy()
    assert report.html(study) == report.html(study)
    assert np.array_equal(before[0], study.X)
    assert np.array_equal(before[1], study.result.labels)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "latlon"])
@pytest.mark.parametrize("weighted", [False, True])
def test_squares_add_up_to_the_inertia(metric: str, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-60, 60, (40, 2))
    weight = rng.uniform(0.5, 2, 40) if weighted else None
    scaling = bckm.Scaling.of(X, "standard" if metric == "euclidean" else "none")
    result = bckm.kmeans(
        scaling.apply(X), 3, metric=metric, sample_weight=weight, random_state=0, n_init=1
    )
    study = bckm.Study.of(result, X, scaling=scaling, sample_weight=weight)
    total = (squares(study) * (1 if weight is None else weight)).sum()
    assert total == pytest.approx(result.inertia)
    assert sum(one.share for one in Facts.of(study).clusters) == pytest.approx(1)


def test_clusters_name_the_samples_nearest_to_their_centers() -> None:
    X = np.array([[0.0], [1.0], [2.1], [50.0], [53.0], [90.0]])
    names = list("abcdef")
    result = bckm.kmeans(X, 2, init=[[1.0], [60.0]], n_init=1, search="none")
    first, second = Facts.of(bckm.Study.of(result, X, sample_id=names)).clusters
    assert first.members == ("b", "a", "c")
    assert second.size == 3
    assert first.features[0][0] == "feature 0"
    assert first.features[0][2] < 0 < second.features[0][2]


def wishes(price: float, **more: object) -> bckm.Constraints:
    return bckm.Constraints(**more).soft(price=price)  # type: ignore[arg-type]


def test_rules_about_positions_are_told_by_names() -> None:
    X = [[0.0], [1.0], [9.0], [10.0]]
    rules = bckm.Constraints(must_link=[(0, 1)], fixed={3: 1}, forbidden=[(2, 0)])
    rules &= wishes(0.1, must_link=[(0, 2)], cannot_link=[(2, 3)], fixed={1: 1})
    result = bckm.kmeans(X, 2, rules, random_state=0)
    study = bckm.Study.of(result, X, rules, sample_id=["Änne", "Bo", "Çem", "Dóra"])
    page, text, found = report.html(study), report.text(study), report.summary(study)
    told = [one["message"] for one in found["violated"]]
    assert "Änne and Çem should be together, but are in clusters 0 and 1." in told
    assert "Çem and Dóra should be apart, but share cluster 1." in told
    assert "Bo should be in cluster 1, but is in 0." in told
    assert "<bdi>Änne</bdi> and <bdi>Bo</bdi> together." in page
    assert "<bdi>Dóra</bdi> is in cluster 1." in page
    assert "<bdi>Çem</bdi> is not in cluster 0." in page
    assert "Änne and Çem should be together" in text
    assert not re.search(r"samples? \d", page + text)


def test_rules_about_ids_are_told_by_ids_and_others_by_positions() -> None:
    X = [[0.0], [1.0], [9.0], [10.0]]
    rules = bckm.Constraints(must_link=[("x", "y")], by="sample_id").soft(price=0.1)
    ids = ["x", "b", "c", "y"]
    result = bckm.kmeans(X, 2, rules, sample_id=ids, random_state=0)
    study = bckm.Study.of(result, X, rules, sample_id=ids)
    assert report.summary(study)["violated"][0]["message"].startswith("x and y should be")
    rules = wishes(0.1, must_link=[(0, 3)])
    study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    message = report.summary(study)["violated"][0]["message"]
    assert message.startswith("Samples 0 and 3 should be")


def test_counts_are_of_single_demands() -> None:
    X = np.arange(12.0)[:, None]
    color = ["red", "blue"] * 6
    rules = bckm.Constraints(
        must_link=[(0, 1, 2)],
        cannot_link=[(0, 11)],
        size_min=2,
        size_max=[4, 5, 6],
        capacities={"load": bckm.Capacity(np.ones(12), max=6)},
        quotas=bckm.Quota(color, count_min={"red": 1}, name="color"),
        stay=bckm.Stay([0] * 4 + [1] * 4 + [2] * 3 + [-1], price=0.5),
    )
    study = bckm.Study.of(bckm.kmeans(X, 3, rules, random_state=0), X, rules)
    found = {(one["kind"], one["soft"]): one for one in report.summary(study)["rules"]}
    asked = {key: one["asked"] for key, one in found.items()}
    assert asked == {
        ("size", False): 6,
        ("capacity", False): 3,
        ("together", False): 1,
        ("apart", False): 1,
        ("quota", False): 3,
        ("stay", True): 11,
    }
    moved = sum(
        old not in (-1, new)
        for old, new in zip(rules.stay[0].values, study.result.labels, strict=True)
    )
    assert found["stay", True]["kept"] == 11 - moved


def broken_study() -> bckm.Study:
    """Labels that break rules, as a file from elsewhere may hold them."""
    X = np.arange(6.0)[:, None]
    result = bckm.kmeans(X, 2, random_state=0)
    wrong = bckm.Constraints(
        must_link=[(0, 5)],
        cannot_link=[(0, 1, 2), (0, 5)],
        size_max=2,
        capacities={"load": bckm.Capacity(np.ones(6), max=2)},
    )
    return bckm.Study.of(result, X, wrong, sample_id=list("abcdef"))


def test_broken_rules_are_told_aloud() -> None:
    study = broken_study()
    page, found = report.html(study), report.summary(study)
    kept = {one["kind"]: (one["asked"], one["kept"]) for one in found["rules"]}
    assert kept == {"size": (2, 0), "capacity": (2, 0), "together": (1, 0), "apart": (2, 1)}
    assert "6 of 7 rules violated" in found["headline"]
    assert "These labels violate hard rules." in page
    assert "a, b and c should be apart, but share cluster 0." in found["broken"]
    assert "The sum of load in cluster 1 is 3, 1 above its bound of 2." in found["broken"]
    assert len([one for one in found["broken"] if "size_max" in one]) == 2
    assert "**These labels violate hard rules:**" in report.markdown(study)
    assert "BROKEN" in report.text(study)


def test_the_gap_is_that_of_the_last_assignment() -> None:
    for study in drawn_studies():
        result, gap = study.result, report.summary(study)["gap"]
        if result.lower_bound > 0:
            assert gap == pytest.approx(max(0, 1 - result.lower_bound / result.objective))
        if result.assignment_status is bckm.Status.OPTIMAL and result.objective > 0:
            assert gap < 1e-6
            assert "proven to be the best" in report.text(study).replace("\n", " ")


def test_what_no_move_could_keep_is_told_so() -> None:
    X = [[0.0], [1.0], [9.0], [10.0]]
    rules = bckm.Constraints(must_link=[(0, 1)]) & wishes(1.0, cannot_link=[(0, 1)])
    study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    assert study.result.violated[0].saved == np.inf
    assert report.summary(study)["violated"][0]["saved"] is None
    assert "no single move could meet it" in report.html(study)
    assert "no single move could meet it" in report.markdown(study)


def test_values_without_json_become_null() -> None:
    X = [[0.0], [1.0], [9.0], [10.0]]
    result = bckm.kmeans(X, 2, random_state=0)
    settings = {"a": float("nan"), "b": [np.float64("inf"), np.int64(3)], "c": {"d": None}}
    study = bckm.Study.of(result, X, settings=settings)
    found = report.summary(study)
    assert found["settings"] == {"a": None, "b": [None, 3], "c": {"d": None}}
    assert found["versions"]["bckm"] == bckm.__version__
    assert foreign_html(report.html(study)) == []


def test_many_samples_make_no_large_page() -> None:
    X, centers = blobs(100_000, 8)
    result = bckm.assign_to(X, centers)
    study = bckm.Study.of(result, X)
    page = report.html(study)
    assert len(page) < 500_000
    assert re.search(r"[45],\d\d\d of 100,000 samples shown", page)
    assert "Convergence" not in page  # `assign_to` takes no steps


def test_points_tell_their_names_while_there_are_few() -> None:
    X, centers = blobs(300, 3)
    ids = [f"id-{p}" for p in range(300)]
    page = report.html(bckm.Study.of(bckm.assign_to(X, centers), X, sample_id=ids))
    assert all(f"<title>{name} · " in page for name in ids)


@pytest.mark.parametrize(("k", "d"), [(50, 40), (200, 3), (1, 1), (3, 2)])
def test_many_clusters_and_features(k: int, d: int) -> None:
    X, centers = blobs(4 * k + 40, k, d)
    rules = bckm.Constraints(size_min=0)
    study = bckm.Study.of(bckm.assign_to(X, centers, rules), X, rules)
    page = report.html(study)
    assert foreign_html(page) == []
    assert len(page) < 1_500_000
    assert "NaN" not in page
    assert ("10 more features" in page) == (d == 40)
    assert len(report.text(study).splitlines()) <= 45


def test_an_empty_cluster_has_no_numbers() -> None:
    X = [[0.0], [1.0], [2.0]]
    rules = bckm.Constraints(
        size_min=0, quotas=bckm.Quota(["a", "b", "a"], share_max=0.9, name="q")
    )
    study = bckm.Study.of(bckm.assign_to(X, [[1.0], [99.0]], rules), X, rules)
    json.dumps(report.summary(study), allow_nan=False)
    assert foreign_html(report.html(study)) == []
    assert "nan" not in (report.html(study) + report.markdown(study) + report.text(study)).lower()


def test_text_without_blocks_is_ascii_and_keeps_to_the_width() -> None:
    for study in drawn_studies()[:10]:
        found = report.text(study, width=60, blocks=False)
        assert found.isascii()
        assert max(map(len, found.splitlines())) <= 60


def test_text_keeps_to_the_width_with_long_names() -> None:
    X = [[0.0], [1.0], [9.0], [10.0]]
    rules = wishes(0.1, must_link=[(0, 2)])
    ids = [100 * letter for letter in "abcd"]
    study = bckm.Study.of(
        bckm.kmeans(X, 2, rules, random_state=0), X, rules, sample_id=ids, title=ids[0]
    )
    assert max(map(len, report.text(study, width=70).splitlines())) <= 70


def test_write_goes_by_the_suffix(tmp_path: Path) -> None:
    study = drawn_studies()[0]
    for name, start in (("a.html", "<!DOC"), ("a.MD", "# "), ("a.json", "{"), ("a.txt", "Clus")):
        report.write(study, tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    with pytest.raises(ValueError, match=r"\.html, \.md, \.json or \.txt"):
        report.write(study, tmp_path / "a.pdf")
    assert len(list(tmp_path.iterdir())) == 4


def test_the_builder_knows_no_way_around_escaping() -> None:
    assert str(el("p", "<b>", Name("<i>"))) == "<p>&lt;b&gt;<bdi>&lt;i&gt;</bdi></p>"
    assert str(el("title", Name("x" * 90))) == f"<title>{'x' * 59}…</title>"
    for tag in ("script", "img", "iframe", "object", "link", "base", "p onload=x"):
        with pytest.raises(ValueError, match="no element"):
            el(tag)
    for name in ("onload", "style", "src", "onclick", "xlink:href"):
        with pytest.raises(ValueError, match="no attribute"):
            el("p", **{name: "x"})
    with pytest.raises(ValueError, match="in the report itself"):
        el("a", href="javascript:x")
    for element in (el("p", Css("a{}")), el("style", Css("</style>"))):
        with pytest.raises(ValueError, match="stylesheet"):
            str(element)
    assert clean("a\x00\x1b\u202e\ud800b") == "a␀␛⌧\ufffdb"


def relabeled(X: np.ndarray, centers: np.ndarray, order: list[int], **more: object) -> bckm.Study:
    return bckm.Study.of(bckm.assign_to(X, centers[order]), X, **more)  # type: ignore[arg-type]


def test_comparison_matches_clusters_and_ids() -> None:
    X, centers = blobs(60, 3)
    ids = [f"s{p}" for p in range(60)]
    one = relabeled(X, centers, [0, 1, 2], sample_id=ids, title="one|<b>")
    other = relabeled(X, centers, [2, 0, 1], sample_id=ids, title="other")
    part = relabeled(X[20:], centers, [1, 0, 2], sample_id=ids[20:], title="part")
    found = report.compare([one, other, part])
    assert [(a.n_samples, a.moved, a.rand) for a in found.agreements] == [
        (60, 0, 1.0),
        (40, 0, 1.0),
        (40, 0, 1.0),
    ]
    assert found.rows[0]["ratio"] is None  # other data, other sums
    assert "not compared" in found.text()
    json.dumps(found.dict(), allow_nan=False)
    assert "one&#124;&#60;b&#62;" in found.markdown()
    found = report.compare([one, other], ["a", "b"])
    assert found.rows[0]["ratio"] == pytest.approx(1)
    assert "0 of 60 samples" in found.text()


def test_comparison_without_ids_says_what_it_cannot_tell() -> None:
    X, centers = blobs(60, 3)
    one, part = relabeled(X, centers, [0, 1, 2]), relabeled(X[20:], centers, [1, 0, 2])
    found = report.compare([one, part], ["one", "part"])
    assert found.agreements == ()
    assert "no ids in common" in found.text()
    with pytest.raises(ValueError, match="at least two"):
        report.compare([one])
    with pytest.raises(ValueError, match="3 names for 2 studies"):
        report.compare([one, part], ["a", "b", "c"])


def contrast(one: str, other: str) -> float:
    """As accessibility guidelines define it."""

    def light(color: str) -> float:
        wide = color if len(color) == 7 else "#" + "".join(2 * c for c in color[1:])
        parts = np.array([int(wide[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    high, low = sorted([light(one), light(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_and_marks_have_contrast() -> None:
    sheet = str(_style.stylesheet())
    light, dark = sheet.split("@media screen and (prefers-color-scheme:dark)")
    for part, marks in ((light, 3.0), (dark, 4.0)):
        words = dict(re.findall(r"--([a-z]+):(#[0-9a-f]+)", part))
        for ground in ("ground", "soft"):
            for ink in ("ink", "muted", "accent", "good", "wrong"):
                assert contrast(words[ground], words[ink]) >= 4.5, (ground, ink)
        assert contrast(words["band"], words["accent"]) >= 3
        colors = re.findall(r"\.c\d+\{color:(#[0-9a-f]{6})\}", part)
        assert len(set(colors)) == 24
        assert all(contrast(words["ground"], one) >= marks for one in colors)
        heat = re.findall(r"\.heat \.[np]\d\{background:(#[0-9a-f]+);color:(#[0-9a-f]+)\}", part)
        assert len(heat) == 8
        assert all(contrast(*pair) >= 4.5 for pair in heat)


def test_means_keep_the_digits_that_count() -> None:
    X = np.array([[2019.0], [2019.5], [2023.25], [2023.75]])
    result = bckm.kmeans(X, 2, init=[[2019.0], [2023.0]], n_init=1)
    page = report.html(bckm.Study.of(result, X, feature_names=["year"]))
    assert "2,019.25" in page
    assert "2,023.5" in page


def test_a_date_is_told_only_if_it_was_given() -> None:
    X = [[0.0], [1.0], [9.0], [10.0]]
    result = bckm.kmeans(X, 2, random_state=0)
    page = report.html(bckm.Study.of(result, X, settings={"date": "2024-02-29"}))
    assert page.count("2024-02-29") == 2  # on top, and where it is told how to repeat it
