"""Searches that give up soon."""

import pytest

from bckm.fit.search import explore


@pytest.fixture
def hasty(monkeypatch):
    """A global search that gives up soon, where its quality does not matter."""
    monkeypatch.setattr(explore, "PATIENCE", 8)
