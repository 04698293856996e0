"""What the numbers of a report mean, for readers who never heard of inertia."""

from __future__ import annotations

from bckm.metric.named import LEARNED
from bckm.report._facts import Facts
from bckm.report._mixed import DIFFERENCE, MEANING


def meanings(facts: Facts) -> list[tuple[str, str]]:
    """The names of numbers, and what they are."""
    mixed = facts.study.result.mixed is not None
    told = [(DIFFERENCE, MEANING)] if mixed else _distances(facts)
    if facts.total(soft=True)[0]:
        first = "what is minimized without rules" if mixed else "inertia"
        told.append(("Penalty", "cost of violated soft rules."))
        told.append(("Objective", f"{first} plus penalty."))
    if not mixed:
        told.append(
            (
                "Gap",
                "with the centers where they are, no assignment that keeps the rules is better by "
                "more than this; 0 is the best possible.",
            )
        )
    return told


def _distances(facts: Facts) -> list[tuple[str, str]]:
    unit = {
        "euclidean": "in squared units of the features",
        "latlon": "in km²",
        "haversine": "in squared radii of the sphere",
        LEARNED: "in the learned space, which varies in total as much as the data",
    }.get(facts.study.metric, "after scaling each row to length 1")
    if facts.study.scaling.kind != "none" and not facts.space:
        unit = "in squared units of the scaled features"
    elif facts.unit:
        unit = f"in {facts.unit}²"
    of = "" if facts.study.sample_weight is None else ", times their weights"
    return [
        (
            "Typical distance",
            "how far samples are from the center of their cluster (root of the mean square).",
        ),
        (
            "Inertia",
            "sum of the squared distances of all samples to the center of their cluster"
            f"{of}, {unit}. A fit makes it as small as the rules allow; it says something next "
            "to that of another result for the same data."
            + " Bounds, penalties and prices are those of the learned space."
            * bool(facts.space),
        ),
    ]
