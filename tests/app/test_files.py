"""Files that mean harm, and two hundred hostile strings: they come out as they went in."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile

import pytest

from bckm.app import jobs
from tests.app.server import solved
from tests.support.hostile import HOSTILE, MARK


def _zip(members, kind=zipfile.ZIP_DEFLATED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


BAD = {
    "empty.csv": b"",
    "zeros.xlsx": b"\x00" * 1000,
    "broken.xlsx": b"PK\x03\x04" + b"\xff" * 500,
    "not.xlsx": _zip({"a.txt": b"a"}),
    "bomb.xlsx": _zip({f"xl/worksheets/sheet{i}.xml": b" " * 400_000 for i in range(6)}),
    "entities.xlsx": _zip(
        {"xl/workbook.xml": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>'}
    ),
    "bomb.csv.gz": gzip.compress(b"a,b\n" + b"0" * 3_000_000),
    "cut.csv.gz": gzip.compress(b"a,b\n1,2\n")[:-6],
    "broken.parquet": b"PAR1" + b"\x00" * 100 + b"PAR1",
    "broken.npz": _zip({"a.npy": b"\x93NUMPY" + b"\x00" * 20}),
    "deep.jsonl": b'{"a":' + b"[" * 100_000,
    "plan.bckm": b"PK\x03\x04 not a study",
    "other.bckm": _zip({"content.json": b"{}"}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(client, name, monkeypatch):
    monkeypatch.setattr(jobs, "READ_LIMIT", 2_000_000)
    before = client.post("/api/demo", json={"name": "vans"}).json()
    answer = client.post(f"/api/open?name={name}", content=BAD[name])
    assert answer.status_code in (400, 413), answer.text
    error = answer.json()["error"]
    assert error["kind"] in ("bad_input", "too_large")
    assert name.startswith("bomb") == ("after unpacking" in error["message"])
    assert "upload-" not in error["message"]
    assert "--read-limit" not in error["message"]
    assert "bckm-app-" not in error["message"]
    assert "Traceback" not in answer.text
    assert client.get("/api/state").json() == before  # what was open still is


def test_hostile_strings(client):
    """As column names, cells, ids, file names, names of clusters and cards."""
    clean = [text for text in HOSTILE if text.strip()]
    rows = [["id", "x", "y", "note"]]
    rows += [[f"{at}", f"{at % 7}", f"{at % 5}", text] for at, text in enumerate(clean)]
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    data = file.getvalue().encode("utf-8", "surrogatepass")
    answer = client.post("/api/open", params={"name": "a.csv"}, content=data)
    if answer.status_code != 200:  # lone surrogates are no UTF-8: a sentence says so
        assert answer.json()["error"]["kind"] == "bad_input"
        clean = [text for text in clean if text.isprintable() and "\ufffd" not in text]
        rows = [rows[0], *([f"{at}", "1", "2", text] for at, text in enumerate(clean))]
        file = io.StringIO()
        csv.writer(file).writerows(rows)
        answer = client.post(
            "/api/open", params={"name": "a.csv"}, content=file.getvalue().encode()
        )
    state = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert state["table"]["n_rows"] == len(rows) - 1
    values = client.get("/api/column", params={"name": "note"}).json()["values"]
    shown = [None if value is None else value.strip() for value in values]
    assert sum(value in {text.strip() for text in clean} for value in shown) > 0.9 * len(clean)


@pytest.mark.parametrize("text", HOSTILE[::40])
def test_hostile_names(client, text):
    name = text.encode("utf-8", "replace").decode()
    answer = client.post(
        "/api/open", params={"name": f"{name}.csv"}, content=b"id,x,y\na,1,2\nb,3,4\n"
    )
    assert answer.status_code == 200, answer.text
    assert "/" not in answer.json()["table"]["name"]
    setup = {"id": "id", "position": {"kind": "plane", "columns": ["x", "y"]}}
    client.post("/api/setup", json=setup)
    card = {"id": "c1", "kind": "together", "keys": {"ids": [text, "a"]}, "strength": "must"}
    body = json.dumps({"cards": [card], "clusters": {"count": 2, "names": [text, "b"]}})
    told = client.post("/api/rules", content=body.encode("ascii"))
    assert told.status_code in (200, 400)
    assert told.headers["content-type"] == "application/json"
    kept = client.get("/api/state").json()["rules"]["clusters"]["names"]
    assert kept[0] == text
    bad = client.post("/api/setup", json={"id": name, "position": setup["position"]})
    assert bad.status_code in (200, 400)
    assert client.get("/api/column", params={"name": name}).status_code in (200, 400)


def test_hostile_reports(client):
    """What a person takes away runs nothing."""
    names = [text for text in HOSTILE if MARK in text and text.isprintable()][:8]
    rows = "".join(f"s{at},{at % 9},{at % 4}\n" for at in range(40))
    client.post("/api/open", params={"name": f"{names[0]}.csv"}, content=f"id,x,y\n{rows}".encode())
    client.post(
        "/api/setup", json={"id": "id", "position": {"kind": "plane", "columns": ["x", "y"]}}
    )
    client.post("/api/rules", json={"cards": [], "clusters": {"count": 8, "names": names}})
    solved(client)
    answer = client.get("/api/download/report.html")
    assert answer.status_code == 200
    assert "<script>document" not in answer.text
    disposition = answer.headers["content-disposition"]
    assert "\n" not in disposition
    assert disposition.count('"') == 2


def test_problems_and_remedies(client):
    data = b"My stops\n\nid;x;y;kg\n" + b"".join(b"s%d;1,%d;2;10\n" % (i, i) for i in range(9))
    data += b"b;2,5;3;\nc;3;4;x\n"
    state = client.post("/api/open?name=stops.csv", content=data).json()
    table = state["table"]
    (note,) = table["assumed"]
    assert (note["key"], note["values"]) == ("title", {"row": "3"})
    assert "column names are in line 3" in note["text"]
    kinds = {(one["kind"], one["column"]) for one in table["problems"]}
    assert any(column == "kg" for _, column in kinds), table["problems"]
    problem = next(one for one in table["problems"] if one["column"] == "kg" and one["remedies"])
    remedy = problem["remedies"][0]
    reading = {**table["reading"], **remedy["change"]}
    after = client.post("/api/reading", json=reading).json()
    assert after["revision"] > state["revision"]
    assert after["table"]["problems"] != table["problems"]
    assert client.post("/api/reading", json={"format": "exe"}).status_code == 400
    assert client.post("/api/reading", json={"nothing": 1}).status_code == 400
