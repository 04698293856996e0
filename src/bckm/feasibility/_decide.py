"""Decide whether rules can be obeyed: proofs, construction, complete search, solver, in turn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.types import IntArray
from bckm.assign.greedy import construct
from bckm.constraints.links import Block
from bckm.constraints.rule_list import LinkRules, RuleBlock, Rules
from bckm.constraints.rules import Rule
from bckm.construct.oscillation import oscillate
from bckm.construct.placement import place
from bckm.feasibility import _exhaustive
from bckm.feasibility._proof import Proof
from bckm.feasibility._proofs import find_proof
from bckm.feasibility._reduced import Reduced
from bckm.feasibility._share_proofs import counted
from bckm.feasibility._solver import FeasibilityProgram
from bckm.problem.structure import Structure, contract

QUICK_NODES = 500
CONFIRM_NODES = 400_000
TRIES = 4
# work of mending: at first, and for each item; for each conflict; and at most
QUICK_WORK, ITEM_WORK, EDGE_WORK, MOST_WORK = 1e7, 500.0, 1e5, 1e9
GRACE = 0.3  # seconds that first labels, or a cheap proof, are worth whatever the deadline


class Verdict(StrEnum):
    """The three answers, and one that only stays inside."""

    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"
    CLAIMED = "claimed"  # a solver says infeasible; not a proof


@dataclass(frozen=True, eq=False)
class Decision:
    """Labels of items, or a proof, or neither."""

    verdict: Verdict
    labels: IntArray | None = None
    proof: Proof | None = None


def decide(
    structure: Structure,
    rules: Rules,
    deadline: Deadline,
    *,
    confirm: bool = False,
    tries: int = TRIES,
) -> Decision:
    """Decide feasibility.

    Parameters
    ----------
    structure, rules :
        The same rules, compiled and stated.
    deadline : Deadline
        When to give up.
    confirm : bool
        Whether a solver's claim of infeasibility is to be searched for a proof at length.
    tries : int
        Constructions with repair before the solver is asked; the first of several before an LP is
        asked for a proof, which takes longer where rules can be obeyed.
    """
    try:
        return _decide(structure, rules, deadline, confirm, tries)
    except TimeUp:
        return Decision(Verdict.UNKNOWN)


def _decide(
    structure: Structure, rules: Rules, deadline: Deadline, confirm: bool, tries: int
) -> Decision:
    grace = deadline.at_least(GRACE) if tries > 1 else deadline  # once, not for every question
    labels = np.zeros(structure.n_items, np.int64)
    if not structure.contradictions:
        labels = place(structure, None, grace)
        if structure.feasible(labels):
            return Decision(Verdict.FEASIBLE, labels)
    proof = find_proof(rules, structure, grace)
    if proof is not None:
        return Decision(Verdict.INFEASIBLE, proof=proof)
    deadline.check()
    found = oscillate(structure, labels, QUICK_WORK + ITEM_WORK * structure.n_items, deadline)
    if found is not None:
        return Decision(Verdict.FEASIBLE, found)
    equal = counted(rules, structure)
    reduced = Reduced.of(equal)
    decision = _search(reduced, rules, deadline, QUICK_NODES)
    if decision is not None:
        return decision
    if tries > 1:
        # an LP of many conflicts takes long
        effort = min(10 * QUICK_WORK + EDGE_WORK * len(structure.edges), MOST_WORK)
        found = oscillate(structure, labels, effort, deadline, 1)
        if found is None:
            found = construct(equal, None, deadline)
        if found is not None:
            return Decision(Verdict.FEASIBLE, found)
    deadline.check()
    program = FeasibilityProgram(reduced)
    if program.proven_infeasible(deadline):
        proof = Proof(rules, False, "a weighted sum of these rules contradicts itself", _ANY)
        return Decision(Verdict.INFEASIBLE, proof=proof)
    rng = np.random.default_rng(0)
    found = oscillate(equal, labels, MOST_WORK if tries > 1 else 10 * QUICK_WORK, deadline, 2)
    for number in range(tries > 1, tries):
        deadline.check()
        if found is None:
            found = construct(equal, None, deadline, rng if number else None)
    if found is not None:
        return Decision(Verdict.FEASIBLE, found)
    outcome = program.solve(deadline)
    if outcome.labels is not None:
        return Decision(Verdict.FEASIBLE, outcome.labels)
    if outcome.infeasible and not confirm:
        return Decision(Verdict.CLAIMED)
    # a solver that ended with labels which break a sum by less than it can see knows nothing
    decision = None if deadline.passed else _search(reduced, rules, deadline, CONFIRM_NODES)
    return decision or Decision(Verdict.CLAIMED if outcome.infeasible else Verdict.UNKNOWN)


def decide_rules(
    rules: Iterable[Rule], n: int, k: int, deadline: Deadline, confirm: bool = False
) -> Decision:
    """Decide rules on their own, as if the person had stated no others.

    Raises `TimeUp` at the deadline: what follows from many answers needs all of them.
    """
    deadline.check()
    asked = Rules.of(rules)
    if not asked:
        return Decision(Verdict.FEASIBLE)
    if not confirm and not asked.others:
        asked, n = _only_linked(asked.links, n)
    structure = Structure.compile(asked, contract(asked, n), k)
    return decide(structure, asked, deadline, confirm=confirm, tries=1)


def _only_linked(links: LinkRules, n: int) -> tuple[Rules, int]:
    """Without sizes and rows, samples without links do not matter: leave them out."""
    present = np.zeros(n, bool)
    for block in links.blocks:
        present[block.samples] = True
    number = np.cumsum(present) - 1
    renamed = [
        RuleBlock(entry.kind, Block(number[entry.links.samples], entry.links.starts))
        for entry in links.entries
    ]
    return Rules(renamed), int(present.sum())


def _search(reduced: Reduced, rules: Rules, deadline: Deadline, max_nodes: int) -> Decision | None:
    outcome = _exhaustive.search(reduced, deadline, max_nodes)
    if outcome.labels is not None:
        return Decision(Verdict.FEASIBLE, outcome.labels)
    if not outcome.complete:
        return None
    if not rules.others:
        k = reduced.structure.n_clusters
        reason = f"these links need more than {k} clusters (a complete search found no labels)"
        remedy = "use more clusters or remove any one of these links"
    else:
        reason = "they cannot all hold (a complete search found no labels)"
        remedy = _ANY
    return Decision(Verdict.INFEASIBLE, proof=Proof(rules, False, reason, remedy))


_ANY = "relax or remove any one of these rules"
