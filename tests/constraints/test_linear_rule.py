"""Rules of one's own: obeyed, checked twice, named in conflicts, refused where they cannot be."""

import numpy as np
import pytest

import bckm


class Neighbors(bckm.LinearRule):
    """Each of the listed samples has at least `least` of the others in its cluster 0."""

    name = "company"

    def __init__(self, samples, least, lie=False):
        self.samples, self.least, self.lie = samples, least, lie

    def rows(self, n_samples, n_clusters):
        A = np.zeros((n_clusters, n_samples, n_clusters))
        for cluster in range(n_clusters):
            A[cluster, self.samples, cluster] = 1
        return bckm.LinearRows(A.reshape(n_clusters, -1), lower=self.least)

    def broken(self, labels, n_clusters):
        counts = np.bincount(labels[self.samples], minlength=n_clusters)
        return [] if self.lie else np.flatnonzero(counts < self.least)

    def describe(self, row):
        return f"at least {self.least} of {self.samples} in cluster {row}"


X = np.random.default_rng(0).normal(size=(30, 2)) + 10 * (np.arange(30) < 15)[:, None]


@pytest.mark.parametrize("solver", ["auto", "exact", "lagrangian", "pump", "greedy"])
def test_every_engine_obeys(solver):
    rules = bckm.Constraints(linear=Neighbors([0, 1, 2, 3], 2), cannot_link=[(5, 6)])
    labels = bckm.kmeans(X, 2, rules, solver=solver, search="none", random_state=0).labels
    assert np.bincount(labels[:4]).tolist() == [2, 2]
    assert bckm.verify(labels, 2, rules) == []


def test_conflicts_and_violations_name_its_rows():
    rules = bckm.Constraints(linear=Neighbors([0, 1, 2], 2))
    answer = bckm.check(6, 2, rules)
    assert not answer
    assert [str(rule) for rule in answer.conflict] == [
        "company: at least 2 of [0, 1, 2] in cluster 0",
        "company: at least 2 of [0, 1, 2] in cluster 1",
    ]
    (violation,) = bckm.verify([0, 0, 1, 1], 2, rules)
    assert str(violation) == "at least 2 of [0, 1, 2] in cluster 1: the sum is 1, below 2."


def test_a_rule_that_contradicts_itself_is_not_believed():
    rules = bckm.Constraints(linear=Neighbors([0, 1], 2, lie=True))
    with pytest.raises(bckm.BckmError, match=r"'company' contradicts itself: .*\[\].*\[1\]"):
        bckm.verify([0, 0, 1, 1], 2, rules)


def test_what_it_cannot_do_is_refused(tmp_path):
    rules = bckm.Constraints(linear=[Neighbors([0, 1], 1)])
    with pytest.raises(TypeError, match="cannot be soft"):
        rules.soft(price=1)
    study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    with pytest.raises(bckm.UnsupportedError, match="custom rule"):
        bckm.save(study, tmp_path / "x.bckm")
    assert "company" in bckm.report.markdown(study)
    wrong = Neighbors([0], 1)
    wrong.rows = lambda n_samples, n_clusters: None
    with pytest.raises(TypeError, match="must return LinearRows"):
        bckm.check(6, 2, bckm.Constraints(linear=wrong))
