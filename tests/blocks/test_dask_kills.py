"""Workers and coordinators that are killed in the middle of a fit: the same bits as without."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
from distributed import Client

import bckm
from bckm.constraints import Constraints
from tests.support.dask_cluster import drawn_array, watched
from tests.support.row_data import drawn_rows
from tests.support.waiting import SECONDS, started

N, D, K, BLOCKS = 1200, 3, 6, 14
RULES = {"size_min": N // K, "size_max": N // K}
KINDS = ("look", "merged", "labels", "survey", "count", "Question")  # of tasks


def drawn_moments(number):
    """When to kill: at a task of some kind, after which share of all of its kind."""
    drawn = random.Random(18)
    return [(KINDS[i % len(KINDS)], drawn.random()) for i in range(number)]


def marked(moments):
    """The first three in `make test-full`, all others in the campaign."""
    marks = [pytest.mark.full] * 3 + [pytest.mark.slow] * (len(moments) - 3)
    return [pytest.param(*one, marks=mark) for one, mark in zip(moments, marks, strict=True)]


def fitted(checkpoint=None, on_step=None, *, persisted=False):
    """All that a fit on the cluster tells, labels computed there."""
    X = drawn_array(N, D, -(-N // BLOCKS), seed=1)
    if persisted:  # what a worker holds is lost with it
        X = X.persist()
    options = {
        "init": drawn_rows(0, K, D, seed=1),
        "max_iter": 4,
        "tol": 0,
        "random_state": 0,
        "on_step": on_step,
    }
    result = bckm.kmeans(X, K, Constraints(**RULES), checkpoint=checkpoint, **options)
    return {
        "labels": result.labels.compute(),
        "centers": result.centers,
        "prices": result.prices,
        "inertia": result.inertia,
        "lower_bound": result.lower_bound,
        "steps": [(step.objective, step.assigned) for step in result.history],
    }


def equal(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)


@pytest.fixture(scope="module")
def calm(cluster):
    """What is found if nobody dies, and how many tasks of each kind that takes."""
    with Client(cluster) as client, watched(client) as seen:
        found = fitted()
    assert np.bincount(found["labels"]).tolist() == [N // K] * K
    return found, seen.seen


@pytest.mark.parametrize(("kind", "share"), marked(drawn_moments(20)))
def test_a_worker_is_killed(client, calm, kind, share):
    expected, seen = calm
    with watched(client, kind, int(share * seen[kind])) as killer:
        found = fitted(persisted=share > 0.5)
    assert killer.killed
    equal(found, expected)


SCRIPT = """
import sys
import numpy as np
from distributed import Client
from bckm.fit import checkpoint
from tests.blocks.test_dask_kills import fitted

checkpoint.EVERY = checkpoint.SHARE = 0  # each step is written
with Client(sys.argv[1]):
    found = fitted(sys.argv[2], lambda step: print(step.iteration, flush=True))
np.savez(sys.argv[3], **found)
"""


@pytest.mark.parametrize(
    "steps",
    [pytest.param(2, marks=pytest.mark.full)]
    + [pytest.param(i, marks=pytest.mark.slow) for i in (0, 1, 3, 4)],
)
def test_the_coordinator_is_killed_and_resumes(client, calm, steps, tmp_path):
    address = client.cluster.scheduler_address
    command = [sys.executable, "-c", SCRIPT, address, tmp_path / "fit.bckm", tmp_path / "found.npz"]
    environment = {**os.environ, "PYTHONPATH": "."}
    with started(command, stdout=subprocess.PIPE, text=True, env=environment) as first:
        for _ in range(steps):
            assert first.stdout.readline()
    (tmp_path / "found.npz").unlink(missing_ok=True)  # it may have been quick
    again = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True, timeout=SECONDS
    )
    told = again.stdout.split()  # it goes on from where it was, which may have been the end
    assert not told or int(told[0]) >= max(steps, 1)
    with np.load(tmp_path / "found.npz") as found:
        equal(dict(found), calm[0])
