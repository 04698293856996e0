"""Memory is asked for before it is taken."""

import numpy as np
import pytest

from bckm import Constraints, kmeans
from bckm._core import memory as _memory


@pytest.fixture
def nearly_full(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: 21 * 10**9)


def test_too_much_is_refused_with_numbers_and_a_remedy(nearly_full):
    message = (
        r"needs about 38\.2 GB for the 10 × 5 table; 21\.0 GB are available\. Buy a smaller table\."
    )
    with pytest.raises(MemoryError, match=message):
        _memory.require(int(38.2e9), "the 10 × 5 table", "Buy a smaller table.")
    _memory.require(20 * 10**9, "", "")


def test_nothing_known_means_no_check(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: None)
    _memory.require(10**18, "", "")


def test_data_and_matrices_are_asked_for(monkeypatch):
    monkeypatch.setattr(_memory, "NEGLIGIBLE", 0)
    X = np.random.default_rng(0).normal(size=(1000, 4))
    asked = Constraints(cannot_link=[(0, 1)], size_max=100)
    monkeypatch.setattr(_memory, "available", lambda: 90_000)
    with pytest.raises(MemoryError, match=r"a copy of the 1,000 × 4 data.*Pass fewer"):
        kmeans(X, 20, asked)
    monkeypatch.setattr(_memory, "available", lambda: 400_000)
    with pytest.raises(MemoryError, match=r"the 1,000 × 20 cost matrix.*fewer samples or clusters"):
        kmeans(X, 20, asked, solver="exact")
    monkeypatch.setattr(_memory, "available", lambda: 500_000)
    kmeans(X, 20, asked, solver="greedy", max_iter=1)


def test_the_system_is_read(tmp_path, monkeypatch):
    assert _memory.available() is None or _memory.available() > 0
    for group, names in (
        ("two", ("memory.max", "memory.current", "inactive_file")),
        ("one", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")),
    ):
        folder = tmp_path / group
        folder.mkdir()
        (folder / names[0]).write_text("1000\n")
        (folder / names[1]).write_text("700\n")
        (folder / "memory.stat").write_text(f"anon 5\n{names[2]} 50\n")
        assert _memory._free_of_group(folder) == 350
        (folder / names[0]).write_text("max\n")
        assert _memory._free_of_group(folder) is None
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   12 kB\n")
    assert _memory._field(tmp_path / "meminfo", "MemAvailable:") == 12
    assert _memory._field(tmp_path / "missing", "MemAvailable:") is None


def test_the_tightest_limit_counts(monkeypatch):
    monkeypatch.setattr(_memory, "_free_of_system", lambda: 500)
    monkeypatch.setattr(_memory, "_groups", lambda: [300, None, 400])
    monkeypatch.setattr(_memory, "_free_of_group", lambda free: free)
    assert _memory.available() == 300
