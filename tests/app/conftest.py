"""One real server for all tests."""

from __future__ import annotations

import pytest

from tests.app.server import running


@pytest.fixture(scope="session")
def served():
    with running() as found:
        yield found


@pytest.fixture
def client(served):
    return served[0]


@pytest.fixture
def session(served):
    return served[1]
