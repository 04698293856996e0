"""Mixed groups: the best ones of small instances, under all rules, and what is promised of them."""

import numpy as np
import pytest

import bckm
from bckm import Constraints
from bckm._core.status import Status
from tests.support.instances import inertias
from tests.support.local_search import compiled
from tests.support.oracle import Truth
from tests.support.rule_instances import draw

pytestmark = compiled


def fit(X, k, rules=None, **settings):
    return bckm.kmeans(X, k, rules, **({"objective": "mixed", "random_state": 0} | settings))


def least(truth, between, obeys):
    return (between + truth.penalty)[obeys].min()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(300))
def test_small_instances_of_all_rules_by_brute_force(seed):
    drawn = draw((19, seed))
    rules = drawn.constraints
    if rules.size_min is None and rules.size_max is None:  # no sizes of the library's choice
        rules = rules & Constraints(size_min=1)
    truth = Truth.of(drawn)
    weight = np.ones(len(drawn.X)) if drawn.weight is None else drawn.weight
    total = np.square(drawn.X - np.average(drawn.X, axis=0, weights=weight)).sum(axis=1) @ weight
    between = np.asarray(total - inertias(drawn, truth.labels), float)
    obeys = truth.obeys & (
        np.stack([(truth.labels == i).any(axis=1) for i in range(drawn.k)]).all(axis=0)
        | (rules.size_min is not None and np.min(rules.size_min) == 0)
    )
    try:
        result = fit(drawn.X, drawn.k, rules, sample_weight=drawn.weight)
    except bckm.InfeasibleError:
        assert not truth.obeys.any()
        return
    at = truth.at(result.labels)
    assert truth.obeys[at]
    assert bckm.verify(result.labels, drawn.k, rules) == []
    rounding = 1e-9 * (total + truth.penalty.max()) + 1e-12
    assert result.mixed.between == pytest.approx(between[at], abs=rounding)
    assert result.penalty == pytest.approx(truth.penalty[at], abs=rounding)
    assert result.inertia == pytest.approx(total - between[at], abs=rounding)
    best = least(truth, between, truth.obeys & obeys if obeys.any() else truth.obeys)
    assert result.objective == pytest.approx(best, abs=rounding)
    assert result.lower_bound <= best + rounding


def test_sizes_are_equal_unless_rules_say_otherwise():
    X = np.random.default_rng(0).normal(size=(31, 2))
    assert sorted(fit(X, 4).sizes) == [7, 8, 8, 8]
    assert fit(X, 2, Constraints(size_min=[20, 5])).sizes[0] >= 20
    # a group that is too large for that: as equal as possible
    sizes = fit(X, 4, Constraints(must_link=[tuple(range(12))])).sizes
    assert sizes.max() == 12
    assert sizes.min() >= 4
    wish = Constraints(size_max=3).soft(price=1e-9)
    assert fit(X, 4, wish).sizes.sum() == 31


def test_groups_are_alike_and_rules_hold():
    rng = np.random.default_rng(3)
    X, girl = rng.normal(size=(90, 3)), rng.random(90) < 0.4
    rules = Constraints(
        must_link=[(0, 1), (2, 3, 4)],
        cannot_link=[(5, 6, 7)],
        fixed=[(8, 1)],
        forbidden=[(9, 0)],
        quotas=bckm.Quota(girl.tolist(), "±5%", name="girl"),
        capacities={"kg": bckm.Capacity(rng.integers(1, 9, 90).tolist(), None, 150)},
        size_min=29,
        size_max=31,
    )
    result = fit(X, 3, rules)
    assert bckm.verify(result.labels, 3, rules) == []
    assert result.mixed.share < 1e-5
    assert result.mixed.spread.max() < 0.02
    assert result.status is Status.CONVERGED
    assert result.prices is None
    means = [X[result.labels == i].mean(axis=0) for i in range(3)]
    assert result.centers == pytest.approx(np.array(means))
    assert result.mixed.spread == pytest.approx(np.ptp(means, axis=0))


def test_variances_too():
    X = np.random.default_rng(1).normal(size=(80, 2))
    both, means = fit(X, 4, objective="mixed_variances"), fit(X, 4)
    deviations = [
        np.ptp([X[one.labels == i].std(axis=0) for i in range(4)], axis=0).max()
        for one in (both, means)
    ]
    assert deviations[0] < 0.1 * deviations[1]
    assert both.mixed.variances
    assert both.centers.shape == (4, 2)
    assert both.mixed.spread.max() < 0.05


def transformed(X):
    yield "scaled", X * 1e6
    yield "small", X * 1e-6
    yield "moved", X + 1e6


def test_the_same_groups_whatever_the_unit_the_order_and_the_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    rules = Constraints(cannot_link=[(0, 1)], must_link=[(2, 3)])
    labels = fit(X, 4, rules).labels
    for name, other in transformed(X):
        assert np.array_equal(fit(other, 4, rules).labels, labels), name
    assert np.array_equal(fit(X, 4, rules, n_jobs=1).labels, labels)
    assert not np.array_equal(fit(X, 4, rules, random_state=1).labels, labels)
    order = rng.permutation(60)
    place = np.argsort(order)
    same = Constraints(cannot_link=[(place[0], place[1])], must_link=[(place[2], place[3])])
    assert np.array_equal(fit(X[order], 4, same).labels, labels[order])


def test_search_is_never_worse_with_more_work():
    X = np.random.default_rng(5).normal(size=(100, 6))
    costs = [fit(X, 5, search=kind).objective for kind in ("none", "local", "auto")]
    assert costs[0] > 10 * costs[1]
    assert costs[1] >= costs[2]


def test_a_time_limit_and_an_interruption_return_labels_that_obey():
    X = np.random.default_rng(5).normal(size=(200, 6))
    late = fit(X, 5, search="global", time_limit=0.15)
    assert late.status is Status.TIME_LIMIT
    assert late.sizes.tolist() == [40] * 5
    assert fit(X, 5, time_limit=0.02).sizes.tolist() == [40] * 5

    def stop(_):
        raise KeyboardInterrupt

    stopped = fit(X, 5, search="global", on_step=stop)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.mixed.share < 1e-3


def test_who_listens_hears_of_steps_and_better_labels():
    steps, best, phases = [], [], []
    X = np.random.default_rng(5).normal(size=(50, 2))
    listening = {"on_step": steps.append, "on_best": best.append, "on_phase": phases.append}
    result = fit(X, 5, n_init=4, **listening)
    assert phases == ["rules", "search"]
    assert len(steps) == 4
    assert best[-1].objective == pytest.approx(result.objective)
    assert np.array_equal(best[-1].labels, result.labels)
    assert min(step.objective for step in steps) == pytest.approx(result.objective)


def test_a_checkpoint_goes_on_where_it_was(tmp_path):
    X = np.random.default_rng(5).normal(size=(50, 4))
    path, heard = tmp_path / "fit.bckm", []

    def stop(step):
        heard.append(step)
        if len(heard) == 2:
            raise KeyboardInterrupt

    assert fit(X, 5, n_init=4, checkpoint=path, on_step=stop).status is Status.INTERRUPTED
    again = []
    resumed = fit(X, 5, n_init=4, checkpoint=path, on_step=again.append)
    assert [step.start for step in again] == [1, 2, 3]
    whole = fit(X, 5, n_init=4)
    assert np.array_equal(resumed.labels, whole.labels)
    assert resumed.objective == whole.objective
    with pytest.raises(ValueError, match="objective='mixed'"):
        fit(X, 5, objective="mixed_variances", n_init=4, checkpoint=path)


def test_what_violations_save_is_between_clusters():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    wish = Constraints(must_link=[(0, 1)]).soft(price=0.1)
    result = fit(X, 2, wish & Constraints(size_min=1))
    (violated,) = result.violated
    # sample 0 with 1 and the rest: means 1/3 and 1, from 1/2 and 1/2
    assert violated.saved == pytest.approx(3 * (1 / 2 - 1 / 3) ** 2 + (1 - 1 / 2) ** 2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metric": "latlon"}, "compares means"),
        ({"metric": "learned"}, "compares means"),
        ({"solver": "exact"}, "no solver"),
        ({"init": [[0.0, 0.0], [1.0, 1.0]]}, "no centers"),
    ],
)
def test_what_is_about_centers_is_refused(settings, words):
    with pytest.raises(bckm.UnsupportedError, match=words):
        fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], 2, **settings)


def test_data_in_blocks_and_sparse_data_are_refused():
    import scipy.sparse as sp

    class Rows(bckm.ArrayRows):
        """Rows that cannot be loaded."""

    X = np.zeros((6, 2))
    with pytest.raises(bckm.UnsupportedError, match="sparse"):
        fit(sp.csr_array(X), 2)
    with pytest.raises(bckm.UnsupportedError, match=r"objective='mixed' works only where"):
        fit(Rows(X), 2)


def test_a_model_makes_groups_and_predicts_nothing():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = bckm.ConstrainedKMeans(4, objective="mixed", random_state=0)
    labels = model.fit_predict(X, must_link=[(0, 1)])
    assert labels[0] == labels[1]
    assert model.cluster_sizes_.tolist() == [10] * 4
    assert model.result_.mixed.share < 1e-3
    for refused in (model.predict, model.assign, model.score):
        with pytest.raises(bckm.UnsupportedError, match="mixed groups are alike"):
            refused(X)
    assert model.transform(X).shape == (40, 4)


def test_saved_and_read_again(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = bckm.ConstrainedKMeans(4, objective="mixed", random_state=0).fit(X)
    bckm.save(model, tmp_path / "model.bckm")
    again = bckm.load(tmp_path / "model.bckm")
    assert again.objective == "mixed"
    before, after = model.result_, again.result_
    assert after.objective == before.objective
    assert after.mixed.total == before.mixed.total
    assert after.mixed.spread.tolist() == before.mixed.spread.tolist()
    assert repr(after) == repr(before)


def test_one_cluster_and_samples_that_are_alike():
    X = np.random.default_rng(0).normal(size=(5, 2))
    assert fit(X, 1).mixed.between == pytest.approx(0, abs=1e-20)
    assert fit(np.ones((6, 2)), 3).objective == 0
    assert sorted(fit(X, 5).labels) == [0, 1, 2, 3, 4]
