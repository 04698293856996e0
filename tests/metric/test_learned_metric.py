"""`LearnedMetric`: the transformer of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.metrics import normalized_mutual_info_score as nmi
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bckm
from bckm import LearnedMetric
from tests.metric.test_learned import K, N, hidden, known


class Linked(LearnedMetric):
    """Learns from links between rows, whatever the data are, so that checks see it learn."""

    def fit(self, X, y=None, sample_weight=None):
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        rows = np.arange(shape[0] if shape else 1)
        return super().fit(X, groups=rows // 4, sample_weight=sample_weight)


def expected_failures(model):
    copies = "rows are linked by position, so copies of a row are linked to others than a weight is"
    return {
        "check_sample_weight_equivalence_on_dense_data": copies,
        "check_sample_weight_equivalence_on_sparse_data": copies,
    }


@pytest.mark.filterwarnings("ignore:the plain metric is kept")
@parametrize_with_checks([LearnedMetric()])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.sampled(10)
@parametrize_with_checks([Linked()], expected_failed_checks=expected_failures, xfail_strict=True)
def test_scikit_learn_check_that_learns(estimator, check):
    check(estimator)


def test_it_is_the_metric_of_kmeans():
    X, y = hidden()
    rules = bckm.Constraints.from_labels(known(y))
    metric = LearnedMetric(K).fit(X, partial_labels=known(y))
    inside = bckm.kmeans(X, K, rules, metric="learned", random_state=0)
    outside = bckm.kmeans(metric.transform(X), K, rules, random_state=0)
    assert (inside.labels == outside.labels).all()
    assert inside.inertia == pytest.approx(outside.inertia)
    assert (metric.components_ == inside.metric.matrix.T).all()
    assert metric.judgment_.message == inside.metric.judgment.message


def test_there_and_back():
    X, y = hidden()
    metric = LearnedMetric().fit(X, partial_labels=known(y))
    points = metric.transform(X)
    assert points == pytest.approx((X - metric.mean_) @ metric.components_.T)
    assert metric.transform(metric.inverse_transform(points)) == pytest.approx(points)
    assert metric.transform(sp.csr_array(X)) == pytest.approx(points)
    with pytest.raises(ValueError, match="learned space has"):
        metric.inverse_transform(points[:, :1])


def test_without_links_it_says_so_and_changes_nothing():
    X, _ = hidden()
    with pytest.warns(UserWarning, match="nothing to learn a metric from"):
        metric = LearnedMetric().fit(X)
    assert (metric.transform(X) == X).all()
    assert (metric.inverse_transform(X) == X).all()
    assert not metric.judgment_.learned
    assert (metric.feature_weights_ == 1).all()


def test_names_and_frames():
    X, y = hidden()
    frame = pd.DataFrame(X, columns=list("abcdef"), index=[f"s{p}" for p in range(N)])
    some = known(y, share=0.4)
    sets = [frame.index[some == i].tolist() for i in range(K)]
    metric = LearnedMetric().set_output(transform="pandas").fit(frame, must_link=sets)
    out = metric.transform(frame)
    assert out.columns[0] == "learnedmetric0"
    assert (out.index == frame.index).all()
    assert list(metric.get_feature_names_out()) == list(out.columns)
    assert metric.judgment_.learned


def test_in_a_pipeline_by_metadata_routing():
    X, y = hidden()
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(
            StandardScaler(),
            LearnedMetric().set_fit_request(partial_labels=True),
            bckm.ConstrainedKMeans(K, random_state=0).set_fit_request(partial_labels=True),
        )
        pipe.fit(X, partial_labels=known(y))
        assert pipe[1].judgment_.learned
        assert nmi(y, pipe.predict(X)) == 1
        assert clone(pipe)[1].get_params() == {"n_clusters": None}


def test_rules_about_absent_samples_are_dropped():
    X, y = hidden()
    ids = np.arange(N)
    rules = bckm.Constraints(
        must_link=[ids[known(y, share=0.5) == i].tolist() for i in range(K)], by="sample_id"
    )
    with pytest.warns(bckm.DroppedRulesWarning):
        metric = LearnedMetric().fit(X[:60], constraints=rules, sample_id=ids[:60])
    assert metric.n_dropped_ > 0
    assert metric.judgment_.n_links < N
