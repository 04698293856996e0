"""For everybody: fingers, keyboards, screen readers, small screens."""

from __future__ import annotations

import pytest

from tests.browser import acts

pytestmark = pytest.mark.browser
TARGETS = """() => [...document.querySelectorAll("button, input, select, summary, label")]
  .filter((one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
  .filter((one) => !one.matches(".unseen, label:not(.segment, .check), label input"))
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([one, { width, height }]) => Math.min(width, height) <
    (one.matches(".switch") ? 26 : one.matches(".link") && !one.matches(".cluster-name") ? 24 : 40))
  .map(([one, { width, height }]) => `${one.outerHTML.slice(0, 90)} ${width} x ${height}`)"""


def test_fingers_hit_what_they_mean(mocked):
    """At the width of a phone what is touched is 40 pixels wide and high, links in texts 24."""
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page, _ = mocked(None, **phone)
    assert page.evaluate(TARGETS) == []
    acts.open_table(page)
    assert page.evaluate(TARGETS) == []
    acts.go_to_rules(page, 9)
    for kind in ("size", "together", "forbidden"):
        acts.add_rule(page, kind)
    assert page.evaluate(TARGETS) == []
    page.locator("section[data-kind=size] input.amount").first.fill("3")
    acts.solve(page)
    page.click("[data-members='0']")
    assert page.evaluate(TARGETS) == []
    page.click("[data-step=take]")
    page.wait_for_selector("#command")
    assert page.evaluate(TARGETS) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_by_keyboard_alone(mocked):
    page, _ = mocked()
    acts.solved(page)
    page.locator(".map").first.focus()
    scale = page.evaluate("bckmMap.view.scale")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("bckmMap.view.scale") > scale
    page.keyboard.press("0")
    assert page.evaluate("bckmMap.view.scale") == scale
    page.keyboard.press("2")
    assert page.get_attribute("[data-step=rules]", "aria-current") == "step"
    page.focus("#add-rule")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("section[data-kind=capacity]").count() == 1


def test_a_move_by_keyboard_alone(mocked):
    """Arrows choose the group, Enter goes to what can be done, and the focus stays until then."""
    page, mock = mocked()
    acts.solved(page)
    page.click("[data-members='0']")
    page.locator(".mover").first.focus()
    for number in (1, 2):
        page.keyboard.press("ArrowDown")
        page.wait_for_selector("#move-cost")
        tried = [body for path, body in mock.calls if path == "/api/try"]
        assert len(tried) == number
        assert tried[-1]["moves"][0]["cluster"] == number
        assert page.evaluate("document.activeElement.className") == "mover"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "move-do"
    assert page.locator(".version").count() == 1  # not done yet
    page.click("#move-cancel")
    assert page.locator(".mover").first.input_value() == ""


def test_the_focus_is_never_lost(mocked):
    page, _ = mocked()
    focus = "() => document.activeElement.textContent"

    def on(text: str) -> None:
        page.wait_for_function(f"text => ({focus})() === text", arg=text)

    page.focus("[data-demo=vans]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#to-rules")
    on("Your table")
    page.focus("[data-remedy=mean]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".note.fine")
    on("Your table")
    page.focus("[data-step=rules]")
    page.keyboard.press("Enter")
    on("Rules")
    acts.go_to_rules(page, 9)
    page.focus("#to-solve")
    page.keyboard.press("Enter")
    on("Solve")
    page.focus("#solve")
    page.keyboard.press("Enter")
    page.wait_for_selector("#result")
    on("Solve again")


@pytest.mark.parametrize("step", ["open", "rules", "solve", "take"])
def test_every_control_has_a_name(mocked, step):
    page, _ = mocked()
    acts.solved(page)
    page.click("[data-step=rules]")
    for kind in ("size", "capacity", "together", "apart", "quota", "fixed", "forbidden", "stay"):
        acts.add_rule(page, kind)
    page.click(f"[data-step={step}]")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input:not([aria-hidden])")]
        .filter(one => one.offsetParent !== null)
        .filter(one => !(one.getAttribute("aria-label")
          || one.textContent.trim() && one.tagName === "BUTTON"
          || [...(one.labels ?? [])].some(label => label.textContent.trim())))
        .map(one => one.outerHTML)"""
    )
    assert nameless == []


@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_phone_width_has_nothing_beside_it(mocked, language):
    page, _ = mocked(None, viewport={"width": 360, "height": 740}, locale=language)
    acts.solved(page)
    for step in ("open", "rules", "solve", "take"):
        page.click(f"[data-step={step}]")
        wide = page.evaluate("document.scrollingElement.scrollWidth")
        inner = page.evaluate("document.getElementById('work').scrollWidth")
        assert (wide, inner) == (360, 360), step
    page.click("[data-step=solve]")
    assert _out_of(page, ".map-frame", ".tools button") == []
    german = page.evaluate("document.documentElement.lang") == "de"
    assert german == (language == "de-DE")


def test_the_tabs_of_the_groups_have_room(mocked):
    page, _ = mocked(None, viewport={"width": 1280, "height": 800}, locale="de-DE")
    acts.solved(page)
    page.evaluate(  # as many as may be
        "() => document.querySelectorAll('.tabs button').forEach(one => one.append(' 12.345'))"
    )
    assert _out_of(page, ".tabs", ".tabs button") == []


def _out_of(page, frame, parts):
    """Parts that are not wholly within a frame."""
    return page.evaluate(
        """([frame, parts]) => {
          const box = document.querySelector(frame).getBoundingClientRect();
          const all = [...document.querySelectorAll(parts)];
          if (all.length === 0) throw new Error("nothing to see");
          return all.filter(one => {
            const part = one.getBoundingClientRect();
            return part.right > box.right || part.left < box.left || part.bottom > box.bottom;
          }).map(one => one.textContent || one.title);
        }""",
        [frame, parts],
    )
