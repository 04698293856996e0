"""What the page does, step by step, against a server that only pretends."""

from __future__ import annotations

from itertools import product

import pytest

from tests.browser import acts
from tests.browser.mock import Mock
from tests.support.waiting import until

pytestmark = pytest.mark.browser
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{constructor.constructor('alert(1)')()}}",
    "javascript:alert(1)//</style></title>",
    "\u202egnp.exe \u0000 &amp; &#x3c;b&#x3e; ${alert(1)} `",
)


def test_a_problem_is_shown_where_it_is_and_mended_by_a_click(mocked):
    page, mock = mocked()
    acts.open_table(page)
    assert page.locator("td.bad").inner_text() == "n/a"
    page.click(".problem-text")
    page.wait_for_selector("td.bad.flash")
    page.click("[data-remedy=mean]")
    page.wait_for_selector(".note.fine")
    assert ("/api/reading", {"header_row": 4, "fills": {"kg": "mean"}}) in mock.calls
    page.locator("[data-column=kg]", has_text="1 filled").wait_for()
    assert page.locator("[data-column=kg] .hurts").count() == 0
    page.click("#take-back")
    page.wait_for_function("() => document.getElementById('take-back') === null")
    assert ("/api/reading", {"header_row": 4}) in mock.calls


def test_a_guess_follows_the_reading_until_somebody_chooses(mocked):
    mock = Mock()
    mock.commas = True
    page, _ = mocked(mock)
    acts.open_table(page)
    page.wait_for_function("() => bckmMap.points !== null")
    assert mock.setup["position"]["columns"] == ["kg"]
    page.click("[data-remedy=decimal]")
    page.wait_for_selector(".note.fine")
    position = {
        "kind": "plane",
        "columns": ["x_km", "y_km"],
        "scale": "none",
        "missing": "error",
    }
    until(lambda: mock.setup["position"] == position, "the new guess")
    page.select_option("#setup-name", "")
    until(lambda: mock.setup["name"] is None, "the choice")


def test_a_card_that_is_not_finished_says_so(mocked):
    page, _ = mocked()
    acts.open_table(page)
    acts.go_to_rules(page, 9)
    card = acts.add_rule(page, "stay")
    assert card.locator(".open-badge").is_visible()
    page.get_by_text("1 rule is not finished").wait_for()


def test_a_conflict_marks_cards_and_points_and_offers_remedies(mocked):
    page, _ = mocked()
    acts.open_table(page)
    acts.go_to_rules(page, 9)
    card = acts.add_rule(page, "size")
    card.locator("input.amount").nth(1).fill("12")
    page.wait_for_selector(".verdict.infeasible")
    assert "hot" in card.get_attribute("class")
    assert page.evaluate("[...bckmMap.marked]") == [0, 1]
    page.click("[data-step=solve]")
    page.get_by_text("The rules cannot all hold at once.").wait_for()
    assert page.is_disabled("#solve")
    page.click("[data-step=rules]")
    page.click(".verdict .remedies button")
    page.wait_for_selector(".verdict.feasible")
    assert page.locator("section[data-kind=size] input.amount").nth(1).input_value() == "20"
    assert page.evaluate("bckmMap.marked.size") == 0
    page.click("[data-step=solve]")
    assert page.is_enabled("#solve")


@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_amounts_are_read_as_the_language_writes_them(mocked, language):
    page, mock = mocked(None, locale=language)
    acts.open_table(page)
    acts.go_to_rules(page, 9)
    card = acts.add_rule(page, "capacity")
    card.locator("select").select_option("=kg")
    points, commas = (2.5, 2500) if language == "en-US" else (2500, 2.5)
    for text, amount in (
        ("2.500", points),
        ("2,500", commas),
        ("2.5", 2.5),
        ("2,5", 2.5),
        ("0.500", 0.5),
        ("1.234.567", 1234567),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("2 500", 2500),
    ):
        with page.expect_request("**/api/rules"):
            card.locator("input.amount").nth(1).fill(text)
        page.wait_for_selector(".verdict.feasible")
        sent = [body for path, body in mock.calls if path == "/api/rules"][-1]
        assert sent["cards"][0]["keys"]["max"] == amount, text


def test_notes_are_in_the_language_of_the_page(mocked):
    page, _ = mocked(None, locale="de-DE")
    acts.open_table(page)
    assert "Spaltennamen stehen in Zeile 4" in page.locator(".assumed").inner_text()
    said = page.evaluate(
        """async notes => {
          const main = document.querySelector("script[type=module]").src;
          const { noteWords } = await import(new URL("rules/words.js", main).href);
          return notes.map(noteWords);
        }""",
        [
            {"text": "-", "key": "filled", "values": {"n": 1000, "column": "kg", "value": 1234.56}},
            {"text": "nobody knows", "key": "unheard", "values": {}},
            {"text": "only text"},
        ],
    )
    assert said[0] == "kg: 1.000 Zellen wurden mit 1.234,56 gefüllt."
    assert said[1:] == ["nobody knows", "Nur auf Englisch: only text"]


def test_what_is_not_understood_is_said_and_no_verdict_stands(mocked):
    page, mock = mocked()
    acts.open_table(page)
    acts.go_to_rules(page, 9)
    card = acts.add_rule(page, "size")
    most = card.locator("input.amount").nth(1)
    most.fill("30")
    page.wait_for_selector(".verdict.feasible")
    before = len(mock.calls)
    for text, said in (("abc", "“abc” (at most) is not"), ("1,5", "“1,5” (at most) is no whole")):
        most.fill(text)
        page.locator(".verdict.incomplete", has_text=said).wait_for()
        assert most.get_attribute("aria-invalid") == "true"
    most.fill("40")
    page.wait_for_selector(".verdict.feasible")
    for text, said in (("2.5", "“2.5” (How many groups?)"), ("", "Say how many groups")):
        page.fill("#cluster-count", text)
        page.locator(".verdict.incomplete", has_text=said).wait_for()
    asked = [body for path, body in mock.calls[before:] if path == "/api/rules"]
    assert [one["cards"][0]["keys"] for one in asked] == [{"max": 40}]
    page.fill("#cluster-count", "8")
    page.wait_for_selector(".verdict.feasible")


def test_typing_quickly_asks_once(mocked):
    page, mock = mocked()
    acts.open_table(page)
    acts.go_to_rules(page, 9)
    card = acts.add_rule(page, "capacity")
    card.locator("select").select_option("=kg")
    page.wait_for_selector(".verdict.feasible")
    before = len(mock.calls)
    card.locator("input.amount").nth(1).evaluate(
        """(field) => {
        for (const key of "123456") {
          field.value += key;
          field.dispatchEvent(new Event("input", { bubbles: true }));
        }
        }"""
    )
    page.wait_for_selector(".verdict.feasible")
    asked = [body for path, body in mock.calls[before:] if path == "/api/rules"]
    assert [one["cards"][0]["keys"] for one in asked] == [{"column": "kg", "max": 123456}]


def test_cards_say_what_the_server_reads(mocked):
    page, mock = mocked()
    acts.open_table(page)
    page.wait_for_function("() => bckmMap.points !== null")
    acts.go_to_rules(page, 3)
    acts.add_rule(page, "together").locator("select").select_option("=household")
    apart = acts.add_rule(page, "apart")
    apart.get_by_text("single ones").click()
    apart.locator("button", has_text="Click on the map").click()
    for sample in (30, 60):
        page.mouse.click(*acts.pixel(page, sample))
    page.click(".banner button")
    slider = apart.locator("input[type=range]")
    slider.focus()
    slider.press("ArrowLeft")
    assert "wish" in apart.locator(".strength-word").inner_text()
    fixed = acts.add_rule(page, "fixed")
    fixed.locator(".entry").fill("S-007")
    fixed.locator(".entry").press("Enter")
    fixed.locator("select").last.select_option("Van 2")
    quota = acts.add_rule(page, "quota")
    quota.locator("select").nth(1).select_option("=household")
    stay = acts.add_rule(page, "stay")
    last_week = {"name": "last.csv", "mimeType": "text/csv", "buffer": b"stop,van\n"}
    stay.locator("input[type=file]").set_input_files(last_week)
    stay.get_by_text("178").wait_for()
    stay.locator("input.amount").fill("5")
    page.wait_for_selector(".verdict.feasible")
    sent = [body for path, body in mock.calls if path == "/api/rules"][-1]
    assert sent["clusters"] == {"count": 3, "names": ["Van 1", "Van 2", "Van 3"]}
    assert [(card["kind"], card["keys"], card["strength"]) for card in sent["cards"]] == [
        ("together", {"column": "household"}, "must"),
        ("apart", {"ids": ["S-031", "S-061"]}, "strong"),
        ("fixed", {"ids": ["S-007"], "cluster": "Van 2"}, "must"),
        ("quota", {"column": "household", "within": 0.1}, "must"),
        ("stay", {"file": "file1", "at_most": 5}, "must"),
    ]


def test_stopping_keeps_the_best(mocked):
    mock = Mock()
    mock.seconds = 30
    page, _ = mocked(mock)
    acts.open_table(page)
    page.wait_for_function("() => bckmMap.points !== null")
    acts.go_to_rules(page, 9)
    page.click("[data-step=solve]")
    page.click("#solve")
    page.wait_for_selector("#progress")
    page.wait_for_function("() => bckmMap.labels !== null")  # the picture follows
    assert page.evaluate("() => document.activeElement.id") == "stop"
    page.evaluate("() => (document.getElementById('stop').dataset.same = 'yes')")
    page.wait_for_timeout(5000)  # there is more news by then
    assert page.get_attribute("#stop", "data-same") == "yes"
    page.click("#stop")
    page.wait_for_selector("#result")
    assert ("/api/stop", {}) in mock.calls


def test_a_point_is_dragged_kept_and_brought_back(mocked):
    page, mock = mocked()
    acts.solved(page)
    labels = page.evaluate("Array.from(bckmMap.labels)")
    other = next(i for i, label in enumerate(labels) if label != labels[0])
    page.click("#tool-move")
    acts.drag(page, acts.pixel(page, 0), acts.pixel(page, other))
    page.wait_for_selector("#move-cost")
    assert "Van 3 is too full" in page.locator(".change").inner_text()
    page.click("#move-keep")
    page.wait_for_selector("[data-version='2']")
    move = {"sample": 0, "cluster": labels[other]}
    assert ("/api/change", {"version": 1, "moves": [move], "keep": True}) in mock.calls
    assert page.evaluate("bckmMap.labels[0]") == labels[other]
    page.locator(".map").first.focus()
    page.keyboard.press("Control+z")
    page.wait_for_function("() => bckmMap.labels[0] === " + str(labels[0]))
    page.click("#redo")
    page.wait_for_function("() => bckmMap.labels[0] === " + str(labels[other]))


def test_a_lasso_moves_many(mocked):
    page, mock = mocked()
    acts.solved(page)
    box = page.locator(".map").first.bounding_box()
    left, top = box["x"] + 60, box["y"] + 20
    right, bottom = box["x"] + box["width"] - 80, box["y"] + box["height"] * 0.5
    page.click("#tool-lasso")
    acts.drag(page, (left, top), (right, top), (right, bottom), (left, bottom), (left, top))
    page.select_option("#move-to", "2")
    page.wait_for_selector("#move-cost")
    moves = next(body for path, body in mock.calls if path == "/api/try")["moves"]
    assert len(moves) > 10
    assert {move["cluster"] for move in moves} == {2}
    page.keyboard.press("Escape")
    assert page.locator(".change").is_hidden()


def test_two_versions_side_by_side(mocked):
    page, _ = mocked()
    acts.solved(page)
    page.click("[data-members='0']")
    page.locator(".mover").first.select_option("3")
    page.click("#move-do")
    page.wait_for_selector("[data-version='2']")
    for box in page.locator(".versions input").all():
        box.check()
    page.get_by_text("1 row differs").wait_for()
    assert page.locator(".twin .map").count() == 2


def test_what_went_wrong_is_gone_when_something_else_is_tried(mocked):
    page, _ = mocked()
    acts.solved(page)
    wrong = {"name": "b.geojson", "mimeType": "", "buffer": b"{}"}
    page.set_input_files("input[data-open=outlines]", wrong)
    page.wait_for_selector(".toast.wrong")
    page.click("#solve")
    page.wait_for_selector("[data-version='2']")
    assert page.locator(".toast").count() == 0


def test_the_list_of_versions_stays_in_its_panel(mocked):
    mock = Mock()
    mock.note = {"text": "few changes against a version with a very long name, and more words yet"}
    page, _ = mocked(mock)
    acts.solved(page)
    panel, line = page.locator("#panel"), page.locator(".versions li")
    right = [one.bounding_box()["x"] + one.bounding_box()["width"] for one in (panel, line)]
    assert right[1] <= right[0]


def test_outlines_are_drawn_and_others_refused(mocked):
    page, mock = mocked()
    line = b'{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[9,9],[0,9]]]}}'
    outlines = {"name": "a.geojson", "mimeType": "", "buffer": line}
    page.set_input_files("input[data-open=table] >> nth=0", outlines)
    page.get_by_text("a.geojson holds outlines of a map and no table").wait_for()
    assert "/api/open" not in [path for path, _ in mock.calls]
    acts.solved(page)
    place = "input[data-open=outlines]"
    page.set_input_files(place, outlines)
    page.wait_for_function("() => bckmMap.outlines.length === 1")
    page.set_input_files(place, {"name": "b.geojson", "mimeType": "", "buffer": b"{}"})
    page.get_by_text("b.geojson holds no outlines").wait_for()
    page.click("#outlines")  # takes them away
    page.wait_for_function("() => bckmMap.outlines.length === 0")
    far = b'{"type":"LineString","coordinates":[[900,900],[999,1e300]]}'
    page.set_input_files(place, {"name": "far.geojson", "mimeType": "", "buffer": far})
    page.get_by_text("far.geojson lies elsewhere").wait_for()
    many = b",".join([b'{"geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]}}'] * 200_000)
    file = {"name": "many.geojson", "mimeType": "", "buffer": b'{"features":[' + many + b"]}"}
    page.set_input_files(place, file)
    page.wait_for_function("() => bckmMap.outlines.length === 200_000")
    assert page.get_attribute("#outlines", "aria-pressed") == "true"
    page.click("[data-step=open]")
    acts.open_table(page)  # of other points
    page.wait_for_selector("#outlines[aria-pressed=false]", state="attached")


def test_files_are_saved(mocked):
    page, _ = mocked()
    acts.solved(page)
    page.click("[data-step=take]")
    for kind in ("xlsx", "csv", "lists.html", "report.html", "rules.toml", "study.bckm"):
        with page.expect_download() as found:
            page.click(f"[data-download='{kind}']")
        assert found.value.suggested_filename == f"stops.{kind}"


@pytest.mark.parametrize("say", HOSTILE)
def test_hostile_text_is_text(mocked, say):
    page, _ = mocked(Mock(say=say))
    acts.solved(page)
    page.click("[data-members='0']")
    page.mouse.move(*acts.pixel(page, 3))
    page.locator(".mover").first.select_option("3")
    page.wait_for_selector("#move-cost")
    page.click("#move-do")
    page.wait_for_selector("[data-version='2']")
    for box in page.locator(".versions input").all():
        box.check()
    page.wait_for_selector(".differs li")
    for tab in ("given", "moved"):
        page.click("#compare-close") if page.locator("#compare-close").is_visible() else None
        page.click(f"[data-tab={tab}]")
    assert page.locator("#alerts script, .cluster img, main script").count() == 0


def test_200_hostile_names_are_shown_as_they_are(mocked):
    marks = ("<", ">", "&", '"', "'", "`", "\\", "{{", "${", "%s")
    bodies = ("b onclick=alert(1)", "svg/onload=alert(1)", "script src=//x", "/title", "!--")
    names = [f"{mark}{body}{i}>" for i, (mark, body) in enumerate(product(marks, bodies * 4))]
    mock = Mock(n=200)
    mock.ids = mock.columns["stop"] = names
    page, _ = mocked(mock)
    acts.solved(page, 4)
    for i in range(4):
        page.click(f"[data-members='{i}']")
        page.wait_for_selector(f"[data-cluster='{i}'] tbody tr")
    shown = page.locator(".members tbody th").all_text_contents()
    assert sorted(shown) == sorted(names)


def test_the_language_is_remembered(mocked):
    page, _ = mocked()
    page.select_option("#language", "de")
    page.get_by_text("Alles bleibt auf diesem Rechner", exact=True).wait_for()
    assert page.locator("#steps button").first.inner_text().split() == ["1", "Öffnen"]


def test_without_the_token_nothing_is_shown(visit, mocked):
    page, _ = mocked()
    other = visit(page.url.partition("#")[0])
    other.get_by_text("open the page from the terminal").wait_for()
