"""Two fits with one checkpoint: the second one is told; a killed one leaves nothing to clean up."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import bckm
from bckm._storage import lock as _lock
from bckm._storage.lock import alone
from tests.support.waiting import SECONDS, started

FIT = """
import sys, time, numpy as np, bckm
X = np.random.default_rng(0).normal(size=(60, 2))

def slowly(step):
    print("step", flush=True)
    time.sleep(float(sys.argv[2]))

bckm.kmeans(X, 3, n_init=3, random_state=0, search="none", on_step=slowly, checkpoint=sys.argv[1])
print("done", flush=True)
"""
X = np.random.default_rng(0).normal(size=(60, 2))


def fit(path, **more):
    return bckm.kmeans(X, 3, n_init=3, random_state=0, search="none", checkpoint=path, **more)


@pytest.fixture
def other(tmp_path):
    """A fit in another process, which has begun."""
    path = tmp_path / "fit.checkpoint"
    command = [sys.executable, "-c", FIT, str(path), "30"]
    with started(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "step\n"
        yield path, process


def test_a_second_process_is_refused_and_a_killed_one_leaves_nothing_to_clean(other):
    path, process = other
    words = rf"is in use by another fit \(process {process.pid} on .+\).*choose another file"
    with pytest.raises(bckm.FileInUseError, match=words):
        fit(path)
    link = path.with_name("link")
    link.symlink_to(path)
    with pytest.raises(bckm.FileInUseError):  # the same file by another name
        fit(link)
    link.unlink()
    process.send_signal(signal.SIGKILL)
    process.wait(SECONDS)
    assert fit(path).status is bckm.Status.CONVERGED
    assert os.listdir(path.parent) == ["fit.checkpoint"]


def test_the_command_line_says_so(other, tmp_path):
    path, _ = other
    table = tmp_path / "a.csv"
    table.write_text("x\n" + "\n".join(map(str, range(20))) + "\n")
    command = [sys.executable, "-m", "bckm", "fit", table, "-k", "2", "--checkpoint", path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 5
    assert "is in use by another fit" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_thread_is_refused(tmp_path):
    path, begun, go = tmp_path / "x", threading.Event(), threading.Event()

    def wait(_):
        begun.set()
        go.wait(30)

    thread = threading.Thread(target=fit, args=(path,), kwargs={"on_step": wait})
    thread.start()
    try:
        assert begun.wait(30)
        with pytest.raises(bckm.FileInUseError, match=f"process {os.getpid()} on"):
            fit(path)
    finally:
        go.set()
        thread.join(SECONDS)
    assert not thread.is_alive(), "the first fit does not end"
    assert fit(path).status is bckm.Status.CONVERGED


def test_nothing_is_held_after_an_error(tmp_path):
    def fail(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as kept:  # the traceback keeps all frames
        fit(tmp_path / "x", on_step=fail)
    with pytest.raises(ValueError, match="max_iter"):
        fit(tmp_path / "x", max_iter=0)
    assert fit(tmp_path / "x").status is bckm.Status.CONVERGED
    assert kept.value
    assert os.listdir(tmp_path) == ["x"]


def test_a_file_without_locks_is_told_of(tmp_path, monkeypatch):
    def none(_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(_lock, "_lock", none)
    with pytest.warns(RuntimeWarning, match=r"has no locks \(No locks available\): a second fit"):
        assert fit(tmp_path / "x").status is bckm.Status.CONVERGED
    assert os.listdir(tmp_path) == ["x"]


def test_old_lock_files_mean_nothing(tmp_path):
    (tmp_path / ".x.lock").write_text("1 elsewhere\n")
    assert fit(tmp_path / "x").status is bckm.Status.CONVERGED
    assert os.listdir(tmp_path) == ["x"]


def test_only_one_at_a_time(tmp_path):
    """Many threads, each taking the lock as soon as it can: never two at once."""
    inside, most, times = [0], [0], [0]

    def work():
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            try:
                with alone(tmp_path / "x"):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    times[0] += 1
                    time.sleep(0.0001)
                    inside[0] -= 1
            except bckm.FileInUseError:
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(SECONDS)
    assert not any(one.is_alive() for one in threads), "a thread waits for the lock"
    assert most == [1]
    assert times[0] > 3  # on a busy machine, too
    assert os.listdir(tmp_path) == []


def test_where_nothing_can_be_written_nothing_is_locked(tmp_path, monkeypatch):
    def protected(*_):
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(_lock.os, "open", protected)
    with alone(tmp_path / "x"):
        pass
    with alone(tmp_path / "absent" / "x"):
        pass
