"""The loop over data in blocks: exact assignments and means in turn."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bckm._core.arrays import blocks, nearest
from bckm._core.deadline import Deadline, TimeUp
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm._storage.fields import Fields, narrow
from bckm.blocks.coordinator import Coordinator
from bckm.blocks.step import Memory
from bckm.blocks.step import Step as Assigned
from bckm.exceptions import UndecidedError
from bckm.fit.checkpoint import Checkpoint
from bckm.fit.in_blocks._surveyed import Surveyed
from bckm.fit.result import Result, Step
from bckm.fit.settings import Settings
from bckm.fit.steps import history_tree, read_history

FEW, FEWEST = 2**14, 2**10  # rows of the sample that tell how many rows have moved
PRODUCTS = 2**27  # but no more products of features and centers
SOLVER = "transport"
TOO_SHORT = (
    "undecided within the time limit: the data are read in blocks, and there was no time for the "
    "passes of a first assignment; raise time_limit."
)


@dataclass(frozen=True, eq=False)
class State:
    """A fit between two steps: what is assigned to next, and what was done before.

    Attributes
    ----------
    centers, prices : arrays (k, d), (k,)
        In the units of the frame; prices are a guess.
    memory : Memory or None
        What the last step has taught the next one.
    history : tuple of Step
        The steps so far.
    few : array (m,)
        Labels of some rows after the last of them, to tell how many have moved.
    passes, received : int
        Passes over the data, and bytes of what they told.
    ending : Status or None
        How the loop ended; what is left is the assignment to its last centers.
    """

    centers: FloatArray
    prices: FloatArray
    memory: Memory | None = None
    history: tuple[Step, ...] = ()
    few: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    passes: int = 1
    received: int = 0
    ending: Status | None = None

    def to_tree(self) -> dict[str, Any]:
        """The state for a file."""
        return {
            "centers": self.centers,
            "prices": self.prices,
            "memory": None if self.memory is None else self.memory.to_tree(),
            "history": history_tree(self.history),
            "few": narrow(self.few),
            "passes": self.passes,
            "received": self.received,
            "ending": None if self.ending is None else self.ending.value,
        }

    @classmethod
    def from_tree(cls, fields: Fields, n_clusters: int, n_features: int) -> State:
        """The state from a file; a `ValueError` says what is wrong with it."""
        memory = None
        if fields["memory"] is not None:
            memory = Memory.from_tree(fields.of("memory"), n_clusters)
        ending = None if fields["ending"] is None else Status(fields.text("ending"))
        return cls(
            fields.floats("centers", (n_clusters, n_features)),
            fields.floats("prices", (n_clusters,)),
            memory,
            read_history(fields.of("history")),
            fields.whole_numbers("few"),
            fields.whole("passes"),
            fields.whole("received"),
            ending,
        )


@dataclass(frozen=True, eq=False)
class Ended:
    """The last assignment, the state that it began with, and how it came about."""

    found: Assigned
    state: State
    history: tuple[Step, ...]
    status: Status = Status.TIME_LIMIT


def alternate(
    data: Surveyed,
    coordinator: Coordinator,
    state: State,
    settings: Settings,
    kept: Checkpoint | None,
) -> Ended:
    """Alternate assignments and means until nothing changes; then assign once more.

    Time limit and Ctrl-C end it with the last full assignment and the centers that it was made to.
    """
    still = settings.tol * _variance(data)
    # labels take a pass in the end
    deadline = Deadline(settings.deadline.at - data.seconds)
    last: Ended | None = None
    try:
        while True:
            if kept is not None:
                kept.note(state)
            found = coordinator.step(state.centers, state.prices, state.memory, deadline)
            last = Ended(found, state, state.history)
            if state.ending is not None:
                return replace(last, status=state.ending)
            after, step = _moved(data, state, found, settings.began)
            if state.history and step.objective >= state.history[-1].objective:
                return replace(last, status=Status.CONVERGED)  # round-off, no progress
            last = replace(last, history=after.history)
            settings.listener.step(step, partial(_labels, data, coordinator, found))
            shift = float(np.square(after.centers - state.centers).sum())
            if shift == 0.0:
                return replace(last, status=Status.CONVERGED)
            if settings.tol > 0 and shift <= still:
                after = replace(after, ending=Status.CONVERGED)
            elif len(after.history) >= settings.max_iter:
                after = replace(after, ending=Status.ITERATION_LIMIT)
            state = after
    except TimeUp:
        if last is None:
            raise UndecidedError(TOO_SHORT) from None
        return last
    except KeyboardInterrupt:
        if last is None:
            raise
        return replace(last, status=Status.INTERRUPTED)
    finally:
        if kept is not None:
            kept.write()


def _moved(data: Surveyed, state: State, found: Assigned, began: float) -> tuple[State, Step]:
    """Centers to the means."""
    frame = data.frame
    # in the units of X there is no number for every mean
    means = frame.inside(frame.outside(found.means))
    gain = float(found.sizes @ np.square(means - state.centers).sum(axis=1))
    some = max(FEWEST, min(FEW, PRODUCTS // state.centers.size))
    rows = frame.inside(data.survey.rows[:some])
    few = nearest(rows, state.centers, found.prices)[0]
    known = state.few.size == few.size
    changed = np.count_nonzero(few != state.few) if known else few.size
    step = Step(
        start=0,
        iteration=len(state.history) + 1,
        objective=max(found.cost - gain, 0.0) * data.scale,
        assigned=found.cost * data.scale,
        lower_bound=data.bound_out(found),
        status=data.status(found),
        moved=round(data.survey.n * changed / few.size),
        seconds=time.perf_counter() - began,
    )
    after = State(
        means,
        found.prices,
        found.memory,
        (*state.history, step),
        few,
        state.passes + found.passes,
        state.received + found.received,
    )
    return after, step


def _labels(data: Surveyed, coordinator: Coordinator, found: Assigned) -> Any:
    return data.checked(coordinator.labeling(found), found.sizes)


def _variance(data: Surveyed) -> float:
    """Mean variance of the features, as the sample tells it."""
    rows = data.survey.rows
    mean, square = np.zeros(rows.shape[1]), 0.0
    for part in blocks(*rows.shape):
        inside = data.frame.inside(rows[part])
        mean += inside.sum(axis=0) / len(rows)
        square += float(np.square(inside).sum()) / len(rows)
    return max(square - float(mean @ mean), 0.0) / mean.size


def result_of(
    data: Surveyed,
    coordinator: Coordinator,
    ended: Ended,
    began: float,
    centers: FloatArray | None = None,
) -> Result:
    """What was found, in the units of X; labels are counted before they leave."""
    found, state = ended.found, ended.state
    before = data.holder.passes
    labeling = coordinator.labeling(found)
    labels = data.checked(labeling, found.sizes)
    passes = state.passes + found.passes + data.holder.passes - before
    if centers is None:
        centers = data.frame.outside(state.centers)
    inertia = found.cost * data.scale
    return Result(
        labels=labels,
        centers=centers,
        inertia=inertia,
        lower_bound=min(data.bound_out(found), inertia),
        sizes=found.sizes,
        prices=found.prices * data.scale,
        status=ended.status,
        assignment_status=data.status(found),
        history=ended.history,
        counters={
            "passes": passes,
            "received": state.received + found.received,
        },
        seconds=time.perf_counter() - began,
        solver=SOLVER,
        embedded=centers,
        labeling=labeling,
    )
