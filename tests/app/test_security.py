"""Who may ask, how much may come, and what leaves."""

from __future__ import annotations

import json
import socket
import stat

import pytest

from bckm.app import security
from bckm.app.errors import Refused, refusal
from bckm.app.folder import Folder, label
from tests.app.server import TOKEN, httpx


def _port(client):
    return client.base_url.port


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.1:{port}", ""),
        *("localhost.evil:{port}", "[::1]:{port}", "0.0.0.0:{port}", "127.0.0.1:{port}.evil"),
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/state"])
def test_other_hosts_are_refused(client, host, path):
    answer = client.get(path, headers={"Host": host.format(port=_port(client))})
    assert answer.status_code in (400, 421)
    assert "revision" not in answer.text


def test_two_hosts_are_refused(client):
    port = _port(client)
    request = (
        f"GET /api/state HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n"
        f"X-Bckm-Token: {TOKEN}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plug:
        plug.sendall(request.encode())
        assert b"revision" not in plug.recv(100_000)


def test_localhost_is_the_same(client):
    host = {"Host": f"localhost:{_port(client)}"}
    assert client.get("/api/state", headers=host).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:{port}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_sites_are_refused(client, headers, method):
    sent = {name: value.format(port=_port(client)) for name, value in headers.items()}
    path = "/api/state" if method == "GET" else "/api/demo"
    answer = client.request(method, path, headers=sent, content=b'{"name": "vans"}')
    assert answer.status_code == 403
    assert answer.json()["error"]["kind"] == "forbidden"


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", TOKEN[:-1], "ÿ"])
def test_token(client, token):
    headers = {} if token is None else {"X-Bckm-Token": token.encode("latin-1")}
    with httpx.Client(base_url=client.base_url) as stranger:
        for path in ("/api/state", "/api/points", "/api/download/csv", "/api/nothing"):
            assert stranger.get(path, headers=headers).status_code == 403
        form = stranger.post("/api/quit", data={"a": "b"}, headers=headers)
        assert form.status_code == 403


def test_token_is_not_taken_from_the_address(client):
    with httpx.Client(base_url=client.base_url) as stranger:
        assert stranger.get(f"/api/state?token={TOKEN}").status_code == 403


def test_headers(client):
    for path in ("/api/state", "/api/nothing", "/nothing"):
        headers = client.get(path).headers
        for name, value in security.HEADERS.items():
            assert headers[name] == value
        assert "server" not in headers or headers["server"] != ""
    csp = client.get("/api/state").headers["content-security-policy"]
    assert "default-src 'none'" in csp
    assert "unsafe" not in csp


@pytest.mark.parametrize(
    "path", ["/static/../session.py", "/static/%2e%2e/session.py", "/etc/passwd"]
)
def test_no_other_files(client, path):
    port = _port(client)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plug:
        plug.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = plug.recv(100_000)
    assert b" 404 " in answer.split(b"\r\n", 1)[0]


def test_sizes(client):
    big = client.post("/api/setup", content=b" " * (security.JSON_LIMIT + 1))
    assert big.status_code == 413
    assert big.json()["error"]["kind"] == "too_large"
    port, length = _port(client), security.DRAINED + 1
    request = (
        f"POST /api/open HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Bckm-Token: {TOKEN}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plug:
        plug.sendall(request.encode())  # refused before anything comes
        assert b" 413 " in plug.recv(1000).split(b"\r\n", 1)[0]


def test_sizes_are_counted(client):
    def pieces():
        for _ in range(6):
            yield b"x" * 1_000_000

    answer = client.post("/api/setup", content=pieces())  # chunked: no length is said
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "body", [b"[" * 5000, b'{"a":' * 60 + b"1" + b"}" * 60, b"{", b"NaN", b"\xff\xfe", b"3", b'"x"']
)
def test_bad_json(client, body):
    answer = client.post("/api/rules", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["kind"] == "malformed"


@pytest.mark.parametrize("depth", [60, 100_000])
def test_deep_json(client, depth):
    answer = client.post("/api/rules", content=b'{"a":' * depth + b"1" + b"}" * depth)
    assert answer.status_code == 400
    assert "nested too deeply" in answer.json()["error"]["message"]


def test_huge_header(client):
    with socket.create_connection(("127.0.0.1", _port(client)), timeout=60) as plug:
        plug.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 300_000)
        assert b" 400 " in plug.recv(1000).split(b"\r\n", 1)[0]


def test_methods(client):
    assert client.post("/api/state").status_code == 405
    assert client.get("/api/open").status_code == 405


def test_no_traceback(client, session, monkeypatch, capfd):
    def fails():
        raise KeyError("a secret")

    monkeypatch.setattr(session, "state", fails)
    answer = client.get("/api/state")
    assert answer.status_code == 500
    error = answer.json()["error"]
    assert error["kind"] == "internal"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    told = capfd.readouterr().err
    assert error["id"] in told
    assert "a secret" in told


def test_refusals_are_sentences():
    assert refusal(MemoryError()).kind == "too_large"
    assert refusal(ValueError("no\x1b[31m")).message == "no␛[31m"
    assert json.loads(json.dumps(Refused("busy", "later", a=1).tree()))["error"]["a"] == 1


def test_folder():
    folder = Folder()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    path = folder.keep("../../etc/passwd.CSV", b"x")
    assert path.parent == folder.path
    assert path.name == "upload-1.csv"
    assert folder.keep("a.csv.gz", b"").name == "upload-2.csv.gz"
    assert label("C:\\a\\..\\b/stops.xlsx") == "stops.xlsx"
    folder.close()
    assert not folder.path.exists()
