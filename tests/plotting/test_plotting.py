import subprocess
import sys
import warnings
from itertools import pairwise

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

import bckm
from bckm.plotting import (
    ClustersDisplay,
    ComparisonDisplay,
    ConvergenceDisplay,
    SilhouetteDisplay,
    SizesDisplay,
)
from bckm.plotting._clusters import degrees, hull
from bckm.plotting._drawing import figures
from bckm.plotting._numbers import pushed_apart
from bckm.study import views
from tests.archive.make import linked
from tests.support.studies import random_study, study_of

HOSTILE = [
    r"$\frac{",
    "$$$",
    r"a_b^c \alpha",
    "two\nlines\tand\x00\x07\x1b[31m",
    "客户 大小",
    "\u202eevil\u202c مرحبا",
    "🙂" * 5,
    "x" * 5000,
    "z" + "\u0335" * 500,
    "<script>alert(1)</script>",
    "%s {0} {x}",
    "",
    "_hidden",
    "\ud800",
]
DISPLAYS = [ClustersDisplay, SizesDisplay, ConvergenceDisplay, SilhouetteDisplay, ComparisonDisplay]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def draw(display):
    """Draw all of it, so that warnings and errors of the text come up."""
    display.figure_.draw_without_rendering()
    return display


def texts(display):
    return [one.get_text() for one in display.figure_.findobj(matplotlib.text.Text)]


# ------------------------------------------------------------------ all displays


@pytest.mark.sampled(8)
@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (3, 2, 1), (40, 5, 2)])
def test_every_display_draws_every_shape(display, n, d, k):
    rules = bckm.Constraints(size_max=2, must_link=[(0, n - 1)] if n > 1 else None)
    draw(display.from_study(random_study(n, d, k, rules=rules)))


@pytest.mark.parametrize("display", DISPLAYS)
def test_every_display_draws_equal_points_and_empty_clusters(display):
    rules = bckm.Constraints(size_min=0, cannot_link=[(0, 1)])
    study = study_of(np.full((6, 3), 1e6), [0, 0, 0, 2, 2, 2], rules, k=4)
    draw(display.from_study(study))


@pytest.mark.parametrize("display", DISPLAYS)
def test_every_display_draws_where_it_is_told(display):
    figure, axes = plt.subplots(1, 3)
    two = display is ComparisonDisplay
    found = display.from_study(random_study(), **({"axes": axes[:2]} if two else {"ax": axes[0]}))
    assert found.figure_ is figure
    assert found.ax_ is axes[1 if two else 0]
    assert plt.get_fignums() == [figure.number]
    assert not axes[2].has_data()
    again = found.plot(axes[1:]) if two else found.plot(axes[2], title="again")
    assert again is found
    assert found.ax_ is axes[2]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("display", DISPLAYS)
def test_every_display_comes_from_an_estimator(display):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = bckm.ConstrainedKMeans(3, size_max=12, random_state=0)
    rules = bckm.Constraints(must_link=[(0, 1)])
    with pytest.raises(ValueError, match="not fitted"):
        display.from_estimator(model, X, rules)
    draw(display.from_estimator(model.fit(X, constraints=rules), X, rules))


@pytest.mark.full
def test_bounds_of_an_estimator_are_drawn():
    X = np.random.default_rng(0).normal(size=(30, 2))
    kg = np.linspace(1.0, 2.0, 30)
    model = bckm.ConstrainedKMeans(3, size_max=12, random_state=0).fit(X)
    assert SizesDisplay.from_estimator(model, X).amount.upper.tolist() == [12] * 3
    model = bckm.ConstrainedKMeans(3, capacity_max=20, random_state=0).fit(X, amounts=kg)
    assert not SizesDisplay.from_estimator(model, X).amount.bounded
    display = SizesDisplay.from_estimator(model, X, amounts=kg, name="load")
    assert display.amount.upper.tolist() == [20] * 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_person_is_drawn_as_it_is(text):
    kg = bckm.Capacity(np.ones(20), max=9)
    kind = bckm.Quota([text, "other"] * 10, share_max=0.9, name=text)
    study = random_study(
        20,
        2,
        3,
        rules=bckm.Constraints(
            capacities={text: kg}, quotas=kind, cluster_names=[text, f"{text}2", "3"]
        ),
        feature_names=[text, text],
        title=text,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # glyphs that are missing
        draw(ClustersDisplay.from_study(study))
        draw(SilhouetteDisplay.from_study(study))
        for amount in views.amounts(study)[1:]:
            draw(SizesDisplay.from_study(study, amount.name))
        steps = draw(ConvergenceDisplay.from_results({text: study.result, "other": study.result}))
    figures_ = [plt.figure(number) for number in plt.get_fignums()]
    for artist in (one for figure in figures_ for one in figure.findobj(matplotlib.text.Text)):
        assert len(artist.get_text()) <= 130
        assert artist.get_text().isprintable()
        if "$" in artist.get_text():
            assert not artist.get_parse_math()
    assert len(steps.ax_.get_legend().get_texts()) == 2


def test_letters_that_no_font_has_become_boxes():
    display = ClustersDisplay.from_study(random_study(title="\U000f0000\U0001f9ff a"))
    assert display.ax_.get_title(loc="left").startswith("□ a:") or "🧿" in texts(display)[0]


def test_tex_of_the_person_is_not_used_for_names():
    with matplotlib.rc_context({"text.usetex": True}):
        display = ClustersDisplay.from_study(random_study(title="100 %_$"))
        assert not display.ax_._left_title.get_usetex()
        assert not display.ax_.xaxis.label.get_usetex()


def test_without_matplotlib_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'bckm\[plot\]'"):
        ClustersDisplay.from_study(random_study())


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, bckm.plotting, bckm.study.views; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ------------------------------------------------------------------ clusters


def test_clusters_links_and_numbers_are_drawn():
    rules = bckm.Constraints(must_link=[(0, 1), (0, 2)], cannot_link=[(3, 4), (0, 4)])
    X = np.arange(10.0).reshape(5, 2) ** 1.2
    study = study_of(X, [0, 0, 1, 1, 1], rules)
    display = draw(ClustersDisplay.from_study(study, outlines=True))
    assert [len(one.get_offsets()) for one in display.scatter_] == [2, 3]
    drawn = {key: len(lines.get_paths()) for key, lines in display.links_.items()}
    assert drawn == dict.fromkeys(
        [("together", True), ("together", False), ("apart", True), ("apart", False)], 1
    )
    (segment,) = display.links_["together", False].get_segments()
    np.testing.assert_allclose(segment, X[[0, 2]])
    color = matplotlib.colors.to_hex(display.links_["together", False].get_color()[0])
    assert color == views.WRONG
    assert [one.get_text() for one in display.numbers_] == ["0", "1"]
    assert [one.xy for one in display.numbers_] == [
        tuple(row) for row in views.plane(study).centers
    ]
    assert len(display.outlines_) == 2
    legend = [one.get_text() for one in display.ax_.get_legend().get_texts()]
    assert "should be together (1)" in legend
    assert display.ax_.get_title(loc="left") == "Clusters: 2 clusters of 2 to 3 samples"


def test_parts_can_be_left_out():
    rules = bckm.Constraints(must_link=[(0, 1)])
    display = ClustersDisplay.from_study(
        random_study(rules=rules), links=False, numbers=False, title="mine"
    )
    assert display.links_ == {}
    assert display.numbers_ == []
    assert display.ax_.get_legend() is None
    assert display.ax_.get_title(loc="left") == "mine"
    display.plot(legend=False)
    assert len(display.links_) == 1
    assert display.ax_.get_legend() is None


def test_what_is_left_out_is_told():
    rules = bckm.Constraints(must_link=[(i, i + 1) for i in range(50)])
    study = random_study(300, rules=rules)
    display = ClustersDisplay.from_study(study, most_samples=100, most_links=10)
    assert any("of 300 samples shown; 10 of 50 links shown" in one for one in texts(display))
    assert sum(len(one.get_offsets()) for one in display.scatter_) < 150


def test_numbers_of_fifty_clusters_do_not_cover_each_other():
    study = random_study(400, 3, 50)  # random labels: all centers near the middle
    display = draw(ClustersDisplay.from_study(study))
    boxes = [one.get_bbox_patch().get_window_extent() for one in display.numbers_]
    clashes = [
        (i, j) for i, a in enumerate(boxes) for j, b in enumerate(boxes[:i]) if a.overlaps(b)
    ]
    assert clashes == []


def test_boxes_part_even_from_one_place():
    room = np.array([[0.0, 0.0], [400.0, 300.0]])
    moved = pushed_apart(np.full((30, 2), 200.0), np.full((30, 2), [20.0, 12.0]), room)
    apart = np.abs(moved[:, None] - moved[None])
    clash = (apart[..., 0] < 19.9) & (apart[..., 1] < 11.9) & ~np.eye(30, dtype=bool)
    assert not clash.any()
    assert (moved >= 6).all()


def test_maps_have_degrees_on_their_axes():
    X = [[-17.0, 178.0], [-18.0, -178.0], [-16.0, 179.0]]
    display = draw(ClustersDisplay.from_study(study_of(X, [0, 1, 0], metric="latlon")))
    ticks = [one.get_text() for one in display.ax_.get_xticklabels()]
    assert "180°" in ticks
    assert any(one.endswith("°W") for one in ticks)
    assert degrees(181.5, "E", "W") == "178.5°W"
    assert degrees(-17.25, "N", "S") == "17.25°S"
    assert degrees(0.0, "E", "W") == "0°"


def test_hull():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [1, 0.5]], float)
    assert sorted(hull(square).tolist()) == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert sorted(hull(np.arange(6.0).repeat(2).reshape(6, 2)).tolist()) == [[0, 0], [5, 5]]
    assert hull(np.zeros((5, 2))).tolist() == [[0, 0]]
    assert hull(np.zeros((0, 2))).shape == (0, 2)


# ------------------------------------------------------------------ sizes


def test_bars_and_bounds_are_where_they_belong():
    rules = bckm.Constraints(size_min=2, size_max=[3, 4, 2])
    study = study_of(np.eye(9), [0] * 4 + [1] * 4 + [2], rules)
    display = draw(SizesDisplay.from_study(study))
    assert [bar.get_height() for bar in display.bars_] == [4, 4, 1]
    colors = [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in display.bars_]
    assert [one == views.WRONG for one in colors] == [True, False, True]
    assert [bool(bar.get_hatch()) for bar in display.bars_] == [True, False, True]
    upper = display.bounds_["upper"].get_segments()
    assert [segment[0][1] for segment in upper] == [3, 4, 2]
    assert [segment[0][1] for segment in display.bounds_["lower"].get_segments()] == [2, 2, 2]
    assert upper[1][:, 0].tolist() == [0.5, 1.5]
    shown = texts(display)
    assert "Sizes: 1 to 4 samples" in shown
    assert "2 of 3 clusters outside their bounds" in shown
    assert " at least 2" in shown
    assert not any("at most" in one for one in shown)  # they differ


def test_bars_by_value():
    study = study_of(np.eye(6), [0, 1, 1, 1, 2, 2], bckm.Constraints(size_max=[1, 3, 2]))
    display = SizesDisplay.from_study(study, order="value")
    assert display.order_.tolist() == [1, 2, 0]
    assert [bar.get_height() for bar in display.bars_] == [3, 2, 1]
    assert [line[0][1] for line in display.bounds_["upper"].get_segments()] == [3, 2, 1]
    with pytest.raises(ValueError, match="order must be"):
        display.plot(order="size")


def test_exact_sizes_and_far_bounds_are_told():
    exact = bckm.Constraints(size_min=2, size_max=2)
    assert " exactly 2" in texts(SizesDisplay.from_study(study_of(np.eye(4), [0, 0, 1, 1], exact)))
    far = bckm.Constraints(capacities={"kg": bckm.Capacity([1, 1, 1], max=1e6)})
    display = SizesDisplay.from_study(study_of(np.eye(3), [0, 0, 1], far), "kg")
    assert " at most 1,000,000 ↑" in texts(display)
    assert display.ax_.get_ylim()[1] < 10


def test_shares_are_percent_and_an_unknown_name_lists_the_known():
    rules = bckm.Constraints(quotas=bckm.Quota("aabb", within=0.5, share_max=0.9, name="kind"))
    study = study_of(np.eye(4), [0, 0, 1, 1], rules)
    display = draw(SizesDisplay.from_study(study, "kind: a"))
    assert any(one.get_text() == "100 %" for one in display.ax_.get_yticklabels())
    assert [bar.get_height() for bar in display.bars_] == [1, 0]
    with pytest.raises(ValueError, match=r"'kg'.*'size', 'kind: a', 'kind: b'"):
        SizesDisplay.from_study(study, "kg")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("k", [2, 12, 50, 120])
def test_ticks_do_not_touch(k):
    display = draw(SizesDisplay.from_study(random_study(2 * k, 2, k)))
    boxes = [one.get_window_extent() for one in display.ax_.get_xticklabels()]
    assert len(boxes) >= 2
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    inside = draw(SilhouetteDisplay.from_study(random_study(2 * k, 2, k)))
    boxes = [one.get_window_extent() for one in inside.ax_.get_yticklabels()]
    assert all(not a.overlaps(b) for a, b in pairwise(boxes))


# ------------------------------------------------------------------ convergence


def a_course(**changed):
    known = {
        "iteration": np.arange(1, 5),
        "objective": np.array([9.0, 7.0, 6.0, 5.0]),
        "assigned": np.array([11.0, 8.0, 6.5, 5.0]),
        "bound": np.array([11.0, 7.5, 6.0, np.nan]),
        "optimal": np.array([True, False, False, False]),
        "kind": ("assign", "assign", "assign", "moves"),
        "seconds": np.array([0.1, 0.2, 0.3, 0.4]),
    }
    return views.Convergence(**{**known, **changed})


def test_steps_are_marked_by_what_they_prove():
    display = draw(ConvergenceDisplay({"inertia": a_course()}).plot())
    assert display.lines_[0].get_ydata().tolist() == [9, 7, 6, 5]
    assert display.lines_[0].get_markevery() == [0]
    assert display.open_[0].get_xdata().tolist() == [2, 3]
    assert display.moves_[0].get_xdata().tolist() == [4]
    hanging = [segment[:, 1].tolist() for segment in display.gaps_[0].get_segments()]
    assert hanging == [[6.5, 7.0], [5.5, 6.0]]  # as long as the gap, under the inertia
    assert display.ax_.get_title(loc="left") == "Inertia from 9 to 5 in 4 steps"
    display.plot(x="seconds", gaps=False)
    assert display.lines_[0].get_xdata().tolist() == [0.1, 0.2, 0.3, 0.4]
    assert display.gaps_ == []
    with pytest.raises(ValueError, match="x must be"):
        display.plot(x="time")


def test_several_courses_have_their_own_lines():
    other = a_course(objective=np.array([900.0, 70.0, 6.0, 4.0]))
    display = draw(ConvergenceDisplay({"a": a_course(), "b": other}).plot())
    assert [one.get_label() for one in display.lines_] == ["a", "b"]
    assert len({one.get_color() for one in display.lines_}) == 2
    assert len({one.get_marker() for one in display.lines_}) == 2
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_title(loc="left") == "Lowest: b, 4"
    assert display.gaps_ == []
    assert draw(display.plot(log=False)).ax_.get_yscale() == "linear"


def test_penalties_are_named():
    wish = bckm.Constraints(cannot_link=[(0, 1)]).soft(price=0.2)
    result = bckm.kmeans([[0.0], [1.0], [9.0]], 2, wish, random_state=0)
    assert ConvergenceDisplay.from_results(result).ax_.get_ylabel() == "inertia plus penalty"
    with pytest.raises(ValueError, match="no result"):
        ConvergenceDisplay.from_results([])


# ------------------------------------------------------------------ comparison, silhouettes


def test_both_sides_have_the_same_clusters_and_rules():
    X = np.r_[np.zeros((4, 2)), np.full((4, 2), 9.0)] + np.arange(16).reshape(8, 2) / 10
    rules = bckm.Constraints(must_link=[(0, 4)])
    before = study_of(X, [1, 1, 1, 1, 0, 0, 0, 0], title="before")
    after = study_of(X, [0, 0, 0, 0, 0, 1, 1, 1], rules, title="after")
    display = draw(ComparisonDisplay.from_studies(before, after))
    left, right = (side.scatter_ for side in (display.before, display.after))
    assert [len(one.get_offsets()) for one in left] == [4, 4]
    assert [len(one.get_offsets()) for one in right] == [5, 3]
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a.get_facecolor(), b.get_facecolor())
    assert display.before.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert list(display.before.links_) == [("together", False)]
    assert list(display.after.links_) == [("together", True)]
    assert display.before.note.endswith(", 1 violation")
    assert display.after.note.endswith(", no violation")
    assert display.axes_[0].get_title(loc="left") == "before"
    assert display.axes_[0].get_xlim() == display.axes_[1].get_xlim()
    assert [one.get_text() for one in display.figure_.legends[0].get_texts()] == [
        "should be together",
        "together, met",
    ]


def test_plain_kmeans_is_the_other_side_by_default():
    X = np.random.default_rng(0).normal(size=(40, 2))
    rules = bckm.Constraints(size_min=10, size_max=10)
    result = bckm.kmeans(X, 4, rules, random_state=3)
    study = bckm.Study.of(result, X, rules, settings={"seed": 3})
    display = ComparisonDisplay.from_study(study)
    plain = bckm.kmeans(X, 4, random_state=3)
    assert display.before.note.startswith(f"inertia {figures(plain.inertia)}, ")
    sizes = np.bincount(display.before.labels)
    np.testing.assert_array_equal(np.sort(sizes), np.sort(plain.sizes))


def test_other_numbers_of_clusters_can_be_compared_but_not_other_data():
    X = np.random.default_rng(0).normal(size=(30, 2))
    three = study_of(X, np.arange(30) % 3)
    display = draw(ComparisonDisplay.from_studies(study_of(X, np.arange(30) % 2), three))
    assert len(display.before.numbers_) == 2
    assert len(display.after.numbers_) == 3
    with pytest.raises(ValueError, match=r"\(29, 2\) and \(30, 2\)"):
        ComparisonDisplay.from_studies(study_of(X[1:], np.arange(29) % 3), three)
    with pytest.raises(ValueError, match="needs two axes"):
        display.plot(plt.subplots()[1])


def test_silhouettes_are_sorted_within_clusters():
    study = study_of([[0.0], [1.0], [5.0], [9.0], [10.0]], [0, 0, 0, 1, 1])
    display = draw(SilhouetteDisplay.from_study(study))
    values = views.silhouette(study).values
    assert display.mean_.get_xdata()[0] == pytest.approx(values.mean())
    corners = display.bands_[0].get_paths()[0].vertices[:, 0]
    assert corners.max() == pytest.approx(values[:3].max())
    assert f"Silhouette {values.mean():.2f} on average" in texts(display)
    some = SilhouetteDisplay.from_study(random_study(500), most=100)
    assert any("of 500 samples, chosen evenly" in one for one in texts(some))


# ------------------------------------------------------------------ helpers


def test_ticks_are_thinned_to_round_numbers():
    assert views.thinned(5, 25) == [0, 1, 2, 3, 4]
    assert views.thinned(50, 25)[:3] == [0, 2, 4]
    assert views.thinned(200, 25)[:3] == [0, 10, 20]
    assert views.thinned(1, 25) == [0]
    assert len(views.thinned(100_000, 25)) <= 25


@pytest.mark.parametrize(
    ("value", "told"),
    [(0, "0"), (12, "12"), (1234567.8, "1,234,568"), (0.012345, "0.01235"), (1e20, "1e+20")],
)
def test_figures(value, told):
    assert figures(value) == told


def test_a_comparison_stays_in_the_learned_space():
    X, rules = linked()
    result = bckm.kmeans(X, 3, rules, metric="learned", random_state=0)
    study = bckm.Study.of(result, X, rules)
    display = ComparisonDisplay.from_study(study)
    assert "k-means in the learned space" in display.axes_[0].get_title(loc="left")
    assert result.plot(X, rules).ax_.get_xlabel().startswith("learned component 1")
