"""The main job on bundled data: ``bckm demo``.

240 customers of a delivery service are divided among 8 vans. Each van visits 28 to 32 of them;
members of a household get the same van; the parties of a dispute must not share one.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import numpy as np

import bckm
from bckm._core.terminal import say
from bckm._core.types import FloatArray

VANS = 8
SIZES = (28, 32)
OUTPUT = "bckm-demo-labels.csv"


def main(output: str = OUTPUT, report: str | None = None) -> bckm.Result:
    """Cluster the bundled customers, print the rules and the result, and write the labels.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bckm.cli._demo import main
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = main(str(pathlib.Path(folder) / "labels.csv"))  # doctest: +ELLIPSIS
    Rules
      240 customers, 8 clusters of 28 to 32
    ...
    """
    customers, X, rules = read()  # noqa: N806
    result = bckm.kmeans(X, VANS, rules, n_init=10, random_state=0)
    plain = bckm.kmeans(X, VANS, n_init=10, random_state=0)
    _report(rules, result, plain)
    names = [c["customer"] for c in customers]
    with Path(output).open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["customer", "cluster"])
        writer.writerows(zip(names, result.labels, strict=True))
    say(f"\nLabels written to {output}")
    if report is not None:
        from bckm.report import write

        columns, title = ("x_km", "y_km"), "240 customers, 8 vans"
        study = bckm.Study.of(result, X, rules, feature_names=columns, sample_id=names, title=title)
        write(study, report)
        say(f"Report written to {report}")
    return result


def read() -> tuple[list[dict[str, str]], FloatArray, bckm.Constraints]:
    """Read the bundled customers: their rows, their places, and the rules."""
    with (files("bckm.cli") / "data" / "customers.csv").open(encoding="utf-8") as handle:
        customers = list(csv.DictReader(handle))
    places = np.array([[float(c["x_km"]), float(c["y_km"])] for c in customers])
    rules = bckm.Constraints(
        must_link=_groups(customers, "together"),
        cannot_link=_groups(customers, "apart"),
        size_min=SIZES[0],
        size_max=SIZES[1],
    )
    return customers, places, rules


def _groups(customers: list[dict[str, str]], column: str) -> list[list[int]]:
    """Rows that share a value of a column, empty values aside."""
    groups: dict[str, list[int]] = {}
    for row, customer in enumerate(customers):
        if customer[column]:
            groups.setdefault(customer[column], []).append(row)
    return [rows for rows in groups.values() if len(rows) > 1]


def _report(rules: bckm.Constraints, result: bckm.Result, plain: bckm.Result) -> None:
    broken = bckm.verify(result.labels, VANS, rules)
    would_break = bckm.verify(plain.labels, VANS, rules)
    asked = len(rules.must_link) + len(rules.cannot_link) + 2 * VANS  # two bounds of each size
    say("Rules")
    say(f"  240 customers, {VANS} clusters of {SIZES[0]} to {SIZES[1]}")
    say(f"  {len(rules.must_link)} must-link sets, {len(rules.cannot_link)} cannot-link sets")
    say("Result")
    say(f"  sizes          {' '.join(map(str, result.sizes))}")
    say(f"  rules met      {asked - len(broken)} of {asked}")
    say(f"  inertia        {result.inertia:.2f} km^2")
    say(f"  last step      {result.assignment_status.message}")
    say(f"  lower bound    {result.lower_bound:.2f} km^2 (gap {result.gap:.2%})")
    say(f"  ended          {result.status.message}, after {result.n_iter} iterations")
    say(f"  time           {result.seconds:.2f} s for 10 starts, solver {result.solver!r}")
    say("Plain k-means, for comparison")
    say(f"  sizes          {' '.join(map(str, plain.sizes))}")
    say(f"  inertia        {plain.inertia:.2f} km^2, with {len(would_break)} violations")
