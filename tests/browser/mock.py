"""A server that says what the page needs to hear: quick, without a fit, at any size.

The page's own tests run against it; the whole way is tried with `bckm.app` in test_stories.py.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import numpy as np

STATIC = Path(__file__).parents[2] / "src/bckm/app/static"
TOKEN = "token-of-the-mock"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".html": "text/html",
}


class Mock:
    """What the server knows; `say` replaces any text a person could have written."""

    def __init__(self, n: int = 180, k: int = 9, say: str | None = None) -> None:
        rng = np.random.default_rng(0)
        self.n, self.k = n, k
        middle = rng.uniform(0, 40, (k, 2))
        of = rng.integers(k, size=n)
        place = middle[of] + rng.normal(0, 2.5, (n, 2))
        self.x, self.y = place.round(3).T.tolist()
        self.ids = [f"S-{i + 1:03}" for i in range(n)]
        self.names = [say or f"Shop {i + 1}" for i in range(n)]
        self.columns = {
            "stop": self.ids,
            say or "shop": self.names,
            "x_km": list(map(str, self.x)),
            "y_km": list(map(str, self.y)),
            "kg": rng.integers(5, 60, n).astype(str).tolist(),
            "household": [f"h{i // 2}" if i < 20 else None for i in range(n)],
        }
        self.say = say
        self.table: dict[str, Any] | None = None
        self.setup: dict[str, Any] | None = None
        self.rules: dict[str, Any] = {"cards": [], "clusters": {"count": 0, "names": []}}
        self.verdict: dict[str, Any] | None = None
        self.versions: list[dict[str, Any]] = []
        self.problems = True
        self.commas = False  # places are texts until somebody says that commas are decimal ones
        self.note: dict[str, Any] | None = None  # of every version
        self.stopped = threading.Event()
        self.late: dict[str, threading.Event] = {}  # when the next answer of an address may leave
        self._lock = threading.Lock()
        self.calls: list[tuple[str, Any]] = []
        self.seconds = 1.0

    def state(self) -> dict[str, Any]:
        return {
            "revision": len(self.calls),
            "app": {"version": "0", "limits": {"file": 100_000_000}},
            "table": self.table,
            "setup": self.setup,
            "rules": self.rules,
            "verdict": self.verdict,
            "job": None,
            "shown": len(self.versions) or None,
        }

    def opened(self, name: str) -> dict[str, Any]:
        rows = [list(row) for row in zip(*self.columns.values(), strict=True)][:200]
        if self.problems:
            rows[4][4] = "n/a"
        self.setup, self.versions, self.verdict = None, [], None
        self.rules = {"cards": [], "clusters": {"count": 0, "names": []}}
        drop = {"key": "drop", "text": "leave row 9 out", "change": {"drop_rows": [9]}}
        mean = {"key": "mean", "text": "fill with the mean", "change": {"fills": {"kg": "mean"}}}
        found: dict[str, Any] = {"kind": "not_a_number", "column": "kg", "rows": [4]}
        found["remedies"] = [mean, drop]
        said = self.say or "column 'kg', line 9 has 'n/a', which is no number."
        found["message"] = {"text": said}
        comma = {"key": "decimal", "text": "the decimal separator is a comma"}
        found["remedies"].append({**comma, "change": {"decimal": ","}})
        numbers = ("kg",) if self.commas else ("x_km", "y_km", "kg")
        self.table = {
            "name": self.say or name,
            "n_rows": self.n,
            "columns": [
                {
                    "name": column,
                    "type": "number" if column in numbers else "text",
                    "missing": sum(one is None for one in values) + (column == "kg"),
                    "distinct": len(set(values)),
                    "sample": values[:3],
                }
                for column, values in self.columns.items()
            ],
            "preview": {"rows": rows, "lines": list(range(5, 205))},
            "assumed": [
                {
                    "text": "the column names are in row 4; rows 1 to 3 were taken as a title.",
                    "key": "title",
                    "values": {"row": "4"},
                }
            ],
            "problems": [found] if self.problems else [],
            "reading": {"header_row": 4},
        }
        return self.state()

    def checked(self, rules: dict[str, Any]) -> dict[str, Any]:
        self.rules = rules
        k = max(rules["clusters"]["count"], 1)
        feasible, conflict, remedies = True, [], []
        for card in rules["cards"]:
            most = card["keys"].get("max")
            if card["kind"] == "size" and isinstance(most, int) and most * k < self.n:
                feasible = False
                conflict.append(
                    {"text": f"at most {most} in each", "card": card["id"], "samples": []}
                )
                conflict.append({"text": "two that are together", "card": None, "samples": [0, 1]})
                loose = {**card, "keys": {**card["keys"], "max": -(-self.n // k)}}
                remedies.append({"text": f"allow {-(-self.n // k)} in each", "cards": [loose]})
        self.verdict = {
            "verdict": "feasible" if feasible else "infeasible",
            "message": "fine" if feasible else f"the clusters hold fewer than {self.n}",
            "conflict": conflict,
            "remedies": remedies,
            "notes": [],
            "seconds": 0.01,
        }
        return self.verdict

    def labels(self, step: int = 99) -> list[int]:
        k = max(self.rules["clusters"]["count"], 1)
        rng = np.random.default_rng(1)
        points = np.column_stack([self.x, self.y])
        centers = points[rng.choice(self.n, min(k, self.n), replace=False)]
        labels = np.zeros(self.n, int)
        for _ in range(min(step, 12)):
            far = ((points[:, None] - centers[None]) ** 2).sum(axis=2)
            labels = far.argmin(axis=1)
            for i in range(len(centers)):
                if (labels == i).any():
                    centers[i] = points[labels == i].mean(axis=0)
        found: list[int] = labels.tolist()
        return found

    def made(self, labels: list[int], made: str, moved: list[Any]) -> dict[str, Any]:
        clusters = self.rules["clusters"]
        kg = np.array(self.columns["kg"], float)
        each = np.asarray(labels)
        version = {
            "version": len(self.versions) + 1,
            "labels": labels,
            "centers": [],
            "clusters": [
                {
                    "name": self.say or (clusters["names"] or list(map(str, range(1, 10_000))))[i],
                    "size": int((each == i).sum()),
                    "size_min": 10,
                    "size_max": 24,
                    "loads": [
                        {"column": "kg", "value": float(kg[each == i].sum()), "min": 0, "max": 700}
                    ],
                    "quotas": [],
                    "cost": 1.0,
                    "members": np.flatnonzero(each == i).tolist(),
                }
                for i in range(clusters["count"])
            ],
            "objective": 1234.5 + len(self.versions),
            "inertia": 1200.0,
            "gap": 0.013,
            "given_up": [{"text": self.say or "S-001 with S-002", "cost": 3.2, "samples": [0, 1]}],
            "broken": [],
            "moved": moved,
            "seconds": self.seconds,
            "steps": [3000.0, 1234.5],
            "mixed": None,
        }
        self.versions.append({**version, "made": made})
        return version

    def answer(self, path: str, query: dict[str, str], body: Any) -> Any:
        with self._lock:
            found = self._answer(path, query, body)
            found = found and json.loads(json.dumps(found))  # as it is now
            leave = self.late.pop(path, None)
        if leave is not None:
            leave.wait(20)
        return found

    def _answer(self, path: str, query: dict[str, str], body: Any) -> Any:
        self.calls.append((path, body))
        if path == "/api/state":
            return self.state()
        if path == "/api/open":
            return self.opened(query["name"])
        if path == "/api/demo":
            return self.opened("demo.csv")
        if path == "/api/reading":
            assert self.table is not None
            self.table = {**self.table, "problems": [], "reading": body}
            if body.get("decimal"):
                for column in self.table["columns"][2:5]:
                    column["type"] = "number"
            return self.state()
        if path == "/api/setup":
            self.setup = body
            return self.state()
        if path == "/api/rules":
            return self.checked(body)
        if path == "/api/points":
            kinds = {"x": self.x, "y": self.y, "axes": ["x_km", "y_km"], "kind": "plane"}
            return {"n": self.n, **kinds, "ids": self.ids, "names": self.names, "weight": None}
        if path == "/api/column":
            return {"name": query["name"], "values": self.columns[query["name"]]}
        if path == "/api/previous":
            found = {"id": "file1", "name": query["name"], "columns": ["stop", "van"]}
            return {**found, "matched": 178, "unknown": ["S-44"], "kind": "clusters"}
        if path == "/api/versions":
            keys = ("version", "made", "objective", "inertia")
            rows = [{key: one[key] for key in keys} for one in self.versions]
            return [{**row, "broken": 0, "time": 0, "note": self.note} for row in rows]
        if path.startswith("/api/version/"):
            return self.versions[int(path.rpartition("/")[2]) - 1]
        if path == "/api/solve":
            self.stopped.clear()
            return {"job": 1}
        if path == "/api/stop":
            self.stopped.set()
            return {"stopped": True}
        if path in ("/api/try", "/api/change"):
            return self.changed(path, body)
        if path == "/api/command":
            return {"command": "bckm fit stops.csv --rules rules.toml", "needs": ["rules.toml"]}
        return None

    def changed(self, path: str, body: Any) -> Any:
        labels = list(self.versions[body["version"] - 1]["labels"])
        moved = []
        for move in body["moves"]:
            moved.append({"sample": move["sample"], "from": labels[move["sample"]]})
            moved[-1]["to"] = labels[move["sample"]] = move["cluster"]
        if path == "/api/change":
            return self.made(labels, "change", moved)
        broken = [{"text": self.say or "Van 3 is too full", "card": "c1", "samples": []}]
        sizes = np.bincount(labels, minlength=self.rules["clusters"]["count"]).tolist()
        tried = {"delta": 3.2, "delta_percent": 0.4, "broken": broken, "mended": []}
        return {**tried, "sizes": sizes, "loads": {}}

    def progress(self) -> Any:
        began = time.monotonic()
        for step in range(1, 8):
            if self.stopped.wait(self.seconds / 8):
                break
            best = 1234.5 + 900 / step**2
            rest = {"gap": 0.3 / step, "seconds": time.monotonic() - began, "phase": "search"}
            yield "step", {"iteration": step, "objective": best, "best": best, **rest}
            yield "labels", {"labels": self.labels(step), "objective": best}
        yield "done", {"version": self.made(self.labels(), "solve", [])["version"]}


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def _reply(self, status: int, kind: str, body: bytes, **more: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _handle(self) -> None:
        mock = self.server.mock
        address = urlparse(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        if not address.path.startswith("/api/"):
            name = address.path.removeprefix("/static/").strip("/") or "index.html"
            file = STATIC / unquote(name)
            found = file.is_file()
            body = file.read_bytes() if found else b""
            self._reply(200 if found else 404, TYPES.get(file.suffix, "text/plain"), body)
            return
        if self.headers.get("X-Bckm-Token") != TOKEN:
            self._json(403, {"error": {"kind": "forbidden", "message": "no token"}})
            return
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path == "/api/progress":
            self._stream()
        elif address.path.startswith("/api/download/"):
            kind = address.path.rpartition("/")[2]
            told = f'attachment; filename="stops.{kind}"'
            self._reply(200, "application/octet-stream", b"file", Content_Disposition=told)
        else:
            plain = self.headers.get("Content-Type") != "application/json" or not sent
            answer = mock.answer(address.path, query, None if plain else json.loads(sent))
            missing = {"error": {"kind": "not_found", "message": address.path}}
            self._json(404 if answer is None else 200, missing if answer is None else answer)

    def _json(self, status: int, value: Any) -> None:
        self._reply(status, "application/json", json.dumps(value).encode())

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for event, data in self.server.mock.progress():
            self.wfile.write(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()

    do_GET = do_POST = _handle  # noqa: N815


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    mock: Mock


def serve(mock: Mock) -> tuple[_Server, str]:
    """Serve it in a thread; the server, and the address with the token."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.mock = mock
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}/#token={TOKEN}"
