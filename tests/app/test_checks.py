"""Checks that follow each other quickly, and fits that are ended before they begin."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from bckm.app.errors import Refused
from bckm.app.worker import BEGAN, _Stoppable
from tests.support.waiting import until

FINE = {"verdict": "feasible"}


@pytest.fixture
def vans(session):
    session.open_demo("vans")
    return session.rules.tree()


def _in_thread(act, *given):
    """Act in a thread; the thread, and a list that what comes of it is put into."""
    answers = []

    def run():
        try:
            answers.append(act(*given))
        except Refused as refused:
            answers.append(refused.kind)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, answers


def test_a_newer_check_ends_an_older_one(session, vans, monkeypatch):
    begun = threading.Event()

    def run(*_):
        if begun.is_set():
            return FINE
        mine = session.rules
        begun.set()
        until(lambda: session.rules is not mine, "the newer one")
        raise Refused("stopped", "the newer one has ended it")

    monkeypatch.setattr(session.checks, "run", run)
    older, answers = _in_thread(session.set_rules, vans)
    assert begun.wait(10), "the older one did not begin"
    assert session.set_rules(vans) == FINE
    older.join(10)
    assert answers == ["busy"]


def test_an_older_check_does_not_end_a_newer_one(session, vans, monkeypatch):
    """Whoever replaces a check has ended it before the next one comes."""
    order, go, first = [], threading.Event(), threading.Event()

    def cancel():
        if not first.is_set():
            first.set()
            go.wait(10)
            order.append("ended")

    monkeypatch.setattr(session.checks, "cancel", cancel)
    monkeypatch.setattr(session.checks, "run", lambda *_: order.append("check") or FINE)
    older, _ = _in_thread(session.set_rules, vans)
    assert first.wait(10)
    newer, answers = _in_thread(session.set_rules, vans)
    newer.join(0.3)  # time to be ended by the older one
    go.set()
    for one in (older, newer):
        one.join(10)
    assert order == ["ended", "check", "check"]
    assert answers == [FINE]


def test_what_is_wrong_is_told_although_something_else_has_changed(session, vans, monkeypatch):
    """Only newer rules make a check one of the past."""

    def run(*_):
        session.set_up(session.setup.tree())
        raise Refused("bad_input", "no such column")

    monkeypatch.setattr(session.checks, "run", run)
    with pytest.raises(Refused, match="no such column"):
        session.set_rules(vans)


@pytest.mark.parametrize("end", ["stop", "open another table"])
def test_a_fit_that_was_ended_before_it_began_ends(session, vans, monkeypatch, end):
    """The child may still be starting, or have something else to do."""
    go, ended = threading.Event(), threading.Event()

    def run(*_, hear):
        go.wait(10)
        ended.clear()  # nobody hears of it yet
        hear(BEGAN, None)
        raise Refused("stopped" if ended.is_set() else "internal", "")

    monkeypatch.setattr(session.fits, "run", run)
    monkeypatch.setattr(session.fits, "interrupt", ended.set)
    monkeypatch.setattr(session.fits, "kill", ended.set)
    session.solve({})
    job = session.job
    if end == "stop":
        assert session.stop()
    else:
        session.open("other.csv", b"x\n1\n2\n")
    go.set()
    until(lambda: job.end is not None, "the end")
    assert job.end[1]["error"]["kind"] == "stopped"


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one process there")
def test_a_message_is_sent_whole_before_a_child_stops():
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    sent = []

    def told(stop):
        with stop.whole():
            os.kill(os.getpid(), signal.SIGINT)
            sent.append("whole")
        sent.append("more")

    try:
        stop = _Stoppable()
        stop.running = True
        with pytest.raises(KeyboardInterrupt):
            told(stop)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert sent == ["whole"]
