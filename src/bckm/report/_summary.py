"""The report as values of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from bckm.report._facts import Facts
from bckm.report.words import plain
from bckm.study import Study, views


def summary_of(facts: Facts) -> dict[str, Any]:
    """The facts as JSON values; see `bckm.report.summary`."""
    study, result = facts.study, facts.study.result
    return {
        "title": study.title,
        "headline": facts.headline,
        "n_samples": study.n_samples,
        "n_clusters": study.n_clusters,
        "cluster_names": list(study.cluster_names),
        "features": list(study.feature_names),
        "metric": study.metric,
        "learned_metric": _learned(study),
        "scaling": study.scaling.kind,
        "inertia": _json(result.inertia),
        "penalty": _json(result.penalty),
        "objective": _json(result.objective),
        "lower_bound": _json(result.lower_bound),
        "gap": facts.gap,
        "status": result.status.value,
        "assignment_status": result.assignment_status.value,
        "sizes": _json(result.sizes),
        "amounts": [
            {
                "name": one.name,
                "kind": one.kind,
                "values": _json(one.values),
                "lower": _json(one.lower),
                "upper": _json(one.upper),
                "soft": one.soft,
            }
            for one in facts.amounts
        ],
        "rules": [
            {"kind": one.kind, "soft": one.soft, "asked": one.asked, "kept": one.kept}
            for one in facts.checked.stated
        ],
        "broken": [plain(sentence) for sentence in facts.checked.broken],
        "violated": [
            {"message": plain(sentence), "penalty": _json(one.penalty), "saved": _json(one.saved)}
            for sentence, one in facts.violated
        ],
        "moved": _moved(study),
        "mixed": _mixed(study),
        "seconds": _json(result.seconds),
        "iterations": result.n_iter,
        "solver": result.solver,
        "settings": _json(dict(study.settings)),
        "versions": facts.versions,
    }


def _moved(study: Study) -> list[dict[str, Any]] | None:
    """Who is in another cluster than before, by names."""
    found = views.moves(study)
    if found is None:
        return None
    return [
        {
            "sample": study.name(one.sample),
            "before": None if one.before < 0 else study.cluster_names[one.before],
            "after": study.cluster_names[one.after],
        }
        for one in found
    ]


def _mixed(study: Study) -> dict[str, Any] | None:
    """How alike groups are that are to be alike."""
    mixing = views.mixing(study)
    if mixing is None:
        return None
    values = {
        "means": mixing.means,
        "overall": mixing.overall,
        "spread": mixing.spread,
        "least_spread": mixing.least_spread,
        "deviation": mixing.deviation,
    }
    return {name: _json(one) for name, one in values.items()}


def _learned(study: Study) -> dict[str, Any] | None:
    """What came of learning a metric: how it was judged, and how much each feature counts."""
    metric = study.result.metric
    if metric.judgment is None:
        return None
    found = asdict(metric.judgment)
    weights = views.feature_weights(study, study.X.shape[1])
    if weights is not None:
        order = np.argsort(weights.features)
        found["feature_shares"] = {
            "plain": weights.plain[order],
            "learned": weights.learned[order],
        }
    told: dict[str, Any] = _json(found)
    return told


def _json(value: Any) -> Any:
    """Values that JSON knows; what is no number in it is null."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_json(one) for one in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)
