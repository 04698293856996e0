"""Addresses of the server: each reads what comes, asks the session, answers JSON."""

from __future__ import annotations

import asyncio
import json
import math
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from bckm.app import points as shown
from bckm.app.downloads import command, written
from bckm.app.errors import Refused, refusal
from bckm.app.security import read_json
from bckm.app.session import Session
from bckm.app.solving import Job
from bckm.app.versions import tried

STATIC = Path(__file__).parent / "static"
LOOK = 0.1  # seconds between two looks at a job
DRAW = 0.2  # and two pictures
ALIVE = 10.0  # after so long without news a comment says that the server is there
Handler = Callable[[Request], Awaitable[Response]]
mimetypes.add_type("text/javascript", ".js")


def plain(value: Any) -> Any:
    """A value as JSON has it: what is not finite is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    return value


def answer(value: Any, status: int = 200) -> Response:
    """JSON in ASCII: also for text that is not valid in UTF-8."""
    body = json.dumps(plain(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Response(body.encode(), status, media_type="application/json")


def application(
    session: Session,
    quit: Callable[[], None],  # noqa: A002
    leaving: Callable[[], bool] = lambda: False,
) -> Starlette:
    """The application for a session; `leaving` tells streams that the server ends."""
    routes = _Routes(session, quit, leaving)
    get, post = ["GET"], ["POST"]
    api = [
        Route("/api/state", routes.state, methods=get),
        Route("/api/open", routes.open, methods=post),
        Route("/api/demo", routes.demo, methods=post),
        Route("/api/reading", routes.reading, methods=post),
        Route("/api/previous", routes.previous, methods=post),
        Route("/api/setup", routes.setup, methods=post),
        Route("/api/rules", routes.rules, methods=post),
        Route("/api/solve", routes.solve, methods=post),
        Route("/api/progress", routes.progress, methods=get),
        Route("/api/stop", routes.stop, methods=post),
        Route("/api/points", routes.points, methods=get),
        Route("/api/column", routes.column, methods=get),
        Route("/api/versions", routes.versions, methods=get),
        Route("/api/version/{number}", routes.version, methods=get),
        Route("/api/try", routes.try_moves, methods=post),
        Route("/api/change", routes.change, methods=post),
        Route("/api/download/{kind}", routes.download, methods=get),
        Route("/api/command", routes.command, methods=get),
        Route("/api/quit", routes.quit, methods=post),
    ]
    pages = [Route("/", _index, methods=get)]
    if STATIC.is_dir():
        pages.append(Mount("/static", StaticFiles(directory=STATIC)))  # type: ignore[arg-type]
    return Starlette(
        routes=[*api, *pages],
        exception_handlers={HTTPException: _http_error, Exception: _error},
    )


async def _index(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = "not_found" if error.status_code == 404 else "malformed"
    return answer(Refused(kind, "there is nothing at this address.").tree(), error.status_code)


async def _error(_: Request, error: Exception) -> Response:
    refused = refusal(error)
    return answer(refused.tree(), refused.status)


def told(handler: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """What goes wrong becomes an answer."""

    async def wrapped(self: Any, request: Request) -> Response:
        try:
            return await handler(self, request)
        except ClientDisconnect:
            return Response(status_code=400)
        except asyncio.CancelledError:  # the server ends
            return Response(status_code=503)
        except Exception as error:
            return await _error(request, error)

    return wrapped


async def _json(request: Request) -> dict[str, Any]:
    found = read_json(await request.body())
    if not isinstance(found, dict):
        raise Refused("malformed", "the request must be a JSON object.")
    return found


class _Routes:
    def __init__(
        self,
        session: Session,
        quit: Callable[[], None],  # noqa: A002
        leaving: Callable[[], bool],
    ) -> None:
        self._session, self._quit, self._leaving = session, quit, leaving

    def _claim(self, request: Request, *, anew: bool = False, changes: bool = True) -> None:
        """A tab that does not know what another has changed must look first."""
        tab, seen = request.headers.get("x-bckm-tab", ""), request.headers.get("x-bckm-asked")
        self._session.claim(tab, None if anew else seen, changes=changes)

    async def _state(self) -> Response:
        return answer(await asyncio.to_thread(self._session.state))

    @told
    async def state(self, _: Request) -> Response:
        return await self._state()

    @told
    async def open(self, request: Request) -> Response:
        name, data = request.query_params.get("name", "table"), await request.body()
        await asyncio.to_thread(self._session.open, name, data)
        self._claim(request, anew=True)
        return await self._state()

    @told
    async def demo(self, request: Request) -> Response:
        found = await _json(request)
        await asyncio.to_thread(self._session.open_demo, found.get("name"))
        self._claim(request, anew=True)
        return await self._state()

    @told
    async def reading(self, request: Request) -> Response:
        found = await _json(request)
        self._claim(request)
        await asyncio.to_thread(self._session.read_again, found)
        return await self._state()

    @told
    async def previous(self, request: Request) -> Response:
        name, data = request.query_params.get("name", "table"), await request.body()
        return answer(await asyncio.to_thread(self._session.add_previous, name, data))

    @told
    async def setup(self, request: Request) -> Response:
        found = await _json(request)
        self._claim(request)
        await asyncio.to_thread(self._session.set_up, found)
        return await self._state()

    @told
    async def rules(self, request: Request) -> Response:
        found = await _json(request)
        self._claim(request)
        return answer(await asyncio.to_thread(self._session.set_rules, found))

    @told
    async def solve(self, request: Request) -> Response:
        found = await _json(request)
        self._claim(request, changes=False)
        number = await asyncio.to_thread(self._session.solve, found)
        return answer({"job": number}, 202)

    @told
    async def progress(self, request: Request) -> Response:
        job = self._session.job
        if job is None or str(job.number) != request.query_params.get("job"):
            raise Refused("not_found", "there is no such job.")
        return StreamingResponse(_events(job, self._leaving), media_type="text/event-stream")

    @told
    async def stop(self, _: Request) -> Response:
        return answer({"stopped": await asyncio.to_thread(self._session.stop)})

    @told
    async def points(self, _: Request) -> Response:
        table, setup = self._session.ready()
        return answer(await asyncio.to_thread(shown.points, table, setup))

    @told
    async def column(self, request: Request) -> Response:
        table, name = self._session.opened(), request.query_params.get("name", "")
        values = await asyncio.to_thread(table.texts, name)
        return answer({"name": name, "values": values})

    @told
    async def versions(self, _: Request) -> Response:
        found = list(self._session.versions.values())
        return answer(await asyncio.to_thread(lambda: [one.line() for one in found]))

    @told
    async def version(self, request: Request) -> Response:
        found = self._session.version(request.path_params["number"])
        return answer(await asyncio.to_thread(found.tree))

    @told
    async def try_moves(self, request: Request) -> Response:
        found = await _json(request)
        version = self._session.version(found.get("version"))
        return answer(await asyncio.to_thread(tried, version, found.get("moves")))

    @told
    async def change(self, request: Request) -> Response:
        found = await _json(request)
        self._claim(request, changes=bool(found.get("keep")))
        version = await asyncio.to_thread(self._session.change, found)
        return answer(await asyncio.to_thread(version.tree))

    @told
    async def download(self, request: Request) -> Response:
        session, kind = self._session, request.path_params["kind"]
        version = session.version(request.query_params.get("version", session.shown))
        data, name, media = await asyncio.to_thread(written, session, version, kind)
        ascii_name = "".join(
            c if c.isascii() and (c.isalnum() or c in "._- ") else "_" for c in name
        )
        shown_name = quote(name.encode("utf-8", "replace"), safe="")
        disposition = f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{shown_name}"
        return Response(data, media_type=media, headers={"content-disposition": disposition})

    @told
    async def command(self, request: Request) -> Response:
        session = self._session
        version = session.version(request.query_params.get("version", session.shown))
        return answer(await asyncio.to_thread(command, session, version))

    @told
    async def quit(self, _: Request) -> Response:
        self._quit()
        return answer({"bye": True})


async def _events(job: Job, leaving: Callable[[], bool]) -> AsyncIterator[str]:
    """The last news of a job, as often as a person can see them, until it ends."""
    seen: dict[str, int] = {}
    drawn, quiet = -math.inf, 0.0
    clock = asyncio.get_running_loop().time
    while not leaving():
        ended = job.end  # before the news: none is missed
        news = False
        for what in ("step", "labels"):
            count, value = job.last.get(what, (0, None))
            late = what == "labels" and clock() - drawn < DRAW
            if count > seen.get(what, 0) and not late:
                seen[what], news = count, True
                drawn = clock() if what == "labels" else drawn
                yield _event(what, value)
        if ended is not None:
            yield _event(*ended)
            return
        quiet = 0.0 if news else quiet + LOOK
        if quiet >= ALIVE:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK)


def _event(what: str, value: Any) -> str:
    return f"event: {what}\ndata: {json.dumps(plain(value), ensure_ascii=True)}\n\n"
