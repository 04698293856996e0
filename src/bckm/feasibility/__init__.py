"""Can the rules be obeyed? Decided once per fit, before any clustering.

Feasibility does not depend on the centres. Cheap proofs come first, then greedy construction, then
a dual proof by LP, a complete search of limited size, and an integer program. A solver's "infeasible"
alone is never passed on: it must be confirmed by a proof or by the complete search.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from bckm._types import IntArray
from bckm.assign.base import Deadline
from bckm.assign.greedy import construct
from bckm.constraints import Constraints
from bckm.exceptions import InfeasibleError, UndecidedError
from bckm.feasibility import _exhaustive
from bckm.feasibility._conflict import minimise
from bckm.feasibility._proofs import Proof, find_proof
from bckm.feasibility._reduced import Reduced
from bckm.feasibility._solver import FeasibilityProgram
from bckm.problem import read_data, read_n_clusters
from bckm.rules import CannotLink, MustLink, NonEmpty, Rule, SizeMax, SizeMin
from bckm.structure import Structure, contract

QUICK_NODES = 2_000
CONFIRM_NODES = 400_000
TRIES = 4


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


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Answer of `check`; true when the rules can be obeyed.

    Attributes
    ----------
    verdict : str
        "feasible", "infeasible" or "unknown".
    labels : array (n,) or None
        Labels that obey every rule, if feasible; any, not good ones.
    error : InfeasibleError or None
        The proof, if infeasible: what a fit would raise.

    Examples
    --------
    >>> import bckm
    >>> answer = bckm.check(4, 2, bckm.Constraints(size_max=2))
    >>> bool(answer), answer.labels.tolist()
    (True, [0, 0, 1, 1])
    """

    verdict: Verdict
    labels: IntArray | None
    error: InfeasibleError | None

    def __bool__(self) -> bool:
        return self.verdict is Verdict.FEASIBLE

    @property
    def conflict(self) -> tuple[Rule, ...]:
        """The rules that contradict each other; empty unless infeasible."""
        return self.error.conflict if self.error is not None else ()

    @property
    def message(self) -> str:
        """The answer in words."""
        if self.error is not None:
            return str(self.error)
        return "the rules can be obeyed." if self else _UNDECIDED


_UNDECIDED = (
    "not decided within the time limit: neither labels that obey the rules nor a proof that none "
    "exist were found; raise time_limit or loosen the rules."
)


def check(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints | None = None,
    *,
    time_limit: float | None = None,
) -> Feasibility:
    """Can these rules be obeyed, and if not, which of them contradict each other?

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or int
        The data, or just the number of samples: the values do not matter.
    n_clusters : int
        Number of clusters.
    constraints : Constraints, optional
        What is asked.
    time_limit : float, optional
        Seconds; without it the search goes on until it is decided.

    Returns
    -------
    Feasibility
        Feasible with labels, infeasible with a minimal conflict, or unknown.

    Examples
    --------
    >>> import bckm
    >>> rules = bckm.Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], size_max=9)
    >>> answer = bckm.check(20, 3, rules)
    >>> answer.verdict.value
    'infeasible'
    >>> for rule in answer.conflict:
    ...     print(rule)
    must-link: samples 0 and 1 together
    must-link: samples 1 and 2 together
    cannot-link: samples 0 and 2 apart
    """
    n = int(X) if isinstance(X, int | np.integer) else len(read_data(X))
    k = read_n_clusters(n_clusters, n)
    rules = (constraints or Constraints()).rules(n, k)
    structure = Structure.compile(rules, contract(rules, n), k)
    try:
        labels = feasible_start(structure, rules, Deadline.after(time_limit))
    except InfeasibleError as error:
        return Feasibility(Verdict.INFEASIBLE, None, error)
    except UndecidedError:
        return Feasibility(Verdict.UNKNOWN, None, None)
    return Feasibility(Verdict.FEASIBLE, structure.expand(labels), None)


def feasible_start(structure: Structure, rules: list[Rule], deadline: Deadline) -> IntArray:
    """Labels of items that obey the rules.

    Raises
    ------
    InfeasibleError
        With a minimal conflict, when it is proven that there are none.
    UndecidedError
        When neither was found before the deadline.
    """
    decision = decide(structure, rules, deadline)
    if decision.labels is not None:
        return decision.labels
    if decision.verdict is Verdict.UNKNOWN:
        raise UndecidedError(_UNDECIDED)
    candidates = decision.proof.rules if decision.proof else tuple(rules)
    minimal = decision.proof is not None and decision.proof.minimal
    n, k = structure.item.size, structure.n_clusters
    if not minimal:
        candidates, minimal = _shrink(candidates, n, k, deadline)
        confirmed = _decide_rules(list(candidates), n, k, deadline, confirm=True)
        if confirmed.verdict is not Verdict.INFEASIBLE:
            raise UndecidedError(_UNDECIDED)
        proof = confirmed.proof
    else:
        proof = decision.proof
    raise InfeasibleError(_tell(candidates, proof, minimal), candidates, minimal)


def _shrink(
    rules: tuple[Rule, ...], n: int, k: int, deadline: Deadline
) -> tuple[tuple[Rule, ...], bool]:
    """Minimise; second value: whether every question on the way was decided."""
    sure = True

    def contradicts(part: list[Rule]) -> bool:
        nonlocal sure
        verdict = _decide_rules(part, n, k, deadline).verdict
        sure &= verdict is not Verdict.UNKNOWN
        return verdict in (Verdict.INFEASIBLE, Verdict.CLAIMED)

    return minimise(rules, contradicts), sure


def _decide_rules(
    rules: list[Rule], n: int, k: int, deadline: Deadline, confirm: bool = False
) -> Decision:
    if not rules:
        return Decision(Verdict.FEASIBLE)
    if not confirm and all(isinstance(rule, MustLink | CannotLink) for rule in rules):
        rules, n = _only_linked(rules)
    structure = Structure.compile(rules, contract(rules, n), k)
    return decide(structure, rules, deadline, confirm=confirm)


def _only_linked(rules: list[Rule]) -> tuple[list[Rule], int]:
    """Without sizes and rows, samples without links do not matter: leave them out."""
    links = [rule for rule in rules if isinstance(rule, MustLink | CannotLink)]
    present = sorted({p for rule in links for p in rule.samples})
    number = {p: at for at, p in enumerate(present)}
    renamed: list[Rule] = [type(r)(tuple(number[p] for p in r.samples)) for r in links]
    return renamed, len(present)


def decide(
    structure: Structure, rules: list[Rule], deadline: Deadline, confirm: bool = False
) -> Decision:
    """Decide feasibility; with `confirm`, a solver's claim is searched for a proof at length."""
    proof = find_proof(rules, structure)
    if proof is not None:
        return Decision(Verdict.INFEASIBLE, proof=proof)
    zero = np.zeros((structure.n_items, structure.n_clusters))
    labels = construct(structure, zero)
    if labels is not None:
        return Decision(Verdict.FEASIBLE, labels)
    reduced = Reduced.of(structure)
    if reduced.structure.n_items == 0:
        labels = reduced.expand(np.zeros((0, structure.n_clusters), np.int64))
        if labels is not None:
            return Decision(Verdict.FEASIBLE, labels)
    quick = _exhaustive.search(reduced, deadline, QUICK_NODES)
    if quick.labels is not None:
        return Decision(Verdict.FEASIBLE, quick.labels)
    if quick.complete:
        return Decision(Verdict.INFEASIBLE, proof=_by_search(rules))
    program = FeasibilityProgram(reduced)
    if program.proof_by_prices(deadline) is not None:
        return Decision(Verdict.INFEASIBLE, proof=_by_prices(rules))
    rng = np.random.default_rng(0)
    for _ in range(TRIES):
        if deadline.passed:
            return Decision(Verdict.UNKNOWN)
        labels = construct(structure, zero, rng)
        if labels is not None:
            return Decision(Verdict.FEASIBLE, labels)
    answer = program.solve(deadline)
    if answer.labels is not None:
        return Decision(Verdict.FEASIBLE, answer.labels)
    if not answer.infeasible:
        return Decision(Verdict.UNKNOWN)
    if confirm:
        full = _exhaustive.search(reduced, deadline, CONFIRM_NODES)
        if full.labels is not None:
            return Decision(Verdict.FEASIBLE, full.labels)
        if full.complete:
            return Decision(Verdict.INFEASIBLE, proof=_by_search(rules))
    return Decision(Verdict.CLAIMED)


def _by_search(rules: list[Rule]) -> Proof:
    return Proof(tuple(rules), False, "a complete search found no labels", _ANY)


def _by_prices(rules: list[Rule]) -> Proof:
    return Proof(tuple(rules), False, "a weighted sum of these rules contradicts itself", _ANY)


_ANY = "loosen or remove any one of these rules"


def _tell(rules: tuple[Rule, ...], proof: Proof | None, minimal: bool) -> str:
    """Write the message: how many rules, why, what to do, and the rules themselves."""
    kinds = {
        "must-link": MustLink,
        "cannot-link": CannotLink,
        "size bound": SizeMin | SizeMax | NonEmpty,
    }
    counted = [(name, sum(isinstance(r, kind) for r in rules)) for name, kind in kinds.items()]
    counted.append(("linear rule", len(rules) - sum(number for _, number in counted)))
    parts = [f"{number} {name}{'s' if number > 1 else ''}" for name, number in counted if number]
    reason = proof.reason if proof else "no labels obey them"
    remedy = proof.remedy if proof else _ANY
    shown = [f"  - {rule}" for rule in rules[:12]]
    if len(rules) > 12:
        shown.append(f"  - and {len(rules) - 12} more (see .conflict)")
    subset = "each proper subset can be obeyed" if minimal else "a subset may already contradict"
    return (
        f"no labels obey these rules ({', '.join(parts)}): {reason}; {remedy}.\n"
        + "\n".join(shown)
        + f"\n({subset})"
    )
