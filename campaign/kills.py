"""`kill -9` at random moments while files are saved and while fits keep checkpoints.

Each case starts `tests.support.killed_writers` as a process of its own, which forks its victims:
what they leave is the old file or the new one, whole, and a fit that goes on ends like one that was
left alone.
"""

from __future__ import annotations

import json
import subprocess
import sys

from campaign.part import Case, Part

EACH = 25


def look(case: Case) -> None:
    """Kill so many savers or fits."""
    what = ("save", "fit")[case.number % 2]
    seed = int(case.rng.integers(2**31))
    command = [sys.executable, "-m", "tests.support.killed_writers", what, str(EACH), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    case.count(PART.what, counts["killed"])
    case.count("in the middle of writing", counts["writing"])
    assert counts["killed"] >= EACH
    assert counts["old or new"] >= EACH, counts
    if what == "fit":
        case.count("fits that went on to the end", counts["fits"])
        assert counts["equal"] == counts["fits"] > 0, counts


PART = Part("kills", "kills", 1_000, look, each=EACH, chunk=1, limit=300)
