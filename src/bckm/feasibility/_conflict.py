"""From infeasible rules to a minimal conflict: the smallest story that is still a contradiction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, IntArray
from bckm.constraints.rule_list import LinkRules, RuleBlock, Rules
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

Contradicts = Callable[[IntArray], bool]


class Shrinker:
    """Finds a minimal conflict; `sure` as long as every question on the way was decided."""

    def __init__(self, n_samples: int, n_clusters: int, deadline: Deadline) -> None:
        self._n, self._k, self._deadline = n_samples, n_clusters, deadline
        self.sure = True

    def shrink(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """Shrink contradicting rules until every proper subset is feasible."""
        asked = Rules.of(rules)

        def contradicts(at: IntArray) -> bool:
            return self._contradicts(asked.take(at))

        found = minimize(self._near_violations(asked, contradicts), contradicts)
        return tuple(asked[at] for at in found.tolist())

    def none_spared(self, proof: Proof) -> bool:
        """Whether a proof is a minimal conflict already: without any rule the rest is feasible.

        Asked of few rules, or of few kinds of rules that are alike.
        """
        if not proof.alike and len(proof.rules) > FEW:
            return False
        marks = proof.alike or tuple(range(len(proof.rules)))
        first = {mark: at for at, mark in reversed(list(enumerate(marks)))}
        if len(first) > FEW:
            return False
        rests = ([*proof.rules[:at], *proof.rules[at + 1 :]] for at in first.values())
        return all(
            decide_rules(rest, self._n, self._k, self._deadline).verdict is Verdict.FEASIBLE
            for rest in rests
        )

    def _contradicts(self, rules: Rules) -> bool:
        verdict = decide_rules(rules, self._n, self._k, self._deadline).verdict
        self.sure &= verdict is not Verdict.UNKNOWN
        return verdict in (Verdict.INFEASIBLE, Verdict.CLAIMED)

    def _near_violations(self, rules: Rules, contradicts: Contradicts) -> IntArray:
        """Leave out most rules at once: those far from what the best labels found still break.

        Links are taken in the order of their distance from the violations, twice as many each time,
        until they contradict each other. Rules are known by their numbers.
        """
        is_link = np.concatenate(
            [np.full(len(e), True) if isinstance(e, RuleBlock) else [False] for e in rules.entries]
        )
        links, others = np.flatnonzero(is_link), np.flatnonzero(~is_link)
        if links.size < 40:
            return np.arange(len(rules))
        if others.size and contradicts(links):
            others = others[:0]
        violated = self._violated(rules.take(np.concatenate([links, others])))
        if not violated.any():
            return np.concatenate([others, links])
        ordered = links[_by_distance(rules.links, violated)]
        size = 16
        while size < ordered.size and not contradicts(np.concatenate([others, ordered[:size]])):
            size *= 2
        return np.concatenate([others, ordered[:size]])

    def _violated(self, rules: Rules) -> BoolArray:
        """Samples whose cannot-links are broken by the least violating labels found."""
        s = Structure.compile(rules, contract(rules, self._n), self._k)
        labels = repair(s, None, place(s, None, self._deadline), self._deadline)
        broken = s.edges[labels[s.edges[:, 0]] == labels[s.edges[:, 1]]]
        return np.isin(s.item, broken)


def _by_distance(links: LinkRules, start: BoolArray) -> IntArray:
    """Order links by their distance from some samples, in steps from link to link."""
    n = start.size
    members, length = links.members()
    which = np.repeat(np.arange(length.size), length)
    root = n + length.size  # a node before the first samples
    first = np.flatnonzero(start)
    rows = np.concatenate([members, np.full(first.size, root)])
    columns = np.concatenate([n + which, first])
    graph = sp.csr_array((np.ones(rows.size), (rows, columns)), (root + 1, root + 1))
    reached = breadth_first_order(graph, root, directed=False, return_predecessors=False)
    near = reached[(reached >= n) & (reached < root)].astype(np.int64) - n
    far = np.ones(length.size, bool)
    far[near] = False
    return np.concatenate([near, np.flatnonzero(far)])


def minimize(rules: IntArray, contradicts: Contradicts) -> IntArray:
    """Shrink contradicting rules until every proper subset is feasible (QuickXplain).

    Halves instead of single rules are left out first, so a conflict of c rules among r takes about
    c log(r / c) questions.

    Parameters
    ----------
    rules : array of int
        Numbers of rules that contradict each other.
    contradicts : callable
        Whether rules are contradictory.

    References
    ----------
    Junker: QuickXplain, preferred explanations and relaxations for over-constrained problems
    (AAAI 2004).
    """

    def explain(kept: IntArray, fresh: bool, part: IntArray) -> IntArray:
        if fresh and contradicts(kept):
            return part[:0]
        if part.size == 1:
            return part
        first, second = np.split(part, [part.size // 2])
        right = explain(np.concatenate([kept, first]), first.size > 0, second)
        left = explain(np.concatenate([kept, right]), right.size > 0, first)
        return np.concatenate([left, right])

    return explain(rules[:0], False, rules)  # depth log2(rules.size)


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
