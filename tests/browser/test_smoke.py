"""The quick look at the page in `make test`; everything else is in `make test-browser`."""

from __future__ import annotations

from tests.browser import acts


def test_from_a_table_to_clusters(mocked):
    page, mock = mocked()
    acts.solved(page)
    assert page.locator(".cluster").count() == 9
    assert page.locator(".cluster-name").first.inner_text() == "Van 1"
    page.click("[data-step=take]")
    page.wait_for_selector("#command")
    assert "token" not in page.url
    setup = next(body for path, body in mock.calls if path == "/api/setup")
    assert (setup["id"], setup["position"]["columns"]) == ("stop", ["x_km", "y_km"])
