"""A study for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bckm._core.card import card, facts, folded
from bckm._core.html import Child
from bckm._core.names import Name
from bckm.constraints.card import rules_table
from bckm.constraints.rules import plural
from bckm.fit.card import result_parts
from bckm.verification import verify

if TYPE_CHECKING:
    from bckm.study._study import Study

FEATURES = 6  # names that are shown


def study_card(study: Study) -> str:
    """The card of a study."""
    names = [name if isinstance(name, str) else f"cluster {name}" for name in study.cluster_names]
    return card(
        Name(study.title),
        facts(_facts(study)),
        *result_parts(study.result, names),
        folded("rules", rules_table(study.constraints)),
    )


def _facts(study: Study) -> Iterator[tuple[str, Child]]:
    yield "data", f"{plural(study.n_samples, 'sample')} in {plural(study.n_clusters, 'cluster')}"
    names: list[Child] = []
    for name in study.feature_names[:FEATURES]:
        names += [", ", Name(name)] if names else [Name(name)]
    more = len(study.feature_names) - FEATURES
    yield "features", [*names, f" and {more:,} more" if more > 0 else None]
    if study.scaling.kind != "none":
        yield "scaling", study.scaling.kind
    broken = verify(study.result.labels, study.n_clusters, study.constraints)
    yield "hard rules", f"{len(broken):,} violated" if broken else "all met"
