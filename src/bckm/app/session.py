"""The one session of a server: the table, what is asked, versions, and the job in hand."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import bckm
from bckm._core.note import Note
from bckm.app import points as shown
from bckm.app.cards import Rules, Setup
from bckm.app.demo import DEMOS, demo
from bckm.app.errors import Refused, refusal
from bckm.app.folder import Folder, label
from bckm.app.jobs import Task, open_table
from bckm.app.previous import Previous, read_previous
from bckm.app.security import FILE_LIMIT, JSON_LIMIT
from bckm.app.solving import Job, few_changes, fit_of
from bckm.app.versions import Version, changed
from bckm.app.words import note_tree
from bckm.app.worker import BEGAN, WARM, Worker
from bckm.study import Study
from bckm.tables import Reading, Table

_WHICH = Note("say first which columns say where things are.", "which_columns")


class Session:
    """All that the page changes; each change has a number, the revision."""

    def __init__(self) -> None:
        self.folder = Folder()
        self.fits, self.checks = Worker(), Worker()
        self.lock = threading.RLock()
        self._replacing = threading.Lock()  # of a check by a newer one
        self.revision = 0
        self.asked, self._asked_by = 0, ""  # changes of what is asked, and whose was the last
        self._jobs = 0
        self.job: Job | None = None
        self._clear()

    def _clear(self) -> None:
        self.table: Table | None = None
        self.path, self.name = "", ""
        self.reading = Reading()
        self.setup: Setup | None = None
        self.rules = Rules()
        self.verdict: dict[str, Any] | None = None
        self.files: dict[str, Previous] = {}
        self.versions: dict[int, Version] = {}
        self.shown: int | None = None
        self._tree: dict[str, Any] | None = None

    def warm(self) -> None:
        """Start the children, so that the first answer is quick."""
        for worker in (self.checks, self.fits):
            threading.Thread(target=_warmed, args=(worker,), daemon=True).start()

    def close(self) -> None:
        """End the children and remove the files."""
        self.fits.close()
        self.checks.close()
        self.folder.close()

    # what is there

    def state(self) -> dict[str, Any]:
        """Everything but points and versions."""
        with self.lock:
            if self.table is not None and self._tree is None:
                self._tree = shown.table_tree(self.table, self.reading.dict())
            job = self.job
            return {
                "revision": self.revision,
                "asked": self.asked,
                "app": {
                    "version": bckm.__version__,
                    "limits": {"file": FILE_LIMIT, "json": JSON_LIMIT},
                    "demos": list(DEMOS),
                },
                "table": self._tree,
                "setup": None if self.setup is None else self.setup.tree(),
                "rules": self.rules.tree(),
                "verdict": self.verdict,
                "job": None if job is None or job.end is not None else job.tree(),
                "shown": self.shown,
                "files": [
                    {"id": one.id, "name": one.name, "kind": one.kind}
                    for one in self.files.values()
                ],
            }

    def opened(self) -> Table:
        """The table."""
        if self.table is None:
            raise Refused("malformed", "open a table first.")
        return self.table

    def ready(self) -> tuple[Table, Setup]:
        """The table and which columns are what."""
        table = self.opened()
        if self.setup is None:
            raise Refused("bad_input", _WHICH)
        return table, self.setup

    def version(self, number: Any) -> Version:
        """A version by its number."""
        try:
            return self.versions[int(number)]
        except (KeyError, TypeError, ValueError):
            raise Refused("not_found", "there is no such version.") from None

    def _next(self) -> None:
        self.revision += 1

    def claim(self, tab: str, seen: str | None, *, changes: bool = True) -> None:
        """Refuse what a tab asks if another one has changed what is asked since this one looked.

        Parameters
        ----------
        tab : str
            What the tab calls itself.
        seen : str or None
            The number of the last change that it knows; None if it need not know any.
        changes : bool
            Whether it changes what is asked.
        """
        with self.lock:
            if seen is not None and seen != str(self.asked) and tab != self._asked_by:
                message = "this was changed in another window; look at it again."
                raise Refused("stale", message)
            if changes:
                self.asked += 1
                self._asked_by = tab

    # the table

    def open(self, name: str, data: bytes) -> None:
        """Open a table, or a file that was saved here."""
        from bckm.app import saved

        if not data:
            raise Refused("bad_input", Note(f"{label(name)} is empty.", "empty", file=label(name)))
        if name.lower().endswith(".bckm"):
            found = saved.read(data, label(name), self.folder)
            with self.lock:
                self._start_anew()
                saved.restore(self, found, label(name))
                self._next()
            return
        path = str(self.folder.keep(name, data))
        table = open_table(path, label(name), {})
        with self.lock:
            self._start_anew()
            self.table, self.path, self.name = table, path, label(name)
            self._next()

    def open_demo(self, name: Any) -> None:
        """Open an example, with setup and rules."""
        if name not in DEMOS:
            raise Refused("malformed", f"the demos are {', '.join(DEMOS)}.")
        file, data, setup, rules = demo(name)
        with self.lock:
            self.open(file, data)
            self.setup, self.rules = Setup.of(setup), Rules.of(rules)

    def _start_anew(self) -> None:
        if self.job is not None and self.job.end is None:
            self.fits.kill()
        self.job = None  # what it finds is of another table
        self._clear()

    def read_again(self, tree: Any) -> None:
        """Read the file in another way."""
        if not isinstance(tree, dict):
            raise Refused("malformed", "a reading must be an object.")
        self.opened()
        if self.job is not None and self.job.end is None:
            raise Refused("busy", "a computation is running; stop it first.")
        reading = Reading.of(tree)
        table = open_table(self.path, self.name, reading.dict())
        with self.lock:
            if table.n_rows != self.opened().n_rows:  # samples are others now
                self.versions, self.shown = {}, None
            if self.setup is not None and not _fits(self.setup, table):
                self.setup = None
            self.table, self.reading, self._tree, self.verdict = table, reading, None, None
            self._next()

    def set_up(self, tree: Any) -> None:
        """Which columns are what."""
        setup, table = Setup.of(tree), self.opened()
        for name in (setup.id, setup.name, setup.weight, *setup.columns):
            if name is not None:
                table.column(name)
        with self.lock:
            self.setup, self.verdict = setup, None
            self._next()

    def add_previous(self, name: str, data: bytes) -> dict[str, Any]:
        """Take a file that cards refer to."""
        table, setup = self.ready()
        number = f"file{len(self.files) + 1}"
        path = str(self.folder.keep(name, data))
        names = [str(one) for one in self.rules.cluster_names]
        ids = shown.ids_of(table, setup)
        found, told = read_previous((number, label(name), path), ids, setup.id, names)
        with self.lock:
            self.files[number] = found
            self._next()
        return told

    # rules

    def task(self, fit: dict[str, Any] | None = None) -> Task:
        """What is asked now."""
        _, setup = self.ready()
        return Task(
            path=self.path,
            source=self.name,
            reading=self.reading.dict(),
            setup=setup,
            rules=self.rules,
            files={one.id: one.keys() for one in self.files.values()},
            names={Path(one.path).name: one.name for one in self.files.values()},
            fit=fit or {},
        )

    def set_rules(self, tree: Any) -> dict[str, Any]:
        """Store the rules and check them; a newer call ends an older one."""
        rules = Rules.of(tree)
        with self._replacing:  # else the older of two might end the check of the newer
            with self.lock:
                self.opened()
                self.rules, self.verdict = rules, None
                self._next()
                mine = self.revision
            self.checks.cancel()
        try:
            verdict = self._checked()
        except Refused as refused:
            if self.rules is not rules:
                raise Refused("busy", "a newer check has begun.") from None
            if not refused.more.get("incomplete"):
                raise
            verdict = _incomplete(refused.message, refused.more["words"])
        with self.lock:
            if self.revision == mine:
                self.verdict = verdict
        return verdict

    def _checked(self) -> dict[str, Any]:
        if self.setup is None:
            return _incomplete(_WHICH, note_tree(_WHICH))
        task = self.task()
        _ = task.asked  # what is incomplete is known without a child
        found: dict[str, Any] = self.checks.run("check", task)
        return found

    # solving

    def solve(self, tree: Any) -> int:
        """Begin a fit; returns its number."""
        fit, few = fit_of(tree)
        with self.lock:
            if self.job is not None and self.job.end is None:
                raise Refused("busy", "a computation is running; stop it first.")
            task = self.task(fit)
            if few is not None:
                before = self.version(few.get("version"))
                task = few_changes(task, before, self.opened().n_rows, few.get("at_most"))
            _ = task.asked
            self._jobs += 1
            job = self.job = Job(self._jobs)
            self._next()
        threading.Thread(target=self._solve, args=(job, task, few), daemon=True).start()
        return job.number

    def _solve(self, job: Job, task: Task, few: dict[str, Any] | None) -> None:
        """In a thread: wait for the child, keep what it found."""
        try:
            study: Study = self.fits.run("solve", task, hear=partial(self._hear, job))
            with self.lock:
                if self.job is not job:
                    raise Refused("stopped", "another table was opened.")
                note = None
                if few is not None:
                    number = int(few["version"])
                    note = Note(f"few changes against version {number}", "few", version=number)
                version = self.keep("solve", study, task, note)
                job.end = ("done", {"version": version.number})
            version.prepare()  # so that the first try is quick
        except BaseException as error:
            job.end = ("failed", refusal(error).tree())

    def _hear(self, job: Job, what: str, value: Any) -> None:
        """Keep what a fit tells; one that nobody wants any more ends when it begins."""
        if what != BEGAN:
            job.hear(what, value)
            return
        with self.lock:
            job.begun = True
            if self.job is not job:
                self.fits.kill()
            elif job.stopped:
                self.fits.interrupt()

    def keep(self, made: str, study: Study, task: Task, note: str | None = None) -> Version:
        """Keep a study as a version."""
        number = max(self.versions, default=0) + 1
        table = self.opened()
        table = table.with_columns(task.added) if task.added else table
        self.versions[number] = Version(number, made, study, task, table, note)
        self.shown = number
        self._next()
        return self.versions[number]

    def stop(self) -> bool:
        """End the fit in hand; it keeps the best."""
        with self.lock:
            job = self.job
            if job is None or job.end is not None:
                return False
            job.stopped = True
            if job.begun:  # else it hears of it then
                self.fits.interrupt()
            return True

    # changes by hand

    def change(self, tree: Any) -> Version:
        """Move samples by hand: a new version, and cards that keep them there."""
        version = self.version(tree.get("version"))
        found = changed(version, tree.get("moves"), 0)
        with self.lock:
            number = max(self.versions) + 1
            found = replace(found, number=number)
            self.versions[number], self.shown = found, number
            if tree.get("keep"):
                self.rules = self.rules.with_fixed(self._moved_ids(found))
                self.verdict = None
            self._next()
        return found

    def _moved_ids(self, version: Version) -> dict[int, list[str]]:
        """Ids of the samples that were moved to each cluster."""
        ids = shown.ids_of(*self.ready())
        found: dict[int, list[str]] = {}
        for sample, _, to in version.moved:
            found.setdefault(to, []).append(ids[sample])
        return found


def _warmed(worker: Worker) -> None:
    with contextlib.suppress(Refused):  # the server may end before
        worker.run(WARM)


def _fits(setup: Setup, table: Table) -> bool:
    names = [setup.id, setup.name, setup.weight, *setup.columns]
    return all(name is None or name in table.names for name in names)


def _incomplete(message: str, words: Any) -> dict[str, Any]:
    found = {"verdict": "incomplete", "message": message, "words": words}
    return {**found, "conflict": [], "remedies": [], "notes": [], "seconds": 0.0}
