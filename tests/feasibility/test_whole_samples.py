"""Shares of whole samples, groups that do not divide: proofs, and labels where there are some."""

import numpy as np
import pytest

import bckm
from bckm import Capacity, Constraints, Quota
from bckm._core.deadline import Deadline
from bckm.construct.oscillation import oscillate
from bckm.feasibility._divisor_proofs import groups_do_not_divide
from bckm.feasibility._share_proofs import counted, whole_samples
from bckm.kernels import missing
from bckm.problem.structure import Structure, contract
from tests.support.instances import all_labels
from tests.support.oracle import holds


def asked(seed):
    """Rules about 7 samples in 2 or 3 clusters whose shares or groups rarely fit their sizes."""
    rng = np.random.default_rng(seed)
    n, k = 7, int(rng.integers(2, 4))
    low = int(rng.integers(0, 4))
    kinds = rng.integers(0, 3, n).tolist()
    share = float(rng.choice([0.25, 0.3, 1 / 3, 0.5]))
    quota = [
        Quota(kinds, float(rng.choice([0.0, 0.05, 0.1, 0.2]))),
        Quota(kinds, share_min={kinds[0]: share}),
        Quota(kinds, share_min={kinds[0]: share}, share_max={kinds[0]: share + 0.1}),
        Quota(kinds, count_min={kinds[0]: 1}, count_max={kinds[0]: 1}),
    ][int(rng.integers(4))]
    groups = rng.permutation(n)[:6].reshape(-1, int(rng.choice([2, 3]))).tolist()
    load = Capacity(rng.choice([2, 2, 4, 3], n), min=3, max=float(rng.integers(3, 8)))
    rules = Constraints(
        must_link=groups[: int(rng.integers(1, 4))] if rng.random() < 0.6 else None,
        size_min=low,
        size_max=low + int(rng.integers(0, 5)) if rng.random() < 0.7 else None,
        quotas=quota,
        capacities={"kg": load} if rng.random() < 0.2 else None,
    )
    stated = rules.rules(n, k)
    return stated, Structure.compile(stated, contract(stated, n), k), rules, n, k


def test_against_brute_force():
    seen = {"feasible": 0, "infeasible": 0, "shares": 0, "groups": 0}
    for seed in range(80):
        rules, s, constraints, n, k = asked(seed)
        every = all_labels(n, k)
        obey = np.all([holds(rule, every, k) for rule in rules], axis=0)
        answer = bckm.check(n, k, constraints)
        assert answer.verdict.value == ("feasible" if obey.any() else "infeasible")
        seen[answer.verdict.value] += 1
        for name, search in (("shares", whole_samples), ("groups", groups_do_not_divide)):
            proof = search(rules, s)
            if proof is not None:
                seen[name] += 1
                assert not np.all([holds(rule, every, k) for rule in proof.rules], axis=0).any()
        if not s.contradictions:
            same = counted(rules, s)
            first = np.unique(s.item, return_index=True)[1]
            whole = [row[first] for row in every[:: 1 + len(every) // 300]]
            assert [same.feasible(row) for row in whole] == [s.feasible(row) for row in whole]
    assert min(seen.values()) > 3, seen


def test_shares_that_no_size_admits_are_told_with_numbers():
    quota = Quota(["a"] * 8 + ["b"] * 12, share_min={"a": 0.3}, share_max={"a": 0.6})
    answer = bckm.check(20, 2, Constraints(quotas=quota, size_min=[1, 5], size_max=[1, 20]))
    assert answer.verdict.value == "infeasible"
    assert "cluster 0 of 1 sample cannot hold these shares of 'a'" in answer.message
    assert "of 1 it would be at least 0.3 and at most 0.6" in answer.message
    assert len(answer.conflict) == 4


def test_shares_that_add_up_to_too_much():
    rules = Constraints(quotas=Quota(["a"] * 27 + ["b"] * 233, share_min={"a": 0.1}), size_min=26)
    answer = bckm.check(260, 10, rules)
    assert "must hold at least 30 of 'a', but the data have 27" in answer.message
    assert len(answer.conflict) == 2


def test_pairs_never_make_an_odd_number():
    groups = [(2 * at, 2 * at + 1) for at in range(20)]
    answer = bckm.check(40, 4, Constraints(must_link=groups, size_min=9, size_max=11))
    assert answer.verdict.value == "feasible"
    rules = Constraints(must_link=groups, size_min=[9, 9, 9, 13], size_max=[9, 9, 9, 13])
    answer = bckm.check(40, 4, rules)
    assert "cannot keep these sizes with groups that each count a multiple of 2" in answer.message


@pytest.mark.skipif(bool(missing), reason="annealing is compiled")
def test_oscillation_mends_what_it_is_given_and_never_returns_what_breaks_a_rule():
    found = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, k = 24, 4
        amount = rng.integers(1, 9, n)
        planted = rng.permutation(np.arange(n) % k)
        held = np.bincount(planted, amount, k)
        pairs = [pair for pair in rng.choice(n, (20, 2)).tolist() if np.ptp(planted[pair])]
        load = Capacity(amount, min=held.tolist(), max=held.tolist())
        asked = Constraints(
            cannot_link=pairs, size_min=n // k, size_max=n // k, capacities={"kg": load}
        )
        rules = asked.rules(n, k)
        s = Structure.compile(rules, contract(rules, n), k)
        assert s.feasible(planted)
        labels = oscillate(s, rng.integers(0, k, n), 1e7, Deadline())
        again = oscillate(s, rng.integers(0, k, n), 1e5, Deadline())
        assert again is None or s.feasible(again)
        if labels is not None:
            found += 1
            assert s.feasible(labels)
    assert found > 20
