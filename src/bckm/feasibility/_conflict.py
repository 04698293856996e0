"""From infeasible rules to a minimal conflict: the smallest story that is still a contradiction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray
from bckm.constraints.rules import (
    CannotLink,
    CapacityBound,
    Fixed,
    Forbidden,
    Moved,
    MovedMax,
    MustLink,
    NonEmpty,
    QuotaBound,
    RowBound,
    Rule,
    SizeMax,
    SizeMin,
    plural,
)
from bckm.construct.placement import place
from bckm.construct.repair import repair
from bckm.feasibility._decide import Verdict, decide_rules
from bckm.feasibility._proof import Proof
from bckm.problem.structure import Structure, contract

FEW = 24  # rules of a proof that are each tried without: more are shrunk by halves

Contradicts = Callable[[Sequence[Rule]], bool]


class Shrinker:
    """Finds a minimal conflict; `sure` as long as every question on the way was decided."""

    def __init__(self, n_samples: int, n_clusters: int, deadline: Deadline) -> None:
        self._n, self._k, self._deadline = n_samples, n_clusters, deadline
        self.sure = True

    def shrink(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """Shrink contradicting rules until every proper subset is feasible."""
        return minimize(self._near_violations(list(rules)), self._contradicts)

    def none_spared(self, proof: Proof) -> bool:
        """Whether a proof is a minimal conflict already: without any rule the rest is feasible.

        Asked of few rules, or of few kinds of rules that are alike.
        """
        marks = proof.alike or tuple(range(len(proof.rules)))
        first = {mark: at for at, mark in reversed(list(enumerate(marks)))}
        if len(first) > FEW:
            return False
        rests = ([*proof.rules[:at], *proof.rules[at + 1 :]] for at in first.values())
        return all(
            decide_rules(rest, self._n, self._k, self._deadline).verdict is Verdict.FEASIBLE
            for rest in rests
        )

    def _contradicts(self, rules: Sequence[Rule]) -> bool:
        verdict = decide_rules(list(rules), self._n, self._k, self._deadline).verdict
        self.sure &= verdict is not Verdict.UNKNOWN
        return verdict in (Verdict.INFEASIBLE, Verdict.CLAIMED)

    def _near_violations(self, rules: list[Rule]) -> list[Rule]:
        """Leave out most rules at once: those far from what the best labels found still break.

        Links are taken in the order of their distance from the violations, twice as many each time,
        until they contradict each other.
        """
        links = [rule for rule in rules if isinstance(rule, MustLink | CannotLink)]
        others = [rule for rule in rules if not isinstance(rule, MustLink | CannotLink)]
        if len(links) < 40:
            return rules
        if others and self._contradicts(links):
            others = []
        violated = self._violated([*links, *others])
        if not violated.any():
            return [*others, *links]
        ordered = _by_distance(links, violated)
        size = 16
        while size < len(ordered) and not self._contradicts([*others, *ordered[:size]]):
            size *= 2
        return [*others, *ordered[:size]]

    def _violated(self, rules: list[Rule]) -> BoolArray:
        """Samples whose cannot-links are broken by the least violating labels found."""
        s = Structure.compile(rules, contract(rules, self._n), self._k)
        labels = repair(s, None, place(s, None, self._deadline), self._deadline)
        broken = s.edges[labels[s.edges[:, 0]] == labels[s.edges[:, 1]]]
        return np.isin(s.item, broken)


def _by_distance(links: Sequence[MustLink | CannotLink], start: BoolArray) -> list[Rule]:
    """Order links by their distance from some samples, in steps from link to link."""
    n = start.size
    which = np.repeat(np.arange(len(links)), [len(rule.samples) for rule in links])
    members = np.array([p for rule in links for p in rule.samples])
    root = n + len(links)  # a node before the first samples
    first = np.flatnonzero(start)
    rows = np.concatenate([members, np.full(first.size, root)])
    columns = np.concatenate([n + which, first])
    graph = sp.csr_array((np.ones(rows.size), (rows, columns)), (root + 1, root + 1))
    reached = breadth_first_order(graph, root, directed=False, return_predecessors=False)
    near = [int(node) - n for node in reached if n <= node < root]
    far = sorted(set(range(len(links))) - set(near))
    return [links[at] for at in [*near, *far]]


def minimize(rules: Sequence[Rule], contradicts: Contradicts) -> tuple[Rule, ...]:
    """Shrink contradicting rules until every proper subset is feasible (QuickXplain).

    Halves instead of single rules are left out first, so a conflict of c rules among r takes about
    c log(r / c) questions.

    Parameters
    ----------
    rules : sequence of Rule
        Rules that contradict each other.
    contradicts : callable
        Whether a list of rules is contradictory.

    References
    ----------
    Junker: QuickXplain, preferred explanations and relaxations for over-constrained problems
    (AAAI 2004).
    """

    def explain(kept: list[Rule], fresh: bool, part: list[Rule]) -> list[Rule]:
        if fresh and contradicts(kept):
            return []
        if len(part) == 1:
            return part
        half = len(part) // 2
        first, second = part[:half], part[half:]
        right = explain(kept + first, bool(first), second)
        left = explain(kept + right, bool(right), first)
        return left + right

    return tuple(explain([], False, list(rules)))  # depth log2(len(rules))


_KINDS = {
    MustLink: "must-link",
    CannotLink: "cannot-link",
    SizeMin: "size bound",
    SizeMax: "size bound",
    NonEmpty: "size bound",
    Fixed: "fixed sample",
    Forbidden: "forbidden cluster",
    CapacityBound: "capacity bound",
    QuotaBound: "quota",
    RowBound: "linear rule",
    MovedMax: "stay rule",
    Moved: "stay rule",
}


def conflict_message(rules: tuple[Rule, ...], proof: Proof, minimal: bool) -> str:
    """Write the message: how many rules, why, what to do, and the rules themselves."""
    number = Counter(_KINDS[type(rule)] for rule in rules)
    parts = [plural(number[name], name) for name in dict.fromkeys(_KINDS.values()) if number[name]]
    shown = [f"  - {rule}" for rule in rules[:12]]
    if len(rules) > 12:
        shown.append(f"  - and {len(rules) - 12} more (see .conflict)")
    subset = (
        "every proper subset can be met" if minimal else "a subset may already be contradictory"
    )
    return (
        f"no labels obey these rules ({', '.join(parts)}): {proof.reason}; {proof.remedy}.\n"
        + "\n".join(shown)
        + (f"\n({subset})" if len(rules) > 1 else "")
    )
