"""Rules and models as objects: pickled, cloned, shown."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from bckm import Capacity, ConstrainedKMeans, Constraints

N, K = 30, 3
GROUP = np.repeat([0, 1, 2], [3, 12, 15])
X = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 30.0]])[GROUP]
X += np.random.default_rng(0).normal(size=(N, 2))


def test_pickle_of_rules_by_id_and_of_a_model_that_gave_some_up():
    names = [f"s{p}" for p in range(N)]
    rules = Constraints(
        must_link=[("s0", "s29")],
        fixed={"s3": 1},
        capacities={"heavy": Capacity(dict(zip(names, np.arange(N) % 4 == 0, strict=True)), max=3)},
        by="sample_id",
    )
    rules &= Constraints(cannot_link=[("s0", "s1"), ("s4", "s5")], by="sample_id").soft(price=0.1)
    again = pickle.loads(pickle.dumps(rules))
    assert repr(again) == repr(rules)
    model = ConstrainedKMeans(K, random_state=0).fit(X, constraints=rules, sample_id=names)
    same = clone(model).fit(X, constraints=again, sample_id=names)
    assert model.labels_.tolist() == same.labels_.tolist()
    assert model.penalty_ > 0
    twin = pickle.loads(pickle.dumps(model))
    assert twin.penalty_ == model.penalty_
    assert [str(one) for one in twin.violated_] == [str(one) for one in model.violated_]
    assert twin.assign(X, size_max=11).tolist() == model.assign(X, size_max=11).tolist()


@pytest.mark.parametrize("sizes", [{}, {"capacity_max": {"kg": 30.5, "m3": 20.0}}])
def test_it_is_shown_in_notebooks(sizes):
    model = ConstrainedKMeans(K, random_state=0, **sizes)
    amounts = {"kg": np.ones(N), "m3": np.ones(N)} if sizes else None
    for shown in (model, clone(model).fit(X, amounts=amounts)):
        for page in (shown._repr_html_(), estimator_html_repr(shown), repr(shown)):
            assert "ConstrainedKMeans" in page
            assert all(name in page for name in sizes)
    assert "ConstrainedKMeans" in estimator_html_repr(make_pipeline(StandardScaler(), model))


def test_a_mapping_of_bounds_is_a_parameter_like_others():
    bounds = {"kg": 12.5}
    model = ConstrainedKMeans(K, capacity_max=bounds, random_state=0)
    assert model.capacity_max is bounds
    twin = clone(model).fit(X, amounts={"kg": np.ones(N)})
    assert twin.capacity_max == bounds
    assert twin.cluster_sizes_.max() <= 12
