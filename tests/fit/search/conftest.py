"""Searches that give up soon."""

import pytest

from tests.support.searching import give_up_soon


@pytest.fixture
def hasty(monkeypatch):
    """A global search that gives up soon, where its quality does not matter."""
    give_up_soon(monkeypatch, patience=8)
