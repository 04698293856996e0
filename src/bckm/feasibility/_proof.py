"""What a proof of infeasibility holds, and small helpers that all proofs share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from bckm._core.types import IntArray, Sparse
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import (
    CannotLink,
    CapacityBound,
    Fixed,
    Forbidden,
    MustLink,
    QuotaBound,
    Rule,
    name_samples,
)


@dataclass(frozen=True, eq=False)
class Proof:
    """Rules that cannot hold together, and why.

    Attributes
    ----------
    rules : sequence of Rule
        Rules that contradict each other on their own.
    minimal : bool
        Whether each proper subset is known to be feasible.
    reason, remedy : str
        Sentences for a person.
    alike : tuple
        A mark for each rule: rules of one mark are exchangeable, so that it is enough to ask of one
        of them whether it can be spared. Empty: each is on its own.
    """

    rules: Sequence[Rule]
    minimal: bool
    reason: str
    remedy: str
    alike: tuple[Hashable, ...] = ()


_CHAIN_SHOWN = 8


class _Row(int):
    """A sample that has no id among others that have one."""

    def __repr__(self) -> str:
        return f"row {int(self)}"


class Names:
    """What rules call samples: ids, or positions if no rule names an id."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._ids: dict[int, object] = {}
        for rule in rules:
            match rule:
                case MustLink(named, _, names) | CannotLink(named, _, names) if names is not None:
                    self._ids.update(zip(named, names, strict=True))
                case Fixed(sample, _, names) | Forbidden(sample, _, names) if names is not None:
                    self._ids[sample] = names[0]
                case CapacityBound(source) | QuotaBound(source) if source.called is not None:
                    self._ids.update(enumerate(source.called.tolist()))

    def of(self, sample: int) -> object:
        """Name one sample."""
        return self._ids.get(sample, _Row(sample)) if self._ids else sample

    def __call__(self, *samples: int) -> str:
        """Name samples in a sentence."""
        return name_samples(samples, tuple(self.of(p) for p in samples))

    def chain(self, samples: list[int]) -> str:
        """A chain of samples: 0 - 1 - 2."""
        shown = [repr(self.of(p)) for p in samples]
        if len(shown) > _CHAIN_SHOWN:
            hidden = len(shown) - _CHAIN_SHOWN + 1
            shown = [*shown[: _CHAIN_SHOWN - 2], f"({hidden} more)", shown[-1]]
        return " - ".join(shown)


def unique(rules: Iterator[Rule | None]) -> tuple[Rule, ...]:
    return tuple(dict.fromkeys(rule for rule in rules if rule is not None))


def links_inside(rules: Rules, item: IntArray, items: set[int]) -> list[Rule]:
    """All must-links of some items, given the item of each sample."""
    here = np.zeros(int(item.max()) + 1, bool)
    here[list(items)] = True
    links = rules.must_links
    members, length = links.members()
    first = here[item[members[np.cumsum(length) - length]]]
    return [links[at] for at in np.flatnonzero(first).tolist()]


class MustLinkGraph:
    """The must-links as a graph of samples and links, for shortest chains."""

    def __init__(self, rules: Rules, n_samples: int) -> None:
        self.links = rules.must_links
        self.n_samples = n_samples
        members, length = self.links.members()
        which = np.repeat(np.arange(length.size), length)
        size = n_samples + length.size
        self.graph: Sparse = sp.csr_array(
            (np.ones(members.size), (members, n_samples + which)), (size, size)
        )

    def before(self, start: int) -> tuple[IntArray, IntArray]:
        """Breadth first from a sample: nodes in order, and the node before each."""
        order, before = breadth_first_order(self.graph, start, directed=False)
        return order.astype(np.int64), before.astype(np.int64)

    def between(self, p: int, q: int) -> tuple[list[int], list[Rule]]:
        """The shortest chain of must-linked samples from one to another."""
        return ([p], []) if p == q else self.path(self.before(p)[1], q)

    def path(self, before: IntArray, end: int) -> tuple[list[int], list[Rule]]:
        """Samples and links on the way to `end`, from the start of `before`."""
        samples: list[int] = [end]
        links: list[Rule] = []
        node = int(before[end])
        while node >= 0:
            if node >= self.n_samples:
                links.append(self.links[node - self.n_samples])
            else:
                samples.append(node)
            node = int(before[node])
        return samples[::-1], links[::-1]
