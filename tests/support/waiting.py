"""Waiting for processes and threads: no test waits for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Any

SECONDS = 120  # far more than any takes, also on a busy machine


def until(there: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Wait until something is there."""
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.01)


@contextmanager
def started(command: list[Any], seconds: float = SECONDS, **options: Any) -> Iterator[Any]:
    """A process that is killed when the block ends, or after so many seconds, and then says so.

    Its children are killed with it, so that whoever reads from them comes to the end.
    """
    late = Event()
    with subprocess.Popen(command, start_new_session=True, **options) as process:

        def kill() -> None:
            with suppress(ProcessLookupError):  # all have ended
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()

        def stop() -> None:
            late.set()
            kill()

        timer = Timer(seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            kill()
            if late.is_set():
                raise TimeoutError(f"not done after {seconds} s: {command}")
