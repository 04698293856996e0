"""What a proof of infeasibility holds, and small helpers that all proofs share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from bckm._types import IntArray, Sparse
from bckm.rules import CannotLink, Fixed, Forbidden, MustLink, QuotaBound, Rule, SumBound


@dataclass(frozen=True, eq=False)
class Proof:
    """Rules that cannot hold together, and why.

    Attributes
    ----------
    rules : tuple of Rule
        Rules that contradict each other on their own.
    minimal : bool
        Whether each proper subset is known to be feasible.
    reason, remedy : str
        Sentences for a person.
    """

    rules: tuple[Rule, ...]
    minimal: bool
    reason: str
    remedy: str


def unique(rules: Iterator[Rule | None]) -> tuple[Rule, ...]:
    return tuple(dict.fromkeys(rule for rule in rules if rule is not None))


class _Row(int):
    """A sample that has no id among others that have one."""

    def __repr__(self) -> str:
        return f"row {int(self)}"


def called(rules: Iterable[Rule], samples: Iterable[int]) -> tuple[object, ...]:
    """What the rules call these samples: ids, or positions if no rule names an id."""
    ids: dict[int, object] = {}
    for rule in rules:
        match rule:
            case MustLink(named, _, names) | CannotLink(named, _, names) if names is not None:
                ids.update(zip(named, names, strict=True))
            case Fixed(sample, _, names) | Forbidden(sample, _, names) if names is not None:
                ids[sample] = names[0]
            case SumBound(source) | QuotaBound(source) if source.called is not None:
                ids.update(enumerate(source.called.tolist()))
    return tuple(ids.get(p, _Row(p)) if ids else p for p in samples)


class Links:
    """The must-links as a graph of samples and links, for shortest chains."""

    def __init__(self, rules: list[Rule], n_samples: int) -> None:
        self.links = [rule for rule in rules if isinstance(rule, MustLink)]
        self.n_samples = n_samples
        which = np.repeat(np.arange(len(self.links)), [len(r.samples) for r in self.links])
        members = np.array([p for r in self.links for p in r.samples], np.int64)
        size = n_samples + len(self.links)
        self.graph: Sparse = sp.csr_array(
            (np.ones(members.size), (members, n_samples + which)), (size, size)
        )

    def before(self, start: int) -> tuple[IntArray, IntArray]:
        """Breadth first from a sample: nodes in order, and the node before each."""
        order, before = breadth_first_order(self.graph, start, directed=False)
        return order.astype(np.int64), before.astype(np.int64)

    def path(self, before: IntArray, end: int) -> tuple[list[int], list[MustLink]]:
        """Samples and links on the way to `end`, from the start of `before`."""
        samples, links = [end], []
        node = int(before[end])
        while node >= 0:
            if node >= self.n_samples:
                links.append(self.links[node - self.n_samples])
            else:
                samples.append(node)
            node = int(before[node])
        return samples[::-1], links[::-1]
