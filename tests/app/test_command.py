"""``bckm app`` from the terminal: it starts, says where, cleans up, or says what to install."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from bckm.app.folder import Folder
from bckm.cli import cli
from tests.app.server import httpx
from tests.support.waiting import SECONDS, started


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    found = CliRunner().invoke(cli, ["app", "--no-browser"])
    assert found.exit_code == 2
    assert "pip install 'bckm[app]'" in found.output


def test_a_bad_table(tmp_path):
    (tmp_path / "empty.csv").touch()
    found = CliRunner().invoke(cli, ["app", str(tmp_path / "empty.csv"), "--no-browser"])
    assert found.exit_code == 5
    assert "empty.csv is empty" in found.output


ENDS = [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)]


def test_folders_of_killed_processes_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make = "from bckm.app.folder import Folder; import os; print(Folder().path, flush=True)"
    code = f"{make}; os.kill(os.getpid(), 9)"
    killed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    left = Path(killed.stdout.strip())
    assert left.is_dir()
    (strange := tmp_path / "bckm-app-of-somebody").mkdir()
    first = Folder()
    second = Folder()
    assert not left.exists()
    assert first.path.is_dir()  # alive
    assert strange.is_dir()  # not known to be dead
    first.close()
    second.close()
    assert list(tmp_path.iterdir()) == [strange]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wait", [0.0, 0.05])
def test_ended_while_it_starts(tmp_path, wait):
    with started(
        [sys.executable, "-m", "bckm", "app", "--no-browser"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        process.stderr.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGTERM)
        told = process.communicate(timeout=20)[1]
        assert process.returncode == 0, told
    assert "Error" not in told
    assert not list(tmp_path.glob("bckm-app-*"))


@pytest.mark.parametrize("how", [*ENDS, None])
@pytest.mark.sampled(1)
def test_starts_and_cleans_up(tmp_path, how):
    table = tmp_path / "stops.csv"
    rows = "".join(f"{i},{i * 37 % 101},{i * 53 % 97}\n" for i in range(2_000))
    table.write_text(f"id,x,y\n{rows}")
    place = tempfile.mkdtemp(dir=tmp_path)
    with started(
        [sys.executable, "-m", "bckm", "app", str(table), "--no-browser"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": place},
    ) as process:
        lines = [process.stderr.readline() for _ in range(2)]
        found = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+)/#token=(\S{40,})\n", lines[1])
        assert found, lines
        with httpx.Client(headers={"X-Bckm-Token": found[2]}, timeout=60) as client:
            state = client.get(f"{found[1]}/api/state").json()
            assert state["table"]["name"] == "stops.csv"
            assert list(Path(place).glob("bckm-app-*/upload-1.csv"))
            position = {"kind": "plane", "columns": ["x", "y"], "scale": "none", "missing": "error"}
            client.post(f"{found[1]}/api/setup", json={"id": "id", "position": position})
            rules = {"cards": [], "clusters": {"count": 20, "names": []}}
            client.post(f"{found[1]}/api/rules", json=rules)
            asked = {"search": "global", "time_limit": 60}
            job = client.post(f"{found[1]}/api/solve", json=asked).json()["job"]
            with client.stream("GET", f"{found[1]}/api/progress?job={job}") as stream:
                next(stream.iter_lines())  # a page that follows
                if how is None:
                    httpx.post(f"{found[1]}/api/quit", headers=client.headers)
                else:
                    process.send_signal(how)
                process.wait(20)
        assert process.returncode == 0
        assert not list(Path(place).glob("bckm-app-*"))
        assert "Traceback" not in process.stderr.read()
