"""The tests that are marked slow, as pytest runs them."""

from __future__ import annotations

import re
import subprocess
import sys

from campaign.part import Case, Part
from campaign.summary import ROOT


def look(case: Case) -> None:
    """All of them in one process."""
    words = ["-q", "-m", "slow", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    case.count(PART.what, int(passed[1]) if passed else 0)
    assert done.returncode == 0, done.stdout[-3000:]


PART = Part("slow", "slow tests", 1, look, chunk=1, limit=1200)
