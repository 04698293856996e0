"""scikit-learn's own checks, with no failure that its KMeans does not have too."""

from __future__ import annotations

from functools import partial

import pytest
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from bckm import ConstrainedKMeans
from bckm.kernels import missing

# bounds that the data of every check can obey: the smallest have 10 samples
MODELS = [
    ConstrainedKMeans(3, size_min=3, size_max=60),
    ConstrainedKMeans(),
    ConstrainedKMeans(init="random", search="none"),
    *([] if missing else [ConstrainedKMeans(search="local")]),
    ConstrainedKMeans(2, size_min=5),
    ConstrainedKMeans(3, size_min=0, tol=0),
    *(ConstrainedKMeans(3, size_min=3, solver=solver) for solver in ("exact", "pump", "greedy")),
]

RANDOM_SEEDS = {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "init='random' draws distinct rows as first centers: a row that is repeated can be drawn "
        "twice, a row with a weight only once, so the two fits start from different centers"
    )
    for kind in ("dense", "sparse")
}


def expected_failures(model: ConstrainedKMeans) -> dict[str, str]:
    return RANDOM_SEEDS if model.init == "random" else {}


# strict: a check that is listed as failing but passes is a failure as well
checks = partial(
    parametrize_with_checks, expected_failed_checks=expected_failures, xfail_strict=True
)


@checks(MODELS[:1])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.full
@checks(MODELS[1:])
def test_scikit_learn_check_of_other_parameters(estimator, check):
    check(estimator)


def failures(model: object) -> set[str]:
    report = check_estimator(model, on_fail=None, on_skip=None)
    assert len(report) > 50  # the checks did run
    return {entry["check_name"] for entry in report if entry["status"] == "failed"}


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")  # those of KMeans are not ours to mend
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_kmeans_of_scikit_learn_fails_what_is_expected_to_fail(init):
    ours = ConstrainedKMeans(init=init, search="none")
    theirs = failures(KMeans(init=init, n_init=1))
    assert failures(ours) == set(expected_failures(ours))
    assert set(expected_failures(ours)) <= theirs
