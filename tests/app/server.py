"""A server in this process: Starlette's client, or a real one with a socket."""

from __future__ import annotations

import contextlib
import json
import threading
import time

import pytest

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")

from bckm.app.routes import application  # noqa: E402
from bckm.app.security import Guard  # noqa: E402
from bckm.app.serving import listening  # noqa: E402
from bckm.app.session import Session  # noqa: E402
from tests.support.waiting import SECONDS, until  # noqa: E402

TOKEN = "a-token-for-tests"


@contextlib.contextmanager
def running():
    """A real server; yields a client with the token, and the session."""
    taken, session = listening(), Session()
    port = taken.getsockname()[1]
    app = Guard(application(session, lambda: None), TOKEN, port)
    config = uvicorn.Config(app, log_level="critical", lifespan="off", http="h11", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"X-Bckm-Token": TOKEN}, timeout=60
        ) as client:
            until(lambda: server.started, "the server")
            yield client, session
    finally:
        server.should_exit = True
        thread.join(10)
        session.close()


def ended(client, job):
    """Wait for a job; all its events as (name, data)."""
    found, name, end = [], "", time.monotonic() + SECONDS
    with client.stream("GET", f"/api/progress?job={job}") as stream:
        for line in stream.iter_lines():
            assert time.monotonic() < end, f"job {job} does not end: {found[-1:]}"
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                found.append((name, json.loads(line[6:])))
    return found


def solved(client, **asked):
    """Solve and wait; the number of the new version."""
    answer = client.post("/api/solve", json={"seed": 0, **asked})
    assert answer.status_code == 202, answer.text
    events = ended(client, answer.json()["job"])
    assert events[-1][0] == "done", events[-1]
    return events[-1][1]["version"]
