"""Proofs from divisibility: groups of two never make eleven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bckm._core.tolerance import ROUNDING, TOLERANCE, group_sums, smallest
from bckm._core.types import FloatArray
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import Rule, plural
from bckm.feasibility._bound_proofs import lower_rule, size_rules, upper_rule
from bckm.feasibility._load_proofs import columns
from bckm.feasibility._proof import Proof, links_inside, unique
from bckm.problem.structure import Structure

LARGEST = 50  # divisors that are tried
EXACT = 2.0**50  # whole numbers up to here have exact remainders


@dataclass(frozen=True, eq=False)
class _Sum:
    """Whole numbers that items add, (m,), and the bounds of their sums in each cluster, (k,).

    `rules` are those of each cluster, `words` what the numbers are.
    """

    amount: FloatArray
    lower: FloatArray
    upper: FloatArray
    rules: Sequence[tuple[Rule | None, ...]]
    words: str


def _sums(rules: Rules, s: Structure) -> Iterator[_Sum]:
    k, bounds = s.n_clusters, size_rules(rules)
    sides: list[tuple[Rule | None, ...]]
    sides = [(lower_rule(bounds, i), upper_rule(bounds, i)) for i in range(k)]
    yield _Sum(s.count.astype(float), s.lower.astype(float), s.upper.astype(float), sides, "sizes")
    for column in columns(rules, k):
        whole = (column.values == np.floor(column.values)).all()
        if column.share or not whole or np.abs(column.values).sum() > EXACT:
            continue
        amount = group_sums(column.values, s.item, s.n_items)
        lower, upper = np.full(k, -np.inf), np.full(k, np.inf)
        lower[list(column.lower)] = [rule.value for rule in column.lower.values()]
        upper[list(column.upper)] = [rule.value for rule in column.upper.values()]
        spare = ROUNDING * np.abs(amount).sum() + TOLERANCE * smallest(column.values)
        low = np.ceil(lower - TOLERANCE * np.abs(lower) - spare)
        up = np.floor(upper + TOLERANCE * np.abs(upper) + spare)
        sides = [(column.lower.get(i), column.upper.get(i)) for i in range(k)]
        yield _Sum(amount, low, up, sides, column.words)


def groups_do_not_divide(rules: Rules, s: Structure) -> Proof | None:
    """More clusters need an odd one than there are odd ones, for two and other divisors."""
    if s.n_items == s.item.size:
        return None
    for total in _sums(rules, s):
        for divisor in range(2, int(min(LARGEST, np.abs(total.amount).max(initial=0.0))) + 1):
            odd = total.amount % divisor != 0
            with np.errstate(invalid="ignore"):
                needy = np.floor(total.upper / divisor) * divisor < total.lower
            needed = np.flatnonzero(needy)
            if needed.size <= odd.sum():
                continue
            needed = needed[: int(odd.sum()) + 1]
            inside = set(np.flatnonzero(~odd & (s.count > 1)).tolist())
            links = links_inside(rules, s.item, inside)
            sides = unique(rule for i in needed.tolist() for rule in total.rules[i])
            others = "none" if not odd.any() else f"only {int(odd.sum())}"
            return Proof(
                (*links, *sides),
                False,
                f"{plural(needed.size, 'cluster')} cannot keep these {total.words} with groups "
                f"that each count a multiple of {divisor}, and of others there are {others}",
                "widen these bounds or separate some of the groups",
            )
    return None
