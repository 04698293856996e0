"""`ConstrainedKMeans` with dask arrays: the conventions of scikit-learn and dask-ml."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bckm import ArrayRows, ConstrainedKMeans, UnsupportedError
from tests.support.dask_cluster import drawn_array
from tests.support.row_data import drawn_rows

N, D, K = 300, 3, 4
CHUNKS = (100, 0, 130, 70)
ROWS = drawn_rows(0, N, D)


def model(**settings):
    asked = {"size_min": N // K, "size_max": N // K, "random_state": 0, "max_iter": 4}
    return ConstrainedKMeans(K, **(asked | settings))


@pytest.fixture(name="X")
def in_dask():
    return drawn_array(N, D, CHUNKS)


@pytest.fixture(name="fitted", scope="module")
def fitted_once():
    return model().fit(drawn_array(N, D, CHUNKS))


def test_attributes(fitted, X):
    check_is_fitted(fitted)
    assert isinstance(fitted.labels_, da.Array)
    assert fitted.labels_.chunks == (CHUNKS,)
    assert fitted.labels_.dtype == np.int32
    labels = fitted.labels_.compute()
    assert np.bincount(labels).tolist() == fitted.cluster_sizes_.tolist() == K * [N // K]
    assert isinstance(fitted.cluster_centers_, np.ndarray)
    assert fitted.cluster_centers_.shape == (K, D)
    cost = np.square(ROWS - fitted.cluster_centers_[labels]).sum()
    assert type(fitted.inertia_) is float
    assert fitted.inertia_ == pytest.approx(cost)
    assert 1 <= fitted.n_iter_ <= 4
    assert fitted.n_features_in_ == D
    assert "300 samples" in repr(fitted.result_)


def test_dask_for_dask_and_numpy_for_numpy(fitted, X):
    labels = fitted.labels_.compute()
    predicted = fitted.predict(X)
    assert isinstance(predicted, da.Array)
    assert predicted.chunks == (CHUNKS,)
    here = fitted.predict(ROWS)
    assert isinstance(here, np.ndarray)
    assert here.dtype == predicted.dtype == np.int32
    np.testing.assert_array_equal(predicted.compute(), labels)
    np.testing.assert_array_equal(here, labels)
    distances = fitted.transform(X)
    assert distances.chunks == (CHUNKS, (K,))
    np.testing.assert_array_equal(distances.compute(), fitted.transform(ROWS))
    assert fitted.score(X) == pytest.approx(fitted.score(ROWS), rel=1e-12)
    assigned = fitted.assign(X[:20])
    assert isinstance(assigned, da.Array)
    assert np.bincount(assigned.compute()).tolist() == K * [5]


def test_the_same_as_from_other_data_in_blocks(fitted, X):
    other = model().fit(ArrayRows(ROWS))
    np.testing.assert_array_equal(fitted.labels_.compute(), other.labels_)
    np.testing.assert_array_equal(fitted.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(fitted.result_.prices, other.result_.prices)
    again = clone(fitted)
    assert again.get_params() == model().get_params()
    np.testing.assert_array_equal(again.fit_predict(X).compute(), other.labels_)
    kept = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(kept.labels_.compute(), other.labels_)


def test_copies_that_sizes_divide_are_predicted_alike():
    """The one case where `predict` differs from `labels_`."""
    X = da.from_array(np.repeat([[0.0], [1.0], [5.0]], [30, 30, 40], axis=0), chunks=(17, 1))
    fitted = ConstrainedKMeans(4, size_min=25, size_max=25, random_state=0).fit(X)
    labels, predicted = fitted.labels_.compute(), fitted.predict(X).compute()
    assert np.bincount(labels).tolist() == 4 * [25]
    for value in (0.0, 1.0, 5.0):
        assert len(set(predicted[X[:, 0].compute() == value])) == 1


def test_frames_have_names():
    frame = dd.from_pandas(pd.DataFrame(ROWS, columns=["a", "b", "c"]), npartitions=3)
    fitted = model().fit(frame)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert fitted.labels_.chunks == ((100, 100, 100),)
    predicted = fitted.predict(frame)
    np.testing.assert_array_equal(predicted.compute(), fitted.labels_.compute())
    with pytest.raises(ValueError, match="other columns"):
        fitted.predict(frame.rename(columns={"a": "z"}))


def test_what_is_refused(X):
    with pytest.raises(UnsupportedError, match="only where all data are in memory"):
        model().fit(X, must_link=[(0, 1)])
    with pytest.raises(UnsupportedError, match="sample_weight"):
        model().fit(X, sample_weight=np.ones(N))
    with pytest.raises(ValueError, match="features"):
        model().fit(X).predict(X[:, :2])
