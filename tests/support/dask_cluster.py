"""A small real cluster of processes on this machine, and workers that die at a chosen moment."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin

from tests.support.row_data import drawn_rows


def local_cluster(n_workers: int = 2, memory: str = "400MiB") -> LocalCluster:
    """Worker processes of one thread each, on the loopback interface only."""
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=memory,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # any free port
        silence_logs=logging.CRITICAL,  # of workers that are killed on purpose
    )


def _rows(block: Any, d: int, kind: str, seed: int) -> Any:
    """Rows whose numbers are in the block."""
    begin = int(block[0]) if block.size else 0
    return drawn_rows(begin, begin + block.size, d, kind, seed)


def drawn_array(n: int, d: int, chunks: Any, kind: str = "blobs", seed: int = 0) -> da.Array:
    """The first rows of `drawn_rows` as a dask array in the given chunks of rows."""
    numbers = da.arange(n, chunks=chunks)
    shape = {"new_axis": 1, "chunks": (numbers.chunks[0], (d,))}
    return numbers.map_blocks(_rows, d, kind, seed, **shape, meta=np.empty((0, d)))


def slowly(block: Any) -> Any:
    """Rows that take a tenth of a second to come."""
    time.sleep(0.1)
    return block


class Killer(SchedulerPlugin):
    """Count tasks of each kind as workers get them; kill -9 the worker that gets a chosen one."""

    name = "killer"

    def __init__(self, cluster: LocalCluster, kind: str = "", number: int = 0) -> None:
        self.cluster, self.kind, self.number = cluster, kind, number
        self.seen: Counter[str] = Counter()
        self.killed: list[int] = []

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Hear that the scheduler has moved a task on."""
        if finish != "processing":
            return
        task = self.cluster.scheduler.tasks[key]
        kind = task.prefix.name
        if kind == self.kind and self.seen[kind] == self.number and not self.killed:
            address = task.processing_on.address
            nannies = self.cluster.workers.values()
            (nanny,) = [one for one in nannies if one.worker_address == address]
            os.kill(nanny.pid, signal.SIGKILL)
            self.killed.append(nanny.pid)
        self.seen[kind] += 1


@contextmanager
def watched(client: Client, kind: str = "", number: int = 0) -> Iterator[Killer]:
    """Kill the worker that gets task `number` of a kind; by default, only count tasks."""
    killer = Killer(client.cluster, kind, number)
    scheduler = client.cluster.scheduler
    scheduler.add_plugin(killer)
    try:
        yield killer
    finally:
        scheduler.remove_plugin(killer.name)
