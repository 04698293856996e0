"""A part of a campaign in which things go wrong: for the tests of the runner."""

import os
import time

from campaign.part import Case, Part


def look(case: Case) -> None:
    case.count("cases that go wrong")
    if case.number == 1:
        raise ValueError(f"drawn {case.rng.integers(1000)}")
    if case.number == 3:
        time.sleep(100)
    if case.number == 5:
        os._exit(9)


PART = Part("tests.campaign.breaking", "cases that go wrong", 8, look, chunk=2, limit=1)
