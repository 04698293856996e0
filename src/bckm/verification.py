"""The independent checker: labels against the rules as they were stated.

It reads `Constraints` and nothing else: no items, no cliques, no program. Code shared with the
engines would share their mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from bckm._core.tolerance import TOLERANCE, allowed, smallest
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import array_of, read_cluster_count
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.linear_rule import LinearRule
from bckm.constraints.rule_list import RuleBlock, SoftBlock
from bckm.constraints.rules import (
    CannotLink,
    CapacityBound,
    ClusterNames,
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
    SoftRule,
    name_cluster,
    name_samples,
    plural,
)
from bckm.constraints.sample_id import located
from bckm.constraints.statements import Stay
from bckm.exceptions import BckmError

_PART = 1 << 18  # links looked at in one pass


@dataclass(frozen=True)
class Violation:
    """A violated rule.

    Attributes
    ----------
    rule : Rule or SoftRule
        The violated rule.
    message : str
        What is wrong, with the numbers.
    amount : float
        Size of the violation: missing or excess samples, separated or joined pairs, or units of
        load. For a soft rule, this is multiplied by its weight.
    cluster : int or None
        The cluster, if the rule is about each cluster.

    Examples
    --------
    >>> import bckm
    >>> print(bckm.verify([0, 1], 2, bckm.Constraints(must_link=[(0, 1)]))[0])
    samples 0 and 1 are must-linked, but are in clusters 0 and 1.
    """

    rule: Rule | SoftRule
    message: str
    amount: float
    cluster: int | None = None

    def __str__(self) -> str:
        return self.message


def verify(
    labels: Any,
    n_clusters: int,
    constraints: Constraints,
    *,
    sample_id: Any = None,
    soft: bool = False,
) -> list[Violation]:
    """List every rule that the labels violate.

    Links, fixed and forbidden clusters and sizes are checked exactly. Sums (capacities, quotas,
    `LinearRows`) are computed exactly, and a bound counts as met if the sum exceeds it by no more
    than

    - 1e-9 of the bound, or of the smallest amount of any sample where that is larger (zeros do not
      count);
    - and 2**-49, about 2e-15, of the sum of the absolute amounts: decimals are not exact in binary.

    Samples in other clusters do not affect this tolerance. For a share, the amounts are what each
    sample adds to *members - share x size*, and the bound is zero.

    Parameters
    ----------
    labels : array of int, shape (n_samples,)
        Cluster of each sample, 0 to n_clusters - 1.
    n_clusters : int
        Number of clusters.
    constraints : Constraints
        The rules.
    sample_id : sequence of length n_samples, optional
        Id of each sample, for rules with ``by="sample_id"``; by default the index of labels in a
        pandas series.
    soft : bool
        List the violated soft rules instead of the hard ones.

    Returns
    -------
    list of Violation
        Empty when every rule holds.

    Examples
    --------
    >>> import bckm
    >>> asked = bckm.Constraints(cannot_link=[(0, 1)], size_max=2)
    >>> bckm.verify([0, 1, 1], 2, asked)
    []
    >>> for violation in bckm.verify([0, 0, 0], 2, asked):
    ...     print(violation)
    samples 0 and 1 are cannot-linked, but are both in cluster 0.
    cluster 0 has 3 samples, more than size_max=2.
    cluster 1 is empty.
    """
    n_clusters = read_cluster_count(n_clusters)
    found_labels = _read_labels(labels, n_clusters)
    constraints = located(as_constraints(constraints), labels, sample_id, found_labels.size)
    sizes = np.bincount(found_labels, minlength=n_clusters)
    found: list[Violation] = []
    if soft:
        for wish in constraints.soft_rules(found_labels.size, n_clusters).entries:
            for priced in _broken_links(wish, found_labels):
                # each unit is paid for
                broken = _check(priced.rule, found_labels, sizes, 0.0, constraints.cluster_names)
                found += [Violation(priced, one.message, one.amount, one.cluster) for one in broken]
        return found
    for entry in constraints.rules(found_labels.size, n_clusters).entries:
        for rule in _broken_links(entry, found_labels):
            found += _check(rule, found_labels, sizes, TOLERANCE, constraints.cluster_names)
    _compare_with_own_checks(constraints, found_labels, n_clusters, found)
    return found


def _broken_links(entry: Any, labels: IntArray) -> Iterator[Any]:
    """Of a block of links those that labels break; a single rule as it is."""
    if not isinstance(entry, RuleBlock | SoftBlock):
        yield entry
        return
    links, together = entry.links, entry.kind is MustLink
    for begin in range(0, len(links), _PART):
        end = min(begin + _PART, len(links))
        if links.starts is None:
            held = labels[links.samples[2 * begin : 2 * end]].reshape(-1, 2)
            wrong = (held[:, 0] == held[:, 1]) != together
        else:
            wrong = _broken_sets(links.samples, links.starts[begin : end + 1], labels, together)
        for at in np.flatnonzero(wrong).tolist():
            yield entry[begin + at]


def _broken_sets(samples: IntArray, starts: IntArray, labels: IntArray, together: bool) -> IntArray:
    """How many labels of each set are those of others, or are not those of the first."""
    held = labels[samples[starts[0] : starts[-1]]]
    link = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    if together:
        wrong = held != held[(starts[:-1] - starts[0])[link]]
    else:
        held = held[np.lexsort((held, link))]
        wrong = np.append(False, (held[1:] == held[:-1]) & (link[1:] == link[:-1]))
    return np.bincount(link[wrong], minlength=starts.size - 1)


def _compare_with_own_checks(
    constraints: Constraints, labels: IntArray, n_clusters: int, found: list[Violation]
) -> None:
    """Ask rules of the user's own kind themselves; what their rows say must be the same."""
    for own in constraints.linear:
        if not isinstance(own, LinearRule):
            continue
        rows = {
            violation.rule.row
            for violation in found
            if isinstance(violation.rule, RowBound) and violation.rule.source.rule is own
        }
        broken = {int(row) for row in own.broken(labels.copy(), n_clusters)}
        if rows != broken:
            raise BckmError(
                f"rule {own.name!r} contradicts itself: broken() returns the rows "
                f"{sorted(broken)}, but its linear form {sorted(rows)}."
            )


def _read_labels(labels: Any, n_clusters: int) -> IntArray:
    array = array_of(labels, "labels")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"labels must be one integer per sample; got shape {array.shape}.")
    if array.dtype.kind not in "iu":
        raise ValueError(f"labels must be integers; got dtype {array.dtype}.")
    if array.min() < 0 or array.max() >= n_clusters:
        at = int(np.argmax((array < 0) | (array >= n_clusters)))
        raise ValueError(
            f"sample {at} has label {array[at]}; labels must be 0 to {n_clusters - 1}."
        )
    return array.astype(np.int64)


def _check(
    rule: Rule,
    labels: IntArray,
    sizes: IntArray,
    tolerance: float,
    names: ClusterNames | None,
) -> list[Violation]:
    match rule:
        case MustLink():
            return _check_must_link(rule, labels, names)
        case CannotLink():
            return _check_cannot_link(rule, labels, names)
        case Fixed(sample, cluster, ids):
            return [
                Violation(
                    rule,
                    f"{name_samples((sample,), ids)} is fixed to {name_cluster(cluster, names)}, "
                    f"but is in {name_cluster(labels[sample], names)}.",
                    1.0,
                )
            ] * bool(labels[sample] != cluster)
        case Forbidden(sample, cluster, ids):
            return [
                Violation(
                    rule,
                    f"{name_samples((sample,), ids)} is in {name_cluster(cluster, names)}, which "
                    "is forbidden for it.",
                    1.0,
                )
            ] * bool(labels[sample] == cluster)
        case MovedMax(source, value):
            moved = int(((source.values >= 0) & (source.values != labels)).sum())
            message = f"{plural(moved, 'sample')} changed cluster; at most {value} may."
            return [Violation(rule, message, float(moved - value))] * (moved > value)
        case Moved(source):
            return _check_moved(rule, source, labels)
        case QuotaBound():
            return _check_quota(rule, labels, sizes, tolerance, names)
        case SizeMin(value, cluster):
            return [
                Violation(
                    rule,
                    f"{name_cluster(i, names)} has {plural(sizes[i], 'sample')}, fewer than "
                    f"size_min={value}.",
                    float(value - sizes[i]),
                    i,
                )
                for i in (range(sizes.size) if cluster is None else [cluster])
                if sizes[i] < value
            ]
        case SizeMax(value, cluster):
            return [
                Violation(
                    rule,
                    f"{name_cluster(i, names)} has {plural(sizes[i], 'sample')}, more than "
                    f"size_max={value}.",
                    float(sizes[i] - value),
                    i,
                )
                for i in (range(sizes.size) if cluster is None else [cluster])
                if sizes[i] > value
            ]
        case NonEmpty():
            return [
                Violation(rule, f"{name_cluster(i, names)} is empty.", 1.0, i)
                for i in range(sizes.size)
                if sizes[i] == 0
            ]
        case CapacityBound(source, side, value, cluster):
            return [
                violation
                for i in (range(sizes.size) if cluster is None else [cluster])
                for violation in _check_sum(
                    rule,
                    source.values[labels == i],
                    source.values,
                    side,
                    value,
                    f"the sum of {source.name} in {name_cluster(i, names)}",
                    tolerance,
                    i,
                )
            ]
        case RowBound(source, side, value, row):
            start, end = source.A.indptr[row : row + 2]
            columns, coefficients = source.A.indices[start:end], source.A.data[start:end]
            held = labels[columns // sizes.size] == columns % sizes.size
            what = f"{source.name}[{row}]"
            if source.rule is not None:
                what = f"{source.rule.describe(row)}: the sum"
            return _check_sum(rule, coefficients[held], coefficients, side, value, what, tolerance)


def _check_moved(rule: Moved, source: Stay, labels: IntArray) -> list[Violation]:
    moved = source.paid & (source.values != labels)
    if not moved.any():
        return []
    message = f"{plural(int(moved.sum()), 'sample')} left their previous cluster."
    return [Violation(rule, message, float(source.prices[moved].sum()))]


def _check_quota(
    rule: QuotaBound,
    labels: IntArray,
    sizes: IntArray,
    tolerance: float,
    names: ClusterNames | None,
) -> list[Violation]:
    members = np.bincount(labels[rule.source.values == rule.category], minlength=sizes.size)
    value, sign = Fraction(rule.value), 1 if rule.side == "min" else -1
    word = "below" if rule.side == "min" else "above"
    # what a member, and what any other sample, adds to the number, or to members - share * size
    adds = np.array([1 - value, value] if rule.share else [1, 0], float)
    least = smallest(adds[[members.sum() > 0, members.sum() < labels.size]])
    found = []
    for i, (number, size) in enumerate(zip(members.tolist(), sizes.tolist(), strict=True)):
        what = f"of {rule.source.name} {rule.source.categories[rule.category]!r} in "
        what += name_cluster(i, names)
        if rule.share:
            beyond = float(sign * (value * size - number))
            held = float(number * (1 - value) + (size - number) * value)
            may = allowed(0.0, least, held, tolerance)
            share = f"{number} of {size} samples"
            message = f"the share {what} is {share}, {word} {100 * rule.value:.6g} %."
        else:
            beyond = float(sign * (value - number))
            may = allowed(rule.value, least, number, tolerance)
            message = f"the number {what} is {number}, {word} {rule.value:.15g}."
        if beyond > may:
            found.append(Violation(rule, message, beyond, i))
    return found


def _check_must_link(
    rule: MustLink, labels: IntArray, names: ClusterNames | None
) -> list[Violation]:
    samples = rule.samples
    clusters = [int(labels[p]) for p in samples]
    if clusters.count(clusters[0]) == len(clusters):
        return []
    called = None if names is None else tuple(names[i] for i in sorted(set(clusters)))
    found = name_samples(tuple(sorted(set(clusters))), called).split(" ", 1)[1]
    apart = sum(c != clusters[0] for c in clusters)
    return [
        Violation(
            rule,
            f"{name_samples(samples, rule.ids)} are {_linked(rule, 'must-linked')}, but are in "
            f"clusters {found}.",
            float(apart),
        )
    ]


def _linked(rule: MustLink | CannotLink, word: str) -> str:
    return word if rule.why in ("must-link", "cannot-link") else f"{word} ({rule.why})"


def _check_cannot_link(
    rule: CannotLink, labels: IntArray, names: ClusterNames | None
) -> list[Violation]:
    samples = rule.samples
    ids = samples if rule.ids is None else rule.ids
    if len({int(labels[p]) for p in samples}) == len(samples):
        return []
    return [
        Violation(
            rule,
            f"samples {a!r} and {b!r} are {_linked(rule, 'cannot-linked')}, but are both in "
            f"{name_cluster(labels[p], names)}.",
            1.0,
        )
        for (p, a), (q, b) in combinations(zip(samples, ids, strict=True), 2)
        if labels[p] == labels[q]
    ]


def _check_sum(
    rule: Rule,
    held: FloatArray,
    row: FloatArray,
    side: str,
    bound: float,
    what: str,
    tolerance: float,
    cluster: int | None = None,
) -> list[Violation]:
    numbers = held.tolist()
    exact = math.fsum([*numbers, -bound])  # rounded once, at the end
    beyond = -exact if side == "min" else exact
    if beyond <= 0 or beyond <= allowed(bound, smallest(row), float(np.abs(held).sum()), tolerance):
        return []
    word = "below" if side == "min" else "above"
    message = f"{what} is {math.fsum(numbers):.15g}, {word} {bound:.15g}."
    return [Violation(rule, message, beyond, cluster)]
