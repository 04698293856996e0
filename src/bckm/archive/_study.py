"""`Study` as a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from bckm._core.validation import read_weight
from bckm._storage.fields import Fields, mapping_of
from bckm.archive._result import ensure_finite, read_result, result_tree
from bckm.constraints.tree import Pool, constraints_tree, read_constraints
from bckm.problem.scaling import Scaling
from bckm.study import Study
from bckm.verification import verify


def study_tree(study: Study, pool: Pool) -> dict[str, Any]:
    """A result, its data and its rules."""
    weight = study.sample_weight
    return {
        "result": result_tree(study.result, pool),
        "X": np.asarray(study.X, float),
        "constraints": constraints_tree(study.constraints, pool),
        "broken": len(_broken(study)),
        "feature_names": list(study.feature_names),
        "sample_id": None if study.sample_id is None else list(study.sample_id),
        "sample_weight": None if weight is None else np.asarray(weight, float),
        "scaling": study.scaling.to_tree(),
        "title": study.title,
        "settings": dict(study.settings),
        **({} if study.page is None else {"page": dict(study.page)}),
    }


def read_study(fields: Fields, pool: Pool) -> Study:
    """A `Study` from a file; labels that broke no rule when it was written break none now."""
    result = read_result(fields.of("result"), pool)
    n = result.labels.size
    X = fields.floats("X", (n, None))  # noqa: N806
    d = X.shape[1]
    names = fields.texts("feature_names")
    if len(names) != d or result.centers.shape[1] != d:
        raise ValueError(f"features and centers do not fit data of shape {X.shape}")
    ids = None if fields["sample_id"] is None else tuple(fields.texts("sample_id"))
    if ids is not None and len(ids) != n:
        raise ValueError(f"there are {len(ids)} ids for {n} samples")
    study = Study(
        result=result,
        X=X,
        constraints=read_constraints(fields.of("constraints"), pool),
        feature_names=tuple(names),
        scaling=Scaling.from_tree(fields.of("scaling"), d),
        sample_id=ids,
        sample_weight=None
        if fields["sample_weight"] is None
        else read_weight(fields.floats("sample_weight", (n,)), n),
        title=fields.text("title"),
        settings=mapping_of(fields["settings"], "settings"),
        page=mapping_of(fields["page"], "page") if "page" in fields.tree else None,
    )
    if study.metric != "euclidean":  # no direction, or no place on earth, is refused
        ensure_finite(result.metric, study.scaled)
    broken = _broken(study)
    if broken and fields.whole("broken") == 0:
        raise ValueError(f"it was edited after it was written: {broken[0]}".rstrip("."))
    study.constraints.soft_rules(n, study.n_clusters)  # which refuses those that do not fit
    return study


def _broken(study: Study) -> list[Any]:
    return verify(study.result.labels, study.n_clusters, study.constraints)
