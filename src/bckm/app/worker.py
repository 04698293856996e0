"""A warm child process that does one job at a time, and can be stopped.

A job is a function of the module `bckm.app.jobs` and its arguments. The main thread of the child
runs it, so that SIGINT ends a fit with the best labels so far.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from bckm.app.errors import Refused, refusal

Hear = Callable[[str, Any], None]
WARM = "warm"  # the job that only waits until all is imported
BEGAN = "began"  # told first of each job: from then on it can be interrupted
GRACE = 1.0  # seconds that a job has to end after it was asked to


class Worker:
    """A child process; it starts when it is first needed, and again where it was killed."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Connection | None = None
        self._lock = threading.Lock()  # one job at a time
        self._starting = threading.Lock()  # a child that is being started is not killed
        self._closed = False
        self._job = ""

    def start(self) -> None:
        """Start the child, if there is none."""
        with self._starting:
            if self._closed:
                raise Refused("busy", "the server ends.")
            if self._process is not None and self._process.is_alive():
                return
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs,), daemon=True)
            process.start()
            self._process = process
            theirs.close()

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._lock.locked()

    def run(self, job: str, *given: Any, hear: Hear | None = None) -> Any:
        """Do a job and wait for it; `hear` is called with what it tells meanwhile."""
        with self._lock:
            self.start()
            self._job = job
            assert self._pipe is not None
            try:
                self._pipe.send((job, given))
                while True:
                    what, value = self._pipe.recv()
                    if what == "done":
                        return value
                    if what == "failed":
                        raise value
                    if hear is not None:
                        hear(what, value)
            except (EOFError, OSError):
                self._drop()
                raise Refused("stopped", "the computation was ended.") from None

    def interrupt(self) -> None:
        """Ask the job to end with what it has."""
        process = self._process
        if process is None or not process.is_alive():
            return
        if os.name == "nt":  # no SIGINT for one process there
            self.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)

    def cancel(self) -> None:
        """End the job: politely, and after a while by killing the child."""
        if not self.busy or self._job == WARM:
            return
        self.interrupt()
        if self._lock.acquire(timeout=GRACE):
            self._lock.release()
        else:
            self.kill()

    def kill(self) -> None:
        """End the child; whoever waits for its job is told."""
        with self._starting:
            process = self._process
        if process is not None:
            process.kill()
            process.join(GRACE)

    def close(self) -> None:
        """End the child for good."""
        with self._starting:
            self._closed = True
        self.kill()

    def _drop(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        self.kill()
        self._process = self._pipe = None


class _Stoppable:
    """SIGINT while a job runs, but not within a message; at other times it is ignored."""

    def __init__(self) -> None:
        self.running = False
        self._telling = self._late = False
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _stop(self, *_: object) -> None:
        self._late = self._telling
        if self.running and not self._telling:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        """What is sent meanwhile arrives whole; then the signal is heard."""
        self._telling = True
        try:
            yield
        finally:
            self._telling = False
        if self._late:
            self._late = False
            raise KeyboardInterrupt


def _work(pipe: Connection) -> None:
    """The child: jobs come and answers go, until the other end is closed."""
    stop = _Stoppable()
    from bckm.app import jobs

    def tell(*what: Any) -> None:
        with stop.whole():
            pipe.send(what)

    while True:
        try:
            name, given = pipe.recv()
        except (EOFError, OSError):
            return
        answer: tuple[str, Any]
        try:
            stop.running = True
            tell(BEGAN, None)
            answer = ("done", jobs.JOBS[name](*given, tell=tell))
            stop.running = False
        except BaseException as error:
            stop.running = False
            answer = ("failed", refusal(error))
        try:
            pipe.send(answer)
        except OSError:
            return
