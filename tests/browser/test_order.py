"""Answers that come late: nothing is overtaken, nobody is called back, nothing typed is lost."""

from __future__ import annotations

import threading

import pytest

from tests.browser import acts
from tests.browser.mock import Mock
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def _held(mock, path):
    """Hold the next answer of an address back; it leaves when what is returned is set."""
    mock.late[path] = threading.Event()
    return mock.late[path]


def _asked(mock, path):
    """What was sent to an address."""
    return [body for one, body in list(mock.calls) if one == path]


def _quiet(page):
    """Wait until the page has heard all that it asked for."""
    page.wait_for_selector("#busy.resting", state="attached")


def test_who_has_gone_on_is_not_called_back(mocked):
    page, mock = mocked()
    versions = _held(mock, "/api/versions")
    acts.open_table(page)
    page.click("[data-step=rules]")
    versions.set()
    _quiet(page)
    assert page.get_attribute("[data-step=rules]", "aria-current") == "step"


def test_a_late_answer_brings_no_earlier_state_back(mocked):
    mock = Mock()
    first = _held(mock, "/api/state")
    page, _ = mocked(mock)
    page.set_input_files("input[data-open=table] >> nth=0", acts.TABLE)
    page.wait_for_timeout(300)  # time to overtake
    first.set()
    page.wait_for_selector("#to-rules")
    _quiet(page)
    assert page.is_enabled("[data-step=rules]")
    assert page.locator(".file-name").inner_text() == "stops.csv"


def test_remedies_that_are_clicked_quickly_add_up(mocked):
    page, mock = mocked()
    acts.open_table(page)
    _quiet(page)
    first = _held(mock, "/api/reading")
    page.click("[data-remedy=mean]")
    page.click("[data-remedy=drop]")
    first.set()
    page.wait_for_selector(".note.fine")
    _quiet(page)
    both = {"header_row": 4, "fills": {"kg": "mean"}, "drop_rows": [9]}
    assert _asked(mock, "/api/reading")[1:] == [both]


def test_what_is_typed_stays_when_a_state_comes(mocked):
    page, mock = mocked()
    acts.open_table(page)
    page.wait_for_function("() => bckmMap.points !== null")
    acts.go_to_rules(page, 7)
    answer = _held(mock, "/api/rules")
    page.fill("#cluster-count", "8")
    until(lambda: mock.rules["clusters"]["count"] == 8, "the server has heard of it")
    page.fill("#cluster-count", "9")
    page.evaluate("async () => (await import('/static/actions.js')).reload()")
    answer.set()
    page.wait_for_selector(".verdict.feasible")
    assert page.input_value("#cluster-count") == "9"
    assert mock.rules["clusters"]["count"] == 9


def test_a_verdict_is_about_what_is_there_now(mocked):
    page, mock = mocked()
    acts.open_table(page)
    page.wait_for_function("() => bckmMap.points !== null")
    acts.go_to_rules(page, 7)
    answer, before = _held(mock, "/api/rules"), len(_asked(mock, "/api/rules"))
    page.fill("#cluster-count", "8")
    until(lambda: mock.rules["clusters"]["count"] == 8, "the server has heard of it")
    page.click("[data-step=open]")
    page.select_option("#setup-name", "")
    until(lambda: mock.setup["name"] is None, "the setup has changed")
    page.click("[data-step=rules]")
    answer.set()
    page.wait_for_selector(".verdict.feasible")
    assert len(_asked(mock, "/api/rules")) == before + 2


def test_the_version_that_was_clicked_last_is_shown(mocked):
    page, mock = mocked()
    acts.solved(page)
    page.click("#solve")
    page.wait_for_selector("[data-version='2'][aria-current=true]")
    page.reload()  # what is known is forgotten
    page.wait_for_selector("[data-version='2'][aria-current=true]")
    first = _held(mock, "/api/version/1")
    page.click("[data-version='1']")
    page.click("[data-version='2']")
    first.set()
    _quiet(page)
    assert page.get_attribute("[data-version='2']", "aria-current") == "true"


def test_what_is_chosen_stays_when_the_guess_is_answered(mocked):
    mock = Mock()
    guess = _held(mock, "/api/setup")
    page, _ = mocked(mock)
    acts.open_table(page)
    until(lambda: mock.setup is not None, "the guess")
    page.click("input[value=features]")
    chosen = _held(mock, "/api/setup")
    page.wait_for_timeout(400)  # the choice is on its way
    guess.set()
    until(lambda: mock.setup["position"]["kind"] == "features", "the choice")
    assert page.is_checked("input[value=features]")  # not the guess, which was answered meanwhile
    chosen.set()
    page.wait_for_function("() => bckmMap.points !== null")
    assert page.is_checked("input[value=features]")


@pytest.mark.parametrize("where", ["[data-step=rules]", "[data-remedy=mean]"])
def test_a_click_counts_although_something_is_drawn_meanwhile(mocked, where):
    mock = Mock()
    guess = _held(mock, "/api/setup")
    page, _ = mocked(mock)
    acts.open_table(page)
    page.hover(where)
    page.mouse.down()
    guess.set()
    page.wait_for_timeout(300)  # the answer has come
    page.mouse.up()
    if "step" in where:
        page.wait_for_selector("[data-step=rules][aria-current=step]")
    else:
        page.wait_for_selector(".note.fine")
    page.wait_for_function("() => bckmMap.points !== null")
