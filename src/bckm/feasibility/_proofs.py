"""Cheap proofs that rules contradict each other, each with its sentence and its remedy."""

from __future__ import annotations

from bckm.feasibility import _bound_proofs as bounds
from bckm.feasibility import _link_proofs as links
from bckm.feasibility._proof import Proof
from bckm.rules import Rule
from bckm.structure import Structure


def find_proof(rules: list[Rule], s: Structure) -> Proof | None:
    """Return the first cheap proof that applies, or None."""
    for search in (
        links.set_too_large,
        links.contradiction,
        bounds.bounds_sum,
        bounds.bounds_crossed,
        bounds.item_too_large,
        bounds.too_few_items,
        links.clique_too_large,
        links.odd_cycle,
        bounds.sums,
    ):
        proof = search(rules, s)
        if proof is not None:
            return proof
    return None
