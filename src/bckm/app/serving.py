"""Start the server, open the page, clean up in the end."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bckm._core.terminal import clean, say
from bckm.app.errors import INSTALL, Refused


def listening(port: int = 0) -> socket.socket:
    """A socket of this computer alone; port 0 is a free one."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()  # who comes before the server has started waits
    except OSError as error:
        found.close()
        raise Refused("busy", f"port {port} cannot be used: {error.strerror}.") from None
    return found


def serve(
    table: str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve the page until it is closed or Ctrl-C is pressed.

    Parameters
    ----------
    table : str, optional
        A file to open at once.
    port : int
        Where to listen; 0 is a free port.
    browser : bool
        Whether to open the page in the browser.
    started : callable, optional
        Called with the address once the server listens.

    Raises
    ------
    ImportError
        Where Starlette or uvicorn is not installed.
    """
    try:
        import uvicorn

        from bckm.app.routes import application
    except ImportError as error:
        raise ImportError(INSTALL) from error
    from bckm.app.security import Guard
    from bckm.app.session import Session

    server: uvicorn.Server | None = None

    def leave() -> None:
        if server is None:
            raise KeyboardInterrupt
        server.should_exit = True

    taken = listening(port)
    before = _politely(leave)
    session = Session()
    try:
        if table is not None:
            session.open(Path(table).name, Path(table).read_bytes())
        token = secrets.token_urlsafe(32)
        number = taken.getsockname()[1]
        address = f"http://127.0.0.1:{number}/#token={token}"

        def leaving() -> bool:
            return server is not None and server.should_exit

        app = Guard(application(session, leave, leaving), token, number)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=32_768,
            http="h11",
            ws="none",
        )
        server = uvicorn.Server(config)
        session.warm()
        say("bckm app: everything stays on this computer. Ctrl-C ends it.", err=True)
        say(f"Open {clean(address)}", err=True)
        if started is not None:
            started(address)
        if browser:
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):  # the usual end
            server.run(sockets=[taken])
    finally:
        session.close()
        taken.close()
        for one, handler in before.items():
            signal.signal(one, handler)


def _politely(leave: Callable[[], None]) -> dict[signal.Signals, Any]:
    """Whoever ends the process, or closes its terminal, leaves no files.

    Returns what was to happen before, for each signal.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}

    def stop(*_: object) -> None:
        leave()

    names = ("SIGTERM", "SIGHUP")  # the latter not on Windows
    found = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return {one: signal.signal(one, stop) for one in found}
