"""A result for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bckm._core.card import bars, card, facts
from bckm._core.html import Child, el
from bckm._core.names import Name, Told
from bckm.constraints.rules import plural
from bckm.metric.named import LEARNED

if TYPE_CHECKING:
    from bckm.fit.result import Result

CLUSTERS, VIOLATED = 20, 5  # that are shown
PROVEN = 1e-9  # gaps below are none


def result_card(result: Result) -> str:
    """The card of a result."""
    samples = plural(int(result.sizes.sum()), "sample")
    many = f"{samples} in {plural(result.sizes.size, 'cluster')}"
    names = [f"cluster {i}" for i in range(result.sizes.size)]
    return card(f"Result: {many}", *result_parts(result, names))


def result_parts(result: Result, cluster_names: Sequence[str]) -> Iterator[Child]:
    """What a card says about a result whose clusters have names."""
    yield facts(_facts(result))
    k, sizes = result.sizes.size, result.sizes.tolist()
    rows = [
        (Name(name), size, f"{size:,}") for name, size in zip(cluster_names, sizes, strict=True)
    ]
    yield bars(rows[:CLUSTERS], max(sizes))
    if k > CLUSTERS:
        yield el("div", f"and {k - CLUSTERS:,} more", class_="quiet")
    if result.violated:
        dearest = sorted(result.violated, key=lambda one: -one.penalty)
        few = (
            "most expensive violated soft rules"
            if len(dearest) > VIOLATED
            else "violated soft rules"
        )
        yield el("div", few, class_="quiet")
        yield el("ul", *[el("li", Told(str(one))) for one in dearest[:VIOLATED]])


def _metric(result: Result) -> Iterator[tuple[str, Child]]:
    """What is not plain, or was to be something else."""
    if result.metric.judgment is not None:
        name = "learned metric" if result.metric.name == LEARNED else "metric"
        yield name, Told(result.metric.judgment.message)
    elif result.metric.name != "euclidean":
        yield "metric", result.metric.name


def _facts(result: Result) -> Iterator[tuple[str, Child]]:
    yield from _metric(result)
    space = " in the learned space" if result.metric.name == LEARNED else ""
    yield f"inertia{space}", f"{result.inertia:,.6g}"
    if result.penalty:
        yield "penalty", f"{result.penalty:,.6g} for {plural(len(result.violated), 'soft rule')}"
        yield "objective", f"{result.objective:,.6g}"
    gap = "0 (proven)" if result.gap <= PROVEN else f"{result.gap:.2%}"
    yield "gap of the last step", gap
    yield "status", f"{result.status.value}: {result.status.message}"
    yield "solver", Name(result.solver)
    yield "time", f"{result.seconds:.2f} s"
