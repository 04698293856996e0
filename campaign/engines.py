"""Engines step by step: transport against SciPy and its own proofs, all against brute force.

The cases are those of the tests, with seeds that the tests do not use.
"""

from __future__ import annotations

from campaign.part import Case, Part
from tests.assign import test_engines, test_transport

EACH = test_transport.BATCH + test_engines.BATCH
LARGE = 5  # one case in so many is a large one, too


def look(case: Case) -> None:
    """A batch of drawn steps of each kind; `number` counts on from the batches of the tests."""
    number = case.seed * 10_000 + case.number
    test_transport.test_drawn_instances_against_scipy(test_transport.BATCHES + number)
    test_engines.test_engines_against_brute_force(test_engines.BATCHES + number)
    case.count(PART.what, EACH)
    if case.number % LARGE == 0:
        test_transport.test_many_samples_are_proven_step_by_step(12 + number // LARGE)
        case.count("of 20,000 samples or more")


PART = Part("engines", "drawn steps", 5_000, look, each=EACH, chunk=2, limit=600)
