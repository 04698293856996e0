"""What the campaign looks for, it finds: each oracle is shown something broken."""

import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import bckm
from bckm.constraints.rules import CannotLink
from campaign import (
    assignments,
    conflicts,
    files,
    hostile,
    kills,
    labels,
    limits,
    memory,
    scale,
    threads,
)
from campaign.part import Case
from campaign.summary import publish
from tests.support import damage


def fails(module, *numbers):
    """Whether cases of a part raise what the campaign raises."""
    found = 0
    for number in numbers:
        case = Case(module.PART.name, 0, number)
        try:
            module.PART.look(case)
        except AssertionError:
            found += 1
        finally:
            case.close()
    return found


def changed(monkeypatch, name, change):
    """Let a function of the library give another answer."""
    real = getattr(bckm, name)
    monkeypatch.setattr(bckm, name, lambda *a, **b: change(real(*a, **b)))


VERIFY = {
    "forgets the last": lambda found: found[:-1],
    "tells twice": lambda found: found + found[:1],
    "another amount": lambda found: [replace(one, amount=one.amount + 0.1) for one in found],
    "another cluster": lambda found: [
        one if one.cluster is None else replace(one, cluster=one.cluster + 1) for one in found
    ],
    "another rule": lambda found: [replace(one, rule=CannotLink((0, 1))) for one in found],
}


@pytest.mark.parametrize("how", VERIFY)
def test_a_broken_verify_is_noticed(how, monkeypatch):
    changed(monkeypatch, "verify", VERIFY[how])
    assert fails(labels, 0, 1) > 0


def exchanged(found):
    y = found.labels.copy()
    y[0], y[-1] = (y[0] + 1) % (y.max() + 1), y[0]
    return replace(found, labels=y)


RESULTS = {
    "other labels": exchanged,
    "inertia": lambda found: replace(found, inertia=found.inertia * (1 + 1e-9) + 1e-9),
    "bound": lambda found: replace(found, lower_bound=found.objective + 1e-6),
    "optimal": lambda found: exchanged(replace(found, assignment_status=bckm.Status.OPTIMAL)),
    "penalty": lambda found: replace(found, penalty=found.penalty + 1e-6),
    "sizes": lambda found: replace(found, sizes=found.sizes[::-1] + 1),
}


@pytest.mark.parametrize("how", RESULTS)
@pytest.mark.parametrize("name", ["kmeans", "assign_to"])
def test_broken_answers_are_noticed(how, name, monkeypatch):
    changed(monkeypatch, name, RESULTS[how])
    assert fails(assignments, 1, 2) > 0


def test_a_false_infeasible_is_noticed(monkeypatch):
    def refuse(*_, **__):
        raise bckm.InfeasibleError("none")

    monkeypatch.setattr(bckm, "assign_to", refuse)
    assert fails(assignments, 1, 2) > 0


def test_conflicts_that_are_none_or_not_minimal_are_noticed(monkeypatch):
    rules = {}

    def more(error):
        return bckm.InfeasibleError(str(error), (*error.conflict, CannotLink((0, 1))))

    def fewer(error):
        return bckm.InfeasibleError(str(error), error.conflict[:-1])

    def untold(error):
        return bckm.InfeasibleError("it cannot be", error.conflict)

    real = conflicts._by_check
    for change in (more, fewer, untold):
        monkeypatch.setattr(
            conflicts, "DOORS", (lambda *asked, change=change: change(real(*asked)),)
        )
        rules[change.__name__] = fails(conflicts, 0, 1, 2)
    assert rules["untold"] == rules["fewer"] == 3
    assert rules["more"] > 0


def test_files_that_become_something_else_are_noticed(monkeypatch):
    for name in files.ARCHIVES:
        files._archive(name)  # what is right
    whole = bckm.load(files.HERE / "haversine.bckm")
    monkeypatch.setattr(bckm, "load", lambda path: whole)
    assert fails(files, 0, 8, 16) > 1


def test_other_exceptions_are_noticed(monkeypatch):
    def odd(path):
        raise KeyError("labels")

    monkeypatch.setattr(files, "read_table", odd)
    with pytest.raises(KeyError):
        files.PART.look(Case("files", 0, 4))


def test_altered_files_hold_what_was_altered():
    """Twenty thousand refusals of a file that was wrong before would prove nothing."""
    case = Case("files", 0, 0)
    assert not files._read_rules(case, files._toml(files.PLAN).encode())
    rng, content = np.random.default_rng(0), b"0123456789" * 9
    assert sum(damage.broken(content, rng) != content for _ in range(200)) > 190
    case.close()


def test_formulas_markup_and_escapes_are_noticed():
    for cell in ("=1+1", " =1", "\t@SUM(1)", "\ufeff=1", "-1+1", "\uff1d1"):
        with pytest.raises(AssertionError):
            hostile.no_formulas(f'a,b\n1,"{cell}"\n', ",")
    hostile.no_formulas("a,b\n-3.5,'=1\n", ",")
    svg = '<svg xmlns="http://www.w3.org/2000/svg">{}</svg>'
    hostile.harmless(svg.format("<g><text>a</text></g>").encode())
    for part in ("<script/>", '<g onload="x"/>', '<use href="http://127.0.0.1"/>', "<a/>"):
        with pytest.raises(AssertionError):
            hostile.harmless(svg.format(part).encode())
    for word in ("\x1b[2J", "a\x9bb", "a\rb", "\u202e", "\ud800"):
        assert hostile.OBEYED.search(word)


def test_a_terminal_that_obeys_is_noticed(monkeypatch):
    monkeypatch.setattr(hostile.report, "text", lambda *_, **__: "\x1b[2J")
    assert fails(hostile, 205)


SCALED = {
    "inertia": lambda found: replace(found, inertia=found.inertia * (1 + 1e-8)),
    "bound": lambda found: replace(found, lower_bound=found.objective * (1 + 1e-8)),
}


@pytest.mark.parametrize("how", SCALED)
def test_other_scales_that_give_something_else_are_noticed(how, monkeypatch):
    changed(monkeypatch, "kmeans", SCALED[how])
    assert fails(scale, 1)


def test_another_partition_is_noticed():
    assert scale.partition([2, 2, 0]) == scale.partition([0, 0, 1]) != scale.partition([0, 1, 1])


OUTCOMES = {
    "a crash": (-11, ""),
    "another exception": (1, ""),
    "a fit that ended otherwise": (
        0,
        '{"killed": 25, "writing": 1, "old or new": 25, "fits": 3, "equal": 2}',
    ),
    "half a file": (0, '{"killed": 25, "writing": 1, "old or new": 24, "fits": 3, "equal": 3}'),
}


@pytest.mark.parametrize(
    ("module", "how"),
    [
        (memory, "a crash"),
        (memory, "another exception"),
        (threads, "a crash"),
        (kills, "a crash"),
        (kills, "half a file"),
        (kills, "a fit that ended otherwise"),
    ],
)
def test_processes_that_end_badly_are_noticed(module, how, monkeypatch):
    code, out = OUTCOMES[how]
    done = SimpleNamespace(returncode=code, stdout=out, stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert fails(module, 1)


def test_a_limit_that_does_not_hold_is_noticed(monkeypatch):
    monkeypatch.setattr(limits, "GRACE", -1.0)
    assert fails(limits, 0)


def test_only_runs_without_failures_are_published():
    part = {"name": "x", "what": "y", "promised": 2, "count": 2, "failed": 0, "seconds": 1}
    part |= {"date": "d", "commit": "c", "seed": 0, "others": {}}
    part["versions"] = {"python": "3", "numpy": "2"}
    page = "before\n<!-- campaign: begin -->\nold\n<!-- campaign: end -->\nafter\n"
    new = publish([part], page)
    assert "| x | 2 y |" in new
    assert "old" not in new
    assert publish([part], new) == new
    assert "1 y (of 2)" in publish([{**part, "count": 1}], page)
    with pytest.raises(ValueError, match="x: 1 failures"):
        publish([{**part, "failed": 1}], page)
