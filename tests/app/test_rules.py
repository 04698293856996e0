"""Cards, clauses, conflicts and their remedies."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from bckm.app import jobs, remedies
from bckm.app.cards import KINDS, Rules, Setup, plan_of
from bckm.app.conflicts import said
from bckm.app.errors import Refused
from bckm.app.routes import STATIC
from bckm.constraints import rules

SETUP = {
    "id": "stop",
    "name": None,
    "position": {"kind": "plane", "columns": ["x_km", "y_km"]},
    "weight": None,
    "goal": "compact",
}


def _rules(*cards, count=3, names=()):
    cards = [
        {"id": f"c{at}", "strength": "must", "on": True, **card} for at, card in enumerate(cards)
    ]
    return {"cards": cards, "clusters": {"count": count, "names": list(names)}}


def _plan(*cards, files=None, **clusters):
    return plan_of(Setup.of(SETUP), Rules.of(_rules(*cards, **clusters)), files or {}).plan


@pytest.mark.parametrize(
    ("kind", "keys", "expected"),
    [
        ("size", {"min": 3, "max": None}, {"min": 3}),
        ("size", {"max": [3, None, 5]}, {"max": [3, float("inf"), 5]}),
        ("size", {"min": [3, None, 5]}, {"min": [3, 0, 5]}),
        ("capacity", {"column": "kg", "max": 5.5}, {"column": "kg", "max": 5.5}),
        ("together", {"ids": ["a", "b"]}, {"ids": ["a", "b"]}),
        ("apart", {"partners": "not_with"}, {"partners": "not_with"}),
        ("known", {"column": "team"}, {"column": "team"}),
        ("quota", {"column": "g", "within": "10%"}, {"column": "g", "within": "10%"}),
        ("forbidden", {"ids": ["a"], "cluster": ["1", "2"]}, {"id": "a", "cluster": ["1", "2"]}),
        ("stay", {"column": "van", "at_most": 4}, {"column": "van", "at_most": 4}),
    ],
)
def test_card_is_a_clause(kind, keys, expected):
    (clause,) = _plan({"kind": kind, "keys": keys}).clauses
    assert (clause.kind, dict(clause.keys)) == (kind, expected)


def test_cards_that_are_off_or_soft():
    size = {"kind": "size", "keys": {"max": 9}}
    assert _plan({**size, "on": False}).clauses == ()
    assert _plan({**size, "strength": "nice"}).clauses[0].soft == {"confidence": 1.0}
    assert _plan({**size, "strength": 2.5}).clauses[0].soft == {"confidence": 2.5}
    fixed = {"kind": "fixed", "keys": {"ids": ["a", "b"], "cluster": "2"}}
    assert [clause.keys["id"] for clause in _plan(fixed).clauses] == ["a", "b"]
    assert set(KINDS) >= {"size", "links", "stay"}


def test_names_of_clusters():
    assert _plan(names=["Van 1", " ", "Van 3"]).cluster_names == ("Van 1", "2", "Van 3")
    assert _plan().cluster_names == ()
    with pytest.raises(Refused, match="same name"):
        _plan(names=["a", "a", "b"])


def test_files_are_no_paths():
    for keys in ({"file": "/etc/passwd"}, {"file": "file1"}, {}, {"file": 3}):
        with pytest.raises(Refused, match="choose a file"):
            _plan({"kind": "links", "keys": keys})


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "nothing"},
        {"id": ""},
        {"id": 3},
        {"strength": "very"},
        {"strength": -1},
        {"strength": None},
        {"keys": 3},
        {"keys": {"min": "many"}},
        {"keys": {"most": 3}},
        {"keys": {}},
    ],
)
def test_wrong_cards(change):
    with pytest.raises(Refused) as caught:
        _plan({"kind": "size", "keys": {"min": 3}, **change})
    assert caught.value.kind in ("bad_input", "malformed")
    assert caught.value.kind == "malformed" or "key" in caught.value.more["words"]


@pytest.fixture
def vans(client):
    return client.post("/api/demo", json={"name": "vans"}).json()["rules"]


@pytest.fixture
def unhurried(session, monkeypatch):
    """Checks that have enough time for all remedies on a busy machine, too."""
    monkeypatch.setattr(remedies, "SECONDS", 60.0)
    monkeypatch.setattr(remedies, "EACH", 3.0)
    monkeypatch.setattr(jobs, "CHECK_SECONDS", 60.0)
    monkeypatch.setattr(session.checks, "run", lambda job, task: jobs.JOBS[job](task, None))


def _sent(client, rules):
    answer = client.post("/api/rules", json=rules)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _applied(rules, remedy):
    changed = {card["id"]: card for card in remedy["cards"]}
    return {**rules, "cards": [changed.get(card["id"], card) for card in rules["cards"]]}


def test_sizes_too_small(client, vans, unhurried):
    vans["cards"][2]["keys"] = {"max": 15}
    verdict = _sent(client, vans)
    assert verdict["verdict"] == "infeasible"
    assert [one["card"] for one in verdict["conflict"]] == ["c3"]
    assert verdict["remedies"][0]["cards"][0]["keys"] == {"max": 20}  # 9 times 20 is 180
    for remedy in verdict["remedies"]:
        assert _sent(client, _applied(vans, remedy))["verdict"] == "feasible"


def test_capacity_too_small(client, vans, unhurried):
    vans["cards"][0]["keys"]["max"] = 300
    verdict = _sent(client, vans)
    assert verdict["verdict"] == "infeasible"
    assert verdict["conflict"][0]["card"] == "c1"
    wider = verdict["remedies"][0]
    assert 300 < wider["cards"][0]["keys"]["max"] <= 650
    assert _sent(client, _applied(vans, wider))["verdict"] == "feasible"


def test_contradicting_links(client, vans, unhurried):
    cards = [
        {"id": "t", "kind": "together", "keys": {"ids": ["S-001", "S-002"]}},
        {"id": "a", "kind": "apart", "keys": {"ids": ["S-002", "S-001"]}},
    ]
    vans["cards"] += cards
    verdict = _sent(client, vans)
    assert sorted(one["card"] for one in verdict["conflict"]) == ["a", "t"]
    assert verdict["conflict"][0]["samples"] == [0, 1]
    assert len(verdict["remedies"]) == 4  # either one nice to have, or left out
    for remedy in verdict["remedies"]:
        assert _sent(client, _applied(vans, remedy))["verdict"] == "feasible"


def test_a_wrong_card_is_named(client, vans):
    vans["cards"].append({"id": "x", "kind": "capacity", "keys": {"column": "nothing", "max": 3}})
    answer = client.post("/api/rules", json=vans)
    assert answer.status_code == 400
    assert answer.json()["error"]["card"] == "x"
    vans["cards"][-1]["keys"] = {"column": "kg"}
    assert client.post("/api/rules", json=vans).json()["error"]["card"] == "x"


@pytest.mark.parametrize(
    ("kind", "keys", "words"),
    [
        ("size", {"min": 9, "max": 3}, "crossed"),
        ("size", {"min": [3, 9]}, "bounds_count"),
        ("capacity", {"column": "kg", "min": 9, "max": 3}, "crossed"),
        ("capacity", {"column": "kg", "max": [3, 9]}, "bounds_count"),
        ("capacity", {"column": "customer", "max": 9}, "no_numbers"),
        ("capacity", {"column": "none", "max": 9}, "no_column"),
        ("quota", {"column": "key", "share_min": 0.5, "share_max": 0.2}, "crossed"),
        ("quota", {"column": "key", "share_min": 5}, "quota_range"),
        ("quota", {"column": "key", "within": "much"}, "within"),
        ("quota", {"column": "key", "count_min": {"nothing": 2}}, "no_category"),
        ("fixed", {"column": "customer"}, "no_clusters"),
        ("fixed", {"ids": ["S-001"], "cluster": "Van 77"}, "no_cluster"),
        ("together", {"ids": ["S-001", "S-999"]}, "no_id"),
        ("together", {"ids": ["S-001", "s-002"]}, "id_alike"),
        ("apart", {"partners": "customer"}, "no_partner"),
        ("stay", {"column": "customer", "at_most": 3}, "no_clusters"),
        ("known", {"column": "none"}, "no_column"),
        ("links", {"file": "file9"}, "choose_file"),
    ],
)
def test_the_page_words_what_is_wrong_with_a_card(client, vans, kind, keys, words):
    vans["cards"].append({"id": "x", "kind": kind, "keys": keys})
    error = client.post("/api/rules", json=vans).json()["error"]
    assert error["card"] == "x"
    found = error["words"]
    while "why" in found["values"] and isinstance(found["values"]["why"], dict):
        found = found["values"]["why"]
    assert found["key"] == words


def test_what_is_wrong_with_the_table_is_no_fault_of_a_card(client):
    client.post("/api/open?name=a.csv", content=b"id,x,y,kg\na,1,2,3\nb,3,4,x\na,5,6,7\n")
    position = {"kind": "plane", "columns": ["x", "y"]}
    client.post("/api/setup", json={**SETUP, "id": "id", "position": position})
    cards = [
        {"kind": "size", "keys": {"max": 2}},
        {"kind": "capacity", "keys": {"column": "kg", "max": 9}},
    ]
    error = client.post("/api/rules", json=_rules(cards[0], count=2)).json()["error"]
    assert (error.get("card"), error["words"]["key"]) == (None, "id_repeated")
    error = client.post("/api/rules", json=_rules(*cards, count=2)).json()["error"]
    assert (error["card"], error["words"]["key"]) == ("c1", "problems")
    assert [(one["kind"], one["column"]) for one in error["problems"]] == [
        ("id repeated", "id"),
        ("not a number", "kg"),
    ]
    cards[0]["keys"] = {"min": 3, "max": 2}
    error = client.post("/api/rules", json=_rules(*cards, count=2)).json()["error"]
    assert (error["card"], error["words"]["values"]["why"]["key"]) == ("c0", "crossed")


def test_incomplete(client, vans):
    verdict = _sent(client, {"cards": vans["cards"], "clusters": {"count": None, "names": []}})
    assert verdict["verdict"] == "incomplete"
    assert verdict["words"]["key"] == "how_many"
    client.post("/api/open?name=a.csv", content=b"id,x,y\na,1,2\nb,3,4\n")
    assert _sent(client, _rules(count=2))["verdict"] == "incomplete"


def test_mixed_groups_are_no_places():
    assert Setup.of({**SETUP, "goal": "mixed"}).goal == "mixed"
    position = {"kind": "latlon", "columns": ["lat", "lon"]}
    with pytest.raises(Refused, match="choose columns"):
        Setup.of({**SETUP, "goal": "mixed", "position": position})


def test_a_tab_that_missed_a_change_must_look_first(client):
    """Rules of another tab are neither overwritten nor solved unseen; one's own never stale."""
    start = client.post("/api/demo", json={"name": "vans"}).json()

    def said(tab, seen):
        return {"X-Bckm-Tab": tab, "X-Bckm-Asked": str(seen)}

    rules, seen = start["rules"], start["asked"]
    assert client.post("/api/rules", json=rules, headers=said("one", seen)).status_code == 200
    assert client.post("/api/rules", json=rules, headers=said("one", seen)).status_code == 200
    fewer = {**rules, "cards": rules["cards"][:1]}
    for path, body in (("/api/rules", fewer), ("/api/solve", {}), ("/api/reading", {})):
        answer = client.post(path, json=body, headers=said("two", seen))
        assert (answer.status_code, answer.json()["error"]["kind"]) == (409, "stale")
    now = client.get("/api/state", headers=said("two", seen)).json()
    assert now["rules"]["cards"] == rules["cards"]
    answer = client.post("/api/rules", json=fewer, headers=said("two", now["asked"]))
    assert answer.status_code == 200
    assert client.post("/api/rules", json=rules, headers=said("one", seen)).status_code == 409


RULES = [
    rules.MustLink((3, 4), ids=("a", "b")),
    rules.CannotLink(tuple(range(9))),
    *(kind(3, cluster) for kind in (rules.SizeMin, rules.SizeMax) for cluster in (None, 1)),
    *(
        rules.CapacityBound(SimpleNamespace(name="kg"), side, 2.5, cluster, ("A", "B"))
        for side in ("min", "max")
        for cluster in (None, 1)
    ),
    *(
        rules.QuotaBound(SimpleNamespace(name="sex", categories=("f",)), 0, side, 0.5, share)
        for side in ("min", "max")
        for share in (True, False)
    ),
    rules.Fixed(3, 1, clusters=("A", "B")),
    rules.Forbidden(3, 0, ids=("c",)),
    rules.MovedMax(None, 5),
    rules.SoftRule(rules.Moved(None), 1.0, True),
    rules.NonEmpty(),
]


def test_the_page_has_words_for_every_rule():
    """Each rule has a text in the page's file of texts, and the values that the text needs."""
    file = STATIC / "text/en.js"
    texts = dict(re.findall(r'^ {2}"([^"]+)":\s+"([^"]*)"', file.read_text("utf-8"), re.M))
    keys = set()
    for rule in RULES:
        found = said(rule)
        text = texts[f"rule.{found['key']}"]
        assert set(re.findall(r"\{(\w+)", text)) == set(found["values"]), found
        keys.add(f"rule.{found['key']}")
    assert keys == {key for key in texts if key.startswith("rule.")}
    assert said(RULES[0])["values"]["samples"] == "a, b"
    assert said(RULES[1])["values"]["samples"] == "0, 1, 2, 3 …"
    assert said(RULES[2], "B") == {"key": "size.min.one", "values": {"cluster": "B", "n": 3}}


def test_conflicts_and_remedies_are_worded_by_key(client, vans, unhurried):
    cards = [
        {"id": "t", "kind": "together", "keys": {"ids": ["S-001", "S-002"]}},
        {"id": "a", "kind": "apart", "keys": {"ids": ["S-001", "S-002"]}},
    ]
    verdict = client.post("/api/rules", json={**vans, "cards": cards}).json()
    words = [(one["key"], one["values"]) for one in verdict["conflict"]]
    assert sorted(words) == [(kind, {"samples": "S-001, S-002"}) for kind in ("apart", "together")]
    assert {one["key"] for one in verdict["remedies"]} == {"soften", "leave"}
    assert verdict["remedies"][0]["values"]["about"] == "S-001, S-002"
    cards = [{"id": "s", "kind": "size", "keys": {"max": 19}}]
    verdict = client.post("/api/rules", json={**vans, "cards": cards}).json()
    (remedy,) = (one for one in verdict["remedies"] if one["key"] == "max")
    assert remedy["values"] == {"kind": "size", "about": "", "new": 20, "old": 19}
