"""What shares come to in whole samples.

"Between 39 % and 41 % of each cluster" of a category and "26 or 27 samples in each cluster" sound
compatible, but 39 % of 26 is 10.14 and 41 % of it 10.66: no whole number lies between. Rows over
real numbers do not see it. So the numbers of samples of each category are listed for each size that
a cluster may have: some sizes fall away, and what is left bounds how many a cluster may hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bckm._core.tolerance import ROUNDING, TOLERANCE, group_sums
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import QuotaBound, Rule, name_cluster, names_in, plural
from bckm.constraints.statements import Quota
from bckm.feasibility._bound_proofs import lower_rule, size_rules, upper_rule
from bckm.feasibility._proof import Proof, unique
from bckm.problem.linear import power_of_two
from bckm.problem.structure import Structure

MOST = 5_000_000  # numbers in the tables of sizes; where sizes are so free, shares leave them so


@dataclass(frozen=True, eq=False)
class _Shares:
    """One quota with shares: how many samples of each category fit into clusters of each size.

    Attributes
    ----------
    source : Quota
        What is counted.
    rules : tuple of QuotaBound
        Its bounds.
    held : array (c,)
        Samples of each category; the last one is that of samples without any.
    least, most : arrays (sizes, c)
        Bounds of the number of samples in a cluster of 0, 1, ... samples.
    """

    source: Quota
    rules: tuple[QuotaBound, ...]
    held: IntArray
    least: IntArray
    most: IntArray

    @classmethod
    def of(cls, rules: tuple[QuotaBound, ...], largest: int) -> _Shares:
        source = rules[0].source
        number = len(source.categories)
        held = np.bincount(np.where(source.values < 0, number, source.values), minlength=number + 1)
        size = np.arange(largest + 1)[:, None]
        least = np.zeros((largest + 1, number + 1), np.int64)
        most = np.minimum(size, held)
        for rule in rules:
            value = np.full(size.shape, rule.value) if not rule.share else rule.value * size
            # as far as a bound may be missed and still counts as kept, and what products round
            spare = 2 * (TOLERANCE * np.maximum(value, 1.0) + ROUNDING * 2 * size)
            if rule.side == "min":
                bound = np.ceil(value - spare)[:, 0].astype(np.int64)
                least[:, rule.category] = np.maximum(least[:, rule.category], bound)
            else:
                bound = np.floor(value + spare)[:, 0].astype(np.int64)
                most[:, rule.category] = np.minimum(most[:, rule.category], bound)
        return cls(source, rules, held, least, most)

    @cached_property
    def fits(self) -> BoolArray:
        """Whether whole numbers within the bounds add up to each size, (sizes,)."""
        size = np.arange(len(self.least))
        low, high = self.least.sum(axis=1), self.most.sum(axis=1)
        return np.asarray((self.least <= self.most).all(axis=1) & (low <= size) & (size <= high))

    def narrowest(self, sizes: IntArray) -> tuple[QuotaBound, ...]:
        """The bounds of a category that alone rules out all the sizes, else all bounds."""
        crossed = np.asarray((self.least[sizes] > self.most[sizes]).all(axis=0))
        alone = [rule for rule in self.rules if crossed[rule.category]]
        return tuple(r for r in alone if r.category == alone[0].category) or self.rules


def _shares(rules: Rules, s: Structure) -> Iterator[_Shares]:
    bounds: dict[int, list[QuotaBound]] = {}
    for rule in rules.others:
        if isinstance(rule, QuotaBound):
            bounds.setdefault(id(rule.source), []).append(rule)
    largest = int(s.upper.max())
    for found in bounds.values():
        table = (largest + 1) * (len(found[0].source.categories) + 1)
        if any(rule.share for rule in found) and table <= MOST:
            yield _Shares.of(tuple(found), largest)


def whole_samples(rules: Rules, s: Structure) -> Proof | None:
    """Sizes at which shares come to whole numbers of samples."""
    if (s.lower > s.upper).any():
        return None
    for shares in _shares(rules, s):
        proof = _no_size(rules, s, shares) or _no_sum(rules, s, shares)
        if proof is not None:
            return proof
    return None


def _no_size(rules: Rules, s: Structure, shares: _Shares) -> Proof | None:
    """A cluster none of whose sizes admits whole numbers."""
    below = np.concatenate([[0], np.cumsum(shares.fits)])
    stuck = np.flatnonzero(below[s.upper + 1] == below[s.lower])
    if not stuck.size:
        return None
    i = int(stuck[0])
    sizes = np.arange(s.lower[i], s.upper[i] + 1)
    used = shares.narrowest(sizes)
    bounds = size_rules(rules)
    name = shares.source.categories[used[0].category]
    which = repr(name) if len({rule.category for rule in used}) == 1 else "every category"
    where = name_cluster(i, names_in(rules.others)) if len(stuck) < s.n_clusters else "a cluster"
    held = plural(int(sizes[-1]), "sample")
    held = held if sizes.size == 1 else f"{sizes[0]} to {held}"
    return Proof(
        unique(iter((*used, lower_rule(bounds, i), upper_rule(bounds, i)))),
        False,
        f"{where} of {held} cannot hold these shares of {which} in whole samples"
        + _example(used, sizes),
        "allow a wider share, or other sizes",
    )


def _example(used: tuple[QuotaBound, ...], sizes: IntArray) -> str:
    """The numbers that one size would need, where one category says it all."""
    if len({rule.category for rule in used}) > 1:
        return ""
    size = int(sizes[0])
    value = {rule.side: rule.value * size if rule.share else rule.value for rule in used}
    low, up = value.get("min", 0.0), value.get("max", float(size))
    return f": of {size} it would be at least {low:.6g} and at most {up:.6g}"


def _no_sum(rules: Rules, s: Structure, shares: _Shares) -> Proof | None:
    """Clusters of all those sizes, taken together, against what there is."""
    n, k = s.item.size, s.n_clusters
    spans = zip(s.lower.tolist(), s.upper.tolist(), strict=True)
    sizes = [np.flatnonzero(shares.fits[low : up + 1]) + low for low, up in spans]
    if n * sum(each.size for each in sizes) > MOST:
        return None
    number = shares.held.size
    few = np.full((n + 1, number), np.inf)  # fewest of each category in clusters of so many samples
    few[0] = 0
    many = -few
    for each in sizes:
        next_few, next_many = np.full_like(few, np.inf), np.full_like(many, -np.inf)
        for size in each.tolist():
            part, rest = slice(size, None), slice(0, n + 1 - size)
            next_few[part] = np.minimum(next_few[part], few[rest] + shares.least[size])
            next_many[part] = np.maximum(next_many[part], many[rest] + shares.most[size])
        few, many = next_few, next_many
    used = (*shares.rules, *_all_sizes(rules, k))
    if np.isinf(few[n, 0]):
        return Proof(
            unique(iter(used)),
            False,
            f"sizes at which these shares come to whole samples do not add up to {n}",
            "allow wider shares, or other sizes",
        )
    for at in np.flatnonzero((few[n] > shares.held) | (many[n] < shares.held))[:1].tolist():
        if at == number - 1:
            return None
        over = few[n, at] > shares.held[at]
        side = f"at least {few[n, at]:.0f}" if over else f"at most {many[n, at]:.0f}"
        return Proof(
            unique(iter(used)),
            False,
            f"in whole samples the clusters together must hold {side} of "
            f"{shares.source.categories[at]!r}, but the data have {shares.held[at]}",
            "allow wider shares, or other sizes",
        )
    return None


def _all_sizes(rules: Rules, k: int) -> tuple[Rule | None, ...]:
    bounds = size_rules(rules)
    return tuple(rule(bounds, i) for i in range(k) for rule in (lower_rule, upper_rule))


def counted(rules: Rules, s: Structure) -> Structure:
    """The same structure with what follows for sizes and numbers of samples as further bounds.

    The same labels obey it. Where no quota has shares it is returned as it is.
    """
    lower, upper = s.lower.copy(), s.upper.copy()
    amounts: list[FloatArray] = []
    least: list[FloatArray] = []
    most: list[FloatArray] = []
    tables = [] if (s.lower > s.upper).any() else list(_shares(rules, s))
    for shares in tables:
        for i in range(s.n_clusters):
            sizes = np.flatnonzero(shares.fits[lower[i] : upper[i] + 1])
            if sizes.size:
                lower[i], upper[i] = lower[i] + sizes[0], lower[i] + sizes[-1]
    for shares in tables:
        for category in sorted({rule.category for rule in shares.rules if rule.share}):
            member = shares.source.values == category
            amounts.append(group_sums(member.astype(float), s.item, s.n_items))
            spans = [slice(low, up + 1) for low, up in zip(lower, upper, strict=True)]
            fits = [shares.fits[span] for span in spans]
            low = [shares.least[a, category][f] for a, f in zip(spans, fits, strict=True)]
            up = [shares.most[a, category][f] for a, f in zip(spans, fits, strict=True)]
            if not all(each.size for each in low):
                return s
            least.append(np.array([each.min() for each in low], float))
            most.append(np.array([each.max() for each in up], float))
    if not amounts:
        return s
    scale = np.array([power_of_two(amount) for amount in amounts])
    loads = s.loads
    return replace(
        s,
        lower=lower,
        upper=upper,
        loads=replace(
            loads,
            amount=np.column_stack([loads.amount, *amounts / scale[:, None]]),
            lower=np.column_stack([loads.lower, *(np.array(least) / scale[:, None])]),
            upper=np.column_stack([loads.upper, *(np.array(most) / scale[:, None])]),
            rounding_slack=np.append(loads.rounding_slack, np.zeros(scale.size)),
            scale=np.append(loads.scale, scale),
        ),
    )
