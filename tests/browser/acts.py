"""What a person does on the page."""

from __future__ import annotations

from typing import Any

TABLE = {"name": "stops.csv", "mimeType": "text/csv", "buffer": b"stop\n1\n"}


def open_table(page: Any, file: Any = None) -> None:
    page.set_input_files("input[data-open=table] >> nth=0", file or TABLE)
    page.wait_for_selector("#to-rules")


def add_rule(page: Any, kind: str) -> Any:
    """Add a card of a kind; the card."""
    page.click("#add-rule")
    page.click(f".kind[data-kind={kind}]")
    return page.locator(f"section[data-kind={kind}]").last


def go_to_rules(page: Any, count: int, word: str = "Van") -> None:
    page.click("[data-step=rules]")
    page.fill("#cluster-count", str(count))
    page.fill("#cluster-word", word)
    page.wait_for_selector(".verdict.feasible")


def solve(page: Any) -> None:
    page.click("[data-step=solve]")
    page.click("#solve")
    page.wait_for_selector("#result", timeout=60_000)


def solved(page: Any, count: int = 9) -> None:
    open_table(page)
    page.wait_for_function("() => window.bckmMap.points !== null")
    go_to_rules(page, count)
    solve(page)


def pixel(page: Any, sample: int) -> tuple[float, float]:
    """Where a sample is on the screen."""
    x, y = page.evaluate(
        "i => { const box = bckmMap.host.getBoundingClientRect(); const [x, y] = bckmMap.pixel(i);"
        " return [x + box.left, y + box.top]; }",
        sample,
    )
    return x, y


def drag(page: Any, *places: tuple[float, float]) -> None:
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=6)
    page.mouse.up()
