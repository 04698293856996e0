"""Assignments and fits of all kinds of rules through all doors, against brute force.

Labels obey; inertia and penalty are exact (fractions); no bound is above the exact optimum of its
step; what is called optimal is; "infeasible" is said if and only if no labels obey.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from click.testing import CliRunner

import bckm
from bckm.cli import cli
from campaign.conflicts import judge
from campaign.exact import Drawing, fractions, inertia, to_centers
from campaign.part import Case, Part
from campaign.stating import constraints_of, write_files
from tests.support.rule_instances import Drawn, draw

EACH = 10
SOLVERS = ("auto", "lagrangian", "pump", "greedy", "transport", "nearest")
SEARCHES = ("none", "auto", "local")
PROCESS = 400  # one case in so many starts a process of its own
NEAR = 1e-11  # of costs, relative to them or to a far pair of samples


class Door:
    """One way to ask, and what is looked at in the answer."""

    def __init__(self, drawing: Drawing, case: Case) -> None:
        self.drawing, self.drawn, self.case = drawing, drawing.drawn, case

    def near(self, found: float, exact: Fraction, slack: float = NEAR) -> None:
        """Raise unless a number is right but for rounding."""
        room = Fraction(slack) * max(exact, Fraction(self.drawing.scale)) + Fraction(1e-300)
        assert abs(Fraction(found) - exact) <= room, (found, float(exact))

    def answer(self, ask: Any, **how: Any) -> Any:
        """Call; None where it says, rightly, that no labels obey."""
        self.case.count(PART.what)
        try:
            found = ask(**how)
        except bckm.InfeasibleError as error:
            assert not self.drawing.feasible, f"called infeasible: {error}"
            self.case.count("infeasible")
            return None
        assert self.drawing.feasible, f"not called infeasible: {how}"
        return found

    def look(self, found: bckm.Result, *, still: bool = False) -> None:
        """A result of a fit, or of an assignment to centers that are still."""
        drawing, labels = self.drawing, np.asarray(found.labels)
        assert drawing.obeys(labels), labels
        centers, penalty = fractions(found.centers), drawing.penalty(labels)
        at_centers = to_centers(drawing.X, centers, labels, drawing.weight)
        self.near(
            found.inertia, at_centers if still else inertia(drawing.X, labels, drawing.weight)
        )
        self.near(found.penalty, penalty)
        best = drawing.step_optimum(found.centers)
        self.bound(found.lower_bound, best)
        assert found.lower_bound <= found.objective
        if found.assignment_status is bckm.Status.OPTIMAL:
            self.case.count("proven optimal")
            self.near(float(at_centers + penalty), best, 1e-9)
        elif still and found.solver == "exact":
            # rows that give way are proven to the tolerance of the solver
            self.near(float(at_centers + penalty), best, 1e-8)
            assert self.drawn.soft
        assert all(b.objective <= a.objective for a, b in pairwise(found.history))
        assert found.sizes.tolist() == np.bincount(labels, minlength=self.drawn.k).tolist()
        paid = sum(one.penalty for one in found.violated)
        self.near(paid, penalty, 1e-9)
        assert all(one.saved >= 0 for one in found.violated)

    def bound(self, bound: float, exact: Fraction) -> None:
        """Raise if a lower bound is above the exact value."""
        assert Fraction(bound) <= exact, (bound, float(exact), float(Fraction(bound) - exact))


def look(case: Case) -> None:
    """Draw rules; ask for assignments and fits in ten ways."""
    drawn = draw(case.key)
    drawing = Drawing(drawn)
    door, turn = Door(drawing, case), case.number
    centers = _centers(drawn, case.rng)
    answer = bckm.check(drawn.X, drawn.k, drawn.constraints)
    assert answer.verdict == ("feasible" if drawing.feasible else "infeasible")
    if answer:
        assert drawing.obeys(answer.labels)
    else:
        judge(answer.error, drawn, drawing.truth.labels)
    weight = {"sample_weight": drawn.weight}
    fit = {**weight, "random_state": turn, "n_init": 1}
    others = _centers(drawn, case.rng)
    for solver, at in (
        ("exact", centers),
        (SOLVERS[turn % 6], centers),
        ("greedy", others),
        (("nearest", "pump", "transport")[turn % 3], others),
    ):
        found = _supported(door, bckm.assign_to, drawn, at, solver, **weight)
        if found is not None:
            door.look(found, still=True)
    for solver, search in ((SOLVERS[(turn + 1) % 6], "none"), ("auto", SEARCHES[turn % 3])):
        found = _supported(door, bckm.kmeans, drawn, drawn.k, solver, search=search, **fit)
        if found is not None:
            door.look(found)
    _ids(door, fit)
    _estimator(door, fit)
    if turn % 4 == 0:
        _command(case, drawn)
    else:  # centers given, others than before
        found = door.answer(
            bckm.kmeans,
            X=drawn.X,
            n_clusters=drawn.k,
            constraints=drawn.constraints,
            **{**fit, "init": centers, "label_bounds": ("given", "matched")[turn % 2]},
        )
        if found is not None:
            door.look(found)


def _centers(drawn: Drawn, rng: np.random.Generator) -> np.ndarray:
    """Anywhere, or on the data: then costs tie and vanish."""
    centers = drawn.X[rng.integers(len(drawn.X), size=drawn.k)]
    if rng.random() < 0.6:
        centers = centers + (np.ptp(drawn.X) or 1.0) * rng.normal(size=centers.shape)
    return centers


def _supported(door: Door, call: Any, drawn: Drawn, second: Any, solver: str, **how: Any) -> Any:
    """Ask with a solver, or with "auto" where it refuses what it cannot express."""
    first = {"X": drawn.X, ("centers" if call is bckm.assign_to else "n_clusters"): second}
    try:
        return door.answer(call, **first, constraints=drawn.constraints, solver=solver, **how)
    except bckm.UnsupportedError:
        door.case.counts[PART.what] -= 1
        return door.answer(call, **first, constraints=drawn.constraints, solver="auto", **how)


def _ids(door: Door, fit: dict[str, Any]) -> None:
    """Rules about ids, stated one by one, rows in another order; others about positions."""
    drawn, rng = door.drawn, door.case.rng
    order = rng.permutation(len(drawn.X))
    names = [f"id {p}" for p in range(len(drawn.X))]
    moved = {**fit, "sample_weight": None if drawn.weight is None else drawn.weight[order]}
    rows = any(ask.kind == "rows" for ask in drawn.asks)  # these name no samples
    try:
        rules = constraints_of(drawn, None if rows else names)
    except ValueError as error:  # sizes of two rules that cross are refused as they are joined
        assert "above size_max" in str(error), error
        assert not door.drawing.feasible
        door.case.count(PART.what)
        return
    if rows:
        order, moved = np.arange(len(drawn.X)), fit
    found = door.answer(
        bckm.kmeans,
        X=drawn.X[order],
        n_clusters=drawn.k,
        constraints=rules,
        sample_id=[names[p] for p in order],
        search="none",
        **moved,
    )
    if found is not None:
        back = np.empty_like(found.labels)
        back[order] = found.labels
        assert door.drawing.obeys(back)
        door.near(found.inertia, inertia(door.drawing.X, back, door.drawing.weight))
        door.bound(found.lower_bound, door.drawing.step_optimum(found.centers))


def _estimator(door: Door, fit: dict[str, Any]) -> None:
    drawn, drawing = door.drawn, door.drawing
    how = {key: value for key, value in fit.items() if key != "sample_weight"}
    model = bckm.ConstrainedKMeans(drawn.k, search="none", **how)
    given = {"constraints": drawn.constraints, "sample_weight": drawn.weight}
    fitted = door.answer(lambda **x: model.fit(drawn.X, **x), **given)
    if fitted is None:
        door.case.count(PART.what)  # there is nothing to assign to
        return
    door.look(model.result_)
    assert np.array_equal(model.labels_, model.result_.labels)
    predicted = model.predict(drawn.X)
    square = np.square(drawn.X[:, None] - model.cluster_centers_).sum(axis=2)
    if model.result_.prices is not None:
        mean = 1.0 if drawn.weight is None else drawn.weight.mean()
        square = square - model.result_.prices / mean
    own = square[np.arange(len(square)), predicted]
    assert (own <= square.min(axis=1) + 1e-9 * (drawing.scale + np.abs(square).max())).all()
    labels = door.answer(lambda **x: model.assign(drawn.X, **x), **given)
    assert drawing.obeys(labels)
    cost = to_centers(drawing.X, fractions(model.cluster_centers_), labels, drawing.weight)
    best = drawing.step_optimum(model.cluster_centers_)
    assert cost + drawing.penalty(labels) >= best


def _command(case: Case, drawn: Drawn) -> None:
    """A table and a rules file on the command line; in a process of its own for a few."""
    names = [f"row-{p:02d}" for p in range(len(drawn.X))]
    kept, words = write_files(case.folder, drawn, names)
    drawing = Drawing(kept)
    case.count("by the command line")
    words = ["fit", *words]
    words += ["--seed", "1", "--n-init", "1", "--search", "none", "--quiet", "--json"]
    words += ["-o", str(case.folder / "out.csv")]
    if case.number % PROCESS == 0:
        case.count("processes")
        command = [sys.executable, "-m", "bckm", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        done = CliRunner().invoke(cli, words)
        code, out, err = done.exit_code, done.stdout, f"{done.stderr}{done.exception!r}"
    door = Door(drawing, case)
    case.count(PART.what)
    if not drawing.feasible:
        assert code == 3, (code, out, err)
        told = json.loads(out)
        assert told["verdict"] == "infeasible", told
        case.count("infeasible")
        return
    assert code == 0, (code, out, err)
    told = json.loads(out)
    with (case.folder / "out.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["name"] for row in rows] == names
    labels = np.array([int(row["cluster"]) - 1 for row in rows])
    assert drawing.obeys(labels), labels
    door.near(told["inertia"], inertia(drawing.X, labels, drawing.weight))
    door.near(told["penalty"], drawing.penalty(labels))
    exact = inertia(drawing.X, labels, drawing.weight) + drawing.penalty(labels)
    door.bound(told["lower_bound"], exact)


PART = Part("assignments", "assignments and fits", 100_000, look, each=EACH, chunk=50)
