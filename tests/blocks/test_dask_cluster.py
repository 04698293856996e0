"""A real cluster of processes on this machine: the same bits as in memory, whoever dies."""

import time

import pytest

from bckm._core.deadline import Deadline, TimeUp
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.dask_holder import DaskHolder
from tests.support.ctrl_c import interrupt_after, needs_signals
from tests.support.dask_cluster import drawn_array, slowly, watched
from tests.support.looks import drawn_labeling, drawn_question, same
from tests.support.row_data import drawn_rows

N, D, K = 200, 3, 6


def idle(client):
    """Whether the scheduler has forgotten all tasks, soon."""
    scheduler = client.cluster.scheduler
    for _ in range(50):
        if not scheduler.tasks:
            return True
        time.sleep(0.05)
    return False


def test_passes_are_the_same_on_a_cluster_and_end_when_they_should(client):
    X, here = drawn_array(N, D, 14), ArrayHolder(drawn_rows(0, N, D))
    there = DaskHolder(X)
    with watched(client) as seen:
        same(there.survey(0.3, 1), here.survey(0.3, 1))
        question = drawn_question(drawn_rows(0, N, D), K)
        same(there.look(question), here.look(question))
    assert seen.seen["survey"] == seen.seen["look"] == 15
    labeling = drawn_labeling(question, N)
    same(there.labels(labeling).compute(), here.labels(labeling).astype("i4"))
    with watched(client, "look", 7) as seen:  # a worker dies
        same(there.look(question), here.look(question))
    assert seen.killed

    slow = DaskHolder(X.map_blocks(slowly))
    with pytest.raises(TimeUp):
        slow.look(question, Deadline.after(0.3))
    assert idle(client)
    same(slow.look(question, Deadline.after(100)), here.look(question))


@needs_signals
@pytest.mark.full
def test_ctrl_c_cancels_what_is_under_way(client):
    slow = DaskHolder(drawn_array(N, D, 10).map_blocks(slowly))
    question = drawn_question(drawn_rows(0, N, D), K)
    with interrupt_after(0.5), pytest.raises(KeyboardInterrupt):
        slow.look(question)
    assert idle(client)
