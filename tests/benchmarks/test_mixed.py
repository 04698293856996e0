"""The benchmark of rules together: its instances can be met, its checker sees what is broken."""

from __future__ import annotations

import numpy as np
import pytest

import bckm
from benchmarks.mixed.families import INSTANCES, chosen
from benchmarks.mixed.quality import main, table


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["a2", "c1", "d1"])
def test_checker_agrees_with_the_library(name):
    instance = INSTANCES[name](5)
    rules, rng = instance.constraints(), np.random.default_rng(0)
    labels = bckm.kmeans(instance.X, instance.k, rules, search="none", random_state=0).labels
    assert instance.broken(labels) == []
    for _ in range(20):
        other = labels.copy()
        moved = rng.integers(len(other), size=2)
        other[moved] = other[moved[::-1]] if rng.random() < 0.5 else rng.integers(instance.k)
        assert bool(instance.broken(other)) == bool(bckm.verify(other, instance.k, rules))


def test_families_by_letter_or_name():
    assert set(chosen(["a"])) == {f"a{number}" for number in range(1, 8)}
    assert "f1" not in chosen([])
    with pytest.raises(ValueError, match="z9"):
        chosen(["z9"])


@pytest.mark.full
def test_quality_is_measured(tmp_path):
    assert main(["--only", "a2", "--out", str(tmp_path), "--best", str(tmp_path / "best")]) == 0
    assert "a2" in (tmp_path / "mixed-quality-1000.md").read_text(encoding="utf-8")


def test_table_tells_failures():
    row = {"instance": "a1", "search": "auto", "limit": None, "seed": 0, "version": "now"}
    assert "stopped" in table([row | {"failed": "stopped after 1 s"}], {})[-1]
