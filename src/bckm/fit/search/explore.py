"""Starts, local search and children: everything around the loop.

A search goes from state to state: `phase` says what comes next, `step` does it, and a search ends
where its phase is DONE. A state between two steps is all that a checkpoint needs to keep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

import numpy as np

from bckm._core.deadline import TimeUp
from bckm._core.status import Status
from bckm.fit.search.attempt import MOST_TRIALS, Attempt
from bckm.fit.search.making import QUICK, SEARCH
from bckm.fit.search.shared import ANNEALED, Search
from bckm.fit.search.state import State

PATIENCE = 200  # children in a row that find nothing better before a population ends
COOLED = 4  # populations of annealing, each of twice the work, if no time limit says how many
AGREE = 3  # populations that find the same best before a global search ends within its time


class Phase(Enum):
    """What a search does next."""

    START = "a start of this population"
    CHILD = "a child of this population"
    DISPLACE = "displaced centers of the best clustering"
    SETTLE = "the end of what the default does"
    CLOSE = "the end of this population"
    DONE = "nothing"


def explore(search: Search, state: State, note: Callable[[State], None] | None = None) -> State:
    """Cluster from each of the first centers, then search as asked; see `bckm.kmeans`.

    A time limit or Ctrl-C ends it at any moment with the best labels so far.

    Parameters
    ----------
    search : Search
        What all runs share.
    state : State
        The first state, or what an earlier call with the same arguments noted: it goes on there.
    note : callable, optional
        Called with the state after each run, as long as no clock had a say in it.
    """
    try:
        while phase(search, state) is not Phase.DONE:
            state = step(search, state)
            late = state.time_cut or search.limits.deadline.passed
            if note is not None and not state.stopped and not late:
                note(state)
    except KeyboardInterrupt:  # between two runs
        state = Attempt(search, state).cut(Status.INTERRUPTED)
    return replace(state, best=search.numbered(state.best))


def phase(search: Search, state: State) -> Phase:
    """What comes after a state."""
    most = 1 if search.annealing is None else COOLED
    more = np.isfinite(search.limits.deadline.at) or state.n_populations < most
    again = search.kind == "global" and state.n_agree < AGREE and more
    if state.stopped or (state.n_populations and not again):
        return Phase.DONE
    if search.annealing is not None:
        return Phase.START if state.n_starts < search.n_starts(state) else Phase.CLOSE
    if search.as_default(state) or not search.has_children:
        if state.n_starts < len(search.starts.seeds):
            return Phase.START
        return _default_phase(search, state) if search.has_children else Phase.DONE
    if search.displaces and not state.n_populations and state.n_stale < MOST_TRIALS:
        return Phase.DISPLACE
    if state.n_starts < search.n_starts(state):
        return Phase.START
    return Phase.CHILD if state.n_stale < PATIENCE else Phase.CLOSE


def _default_phase(search: Search, state: State) -> Phase:
    """What comes after the starts by default."""
    if state.settled:
        return Phase.DONE
    if search.displaces:
        more = state.search_work < search.displacing * state.start_work
        return Phase.DISPLACE if more and state.n_stale < MOST_TRIALS else Phase.SETTLE
    # about what a child takes where it goes all the way
    each = 0.0 if search.screen_children else state.start_work / len(search.starts.seeds)
    if not search.engine.cheap_step and search.problem.structure.n_items > ANNEALED:
        each = np.inf  # moves alone would take longer than the start
    if state.search_work + each < SEARCH * max(state.start_work, QUICK):
        return Phase.CHILD
    return Phase.DONE if search.kind == "auto" else Phase.SETTLE


def step(search: Search, state: State) -> State:
    """One run, and the state after it."""
    attempt = Attempt(search, state)
    make = {
        Phase.START: attempt.start,
        Phase.CHILD: attempt.child,
        Phase.DISPLACE: attempt.displace,
        Phase.SETTLE: attempt.settle,
        Phase.CLOSE: attempt.close,
    }
    what = phase(search, state)
    try:
        if what is not Phase.START:
            search.listener.phase("search")
        return make[what]()
    except KeyboardInterrupt:
        return attempt.cut(Status.INTERRUPTED)
    except TimeUp:
        return attempt.cut(Status.TIME_LIMIT)
