"""What is asked: `Constraints`.

A `Constraints` knows neither the data nor the number of clusters, so the same object serves several
fits. What depends on them is checked by `Constraints.rules`, the one door from here to the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bckm._core.types import IntArray
from bckm._core.validation import array_of, join_sizes, read_price, read_size_pair, refuse_masked
from bckm.constraints.expand import Mover, Softened, hard_rules, order_of, priced_rules, stay_rules
from bckm.constraints.parse import (
    Frozen,
    Link,
    Place,
    demand_blocks,
    group_links,
    label_links,
    read_apart,
    read_blocks,
    read_places,
    read_together,
)
from bckm.constraints.rules import Rule, SoftRule
from bckm.constraints.statements import AttributeSum, LinearRows, Quota, Stay

Block = LinearRows | AttributeSum | Quota


@dataclass(frozen=True, eq=False)
class Located:
    """Answer of `Constraints.locate`: rules about positions, and what names absent samples."""

    constraints: Constraints
    dropped: tuple[str, ...]


class Constraints(Frozen):
    """Rules that a clustering must obey, all hard but those of `soft` and a `Stay` with a price.

    Parameters
    ----------
    must_link : array of shape (p, 2), or iterable of pairs or sets of samples, optional
        The samples of each pair or set share a cluster.
    cannot_link : array of shape (p, 2), or iterable of pairs or sets of samples, optional
        No two samples of a pair or set share a cluster.
    size_min, size_max : int or sequence of int, optional
        Bounds on the number of samples, one for every cluster or one per cluster. No cluster is
        empty unless ``size_min=0`` is asked for.
    rows : AttributeSum, Quota, LinearRows, or a sequence of them, optional
        Capacities, quotas, further linear rules.
    demand : array of shape (n_samples,) or (n_samples, r), frame or mapping of arrays, optional
        What each sample takes of the bounds: `size_min` and `size_max` then bound the sum of the
        demand in each cluster instead of the number of samples. Of r resources each has its own
        bounds: an array of shape (r,), or (n_clusters, r), or a mapping of names to bounds.
    groups : sequence of length n_samples, optional
        Samples of equal value share a cluster; None, NaN and masked values belong to no group.
    fixed : mapping of sample to cluster, or iterable of such pairs, optional
        These samples lie in these clusters.
    forbidden : iterable of pairs (sample, cluster), optional
        These samples do not lie in these clusters.
    stay : Stay, optional
        Previous labels, and what it costs to leave them.
    by : {"position", "sample_id"}
        Whether samples are named by the position of their row in X, from 0 on, or by an id: any
        values, as in the `sample_id` of a fit or the index of a frame. Values per sample
        (`AttributeSum`, `Quota`, `Stay`, `demand`, `groups`) are then mappings of ids to values.

    Examples
    --------
    >>> import bckm
    >>> asked = bckm.Constraints(must_link=[(0, 1)], cannot_link=[{1, 2, 3}], size_max=3)
    >>> asked
    Constraints(must_link=1, cannot_link=1, size_max=3)
    >>> asked & bckm.Constraints(size_max=2, size_min=1)
    Constraints(must_link=1, cannot_link=1, size_min=1, size_max=2)
    >>> bckm.Constraints(demand=[30, 30, 90], size_max=100)
    Constraints(rows=1)
    """

    # no __len__: cross-validation slices whatever has a length equal to that of X
    __slots__ = (
        "by",
        "cannot_link",
        "fixed",
        "forbidden",
        "must_link",
        "rows",
        "size_max",
        "size_min",
        "softened",
        "stay",
    )

    must_link: tuple[Link, ...]
    cannot_link: tuple[Link, ...]
    size_min: IntArray | None
    size_max: IntArray | None
    rows: tuple[Block, ...]
    fixed: tuple[Place, ...]
    forbidden: tuple[Place, ...]
    stay: tuple[Stay, ...]
    softened: tuple[Softened, ...]
    by: str

    def __init__(
        self,
        must_link: Any = None,
        cannot_link: Any = None,
        *,
        size_min: Any = None,
        size_max: Any = None,
        rows: Block | Sequence[Block] | None = None,
        demand: Any = None,
        groups: Any = None,
        fixed: Any = None,
        forbidden: Any = None,
        stay: Stay | Sequence[Stay] | None = None,
        by: str = "position",
    ) -> None:
        if by not in ("position", "sample_id"):
            raise ValueError(f"by must be 'position' or 'sample_id'; got {by!r}.")
        together, apart = read_together(must_link, by), read_apart(cannot_link, by)
        blocks = read_blocks(rows, Block, "rows takes AttributeSum, Quota or LinearRows", by)
        if demand is not None:
            blocks += read_blocks(demand_blocks(demand, size_min, size_max), Block, "demand", by)
            # a lower bound on a sum, even zero, replaces "no cluster is empty"
            size_min, size_max = None if size_min is None else 0, None
        lower, upper = read_size_pair(size_min, size_max)
        values = {
            "must_link": (*together, *group_links(groups, by)),
            "cannot_link": apart,
            "size_min": lower,
            "size_max": upper,
            "rows": blocks,
            "fixed": read_places(fixed, "fixed", by),
            "forbidden": read_places(forbidden, "forbidden", by),
            "stay": read_blocks(stay, Stay, "stay takes bckm.Stay", by),
            "softened": (),
            "by": by,
        }
        self.__setstate__(values)

    def _with(self, **changed: Any) -> Constraints:
        """A copy with other fields, which must be as this class keeps them."""
        other = object.__new__(Constraints)
        other.__setstate__({**self.__getstate__(), **changed})
        return other

    @classmethod
    def from_labels(cls, y: Any, *, price: Any = None, confidence: Any = None) -> Constraints:
        """Partial labels as links: samples of one label together, of different labels apart.

        Parameters
        ----------
        y : sequence of length n_samples
            Label of each sample, of any kind; -1, None, NaN and masked values are unknown.
        price, confidence : float, optional
            Make all these links soft, see `soft`; every pair then counts on its own.

        Returns
        -------
        Constraints
            Which cluster gets which label stays open.

        Examples
        --------
        >>> import bckm
        >>> bckm.Constraints.from_labels(["a", "a", -1, "b", -1])
        Constraints(must_link=1, cannot_link=1)
        """
        soft = price is not None or confidence is not None
        together, apart = label_links(y, every_pair=soft)
        found = cls()._with(must_link=together, cannot_link=apart)
        return found.soft(price=price, confidence=confidence) if soft else found

    def soft(self, *, confidence: Any = None, price: Any = None) -> Constraints:
        """Make all these rules soft: each may be given up at a price.

        A fit minimizes the inertia plus what the given-up rules cost. Every violation costs the
        price once: a pair of samples (a set is all its pairs), a sample beyond a size or a quota, a
        unit of a sum beyond its bound.

        Parameters
        ----------
        confidence : float or array with one number per link, optional
            Price in units of the mean squared distance of a sample from the center of all data, so
            that it does not depend on the scale of the data. Infinity makes a rule hard.
        price : float or array with one number per link, optional
            Price in units of the inertia.

        Returns
        -------
        Constraints
            Join it to hard rules with ``&``.

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
                f"{weight.size} prices are given for {links} links; one per link is possible only "
                "for Constraints of must-links or cannot-links and nothing else."
            )
        if any(isinstance(block, LinearRows) for block in self.rows):
            raise TypeError("LinearRows cannot be soft; state sums or quotas instead.")
        if self.stay or self.softened:
            raise TypeError(
                "a Stay has prices of its own, and soft rules are soft already; join them with &."
            )
        return Constraints(by=self.by)._with(
            softened=(Softened(self, weight, relative=price is None),)
        )

    @property
    def _other_than_links(self) -> bool:
        sizes = self.size_min is not None or self.size_max is not None
        return bool(sizes or self.rows or self.fixed or self.forbidden)

    @property
    def _names_samples(self) -> bool:
        sums = [block for block in self.rows if not isinstance(block, LinearRows)]
        return bool(
            self.must_link or self.cannot_link or self.fixed or self.forbidden or sums or self.stay
        ) or any(part.constraints._names_samples for part in self.softened)

    def __and__(self, other: Constraints) -> Constraints:
        """Ask for both: links and rows add up, of the stated size bounds the tighter ones hold.

        "No cluster is empty" is implied only where neither side states `size_min`.
        """
        if not isinstance(other, Constraints):
            return NotImplemented
        if self.by != other.by and self._names_samples and other._names_samples:
            raise ValueError(
                "rules about positions and rules about sample ids cannot be joined; bring the "
                "latter to positions with locate(sample_id)."
            )
        lower, upper = join_sizes((self.size_min, self.size_max), (other.size_min, other.size_max))
        joined = ("must_link", "cannot_link", "rows", "fixed", "forbidden", "stay", "softened")
        return self._with(
            size_min=lower,
            size_max=upper,
            by=other.by if other._names_samples else self.by,
            **{name: getattr(self, name) + getattr(other, name) for name in joined},
        )

    def __repr__(self) -> str:
        counted = {
            name: f"{name}={len(value)}"
            for name in ("must_link", "cannot_link", "rows", "fixed", "forbidden", "stay")
            if (value := getattr(self, name))
        }
        sizes = [
            f"{name}={value.tolist()}"
            for name in ("size_min", "size_max")
            if (value := getattr(self, name)) is not None
        ]
        links = [counted.pop(name) for name in ("must_link", "cannot_link") if name in counted]
        soft = [f"soft={part.constraints!r}" for part in self.softened]
        by = ["by='sample_id'"] if self.by == "sample_id" else []
        return f"Constraints({', '.join([*links, *sizes, *counted.values(), *soft, *by])})"

    def _repr_html_(self) -> str:
        from bckm.constraints.card import constraints_card

        return constraints_card(self)

    def rules(self, n_samples: int, n_clusters: int) -> list[Rule]:
        """List the single hard rules, after checking that they fit the samples and clusters.

        Parameters
        ----------
        n_samples, n_clusters : int
            Shape of the problem.

        Returns
        -------
        list of Rule
            Must-links, cannot-links, size bounds and row bounds, in the order they were asked.

        Examples
        --------
        >>> import bckm
        >>> for rule in bckm.Constraints(must_link=[(0, 2)], size_max=2).rules(3, 2):
        ...     print(rule)
        must-link: samples 0 and 2 together
        size_max: at most 2 samples in every cluster
        no cluster may be empty (implied; size_min=0 allows empty clusters)
        """
        if self.by != "position":
            raise ValueError(
                "these rules name sample ids, but the samples have none: pass sample_id (or a "
                "pandas frame, whose index names its rows), or use locate(sample_id)."
            )
        found = hard_rules(self, n_samples, n_clusters)
        for part in self.softened:  # an infinite price is no choice
            found += [
                one.rule
                for one in priced_rules(part, n_samples, n_clusters)
                if one.weight == np.inf
            ]
        return found

    def soft_rules(self, n_samples: int, n_clusters: int) -> list[SoftRule]:
        """List the rules that may be given up, each with what a violation costs.

        Parameters
        ----------
        n_samples, n_clusters : int
            Shape of the problem.

        Returns
        -------
        list of SoftRule
            Links pair by pair.

        Examples
        --------
        >>> import bckm
        >>> rules = bckm.Constraints(must_link=[(0, 1, 2)]).soft(price=3).soft_rules(3, 2)
        >>> len(rules), str(rules[0])
        (3, 'must-link: samples 0 and 1 together (soft, price 3)')
        """
        found: list[SoftRule] = []
        for part in self.softened:
            found += [
                one for one in priced_rules(part, n_samples, n_clusters) if 0 < one.weight < np.inf
            ]
        return found + stay_rules(self.stay)

    def take(self, indices: Any) -> Constraints:
        """The rules for some of the samples, which become samples 0, 1, ... in this order.

        Links keep the samples that are there; those left with fewer than two are dropped, and so is
        what is fixed or forbidden for absent samples. Bounds stay as they are.

        Parameters
        ----------
        indices : sequence of int
            Positions of the samples, each once.

        Returns
        -------
        Constraints
            About positions in the selection.

        Examples
        --------
        >>> import bckm
        >>> rules = bckm.Constraints(must_link=[(0, 1), (2, 3)], fixed={3: 0})
        >>> rules.take([2, 3]).must_link
        ((0, 1),)
        """
        order = array_of(indices, "indices").astype(np.int64)
        if order.ndim != 1 or np.unique(order).size < order.size or (order < 0).any():
            raise ValueError("indices must be positions from 0 on, each once.")
        if self.by != "position":
            raise ValueError("rules that name sample ids need no take: locate(sample_id) does it.")
        places = {int(p): at for at, p in enumerate(order)}
        return Mover(places, lambda _: order, named=False)(self)

    def locate(self, sample_id: Any, *, missing: str = "raise") -> Located:
        """Bring rules about sample ids to the positions of these samples.

        Parameters
        ----------
        sample_id : sequence of length n_samples
            Id of each row of X, all different.
        missing : {"raise", "drop"}
            What to do with rules that name ids which are not there: refuse, or leave them out.

        Returns
        -------
        Located
            `constraints` about positions, and what was `dropped`, in words.

        Examples
        --------
        >>> import bckm
        >>> rules = bckm.Constraints(must_link=[("ann", "bob")], by="sample_id")
        >>> rules.locate(["eve", "bob", "ann"]).constraints.must_link
        ((2, 1),)
        """
        if self.by == "position":
            return Located(self, ())
        refuse_masked(sample_id, "sample_id")
        ids = sample_id.tolist() if hasattr(sample_id, "tolist") else list(sample_id)
        places = {one: at for at, one in enumerate(ids)}
        if len(places) < len(ids):
            twice = next(one for at, one in enumerate(ids) if places[one] != at)
            raise ValueError(f"sample_id names {twice!r} more than once; ids must differ.")
        mover = Mover(places, lambda block: order_of(block, ids), named=True)
        found = mover(self)
        if mover.dropped and missing == "raise":
            raise ValueError(
                f"{len(mover.dropped)} rules name samples that are not in the data, first: "
                f"{mover.dropped[0]}; correct these ids, or leave such rules out with "
                "locate(sample_id, missing='drop')."
            )
        return Located(found, tuple(mover.dropped))


def as_constraints(constraints: Any) -> Constraints:
    """Read what a caller passes as constraints; None asks nothing."""
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise TypeError(f"constraints must be bckm.Constraints; got {constraints!r:.60}.")
    return constraints
