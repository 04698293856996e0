"""A real Ctrl-C: in a process of its own, from outside; or here, by a signal of the clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.waiting import started

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def interrupted(code: str, wait: float, most: float) -> str:
    """Interrupt code `wait` seconds after it prints "begun"; return what it prints then.

    It must end by itself, within `most` seconds.
    """
    with started(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "."},
        # a shell that starts tests in the background makes its children ignore the signal
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(wait)
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        told: str = process.communicate(timeout=30)[0]
        assert process.returncode == 0, told
        assert time.perf_counter() - sent < most
    return told


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """Ctrl-C after so many seconds, unless it is over by then."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
