"""The whole way from drop to download with the real server, as two offices would go it."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import acts, stories
from tests.support.waiting import started

pytestmark = pytest.mark.browser


@pytest.fixture
def address() -> Iterator[str]:
    pytest.importorskip("starlette", reason="bckm[app] is not installed")
    pytest.importorskip("uvicorn", reason="bckm[app] is not installed")
    command = [sys.executable, "-m", "bckm", "app", "--no-browser"]
    with started(command, seconds=500, stderr=subprocess.PIPE, text=True) as server:
        for line in server.stderr:
            if found := re.search(r"http://\S+#token=\S+", line):
                yield found[0]
                break
        server.terminate()
        server.communicate(timeout=20)


def _dropped(page, name: str, data: bytes) -> None:
    """Drop a file on the page, as from the desktop."""
    page.evaluate(
        """([name, bytes]) => {
        const files = new DataTransfer();
        files.items.add(new File([new Uint8Array(bytes)], name));
        window.dispatchEvent(new DragEvent("drop", { dataTransfer: files, cancelable: true }));
        }""",
        [name, list(data)],
    )


def _saved(page, folder: Path, kind: str) -> Path:
    with page.expect_download() as found:
        page.click(f"[data-download='{kind}']")
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def _solve(page) -> None:
    page.click("#steps [data-step=solve]")
    page.select_option("#solve-time", "5")
    before = page.locator(".versions li").count()
    page.click("#solve")
    page.wait_for_function(
        "n => document.querySelectorAll('.versions li').length > n", arg=before, timeout=60_000
    )
    page.wait_for_selector("#result .note.fine")


def test_a_planner_with_180_stops(address, visit, tmp_path):
    page = visit(address)
    table, week = stories.stops()
    _dropped(page, "stops.xlsx", table)
    page.wait_for_selector("#to-rules")
    assert "row 4" in page.locator(".assumed").inner_text()
    assert page.locator("td.bad").inner_text() == "n/a"
    page.locator(".problem", has_text="kg:").get_by_text("Fill with the mean").click()
    page.wait_for_selector(".note.fine")
    page.wait_for_function("() => bckmMap.points?.n === 180 && bckmMap.points.kind === 'latlon'")

    acts.go_to_rules(page, 8)
    load = acts.add_rule(page, "capacity")
    load.locator("select").select_option("=kg")
    load.locator("input.amount").nth(1).fill("300")
    page.wait_for_selector(".verdict.infeasible", timeout=30_000)
    assert "hot" in load.get_attribute("class")
    load.locator("input.amount").nth(1).fill("800")
    page.wait_for_selector(".verdict.feasible", timeout=30_000)
    acts.add_rule(page, "together").locator("select").select_option("=Household")
    acts.add_rule(page, "size").locator("input.amount").nth(0).fill("15")
    stay = acts.add_rule(page, "stay")
    last = {"name": "last-week.csv", "mimeType": "text/csv", "buffer": week}
    stay.locator("input[type=file]").set_input_files(last)
    stay.get_by_text("178").wait_for()
    slider = stay.locator("input[type=range]")
    slider.focus()
    for _ in range(2):
        slider.press("ArrowLeft")
    page.wait_for_selector(".verdict.feasible", timeout=30_000)

    _solve(page)
    assert page.locator(".cluster").count() == 8
    assert page.locator(".bar.beyond").count() == 0
    labels = page.evaluate("Array.from(bckmMap.labels)")
    alone = next(i for i in range(30, 180) if labels.count(labels[i]) > 16)
    page.click(f"[data-members='{labels[alone]}']")
    identity = page.evaluate("i => bckmMap.points.ids[i]", alone)
    row = page.locator(".members tr", has_text=identity)
    row.locator("select").select_option(str((labels[alone] + 1) % 8))
    page.wait_for_selector("#move-cost")
    page.click("#move-keep")
    page.wait_for_selector("[data-version='2']")
    assert page.evaluate("i => bckmMap.labels[i]", alone) == (labels[alone] + 1) % 8
    page.click("#undo")
    page.wait_for_function("([i, was]) => bckmMap.labels[i] === was", arg=[alone, labels[alone]])
    page.click("#redo")
    page.check("#solve-few")
    _solve(page)
    assert page.evaluate("i => bckmMap.labels[i]", alone) == (labels[alone] + 1) % 8  # kept there

    page.click("#steps [data-step=take]")
    assert page.locator("#command").inner_text().startswith("bckm fit")
    assert zipfile.is_zipfile(_saved(page, tmp_path, "xlsx"))
    for kind in ("csv", "lists.html", "report.html"):
        assert "S-001" in _saved(page, tmp_path, kind).read_text("utf-8")
    assert "Van 1" in _saved(page, tmp_path, "rules.toml").read_text("utf-8")
    study = _saved(page, tmp_path, "study.bckm")
    now = page.evaluate("Array.from(bckmMap.labels)")
    page.click("#steps [data-step=open]")
    _dropped(page, study.name, study.read_bytes())
    page.wait_for_selector("#result")
    assert page.evaluate("Array.from(bckmMap.labels)") == now


def test_a_school_office_with_150_pupils(address, visit, tmp_path):
    page = visit(address, locale="de-DE")
    _dropped(page, "schueler.csv", stories.pupils())
    page.wait_for_selector("#to-rules")
    assert page.get_by_text("Jörg 0").count() > 0
    assert "Als Windows-Textdatei gelesen" in page.locator(".assumed").inner_text()
    page.click("#advise-mixed")
    page.wait_for_function("() => bckmMap.points !== null")
    acts.go_to_rules(page, 6, "5")
    size = acts.add_rule(page, "size")
    size.locator("input.amount").nth(0).fill("25")
    size.locator("input.amount").nth(1).fill("25")
    acts.add_rule(page, "quota").locator("select").nth(1).select_option("=Geschlecht")
    friends = acts.add_rule(page, "together")
    friends.get_by_text("Spalte nennt andere").click()
    friends.locator("select").select_option("=Freund")
    slider = friends.locator("input[type=range]")
    slider.focus()
    slider.press("ArrowLeft")
    acts.add_rule(page, "apart").locator("select").select_option("=Streit")
    page.wait_for_selector(".verdict.feasible", timeout=30_000)
    _solve(page)
    assert page.locator(".cluster").count() == 6
    sizes = page.evaluate("[0,1,2,3,4,5].map(k => bckmMap.labels.filter(one => one === k).length)")
    assert sizes == [25] * 6
    page.click("[data-tab=mixed]")
    assert page.locator(".dots").count() == 2
    lefts = page.evaluate("[...document.querySelectorAll('.dot')].map((one) => one.style.left)")
    off = [abs(float(left.rstrip("%")) - 48) for left in lefts]
    assert max(off) < 2  # percent of a line of two standard deviations
    page.click("#steps [data-step=take]")
    lists = _saved(page, tmp_path, "lists.html").read_text("utf-8")
    assert lists.count("Jörg") == 30
    assert zipfile.is_zipfile(_saved(page, tmp_path, "xlsx"))


def test_what_is_wrong_is_said_in_the_language_of_the_page(address, visit):
    page = visit(address, locale="de-DE")
    for name, data, words in (
        ("leer.csv", b"", "leer.csv ist leer"),
        ("zahlen.csv", b"1,2\n3,4\n", "enthält Zahlen ('1', '2') und keine Spaltennamen"),
        ("breit.csv", b"a,b\n1,2,3\n", "Zeile 2 von breit.csv hat 3 Zellen"),
        ("kaputt.xlsx", b"PK\x03\x04", "kaputt.xlsx ist beschädigt"),
        ("alt.bckm", b"nothing", "alt.bckm ist beschädigt"),
    ):
        _dropped(page, name, data)
        page.locator(".toast.wrong", has_text=words).wait_for()
    rows = [
        f"{'' if i == 7 else f'S{i}'};{i % 7};{i % 5};{'n/a' if i == 4 else i}" for i in range(40)
    ]
    _dropped(page, "tour.csv", "\n".join(["Nr;x;y;kg", *rows]).encode())
    page.locator(".problem", has_text="Zeile 9: jede Zeile braucht eine Kennung.").wait_for()
    assert page.locator("#setup-id").input_value() == "=Nr"  # although a cell is empty
    page.locator(".problem", has_text="Keine Zahl in 1 von 40 Zeilen: Zeile 6.").wait_for()
    page.click("[data-step=rules]")
    page.fill("#cluster-count", "80")
    page.locator(
        ".verdict", has_text="Aus 40 Zeilen lassen sich keine 80 Gruppen bilden."
    ).wait_for()
    page.fill("#cluster-count", "4")
    card = acts.add_rule(page, "size")
    card.locator("input.amount").nth(0).fill("20")
    card.locator("input.amount").nth(1).fill("10")
    said = "Gruppengröße: mindestens 20 ist mehr als höchstens 10."
    page.locator(".verdict", has_text=said).wait_for()
    assert "40 Zeilen in 4 Gruppen" in card.inner_text()
    load = acts.add_rule(page, "capacity")
    card.locator("input.amount").nth(0).fill("5")
    load.locator("select").select_option("=kg")
    load.locator("input.amount").nth(1).fill("10")
    said = "kg: 1 Zelle ist leer. Keine Zahl in 1 von 40 Zeilen: Zeile 6."
    page.locator(".verdict", has_text=said).wait_for()
    assert page.get_by_text("Nur auf Englisch").count() == 0


def test_two_tabs_do_not_lose_each_others_rules(address, visit):
    first = visit(address)
    first.click("[data-demo=vans]")
    first.wait_for_function("() => bckmMap.points !== null")
    first.click("[data-step=rules]")
    first.wait_for_selector(".verdict.feasible")
    second = visit(address)
    second.click("[data-step=rules]")
    second.wait_for_selector(".verdict.feasible")
    cards = second.locator("section[data-card]").count()

    with first.expect_response(lambda one: '"min":10' in (one.request.post_data or "")):
        acts.add_rule(first, "size").locator("input.amount").first.fill("10")
    first.wait_for_selector(".verdict[data-verdict=feasible]:not(.stale)")
    acts.add_rule(second, "size").locator("input.amount").nth(1).fill("40")
    second.get_by_text("This was changed in another window.").wait_for()
    there = second.locator("section[data-card]")
    second.wait_for_function(
        "() => document.querySelector('section:last-child input.amount')?.value === '10'"
    )
    assert there.count() == cards + 1
    with second.expect_response(lambda one: '"max":40' in (one.request.post_data or "")):
        there.last.locator("input.amount").nth(1).fill("40")
    first.click("[data-step=solve]")
    first.click("#solve")
    first.get_by_text("This was changed in another window.").wait_for()
