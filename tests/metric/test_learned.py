"""A metric learned from links: what it finds, what it refuses, and that fits carry it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score as nmi

import bckm
from bckm.kernels import missing
from bckm.metric.learn import learn_metric
from bckm.metric.learned import Learned

N, K, D = 120, 3, 6


def hidden(seed=0, n=N, d=D, noise=8.0):
    """Clusters that differ in the first two features; the others vary much more."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    X = noise * rng.normal(size=(n, d))
    X[:, :2] = 4 * np.array([[0, 0], [1, 0], [0, 1]])[y] + 0.5 * rng.normal(size=(n, 2))
    return X, y


def known(y, share=0.2, seed=0):
    """Labels of a share of the samples; -1 for the others."""
    shown = np.random.default_rng(seed).random(y.size) < share
    return np.where(shown, y, -1)


def links(y, **options):
    return bckm.Constraints.from_labels(known(y, **options))


def learned(X, rules, **options):
    return bckm.kmeans(X, K, rules, metric="learned", random_state=0, **options)


@pytest.fixture(scope="module")
def fit():
    """A fit that several tests look at: data, classes, rules and result."""
    X, y = hidden()
    return X, y, links(y), learned(X, links(y))


# what it finds --------------------------------------------------------------------------------


def test_links_show_which_differences_matter(fit):
    X, y, rules, result = fit
    plain = bckm.kmeans(X, K, rules, random_state=0)
    assert nmi(y, plain.labels) < 0.4
    assert nmi(y, result.labels) == 1
    weights = result.metric.feature_weights
    assert weights[:2].min() > 20 * weights[2:].max()
    judged = result.metric.judgment
    assert judged.learned
    assert judged.learned_score > 0.9 > 0.5 > judged.plain_score
    assert judged.message.startswith("learned from")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", ["pairs", "groups", "labels", "ids", "fixed", "soft", "wrong"])
def test_every_kind_of_link_teaches(way):
    X, y = hidden()
    some = known(y, share=0.4)
    sets = [np.flatnonzero(some == i) for i in range(K)]
    # pairs that share no sample: nothing but differences
    pairs = np.concatenate([own[: own.size // 2 * 2].reshape(-1, 2) for own in sets])
    options = {}
    match way:
        case "pairs":
            rules = bckm.Constraints(must_link=pairs)
        case "groups":
            rules = bckm.Constraints(groups=np.where(some < 0, None, some))
        case "labels":
            rules = bckm.Constraints.from_labels(some)
        case "ids":
            names = np.array([f"s{p}" for p in range(N)])
            rules = bckm.Constraints(must_link=names[pairs].tolist(), by="sample_id")
            options = {"sample_id": names}
        case "fixed":
            rules = bckm.Constraints(
                fixed={int(p): int(some[p]) for p in np.flatnonzero(some >= 0)}
            )
        case "soft":
            rules = bckm.Constraints(must_link=pairs).soft(confidence=1.0)
        case "wrong":
            wrong = [(sets[0][0], sets[1][0]), (sets[1][1], sets[2][1])]
            rules = bckm.Constraints(must_link=[*pairs.tolist(), *wrong]).soft(confidence=1.0)
    result = learned(X, rules, search="none", **options)
    assert result.metric.name == "learned"
    assert nmi(y, result.labels) > 0.9


def test_wrong_soft_links_are_not_believed():
    X, y = hidden()
    some = known(y, share=0.4)
    right = [bckm.Constraints(must_link=[np.flatnonzero(some == i)]) for i in range(K)]
    rng = np.random.default_rng(0)
    shown = np.flatnonzero(some >= 0)
    wrong = bckm.Constraints(
        must_link=[p for p in rng.choice(shown, (40, 2)).tolist() if y[p[0]] != y[p[1]]]
    )
    clean = (right[0] & right[1] & right[2]).soft(confidence=1.0)
    pure = learn_metric(X, clean)
    mixed = learn_metric(X, clean & wrong.soft(confidence=1.0))
    assert isinstance(mixed, Learned)
    assert mixed.feature_weights[:2].sum() > 0.8 * pure.feature_weights[:2].sum()


def test_standardized_features_are_tried_too():
    X, y = hidden(noise=1.0)
    X[:, 2:] *= 1e4  # the shrinkage of raw units would keep nothing but these
    found = learn_metric(X, links(y, share=0.15))
    assert isinstance(found, Learned)
    assert found.judgment.standardized
    assert nmi(y, learned(X, links(y, share=0.15)).labels) == 1


# what it refuses ------------------------------------------------------------------------------


def test_the_plain_metric_is_kept_where_it_is_as_good():
    y = np.arange(N) % K
    X = 30 * np.eye(K)[y] + np.random.default_rng(1).normal(size=(N, K))
    rules = bckm.Constraints(must_link=[np.flatnonzero(known(y) == i) for i in range(K)])
    result = learned(X, rules, search="none")
    plain = bckm.kmeans(X, K, rules, random_state=0, search="none")
    assert result.metric.name == "euclidean"
    judged = result.metric.judgment
    assert not judged.learned
    assert judged.message.startswith("the plain metric is kept")
    assert result.inertia == plain.inertia
    assert (result.labels == plain.labels).all()


@pytest.mark.parametrize(
    "rules",
    [
        bckm.Constraints(),
        bckm.Constraints(size_max=50),
        bckm.Constraints(cannot_link=[(0, 1), (1, 2)]),
        bckm.Constraints(must_link=[(4,)]),
    ],
)
def test_without_links_there_is_nothing_to_learn_from(rules):
    with pytest.raises(ValueError, match="nothing to learn a metric from"):
        learned(hidden()[0], rules)


@pytest.mark.parametrize("must_link", [[(0, 3)], [(0, 3, 6, 9, 12)], [(0, 3), (1, 4)]])
def test_too_few_links_leave_the_plain_metric(must_link):
    X, _ = hidden()
    result = learned(X, bckm.Constraints(must_link=must_link), search="none")
    assert result.metric.name in ("euclidean", "learned")
    if len(must_link) == 1:
        assert "too few" in result.metric.judgment.message


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", ["alike", "copies", "constant", "wide", "weightless"])
def test_odd_data(case):
    X, y = hidden(n=60)
    rules, options = links(y, share=0.5), {}
    match case:
        case "alike":
            X = np.ones_like(X)
        case "copies":  # must-linked samples are copies of each other
            X = X[y]
        case "constant":
            X = np.hstack([X, np.full((60, 2), 7e5)])
        case "wide":
            X = np.hstack([X, np.random.default_rng(0).normal(size=(60, 200))])
        case "weightless":
            options = {"sample_weight": (np.arange(60) % 4 > 0).astype(float)}
    result = learned(X, rules, search="none", **options)
    assert np.isfinite(result.inertia)
    assert np.isfinite(result.centers).all()
    assert bckm.verify(result.labels, K, rules) == []
    if case in ("constant", "weightless"):
        assert nmi(y, result.labels) == 1


# the same whatever units, order and form ------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("change", ["small", "large", "moved", "permuted", "single", "sparse"])
def test_units_order_and_form_do_not_matter(change):
    X, y = hidden(3)
    rules, order = links(y), np.arange(N)
    if change == "sparse":
        X = np.where(np.abs(X) < 2, 0.0, X)
    if change == "single":
        X = X.astype(np.float32).astype(float)
    other = X
    match change:
        case "small":
            other = X * 1e-6
        case "large":
            other = X * 1e6
        case "moved":
            other = X + 1e6
        case "permuted":
            order = np.random.default_rng(5).permutation(N)
            other = X[order]
        case "single":
            other = X.astype(np.float32)
        case "sparse":
            other = sp.csr_array(X)
    one = learned(X, rules, search="none")
    two = learned(other, rules.take(order), search="none")
    assert one.metric.name == two.metric.name == "learned"
    assert one.metric.judgment.n_components == two.metric.judgment.n_components
    assert one.metric.judgment.learned_score == pytest.approx(two.metric.judgment.learned_score)
    assert nmi(one.labels[order], two.labels) == pytest.approx(1)


def test_weights_count_like_copies():
    X, y = hidden(4)
    weight = np.ones(N)
    weight[:20] = 3
    rows = np.repeat(np.arange(N), weight.astype(int))
    a = learn_metric(X, links(y), weight)
    b = learn_metric(X[rows], bckm.Constraints.from_labels(known(y)[rows]))
    assert a.origin == pytest.approx(b.origin)
    assert a.feature_weights[:2].sum() == pytest.approx(b.feature_weights[:2].sum(), rel=0.2)


def test_the_learned_space_varies_as_much_as_the_data():
    X, y = hidden()
    found = learn_metric(X, links(y))
    assert found.embedded(X).var(axis=0).sum() == pytest.approx(X.var(axis=0).sum())
    assert found.embedded(X).mean(axis=0) == pytest.approx(0, abs=1e-9)


# fits carry it --------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_centers_are_means_of_the_data(form):
    X, y = hidden()
    weight = np.random.default_rng(0).random(N)
    result = learned(form(X), links(y), sample_weight=weight)
    for i in range(K):
        own = result.labels == i
        assert result.centers[i] == pytest.approx(np.average(X[own], axis=0, weights=weight[own]))
    assert result.metric.embedded(result.centers) == pytest.approx(result.embedded)
    points = result.metric.embedded(X)
    apart = np.square(points - result.embedded[result.labels]).sum(axis=1)
    assert result.inertia == pytest.approx(weight @ apart)


def test_an_empty_cluster_has_a_center_too():
    X, y = hidden()
    rules = links(y) & bckm.Constraints(size_min=0, size_max=[0, N, N, N])
    result = bckm.kmeans(X, 4, rules, metric="learned", random_state=0, search="none")
    assert result.sizes[0] == 0
    assert result.metric.embedded(result.centers) == pytest.approx(result.embedded)


def test_assign_to_and_certify_take_what_was_learned(fit):
    X, _, rules, result = fit
    transformer = bckm.LearnedMetric(K)
    transformer.metric_ = result.metric  # as `fit` sets it
    for metric in (result.metric, transformer):
        again = bckm.assign_to(X, result.centers, rules, metric=metric)
        assert (again.labels == result.labels).all()
        assert again.inertia == pytest.approx(result.inertia)
        assert again.metric is getattr(metric, "metric_", metric)
    proof = bckm.certify(result, X, rules, time_limit=5, tol=0.5)
    assert 0 < proof.lower_bound <= result.objective
    with pytest.raises(ValueError, match=r"metric=result\.metric"):
        bckm.assign_to(X, result.centers, rules, metric="learned")
    with pytest.raises(ValueError, match="learned from 6"):
        bckm.assign_to(X[:, :3], result.centers[:, :3], metric=result.metric)


def test_initial_centers_are_in_the_terms_of_the_data():
    X, y = hidden()
    init = np.stack([X[y == i].mean(axis=0) for i in range(K)])
    result = learned(X, links(y), init=init, search="none")
    assert (result.labels == y).all()


def test_a_learned_metric_may_be_used_again(fit):
    result = fit[-1]
    other, truth = hidden(9)
    assert nmi(truth, bckm.kmeans(other, K, metric=result.metric, random_state=0).labels) > 0.9


def test_a_checkpoint_learns_the_same_again(tmp_path):
    X, y = hidden()
    path = tmp_path / "fit.bckm"
    options = {"checkpoint": path, "search": "none"}
    first = learned(X, links(y), **options)
    again = learned(X, links(y), **options)
    assert (first.labels == again.labels).all()
    assert first.inertia == again.inertia
    with pytest.raises(ValueError, match="another fit"):
        bckm.kmeans(X, K, links(y), random_state=0, **options)
    with pytest.raises(ValueError, match="another fit"):
        learned(X, links(y, share=0.3), **options)
    with pytest.raises(ValueError, match="another fit"):
        bckm.kmeans(X, K, links(y), metric=first.metric, random_state=0, **options)


def test_time_up_keeps_the_plain_metric():
    X, y = hidden()
    result = learned(X, links(y), time_limit=0)
    assert result.metric.name == "euclidean"
    assert bckm.verify(result.labels, K, links(y)) == []


# the estimator --------------------------------------------------------------------------------


def test_the_estimator_works_in_the_learned_space():
    X, y = hidden()
    model = bckm.ConstrainedKMeans(K, metric="learned", random_state=0, size_max=60)
    model.fit(X, partial_labels=known(y))
    assert nmi(y, model.labels_) == 1
    assert (model.predict(X) == model.labels_).all()
    assert (model.assign(X) == model.labels_).all()
    assert model.score(X) == pytest.approx(-model.inertia_)
    points = model.result_.metric.embedded(X)
    apart = np.linalg.norm(points[:, None] - model.result_.embedded, axis=2)
    assert model.transform(X) == pytest.approx(apart)
    assert (model.predict(model.cluster_centers_) == np.arange(K)).all()


@pytest.mark.skipif(bool(missing), reason="moves are compiled")
def test_local_search_takes_sparse_data():
    X, y = hidden()
    result = learned(sp.csr_array(np.where(np.abs(X) < 1, 0, X)), links(y), search="local")
    assert nmi(y, result.labels) > 0.9
