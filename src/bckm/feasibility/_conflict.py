"""From a proof to a minimal conflict: the smallest story that is still a contradiction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bckm.rules import Rule

Contradicts = Callable[[list[Rule]], bool]


def minimise(rules: Sequence[Rule], contradicts: Contradicts) -> tuple[Rule, ...]:
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
    Junker: QuickXplain, preferred explanations and relaxations for over-constrained problems (2004).
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
