"""Of some tests `make test` runs a sample of the cases, and `make test-full` the others."""

from __future__ import annotations

import os
from collections import defaultdict
from random import Random

import pytest

# Workers run side by side on all cores: more threads in each of them would only wait for each
# other. NumPy and scikit-learn read this when they are imported; the kernels have n_jobs.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `full` what is beyond the sample of each test that is marked `sampled`."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "sampled" in marks and not marks & {"full", "slow"}:
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, cases in tests.items():
        (number,) = cases[0].get_closest_marker("sampled").args
        kept = Random(name).sample(cases, min(number, len(cases)))  # the same ones every time
        for case in cases:
            if case not in kept:
                case.add_marker("full")
