"""Cheap proofs that rules contradict each other, each with its sentence and its remedy."""

from __future__ import annotations

from bckm._core.deadline import Deadline
from bckm.constraints.rule_list import Rules
from bckm.feasibility import _bound_proofs as bounds
from bckm.feasibility import _divisor_proofs as divisors
from bckm.feasibility import _fixed_proofs as fixed
from bckm.feasibility import _link_proofs as links
from bckm.feasibility import _load_proofs as sums
from bckm.feasibility import _share_proofs as shares
from bckm.feasibility._proof import Proof
from bckm.problem.structure import Structure


def find_proof(rules: Rules, s: Structure, deadline: Deadline) -> Proof | None:
    """Return the first cheap proof that applies, or None."""
    for search in (
        links.set_too_large,
        links.contradiction,
        fixed.no_cluster_left,
        bounds.bounds_sum,
        bounds.bounds_crossed,
        bounds.item_too_large,
        bounds.too_few_items,
        fixed.cannot_linked_fixed_together,
        fixed.too_many_fixed,
        fixed.too_few_allowed,
        fixed.too_many_moves,
        links.clique_too_large,
        links.odd_cycle,
        sums.too_heavy,
        sums.totals,
        sums.overloaded,
        shares.whole_samples,
        divisors.groups_do_not_divide,
    ):
        deadline.check()
        proof = search(rules, s)
        if proof is not None:
            return proof
    return None
