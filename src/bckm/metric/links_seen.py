"""What links say about a metric: which samples belong together, and which sets are apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.types import FloatArray, IntArray
from bckm.constraints import Constraints
from bckm.constraints.expand import Softened
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import MustLink

MOST_PAIRS = 50_000  # soft links that are looked at


@dataclass(frozen=True, eq=False)
class Seen:
    """Links, as far as a metric can be learned from them.

    Attributes
    ----------
    samples : array (l,)
        The linked samples, in an order that depends on the data alone.
    set_of : array (l,)
        Number of the set of must-linked samples (two at least) that each is in; -1: in none.
    pairs : array (q, 2)
        Soft must-links between samples of different sets: places in `samples`.
    trust : array (q,)
        How much each of them counts, between 0 and 1: c / (1 + c) for a confidence c.
    apart : array (a, 2)
        Sets that some hard cannot-link keeps apart, each pair once.
    n_links : int
        How many must-links there are: of a set of m samples m - 1, and the soft pairs.
    """

    samples: IntArray
    set_of: IntArray
    pairs: IntArray
    trust: FloatArray
    apart: IntArray
    n_links: int

    @property
    def n_sets(self) -> int:
        """How many sets there are."""
        return int(self.set_of.max(initial=-1)) + 1

    def some(self, number: int) -> IntArray:
        """Places of about so many of the samples: of every set or, if they are many, of some."""
        if self.samples.size <= number:
            return np.arange(self.samples.size)
        rng = np.random.default_rng(0)
        draw = rng.permutation(self.samples.size)
        soft = rng.permutation(len(self.pairs))[: number // 4]
        kept = np.zeros(draw.size, bool)
        kept[self.pairs[soft].ravel()] = True
        count = np.bincount(self.set_of + 1, minlength=self.n_sets + 1)[1:]
        # as many of each set as fit, two at least; whole sets while there is room
        most = max(3, number // max(1, self.n_sets))
        room = np.cumsum(np.minimum(count, most)[(order := rng.permutation(count.size))]) <= number
        chosen = np.zeros(self.n_sets + 1, bool)  # the last: in no set
        chosen[order[room]] = True
        inside = draw[chosen[self.set_of[draw]]]
        inside = inside[np.argsort(self.set_of[inside], kind="stable")]
        starts = np.searchsorted(self.set_of[inside], np.arange(self.n_sets))
        kept[inside[np.arange(inside.size) - starts[self.set_of[inside]] < most]] = True
        return np.flatnonzero(kept)

    def take(self, places: IntArray) -> Seen:
        """What is said of some of the samples."""
        number = np.full(self.samples.size, -1)
        number[places] = np.arange(places.size)
        kept = np.flatnonzero((number[self.pairs] >= 0).all(axis=1))
        count = np.bincount(self.set_of[places] + 1, minlength=self.n_sets + 1)[1:]
        of = np.full(self.n_sets + 1, -1)  # the last: in no set
        of[np.flatnonzero(count > 1)] = np.arange((count > 1).sum())
        apart = of[self.apart]
        return Seen(
            samples=self.samples[places],
            set_of=of[self.set_of[places]],
            pairs=number[self.pairs[kept]],
            trust=self.trust[kept],
            apart=apart[(apart >= 0).all(axis=1)],
            n_links=self.n_links,
        )


def links_seen(constraints: Constraints, key: FloatArray, mean_square: float) -> Seen:
    """Read the links of rules about positions.

    Parameters
    ----------
    constraints : Constraints
        Hard and soft rules; samples that are fixed to one cluster belong together, too.
    key : array (n,)
        A number of each sample that depends on its data alone.
    mean_square : float
        Mean squared distance of samples from their mean: what a confidence of 1 costs.
    """
    n = key.size
    links = links_only(constraints)
    item = _components(links.rules(n, 2), constraints, n)
    count = np.bincount(item)
    together, trust = _soft_pairs(links, item, n, mean_square)
    if len(together) > MOST_PAIRS:
        order = np.lexsort((key[together].sum(axis=1),))
        some = order[np.sort(np.random.default_rng(0).permutation(order.size)[:MOST_PAIRS])]
        together, trust = together[some], trust[some]
    linked = count[item] > 1
    linked[together.ravel()] = True
    samples = np.flatnonzero(linked)
    # rounded, so that round-off decides nothing
    rounded = np.round(key[samples] / (float(np.abs(key).max()) or 1.0), 12)
    samples = samples[np.argsort(rounded, kind="stable")]
    place = np.full(n, -1)
    place[samples] = np.arange(samples.size)
    number = np.full(count.size, -1)  # of each set, in the order of their first samples
    large = item[samples[count[item[samples]] > 1]]
    number[large[np.sort(np.unique(large, return_index=True)[1])]] = np.arange(
        np.unique(large).size
    )
    apart = _sets_apart(links.rules(n, 2), constraints, number[item])
    return Seen(
        samples=samples,
        set_of=number[item[samples]],
        pairs=place[together],
        trust=trust,
        apart=apart,
        n_links=int((count - 1).sum()) + len(together),
    )


def links_only(constraints: Constraints) -> Constraints:
    """The links alone: other rules may depend on the number of clusters."""
    parts = []
    for part in constraints.softened:
        inner = Constraints()._with(
            must_link=part.constraints.must_link, cannot_link=part.constraints.cannot_link
        )
        parts.append(Softened(inner, part.weight, part.relative))
    return Constraints()._with(
        must_link=constraints.must_link,
        cannot_link=constraints.cannot_link,
        softened=tuple(parts),
        by=constraints.by,
    )


def _components(rules: Rules, constraints: Constraints, n: int) -> IntArray:
    """Number the sets of samples that belong together."""
    ends = [np.empty((0, 2), np.int64)]
    for block in rules.must_links.blocks:
        ends += [np.stack(pair, axis=1) for pair in block.chained()]
    first: dict[int, int] = {}
    for rule in constraints.fixed:
        if rule.sample < n:
            ends.append(np.array([[first.setdefault(rule.cluster, rule.sample), rule.sample]]))
    edges = np.concatenate(ends)
    graph = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (n, n))
    found: IntArray = sp.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    return found


def _soft_pairs(
    links: Constraints, item: IntArray, n: int, mean_square: float
) -> tuple[IntArray, FloatArray]:
    """Soft must-links that hard ones do not imply, and how much they count."""
    pairs, trust = [np.empty((0, 2), np.int64)], [np.empty(0)]
    for block in links.soft_rules(n, 2).blocks:
        if block.kind is not MustLink:
            continue
        both = block.links.samples.reshape(-1, 2).astype(np.int64)
        weight = block.weight if block.relative else block.weight / (mean_square or 1.0)
        new = item[both[:, 0]] != item[both[:, 1]]
        pairs.append(both[new])
        trust.append((weight / (1 + weight))[new])
    return np.concatenate(pairs), np.concatenate(trust)


def _sets_apart(rules: Rules, constraints: Constraints, number: IntArray) -> IntArray:
    """Pairs of sets that hard rules keep apart; `number` is that of the set of each sample."""
    pairs = [np.empty((0, 2), np.int64)]
    for block in rules.cannot_links.blocks:
        pairs.append(number[block.every_pair()[0].samples.reshape(-1, 2)])
    fixed = {rule.cluster: rule.sample for rule in constraints.fixed if rule.sample < number.size}
    if len(fixed) > 1:
        sets = number[np.array(list(fixed.values()))]
        pairs.append(np.stack([side.ravel() for side in np.meshgrid(sets, sets)], axis=1))
    every = np.sort(np.concatenate(pairs), axis=1)
    every = every[(every[:, 0] >= 0) & (every[:, 0] < every[:, 1])]
    return np.unique(every, axis=0)
