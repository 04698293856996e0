"""The whole way, as the page goes it, for both stories."""

from __future__ import annotations

import io
import subprocess
import sys
import tomllib

import pytest

import bckm
from bckm.app.demo import DEMOS
from bckm.tables import read_table
from tests.app.server import ended, solved
from tests.support.waiting import SECONDS, until


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", DEMOS)
def test_from_demo_to_download(client, name, tmp_path):
    state = client.post("/api/demo", json={"name": name}).json()
    assert state["table"]["problems"] == []
    verdict = client.post("/api/rules", json=state["rules"]).json()
    assert verdict["verdict"] == "feasible"
    number = solved(client)
    version = client.get(f"/api/version/{number}").json()
    points = client.get("/api/points").json()
    n, k = points["n"], len(state["rules"]["clusters"]["names"])
    assert len(version["labels"]) == len(points["ids"]) == n
    assert sorted(s for one in version["clusters"] for s in one["members"]) == list(range(n))
    assert [one["name"] for one in version["clusters"]] == state["rules"]["clusters"]["names"]
    assert version["broken"] == []
    for one in version["clusters"]:
        for load in one["loads"]:
            assert load["value"] <= load["max"]
    with_clusters = client.get(f"/api/download/csv?version={number}").content
    table = read_table("-", stdin=io.BytesIO(with_clusters))
    assert set(table.texts("cluster")) == set(state["rules"]["clusters"]["names"])
    assert len(set(version["labels"])) == k
    for kind in ("rules.toml", "report.html", "study.bckm", "table.csv"):
        answer = client.get(f"/api/download/{kind}?version={number}")
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith("attachment; ")
    # what the page did, the command line repeats
    told = client.get(f"/api/command?version={number}").json()
    assert told["command"].startswith(f"bckm fit {state['table']['name']} --rules rules.toml")
    (tmp_path / "rules.toml").write_bytes(client.get("/api/download/rules.toml").content)
    (tmp_path / state["table"]["name"]).write_bytes(client.get("/api/download/table.csv").content)
    command = [sys.executable, "-m", *told["command"].split(), "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=SECONDS)
    again = read_table(tmp_path / f"{state['table']['name'].removesuffix('.csv')}-clusters.csv")
    assert again.texts("cluster") == table.texts("cluster")


@pytest.fixture
def vans(client):
    """The first story, solved."""
    client.post("/api/demo", json={"name": "vans"})
    return solved(client)


def test_try_and_change(client, vans):
    before = client.get(f"/api/version/{vans}").json()
    to = (before["labels"][3] + 1) % 9
    moves = [{"sample": 3, "cluster": to}]
    tried = client.post("/api/try", json={"version": vans, "moves": moves}).json()
    assert tried["sizes"][to] == before["clusters"][to]["size"] + 1
    after = client.post("/api/change", json={"version": vans, "moves": moves, "keep": True}).json()
    assert after["moved"] == [{"sample": 3, "from": before["labels"][3], "to": to}]
    assert after["objective"] - before["objective"] == pytest.approx(tried["delta"])
    assert [one["text"] for one in after["broken"]] == [one["text"] for one in tried["broken"]]
    state = client.get("/api/state").json()
    assert state["shown"] == after["version"]
    assert state["rules"]["cards"][-1] == {
        "id": "c5",
        "kind": "fixed",
        "keys": {"ids": ["S-004"], "cluster": f"Van {to + 1}"},
        "strength": "must",
        "on": True,
    }
    assert client.get(f"/api/version/{vans}").json() == before  # versions stay as they are
    lines = client.get("/api/versions").json()
    assert [line["made"] for line in lines] == ["solve", "change"]


def test_moves_that_are_none(client, vans):
    for moves in (
        [],
        [{"sample": 0}],
        [{"sample": 999, "cluster": 0}],
        [{"sample": 0, "cluster": 9}],
        3,
    ):
        answer = client.post("/api/change", json={"version": vans, "moves": moves})
        assert answer.status_code == 400
    assert client.post("/api/try", json={"version": 77, "moves": []}).status_code == 404


def test_few_changes(client, vans):
    before = client.get(f"/api/version/{vans}").json()
    to = (before["labels"][3] + 1) % 9
    moves = [{"sample": 3, "cluster": to}]
    client.post("/api/change", json={"version": vans, "moves": moves, "keep": True})
    number = solved(client, few_changes={"version": vans, "at_most": 9})
    after = client.get(f"/api/version/{number}").json()
    moved = [i for i in range(180) if after["labels"][i] != before["labels"][i]]
    assert 3 in moved
    assert len(moved) <= 9
    assert [one["sample"] for one in after["moved"]] == moved
    assert "table.csv" in client.get(f"/api/command?version={number}").json()["needs"]


def test_previous_file(client, vans):
    old = client.get(f"/api/download/csv?version={vans}").content
    told = client.post("/api/previous?name=last-week.csv", content=old).json()
    assert (told["matched"], told["unknown"], told["kind"]) == (180, [], "clusters")
    rules = client.get("/api/state").json()["rules"]
    card = {"id": "s1", "kind": "stay", "keys": {"file": told["id"], "at_most": 0}}
    verdict = client.post("/api/rules", json={**rules, "cards": [*rules["cards"], card]}).json()
    assert verdict["verdict"] == "feasible"
    note = verdict["notes"][0]
    assert "last-week.csv" in note["text"]
    counts = {"n": 180, "new": 0, "gone": 0}
    assert note["key"] == "previous"
    assert note["values"] == {**counts, "column": "cluster", "file": "last-week.csv"}
    number = solved(client)
    assert client.get(f"/api/version/{number}").json()["moved"] == []
    needs = client.get(f"/api/command?version={number}").json()["needs"]
    assert "last-week.csv" in needs
    rules_file = tomllib.loads(client.get("/api/download/rules.toml").text)
    assert rules_file["stay"][0]["file"] == "last-week.csv"


def test_previous_file_is_matched_as_the_plan_does(client):
    """Zeros that a spreadsheet lost, rows that are new and gone: the card counts as the note."""
    stops = "\n".join(f"{i:03},{i % 7},{i % 5}" for i in range(60))
    client.post("/api/open?name=stops.csv", content=f"id,x,y\n{stops}".encode())
    position = {"kind": "plane", "columns": ["x", "y"], "scale": "none", "missing": "error"}
    client.post("/api/setup", json={"id": "id", "position": position, "goal": "compact"})
    rules = {"cards": [], "clusters": {"count": 2, "names": ["A", "B"]}}
    client.post("/api/rules", json=rules)
    old = [f"{i:03}" if i % 2 else str(i) for i in range(1, 57)] + [f"gone {i}" for i in range(30)]
    file = "id,van\n" + "\n".join(f"{one},{'AB'[len(one) % 2]}" for one in old)
    told = client.post("/api/previous?name=old.csv", content=file.encode()).json()
    assert (told["matched"], told["alike"], told["new"]) == (56, 28, 4)
    assert (told["n_unknown"], told["unknown"][:2]) == (30, ["gone 0", "gone 1"])
    card = {"id": "s1", "kind": "stay", "keys": {"file": told["id"], "at_most": 3}}
    notes = client.post("/api/rules", json={**rules, "cards": [card]}).json()["notes"]
    assert any("56 rows have a cluster" in n["text"] and n["values"]["gone"] == 30 for n in notes)


def test_links_file(client, vans):
    pairs = b"kind,a,b\ntogether,S-001,S-002\napart,S-003,S-004\n"
    told = client.post("/api/previous?name=pairs.csv", content=pairs).json()
    assert (told["kind"], told["matched"], told["unknown"]) == ("links", 2, [])
    rules = client.get("/api/state").json()["rules"]
    card = {"id": "l1", "kind": "links", "keys": {"file": told["id"]}}
    client.post("/api/rules", json={**rules, "cards": [*rules["cards"], card]})
    labels = client.get(f"/api/version/{solved(client)}").json()["labels"]
    assert labels[0] == labels[1]
    assert labels[2] != labels[3]


def test_saved_and_opened(client, vans, tmp_path):
    pairs = b"kind,a,b\ntogether,S-001,S-002\n"
    client.post("/api/previous?name=pairs.csv", content=pairs)
    before, version = client.get("/api/state").json(), client.get(f"/api/version/{vans}").json()
    data = client.get(f"/api/download/study.bckm?version={vans}").content
    client.post("/api/demo", json={"name": "classes"})
    after = client.post("/api/open?name=plan.bckm", content=data).json()
    for name in ("table", "setup", "rules", "files"):
        assert after[name] == before[name]
    opened = client.get(f"/api/version/{after['shown']}").json()
    for name in ("labels", "clusters", "objective", "given_up"):
        assert opened[name] == version[name]
    assert client.get("/api/versions").json()[0]["made"] == "opened"
    path = tmp_path / "plan.bckm"
    path.write_bytes(data)
    study = bckm.load(path)
    assert study.result.labels.tolist() == version["labels"]
    again = client.post("/api/open?name=plan.bckm", content=data[:-40])
    assert again.status_code == 400
    assert client.get("/api/state").json()["shown"] == after["shown"]  # nothing was lost


def test_a_study_of_the_command_line_opens(client, tmp_path):
    X = [[0.0, 1.0], [1.0, 2.0], [8.0, 9.0], [9.0, 9.0]]
    study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X, feature_names=["a", "b"])
    bckm.save(study, tmp_path / "fit.bckm")
    state = client.post(
        "/api/open?name=fit.bckm", content=(tmp_path / "fit.bckm").read_bytes()
    ).json()
    assert [one["name"] for one in state["table"]["columns"]] == ["a", "b"]
    assert (
        client.get(f"/api/version/{state['shown']}").json()["labels"]
        == study.result.labels.tolist()
    )


def test_one_fit_at_a_time_and_stop(client):
    client.post("/api/demo", json={"name": "vans"})
    job = client.post("/api/solve", json={"search": "global", "time_limit": 60}).json()["job"]
    busy = client.post("/api/solve", json={})
    assert busy.status_code == 409
    assert busy.json()["error"]["kind"] == "busy"
    heard = []
    with client.stream("GET", f"/api/progress?job={job}") as stream:
        for line in stream.iter_lines():
            heard.append(line)
            if line == "event: labels" and heard.count("event: labels") == 1:
                assert client.post("/api/stop").json() == {"stopped": True}
    assert "event: done" in heard  # the best is kept
    line = client.get("/api/versions").json()[-1]
    assert (line["broken"], line["made"]) == (0, "stopped")
    assert client.get(f"/api/version/{line['version']}").json()["status"] == "interrupted"
    assert client.post("/api/stop").json() == {"stopped": False}
    assert ended(client, job)[-1][0] == "done"  # a tab that comes late
    assert client.get("/api/progress?job=99").status_code == 404


def test_killed_child(client, session):
    client.post("/api/demo", json={"name": "vans"})
    job = client.post("/api/solve", json={"search": "global", "time_limit": 60}).json()["job"]
    session.fits.kill()
    assert ended(client, job)[-1][0] == "failed"
    assert solved(client) == 1  # a new child


def test_infeasible_solve(client):
    state = client.post("/api/demo", json={"name": "vans"}).json()
    rules = state["rules"]
    rules["cards"][2]["keys"] = {"max": 15}
    client.post("/api/rules", json=rules)
    events = ended(client, client.post("/api/solve", json={}).json()["job"])
    assert events[-1][0] == "failed"
    assert events[-1][1]["error"]["kind"] == "infeasible"


def test_too_few_changes_say_so(client, vans):
    """Rules that are broken by hand cannot be mended by fewer moves than they need."""
    labels = client.get(f"/api/version/{vans}").json()["labels"]
    moves = [{"sample": i, "cluster": 3} for i in range(180) if labels[i] == 0][:12]
    changed = client.post("/api/change", json={"version": vans, "moves": moves}).json()["version"]
    few = {"version": changed, "at_most": 2}
    job = client.post("/api/solve", json={"few_changes": few}).json()["job"]
    what, told = ended(client, job)[-1]
    assert (what, told["error"]["kind"]) == ("failed", "infeasible")
    assert told["error"]["words"]["key"] == "few_impossible"
    assert told["error"]["words"]["values"] == {"n": 2, "version": str(changed)}


def test_mixed_groups(client):
    client.post("/api/demo", json={"name": "classes"})
    number = solved(client)
    version = client.get(f"/api/version/{number}").json()
    for feature in version["mixed"]["features"]:
        assert feature["best_known"] - 1e-9 <= feature["spread"] < 0.1 * feature["deviation"]
        assert len(feature["means"]) == 6
    assert version["gap"] is None
    to = (version["labels"][0] + 1) % 6
    moves = [{"sample": 0, "cluster": to}]
    tried = client.post("/api/try", json={"version": number, "moves": moves}).json()
    after = client.post("/api/change", json={"version": number, "moves": moves}).json()
    assert after["objective"] - version["objective"] == pytest.approx(tried["delta"])
    back = client.post(
        "/api/try",
        json={
            "version": after["version"],
            "moves": [{"sample": 0, "cluster": version["labels"][0]}],
        },
    ).json()
    assert back["delta"] == pytest.approx(-tried["delta"])
    assert back["broken"] == []
    assert len(back["mended"]) == len(after["broken"]) > 0


def test_another_table_while_solving(client, session):
    client.post("/api/demo", json={"name": "vans"})
    client.post("/api/solve", json={"search": "global", "time_limit": 60})
    job = session.job
    assert client.post("/api/reading", json={}).status_code == 409
    state = client.post("/api/demo", json={"name": "classes"}).json()
    assert state["job"] is None
    until(lambda: job.end is not None, "the end of the job")
    assert job.end[0] == "failed"
    assert client.get("/api/versions").json() == []
