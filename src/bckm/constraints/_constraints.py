"""`Constraints`: all rules of a clustering.

A `Constraints` depends neither on the data nor on the number of clusters, so it can serve several
fits. What depends on them is checked by `Constraints.rules`, the one door from here to the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bckm._core.validation import (
    array_of,
    join_sizes,
    read_price,
    read_size_pair,
    refuse_masked,
    resolve_sizes,
)
from bckm.constraints._fields import Fields, Linear
from bckm.constraints.expand import (
    Softened,
    hard_rules,
    kept_soft,
    made_hard,
    priced_rules,
    stay_rules,
)
from bckm.constraints.parse import (
    read_blocks,
    read_capacities,
    read_cluster_names,
    read_fixed,
)
from bckm.constraints.read_links import group_links, label_links, read_apart, read_together
from bckm.constraints.relabel import Dropped, Positions, Relabel, order_of
from bckm.constraints.rule_list import Rules, SoftBlock, SoftRules
from bckm.constraints.rules import Fixed, Forbidden, SoftRule
from bckm.constraints.statements import Capacity, Quota, Stay


@dataclass(frozen=True, eq=False)
class Located:
    """Answer of `Constraints.locate`: rules about positions, and what names absent samples."""

    constraints: Constraints
    dropped: Dropped = field(default_factory=Dropped)


class Constraints(Fields):
    """Rules that a clustering must obey; hard, except those made `soft` and a `Stay` with a price.

    Parameters
    ----------
    must_link : array of shape (p, 2), or iterable of pairs or sets of samples, optional
        The samples of each pair or set go to the same cluster.
    cannot_link : array of shape (p, 2), or iterable of pairs or sets of samples, optional
        The samples of each pair or set go to different clusters.
    size_min, size_max : int, float, or a sequence of them, optional
        Bounds on the number of samples, one for all clusters or one per cluster. A float between 0
        and 1 is a share of all samples: at least ceil(share * n_samples) and at most
        floor(share * n_samples) of them. No cluster is empty unless ``size_min=0``.
    capacities : mapping of name to Capacity, optional
        Bounds on sums over the samples of each cluster.
    quotas : Quota or sequence of Quota, optional
        Bounds on the number or share of samples of each category in each cluster.
    linear : LinearRows, LinearRule, or a sequence of them, optional
        Any other linear rules, including custom ones.
    groups : sequence of length n_samples, optional
        Samples with the same value go to the same cluster; None, NaN and masked: no group.
    fixed : mapping of sample to cluster, or iterable of such pairs, optional
        The cluster that a sample must go to: a label from 0 or, with `cluster_names`, a name.
    forbidden : iterable of pairs (sample, cluster), optional
        Clusters that a sample must not go to.
    stay : Stay, optional
        Previous labels, and the penalty for leaving them.
    by : {"position", "sample_id"}
        Whether samples are identified by the position of their row in X, from 0, or by an id: any
        values, as in the `sample_id` of a fit or the index of a data frame. Values per sample
        (`Capacity`, `Quota`, `Stay`, `groups`) are then mappings of ids to values.
    cluster_names : sequence of str or int, optional
        Names of the clusters in messages, reports and plots, in the order of the labels, which
        are still 0, 1, 2, ...

    Examples
    --------
    >>> import bckm
    >>> rules = bckm.Constraints(must_link=[(0, 1)], cannot_link=[{1, 2, 3}], size_max=3)
    >>> rules
    Constraints(must_link=1, cannot_link=1, size_max=3)
    >>> rules & bckm.Constraints(size_max=2, size_min=1)
    Constraints(must_link=1, cannot_link=1, size_min=1, size_max=2)
    >>> bckm.Constraints(capacities={"kg": bckm.Capacity([30, 30, 90], max=100)}, size_max=0.5)
    Constraints(size_max=0.5, capacities=1)
    >>> vans = bckm.Constraints(fixed={7: "van 2"}, cluster_names=["van 1", "van 2"])
    >>> print(vans.rules(10, 2)[-1])
    fixed: sample 7 in cluster 'van 2'
    """

    def __init__(
        self,
        must_link: Any = None,
        cannot_link: Any = None,
        *,
        size_min: Any = None,
        size_max: Any = None,
        capacities: Mapping[str, Capacity] | None = None,
        quotas: Quota | Sequence[Quota] | None = None,
        linear: Linear | Sequence[Linear] | None = None,
        groups: Any = None,
        fixed: Any = None,
        forbidden: Any = None,
        stay: Stay | Sequence[Stay] | None = None,
        by: str = "position",
        cluster_names: Iterable[str | int] | None = None,
    ) -> None:
        if by not in ("position", "sample_id"):
            raise ValueError(f"by must be 'position' or 'sample_id'; got {by!r}.")
        together, apart = read_together(must_link, by), read_apart(cannot_link, by)
        lower, upper = read_size_pair(size_min, size_max)
        names = read_cluster_names(cluster_names)
        values = {
            "must_link": together + group_links(groups, by),
            "cannot_link": apart,
            "size_min": lower,
            "size_max": upper,
            "statements": (
                *read_capacities(capacities, by),
                *read_blocks(quotas, Quota, "quotas must be bckm.Quota", by),
                *read_blocks(linear, Linear, "linear must be bckm.LinearRows or LinearRule", by),
            ),
            "fixed": read_fixed(fixed, Fixed, by, names),
            "forbidden": read_fixed(forbidden, Forbidden, by, names),
            "stay": read_blocks(stay, Stay, "stay must be bckm.Stay", by),
            "softened": (),
            "by": by,
            "cluster_names": names,
        }
        self.__setstate__(values)

    def _with(self, **changed: Any) -> Constraints:
        """A copy with other fields, which must be as this class keeps them."""
        other = object.__new__(Constraints)
        other.__setstate__({**self.__getstate__(), **changed})
        return other

    @classmethod
    def from_labels(cls, y: Any, *, price: Any = None, confidence: Any = None) -> Constraints:
        """Turn partial labels into links: same label together, different labels apart.

        Parameters
        ----------
        y : sequence of length n_samples
            Label of each sample, of any type; -1, None, NaN and masked values are unknown.
        price, confidence : float, optional
            Make all these links soft, see `soft`; every pair then counts separately.

        Returns
        -------
        Constraints
            Links only; any label may become any cluster.

        Examples
        --------
        >>> import bckm
        >>> bckm.Constraints.from_labels(["a", "a", -1, "b", -1])
        Constraints(must_link=1, cannot_link=1)
        """
        soft = price is not None or confidence is not None
        together, apart = label_links(y, every_pair=soft)
        links_only = cls()._with(must_link=together, cannot_link=apart)
        return links_only.soft(price=price, confidence=confidence) if soft else links_only

    def soft(self, *, confidence: Any = None, price: Any = None) -> Constraints:
        """Make all these rules soft: each may be violated for a penalty.

        A fit minimizes the inertia plus the penalty of the violated rules. Every violation costs
        the price once: a pair of samples (a set is all its pairs), a sample beyond a size or a
        quota, a unit of load beyond a capacity.

        Parameters
        ----------
        confidence : float or array with one number per link, optional
            Price relative to the mean squared distance of a sample from the center of all data, so
            that it does not depend on the scale of the data. Infinity makes a rule hard.
        price : float or array with one number per link, optional
            Price per unit of violation, in units of the inertia.

        Returns
        -------
        Constraints
            Combine it with hard rules using ``&``.

        Examples
        --------
        >>> import bckm
        >>> X = [[0.0], [1.0], [9.0]]
        >>> wish = bckm.Constraints(cannot_link=[(0, 1)]).soft(price=0.2)
        >>> result = bckm.kmeans(X, 2, wish, random_state=0)
        >>> round(result.inertia, 9), result.penalty
        (0.5, 0.2)
        """
        weight = read_price(price, confidence)
        links = len(self.must_link) + len(self.cannot_link)
        if weight.ndim and (weight.size != links or self._other_than_links):
            raise ValueError(
                f"got {weight.size} prices for {links} links; one price per link requires "
                "Constraints with nothing but must-links or cannot-links."
            )
        if self.linear:
            raise TypeError("linear rules cannot be soft; use capacities or quotas instead.")
        if self.stay or self.softened:
            raise TypeError(
                "a Stay has its own prices, and soft rules are already soft; combine them with &."
            )
        return Constraints(by=self.by, cluster_names=self.cluster_names)._with(
            softened=(Softened(self, weight, relative=price is None),)
        )

    def __and__(self, other: Constraints) -> Constraints:
        """Ask for both: rules add up, of the stated size bounds the tighter ones hold.

        "No cluster is empty" is implied only where neither side states `size_min`.
        """
        if not isinstance(other, Constraints):
            return NotImplemented
        if self.by != other.by and self._names_samples and other._names_samples:
            raise ValueError(
                "rules about positions and rules about sample ids cannot be combined; convert the "
                "latter to positions with locate(sample_id)."
            )
        lower, upper = join_sizes((self.size_min, self.size_max), (other.size_min, other.size_max))
        if None not in (names := (self.cluster_names, other.cluster_names)) and len({*names}) > 1:
            raise ValueError(f"conflicting cluster_names: {names[0]!r} and {names[1]!r}.")
        joined = (
            *("must_link", "cannot_link", "statements"),
            *("fixed", "forbidden", "stay", "softened"),
        )
        return self._with(
            size_min=lower,
            size_max=upper,
            by=other.by if other._names_samples else self.by,
            cluster_names=self.cluster_names or other.cluster_names,
            **{name: getattr(self, name) + getattr(other, name) for name in joined},
        )

    def _repr_html_(self) -> str:
        from bckm.constraints.card import constraints_card

        return constraints_card(self)

    def rules(self, n_samples: int, n_clusters: int) -> Rules:
        """List the individual hard rules, after checking that they fit the problem.

        Parameters
        ----------
        n_samples, n_clusters : int
            Shape of the problem.

        Returns
        -------
        sequence of Rule
            Links, sizes, fixed and forbidden clusters, capacities, quotas, linear rows, moves.

        Examples
        --------
        >>> import bckm
        >>> for rule in bckm.Constraints(must_link=[(0, 2)], size_max=2).rules(3, 2):
        ...     print(rule)
        must-link: samples 0 and 2 together
        size_max: at most 2 samples in every cluster
        no cluster may be empty (default; size_min=0 allows empty clusters)
        """
        if self.by != "position":
            raise ValueError(
                "these rules refer to sample ids, but the samples have none: pass sample_id (or a "
                "pandas frame with the ids as its index), or use locate(sample_id)."
            )
        rules = hard_rules(self, n_samples, n_clusters)
        for part in self.softened:  # an infinite price is no choice
            priced = priced_rules(part, n_samples, n_clusters, self.cluster_names)
            rules += made_hard(priced)
        return Rules(rules)

    def soft_rules(self, n_samples: int, n_clusters: int) -> SoftRules:
        """List the soft rules, each with the price of a violation.

        Parameters
        ----------
        n_samples, n_clusters : int
            Shape of the problem.

        Returns
        -------
        sequence of SoftRule
            Links as single pairs.

        Examples
        --------
        >>> import bckm
        >>> rules = bckm.Constraints(must_link=[(0, 1, 2)]).soft(price=3).soft_rules(3, 2)
        >>> len(rules), str(rules[0])
        (3, 'must-link: samples 0 and 1 together (soft, price 3)')
        """
        rules: list[SoftBlock | SoftRule] = []
        for part in self.softened:
            rules += kept_soft(priced_rules(part, n_samples, n_clusters, self.cluster_names))
        return SoftRules([*rules, *stay_rules(self.stay)])

    def resolved(self, n_samples: int) -> Constraints:
        """Return the same rules, with sizes given as shares turned into numbers of samples.

        Parameters
        ----------
        n_samples : int
            Number of samples.

        Examples
        --------
        >>> import bckm
        >>> bckm.Constraints(size_min=0.15, size_max=0.35).resolved(10)
        Constraints(size_min=2, size_max=3)
        """
        sides = ("size_min", "size_max")
        return self._with(**{s: resolve_sizes(getattr(self, s), n_samples, s) for s in sides})

    def take(self, indices: Any) -> Constraints:
        """Return the rules for some of the samples, which become samples 0, 1, ... in this order.

        Links keep the selected samples; those left with fewer than two are dropped, as are fixed
        and forbidden clusters of other samples. Bounds are unchanged; shares are then shares of the
        selected samples.

        Parameters
        ----------
        indices : sequence of int
            Positions of the samples, without repetition.

        Returns
        -------
        Constraints
            Rules about positions in the selection.

        Examples
        --------
        >>> import bckm
        >>> rules = bckm.Constraints(must_link=[(0, 1), (2, 3)], fixed={3: 0})
        >>> rules.take([2, 3]).must_link
        ((0, 1),)
        """
        order = array_of(indices, "indices").astype(np.int64)
        if order.ndim != 1 or np.unique(order).size < order.size or (order < 0).any():
            raise ValueError("indices must be distinct positions of at least 0.")
        if self.by != "position":
            raise ValueError(
                "take is for rules about positions; use locate(sample_id) for sample ids."
            )
        return Relabel(Positions(order), lambda _: order, named=False)(self)

    def locate(self, sample_id: Any, *, missing: str = "raise") -> Located:
        """Convert rules about sample ids into rules about positions.

        Parameters
        ----------
        sample_id : sequence of length n_samples
            Id of each row of X; ids must be unique.
        missing : {"raise", "drop"}
            Whether to raise an error for rules about unknown ids, or to drop these rules.

        Returns
        -------
        Located
            `constraints` about positions, and a description of the `dropped` rules.

        Examples
        --------
        >>> import bckm
        >>> rules = bckm.Constraints(must_link=[("ann", "bob")], by="sample_id")
        >>> rules.locate(["eve", "bob", "ann"]).constraints.must_link
        ((2, 1),)
        """
        if self.by == "position":
            return Located(self)
        refuse_masked(sample_id, "sample_id")
        ids = sample_id.tolist() if hasattr(sample_id, "tolist") else list(sample_id)
        positions = Positions(ids)
        if len(positions.by_name) < len(ids):
            twice = next(name for at, name in enumerate(ids) if positions.by_name[name] != at)
            raise ValueError(f"sample_id contains {twice!r} more than once; ids must be unique.")
        relabel = Relabel(positions, lambda block: order_of(block, ids), named=True)
        located = relabel(self)
        dropped = relabel.dropped
        if dropped and missing == "raise":
            raise ValueError(
                f"{len(dropped)} rules refer to samples that are not in the data; first: "
                f"{dropped[0]}; correct these ids, or drop such rules with "
                "locate(sample_id, missing='drop')."
            )
        return Located(located, dropped)


def as_constraints(constraints: Any) -> Constraints:
    """Read what a caller passes as constraints; None asks nothing."""
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise TypeError(f"constraints must be bckm.Constraints; got {constraints!r:.60}.")
    return constraints
