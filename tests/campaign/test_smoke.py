"""A few cases of each part, so that the campaign is ready when it is wanted."""

import pytest

from campaign import kills, limits
from campaign.runner import PARTS, look_at, part_of

# engines and slow tests are tests themselves; of others the first cases that are quick
CASES = {
    "labels": [0, 1],
    "assignments": [1, 4],
    "conflicts": [*range(5)],
    "kills": [0],
    "files": [*range(32)],
    "hostile": [205],
    "scale": [1],
    "memory": [0],
    "threads": [0],
    "limits": [0],
}
LONG = {"kills", "memory", "threads"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name in LONG)) for name in CASES]
)
def test_some_cases_hold(name, monkeypatch):
    monkeypatch.setattr(kills, "EACH", 2)
    monkeypatch.setattr(limits, "LIMITS", (0.0,))
    part = part_of(name)
    for number in CASES[name]:
        counts, wrong = look_at(part, 0, number)
        assert wrong is None, wrong
        assert counts[part.what] > 0


def test_every_part_is_known():
    assert set(CASES) == set(PARTS) - {"engines", "slow"}
    for name in PARTS:
        assert part_of(name).name == name
        assert part_of(name).cases() * part_of(name).each >= part_of(name).count
