"""A page in the system's Chromium; it fails where the page, or its policy, complains."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.mock import Mock, serve

NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE = {"width": 1440, "height": 860}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed (try: make test-browser)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_api.sync_playwright() as tool:
        found = tool.chromium.launch(executable_path=path, args=["--no-sandbox"] if root else [])
        yield found
        found.close()


def _complaint(message: Any) -> bool:
    """An error; that the server refused something is shown on the page, and none."""
    refused = "the server responded with a status of 4"
    return message.type == "error" and refused not in message.text


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page; in the end nothing may have been written to its console."""
    contexts, said = [], []

    def open_page(url: str, **options: Any) -> Any:
        given = {"viewport": WIDE, "locale": "en-US", "color_scheme": "light", **options}
        contexts.append(browser.new_context(**given))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda one: said.append(one.text) if _complaint(one) else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


@pytest.fixture
def mocked(visit: Callable[..., Any]) -> Iterator[Callable[..., tuple[Any, Mock]]]:
    """Open the page of a server that only pretends."""
    servers = []

    def open_mock(mock: Mock | None = None, **options: Any) -> tuple[Any, Mock]:
        mock = mock or Mock()
        server, url = serve(mock)
        servers.append(server)
        return visit(url, **options), mock

    yield open_mock
    for server in servers:
        server.shutdown()
        server.server_close()
