"""What the child processes do: check rules, solve."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bckm._core.note import Note
from bckm.app.cards import Asked, Rules, Setup, plan_of
from bckm.app.conflicts import conflict_tree
from bckm.app.errors import Refused, refusal
from bckm.app.remedies import remedies
from bckm.app.words import note_tree
from bckm.constraints.rules import MovedMax
from bckm.exceptions import InfeasibleError
from bckm.feasibility import check as decide
from bckm.fit.listener import Best
from bckm.fit.result import Step
from bckm.plan import Clause
from bckm.plan.run import compiled, fitted
from bckm.study import Study
from bckm.tables import Reading, Table, TableError, read_table

Tell = Callable[..., None]
CHECK_SECONDS = 10.0
READ_LIMIT = 400_000_000  # bytes of a table after unpacking
_OPTION = re.compile(r";? if this is intended, raise the limit \(.*?\)")  # not on the page
EVERY = 0.2  # seconds between two pictures
STEPS = 0.1  # and two steps


@dataclass(frozen=True)
class Task:
    """All that a job needs.

    Attributes
    ----------
    path, source, reading : str, str, mapping
        The file of the table, what people call it, and how it is read.
    setup, rules : Setup, Rules
        What the page says.
    files : mapping
        See `bckm.app.cards.plan_of`.
    names : mapping of str to str
        What people call the files that cards refer to, by what they are called here.
    fit : mapping
        Settings of the fit.
    added : mapping of str to list
        Columns that are not in the file: earlier clusters.
    more : tuple of Clause
        Rules that are on no card.
    """

    path: str
    source: str
    reading: Mapping[str, Any]
    setup: Setup
    rules: Rules
    files: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    added: Mapping[str, list[str | None]] = field(default_factory=dict)
    more: tuple[Clause, ...] = ()

    @property
    def asked(self) -> Asked:
        """The plan."""
        return plan_of(self.setup, self.rules, self.files, self.fit, self.more)


_kept: dict[str, Table] = {}  # the last table: the same one is asked about again and again


def table_of(task: Task) -> Table:
    """The table of a task."""
    key = json.dumps([task.path, task.reading], sort_keys=True)
    if key not in _kept:
        _kept.clear()
        _kept[key] = open_table(task.path, task.source, task.reading)
    table = _kept[key]
    return table.with_columns(task.added) if task.added else table


def open_table(path: str, source: str, reading: Mapping[str, Any]) -> Table:
    """Read a table that people call by another name than its file has."""
    stored = path.replace("\\", "/").rsplit("/", 1)[-1]
    try:
        table = read_table(path, Reading.of(reading), read_limit=READ_LIMIT)
    except TableError as error:
        refused = refusal(error, {stored: source})
        raise Refused("bad_input", _OPTION.sub("", refused.message), **refused.more) from None
    return replace(table, source=source)


def check(task: Task, tell: Tell) -> dict[str, Any]:  # noqa: ARG001
    """Can the rules be met? A verdict, as the page hears it."""
    began = time.perf_counter()
    table, asked = table_of(task), task.asked
    run = _compiled(task, asked, table)
    answer = decide(
        table.n_rows,
        run.n_clusters,
        run.constraints,
        sample_id=run.sample_id,
        time_limit=CHECK_SECONDS,
    )
    found: dict[str, Any] = {
        "verdict": answer.verdict.value,
        "message": answer.message,
        "conflict": [],
        "remedies": [],
        "notes": [note_tree(note, task.names) for note in run.notes],
    }
    if answer.conflict:
        found["conflict"] = conflict_tree(answer.conflict, asked, table)
        found["remedies"] = remedies(task, table, answer.conflict, found["conflict"])
    return {**found, "seconds": time.perf_counter() - began}


def _compiled(task: Task, asked: Asked, table: Table) -> Any:
    """The plan compiled; an error says which card is meant, if it is one."""
    try:
        return compiled(asked.plan, table).asked
    except ValueError as error:
        alone = _error_of(asked, (), table)
        for clause, card in zip(asked.plan.clauses, asked.cards, strict=True):
            own = _error_of(asked, (clause,), table)
            if own is not None and (alone is None or str(own) != str(alone)):
                told = own if alone is None else error  # else all that is wrong, at once
                same = alone is None or str(own) == str(error)
                raise refusal(told, task.names, card=card if card and same else None) from None
        raise refusal(error, task.names) from None


def _error_of(asked: Asked, clauses: tuple[Clause, ...], table: Table) -> ValueError | None:
    """What is wrong with some clauses, and the columns that every plan uses."""
    try:
        compiled(replace(asked.plan, clauses=clauses), table)
    except ValueError as error:
        return error
    return None


def solve(task: Task, tell: Tell) -> Study:
    """Cluster; steps and pictures are told on the way."""
    table, asked = table_of(task), task.asked
    _compiled(task, asked, table)
    heard = _Heard(tell)
    run = compiled(asked.plan, table)
    try:
        return fitted(run, on_step=heard.step, on_best=heard.best, on_phase=heard.phase)
    except InfeasibleError as error:
        few = [rule for rule in error.conflict if isinstance(rule, MovedMax)]
        if not task.more or not few:
            raise
        n, version = few[0].value, task.more[0].keys["column"].rpartition(" ")[2]
        text = f"with at most {n} moves against version {version} the rules cannot all hold."
        note = Note(text, "few_impossible", n=n, version=version)
        raise Refused("infeasible", note) from None


class _Heard:
    """Tells of a fit, but not too often."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._phase = tell, "rules"
        self._told = self._drawn = -np.inf
        self._best = np.inf
        self._began = time.perf_counter()

    def phase(self, word: str) -> None:
        """Something else begins."""
        self._phase = word
        self._say(0, None, None, time.perf_counter() - self._began)

    def step(self, step: Step) -> None:
        """A step was made."""
        self._best = min(self._best, step.objective)
        now = time.perf_counter()
        if now - self._told >= STEPS:
            self._told = now
            gap = None
            if step.kind == "assign" and step.assigned > 0:
                gap = min(max(1 - step.lower_bound / step.assigned, 0.0), 1.0)
            self._say(step.iteration, step.objective, gap, step.seconds)

    def best(self, best: Best) -> None:
        """Better labels were found."""
        now = time.perf_counter()
        if now - self._drawn >= EVERY:
            self._drawn = now
            self._tell("labels", {"labels": best.labels.tolist(), "objective": best.objective})

    def _say(
        self, iteration: int, objective: float | None, gap: float | None, seconds: float
    ) -> None:
        best = None if np.isinf(self._best) else self._best
        told = {"iteration": iteration, "objective": objective, "best": best, "gap": gap}
        self._tell("step", {**told, "seconds": seconds, "phase": self._phase})


def warm(tell: Tell) -> bool:  # noqa: ARG001
    """Nothing: all is imported now."""
    return True


JOBS: dict[str, Callable[..., Any]] = {"check": check, "solve": solve, "warm": warm}
