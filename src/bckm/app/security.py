"""Who may ask: this computer, this page, with the token; and how much may come.

A page on another site can send requests to 127.0.0.1, and with DNS rebinding even read answers. So
the Host must be ours, Origin and Sec-Fetch-Site must be the page itself, and all that is more than
the page's own files needs a token that no other site can know.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any

from bckm._core.note import Note
from bckm.app.errors import Refused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

TOKEN = "x-bckm-token"
FILE_LIMIT, JSON_LIMIT = 100_000_000, 4_000_000  # bytes of a body
# a browser that is still sending does not read the answer: so much is read and thrown away before
DRAINED = 2_000_000_000
DEPTH = 32  # of nested JSON
_FILES = ("/api/open", "/api/previous")

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Guard:
    """Lets through what may pass, and puts the headers on all that leaves.

    Parameters
    ----------
    app : ASGI application
        Who answers.
    token : str
        What the page knows.
    port : int
        Where the server listens.
    """

    def __init__(self, app: Any, token: str, port: int) -> None:
        self.app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        sender = _with_headers(send)
        try:
            self._check(scope)
            limit = FILE_LIMIT if scope["path"] in _FILES else JSON_LIMIT
            _check_length(scope["headers"], DRAINED)
        except Refused as refused:
            status = 421 if refused.more.pop("host", False) else refused.status
            if refused.kind == "forbidden":
                await _drain(receive)
            await _answer(sender, status, refused)
            return
        await self.app(scope, _limited(receive, limit), sender)

    def _check(self, scope: Scope) -> None:
        headers = scope["headers"]
        if _all(headers, b"host") not in [[host] for host in self._hosts]:
            raise Refused("forbidden", "this server answers 127.0.0.1 alone.", host=True)
        origins = _all(headers, b"origin")
        if len(origins) > 1 or any(origin not in self._origins for origin in origins):
            raise Refused("forbidden", "other sites may not ask this server.")
        site = _all(headers, b"sec-fetch-site")
        if any(one not in (b"none", b"same-origin") for one in site):
            raise Refused("forbidden", "other sites may not ask this server.")
        if scope["path"].startswith("/api"):
            told = _all(headers, TOKEN.encode())
            if len(told) != 1 or not hmac.compare_digest(told[0], self._token):
                raise Refused(
                    "forbidden", "the token is missing or wrong: open the address that bckm shows."
                )


def _all(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each.lower() == name]


def _too_large(limit: int) -> Refused:
    text = f"that is more than {limit / 1e6:g} MB, the most that is taken."
    return Refused("too_large", Note(text, "too_much", most=limit / 1e6))


def _check_length(headers: Iterable[tuple[bytes, bytes]], limit: int) -> None:
    for told in _all(headers, b"content-length"):
        if not told.isdigit() or len(told) > 18 or int(told) > limit:
            raise _too_large(limit)


def _limited(receive: Receive, limit: int) -> Receive:
    """The same, counted: what a request says of its length may be a lie."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            while message.get("more_body") and size <= DRAINED:
                message = await receive()
                size += len(message.get("body", b""))
            raise _too_large(limit)
        return message

    return counted


async def _drain(receive: Receive) -> None:
    """Read a body that nobody wants: a client that is still sending would see a reset."""
    with suppress(Refused):
        while (await _limited(receive, JSON_LIMIT)()).get("more_body"):
            pass


def _with_headers(send: Send) -> Send:
    ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(n, v) for n, v in message["headers"] if n.lower().decode() not in HEADERS]
            message = {**message, "headers": [*kept, *ours]}
        await send(message)

    return sender


async def _answer(send: Send, status: int, refused: Refused) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(refused.tree()).encode()})


def read_json(body: bytes) -> Any:
    """JSON from the page: a tree of limited depth without NaN."""
    try:
        found = json.loads(body or b"{}", parse_constant=_no_constant)
    except RecursionError:
        raise Refused("malformed", "the request is nested too deeply.") from None
    except ValueError as error:
        raise Refused("malformed", f"the request is not JSON: {error}.") from None
    _check_depth(found)
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _check_depth(value: Any, depth: int = 0) -> None:
    if depth > DEPTH:
        raise Refused("malformed", "the request is nested too deeply.")
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            _check_depth(one, depth + 1)
