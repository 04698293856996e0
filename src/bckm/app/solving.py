"""A fit that the page asks for: its settings, what it tells meanwhile, and few changes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bckm._core.note import Note
from bckm.app.errors import Refused
from bckm.app.jobs import Task
from bckm.plan import Clause

if TYPE_CHECKING:
    from bckm.app.versions import Version

SEARCHES = ("auto", "local", "global", "none")


class Job:
    """A fit in hand: the last of what it told, for all who look."""

    def __init__(self, number: int) -> None:
        self.number, self.began = number, time.time()
        self.last: dict[str, tuple[int, Any]] = {}
        self.end: tuple[str, Any] | None = None
        self.begun = self.stopped = False  # by the child; by the person
        self._count = 0

    def hear(self, what: str, value: Any) -> None:
        """Keep what the child tells."""
        self._count += 1
        self.last[what] = (self._count, value)

    def tree(self) -> dict[str, Any]:
        """What a tab that comes late needs to know."""
        return {"job": self.number, "began": self.began, "ended": self.end is not None}


def fit_of(tree: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Settings of a fit, as the page says them."""
    if not isinstance(tree, dict):
        raise Refused("malformed", "what is asked must be an object.")
    search, seed, limit = tree.get("search", "auto"), tree.get("seed", 0), tree.get("time_limit")
    if search not in SEARCHES:
        raise Refused("malformed", f"search must be one of {', '.join(SEARCHES)}.")
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise Refused("malformed", "seed must be a whole number.")
    fit: dict[str, Any] = {"seed": seed, "search": search}
    if limit is not None:
        if not isinstance(limit, int | float) or isinstance(limit, bool) or not 0 < limit <= 1e6:
            raise Refused("malformed", "the time limit must be a number of seconds above 0.")
        fit["time_limit"] = float(limit)
    few = tree.get("few_changes")
    if few is not None and not isinstance(few, dict):
        raise Refused("malformed", "few_changes must be an object.")
    return fit, few


def few_changes(task: Task, before: Version, n_rows: int, most: Any) -> Task:
    """The task with one more rule: at most so many samples leave their cluster of a version."""
    study = before.study
    if study.n_samples != n_rows:
        raise Refused("bad_input", Note("that version is of another table.", "other_table"))
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        raise Refused("bad_input", Note("how many may change cluster?", "how_many_move"))
    column = f"clusters of version {before.number}"
    names: list[str | None] = [study.cluster(i) for i in study.result.labels.tolist()]
    numbered = isinstance(task.rules.cluster_names[0], int)
    if numbered and study.constraints.cluster_names is None:
        names = [str(i + 1) for i in study.result.labels.tolist()]
    stay = Clause.read("stay", {"column": column, "at_most": most})
    return replace(task, added={**task.added, column: names}, more=(stay,))
