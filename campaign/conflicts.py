"""Contradictions planted into rules that can be obeyed: found, named, and minimal.

A conflict is judged by brute force: nothing obeys all its rules, something obeys them all but any
one, and each of its rules follows from what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from click.testing import CliRunner

import bckm
from bckm.cli import cli
from campaign.part import Case, Part
from campaign.stating import constraints_of, write_files
from tests.support.oracle import Truth, holds, owed
from tests.support.rule_instances import Ask, Drawn, draw

Plant = Callable[[Drawn, np.random.Generator], list[Ask]]


def look(case: Case) -> None:
    """Plant a conflict; ask through one of the doors; judge the answer."""
    drawn = _feasible(case)
    plants = [plant for name, plant in PLANTS.items() if name in _possible(drawn)]
    asks = plants[int(case.rng.integers(len(plants)))](drawn, case.rng)
    together = [*drawn.asks, *asks]
    order = case.rng.permutation(len(together))
    planted = replace(drawn, asks=[together[at] for at in order])
    planted.constraints = constraints_of(planted)
    truth = Truth.of(planted)
    assert not truth.obeys.any(), "the campaign planted no conflict"
    door = DOORS[case.number % len(DOORS)]
    error = door(planted, case)
    case.count(PART.what)
    case.count("rules in conflicts", len(error.conflict))
    judge(error, planted, truth.labels)


def _feasible(case: Case) -> Drawn:
    """Draw until something can be obeyed, by at least three samples."""
    for at in range(1000):
        drawn = draw([*case.key, at])
        if len(drawn.X) > 2 and Truth.of(drawn).obeys.any():
            return drawn
    raise RuntimeError("nothing can be obeyed")


def judge(error: bckm.InfeasibleError, planted: Drawn, labels: np.ndarray) -> None:
    """Raise unless a conflict is one, is minimal, is what was asked, and is told."""
    assert isinstance(error, bckm.InfeasibleError)
    assert error.minimal, str(error)
    assert error.conflict
    kept = np.array([holds(rule, labels, planted.k) for rule in error.conflict])
    assert not kept.all(axis=0).any(), f"these rules can be obeyed: {error}"
    for out in range(len(kept)):
        rest = np.delete(kept, out, axis=0)
        assert rest.all(axis=0).any(), f"one rule too many: {error.conflict[out]} in {error}"
    obeyed = [owed(ask, labels, planted.k) == 0 for ask in planted.hard]
    links = [good for ask, good in zip(planted.hard, obeyed, strict=True) if ask.labels]
    if links:
        obeyed.append(np.all(links, axis=0))  # links from labels may be told as sets
    message = str(error)
    for at, (rule, good) in enumerate(zip(error.conflict, kept, strict=True)):
        assert any(good[asked].all() for asked in obeyed), f"nobody asked for {rule}"
        assert at >= 12 or f"- {rule}" in message, (rule, message)


# -- what is planted ------------------------------------------------------------------------------


def _some(drawn: Drawn, rng: np.random.Generator, number: int) -> list[int]:
    return rng.choice(len(drawn.X), number, replace=False).tolist()


def _chain(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    samples = _some(drawn, rng, int(rng.integers(3, len(drawn.X) + 1)))
    links = [Ask("must", pair) for pair in pairwise(samples)]
    return [*links, Ask("cannot", (samples[0], samples[-1]))]


def _clique(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    samples = _some(drawn, rng, drawn.k + 1)
    if rng.random() < 0.5:
        return [Ask("cannot", tuple(samples))]
    return [Ask("cannot", tuple(samples), pairs=True)]


def _two_places(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    a, b = _some(drawn, rng, 2)
    first, second = rng.choice(drawn.k, 2, replace=False).tolist()
    return [Ask("must", (a, b)), Ask("fixed", (a, first)), Ask("fixed", (b, second))]


def _no_place(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    p = _some(drawn, rng, 1)[0]
    return [Ask("forbidden", (p, i)) for i in range(drawn.k)]


def _closed_place(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    p, i = _some(drawn, rng, 1)[0], int(rng.integers(drawn.k))
    return [Ask("fixed", (p, i)), Ask("forbidden", (p, i))]


def _too_small(drawn: Drawn, _: np.random.Generator) -> list[Ask]:
    n, k = len(drawn.X), drawn.k
    return [Ask("size_max", np.full(k, (n - 1) // k))]


def _too_large(drawn: Drawn, _: np.random.Generator) -> list[Ask]:
    n, k = len(drawn.X), drawn.k
    return [Ask("size_min", np.full(k, n // k + 1))]


def _all_in_one(drawn: Drawn, _: np.random.Generator) -> list[Ask]:
    n = len(drawn.X)
    return [Ask("must", tuple(range(n))), Ask("size_min", np.ones(drawn.k, int))]


def _overload(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    values = rng.integers(1, 9, len(drawn.X))
    scale = (1, 4, 10)[rng.integers(3)]
    most = (int(values.sum()) - 1) // drawn.k
    return [Ask("sum", (values, scale, None, np.full(drawn.k, most)))]


def _underload(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    values = rng.integers(0, 9, len(drawn.X))
    scale = (1, 4, 10)[rng.integers(3)]
    least = int(values.sum()) // drawn.k + 1
    return [Ask("sum", (values, scale, np.full(drawn.k, least), None))]


def _heavy_together(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    values = rng.integers(0, 9, len(drawn.X))
    a, b = _some(drawn, rng, 2)
    values[[a, b]] = 9
    return [Ask("must", (a, b)), Ask("sum", (values, 10, None, np.full(drawn.k, 17)))]


def _quota(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    names = np.array(["a", "b"], object)[rng.integers(2, size=len(drawn.X))]
    names[0] = "a"
    number = int((names == "a").sum())
    return [Ask("count_min", (names, {"a": number // drawn.k + 1}))]


def _share(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    """A share that one category has nowhere, and another everywhere."""
    names = np.array(["a", "b"], object)[rng.integers(2, size=len(drawn.X))]
    names[:2] = ["a", "b"]
    return [Ask("share_max", (names, {"a": 4})), Ask("share_max", (names, {"b": 5}))]


def _moved(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    before = rng.integers(drawn.k, size=len(drawn.X))
    a, b = _some(drawn, rng, 2)
    return [
        Ask("at_most", (before, 1)),
        Ask("fixed", (a, (int(before[a]) + 1) % drawn.k)),
        Ask("forbidden", (b, int(before[b]))),
    ]


def _rows(drawn: Drawn, rng: np.random.Generator) -> list[Ask]:
    A = rng.integers(0, 3, (1, len(drawn.X) * drawn.k))
    top = int(A.reshape(len(drawn.X), drawn.k).max(axis=1).sum())
    return [Ask("rows", (A, np.array([top + 1]), np.array([top + 9])))]


PLANTS: dict[str, Plant] = {
    "chain": _chain,
    "clique": _clique,
    "two places": _two_places,
    "no place": _no_place,
    "closed place": _closed_place,
    "too small": _too_small,
    "too large": _too_large,
    "all in one": _all_in_one,
    "overload": _overload,
    "underload": _underload,
    "heavy together": _heavy_together,
    "quota": _quota,
    "share": _share,
    "moved": _moved,
    "rows": _rows,
}


def _possible(drawn: Drawn) -> set[str]:
    found = set(PLANTS)
    if drawn.k < 2:
        found -= {"two places", "all in one", "moved"}
    if len(drawn.X) <= drawn.k:
        found -= {"clique"}
    if any(ask.kind.startswith("size") for ask in drawn.asks):  # crossed bounds are refused earlier
        found -= {"too small", "too large", "all in one"}
    return found


# -- doors ----------------------------------------------------------------------------------------


def _by_check(planted: Drawn, _: Case) -> Any:
    answer = bckm.check(len(planted.X), planted.k, planted.constraints)
    assert answer.verdict == "infeasible"
    return answer.error


def _raised(call: Callable[[], Any]) -> bckm.InfeasibleError:
    try:
        call()
    except bckm.InfeasibleError as error:
        return error
    raise AssertionError("no conflict was found")


def _by_kmeans(planted: Drawn, _: Case) -> Any:
    return _raised(lambda: bckm.kmeans(planted.X, planted.k, planted.constraints))


def _by_assign_to(planted: Drawn, _: Case) -> Any:
    centers = planted.X[: planted.k]
    return _raised(lambda: bckm.assign_to(planted.X, centers, planted.constraints))


def _by_estimator(planted: Drawn, _: Case) -> Any:
    model = bckm.ConstrainedKMeans(planted.k)
    return _raised(lambda: model.fit(planted.X, constraints=planted.constraints))


def _by_command(planted: Drawn, case: Case) -> Any:
    """The conflict in words, which must be that of the same rules in Python."""
    error = _by_check(planted, case)
    names = [f"row-{p:02d}" for p in range(len(planted.X))]
    kept, words = write_files(case.folder, planted, names)
    if Truth.of(kept).obeys.any():  # the conflict is one that a rules file cannot state
        return error
    case.count("by the command line")
    done = CliRunner().invoke(cli, ["check", *words, "--json"])
    assert done.exit_code == 3, (done.exit_code, done.output)
    told = json.loads(done.stdout)
    assert told["verdict"] == "infeasible"
    assert told["minimal"] is True
    assert told["conflict"]
    assert all(f"- {rule}" in told["message"] for rule in told["conflict"][:12])
    return error


DOORS = (_by_check, _by_kmeans, _by_assign_to, _by_estimator, _by_command)


PART = Part("conflicts", "planted conflicts", 10_000, look, chunk=100)
