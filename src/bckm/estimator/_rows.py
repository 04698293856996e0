"""What `fit` and `assign` are asked: rules about the rows of this X, whatever split it comes from.

Rules may name rows by position or by id. Positions are safe only where X is what the person counted
in; ids are safe everywhere. See docs/decisions/0014-rules-and-splits.md.
"""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Iterator, Mapping, Sized
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm.constraints import Constraints, Located, as_constraints
from bckm.constraints.links import Links, object_array
from bckm.constraints.relabel import Positions
from bckm.constraints.rules import plural
from bckm.constraints.sample_id import ids_of, index_of, read_ids
from bckm.exceptions import DroppedRulesWarning


def gather(
    X: Any,  # noqa: N803
    n_samples: int,
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    constraints: Constraints | None = None,
    amounts: Any = None,
    groups: Any = None,
    partial_labels: Any = None,
    sample_id: Any = None,
) -> Located:
    """Join all rules about samples, as the doors of the estimator take them.

    The amounts are only looked at: whether they can be meant for these rows.
    """
    rows = SampleRows(X, n_samples, sample_id)
    if isinstance(amounts, Mapping) and not any(map(np.ndim, amounts.values())):
        raise ValueError(
            "amounts must be one value per row of X, or a mapping of names to such values; for "
            "amounts by id, use Constraints(capacities=..., by='sample_id')."
        )
    per_row = {"amounts": amounts, "groups": groups, "partial_labels": partial_labels}
    for what, values in per_row.items():
        rows.refuse_other_order(values, what)
    by = "sample_id" if rows.named else "position"
    if by == "sample_id":
        rows.refuse_sliced(must_link, "must_link")
        rows.refuse_sliced(cannot_link, "cannot_link")
    parts = [
        rows.locate(Constraints(must_link, cannot_link, by=by)),
        rows.locate(as_constraints(constraints)),
    ]
    joined = parts[0].constraints & parts[1].constraints
    if groups is not None:
        joined &= rows.name_samples(Constraints(groups=_per_row(groups, n_samples, "groups")))
    if partial_labels is not None:
        labels = _per_row(partial_labels, n_samples, "partial_labels")
        joined &= rows.name_samples(Constraints.from_labels(labels))
    dropped = parts[0].dropped + parts[1].dropped
    if dropped:
        warnings.warn(
            f"{plural(len(dropped), 'rule')} with samples that are not in X: dropped for these "
            f"samples. First: {dropped[0]}.",
            DroppedRulesWarning,
            stacklevel=3,
        )
    return Located(joined, dropped)


class SampleRows:
    """The rows of one X, how they are called, and whether they may be counted.

    Attributes
    ----------
    named : bool
        Whether pairs name ids: if there is a `sample_id`, or an index with no number in it.
    """

    def __init__(self, X: Any, n_samples: int, sample_id: Any) -> None:  # noqa: N803
        self._X, self._n = X, n_samples
        self._given = None if sample_id is None else read_ids(sample_id, n_samples)
        self._index = index_of(X)
        # an index 0, 1, ... calls each row by its position
        self._other_index = self._index is not None and not _counts(self._index)
        labels = self._other_index and not _has_numbers(self._index)
        self.named = self._given is not None or labels

    @cached_property
    def ids(self) -> list[Any]:
        """Id of each row; an error where there is none."""
        return ids_of(self._X, self._given, self._n)

    def locate(self, rules: Constraints) -> Located:
        """Bring rules to positions, without those about ids that are not there."""
        if rules.by == "position":
            self._refuse_counting(rules)
            return Located(rules)
        if not rules._names_samples:
            return Located(rules._with(by="position"))
        positions = Positions(self.ids)
        named = list(_named(rules))
        if named and not any((positions.of(names) >= 0).any() for names in named):
            number = len({name for names in named for name in names.tolist()})
            raise ValueError(
                f"none of the {number} samples in the rules is in X: the rules have "
                f"{named[0].tolist()[0]!r}, for example, but X has {self.ids[0]!r}."
            )
        return rules.locate(self.ids, missing="drop")

    def name_samples(self, rules: Constraints) -> Constraints:
        """Let messages call samples by their ids, where pairs do."""
        if not self.named or (self._given is None and not self._index.is_unique):
            return rules
        ids = object_array(self.ids)

        def named(links: Links) -> Links:
            return Links(replace(b, ids=ids[b.samples], among=None) for b in links.blocks)

        return rules._with(must_link=named(rules.must_link), cannot_link=named(rules.cannot_link))

    def refuse_sliced(self, links: Any, what: str) -> None:
        """Refuse what has as many rows as X: scikit-learn takes it for values per sample."""
        if isinstance(links, Sized) and len(links) == self._n and inside_split():
            raise ValueError(
                f"{what} has as many rows as X, so scikit-learn splits it like X and rules are "
                f"lost: pass constraints=Constraints({what}=..., by='sample_id'), which is not "
                "split."
            )

    def refuse_other_order(self, values: Any, what: str) -> None:
        """Refuse values per row in another order than the rows, where pandas tells."""
        own = index_of(values)
        if own is None or self._index is None or own.equals(self._index):
            return
        if set(own) == set(self._index):
            raise ValueError(
                f"{what} has the index of X in another order, but is used row by row: pass "
                f"{what}.loc[X.index]."
            )

    def _refuse_counting(self, rules: Constraints) -> None:
        if rules._names_samples and inside_split():
            raise ValueError(
                "these rules refer to row positions before the split; in this part of the data "
                "they would refer to other rows. Rules about ids can be split: use "
                "Constraints(..., by='sample_id') and pass sample_id=np.arange(n) for all n "
                "samples (pairs passed with a sample_id refer to its ids too)."
            )
        if self._other_index and _counts_rows(rules):
            raise ValueError(
                "these rules refer to row positions, but the index of X is not 0, 1, 2, ...: they "
                "may mean its labels, or rows of the data X was taken from. To refer to labels, "
                "use by='sample_id', or pass sample_id=X.index with pairs; to refer to the rows of "
                "this X, pass X.reset_index(drop=True)."
            )


def inside_split() -> bool:
    """Whether scikit-learn calls from a cross-validation, with a part of the data.

    Only the call stack can tell: nothing in a part of an array says that it is one. All of
    scikit-learn's splits (cross_validate, GridSearchCV, learning_curve, ...) pass through this
    module; its refits with all data do not. Where the stack cannot be read, the answer is no.
    """
    frame = getattr(sys, "_getframe", lambda: None)()
    while frame is not None:
        if frame.f_globals.get("__name__") == "sklearn.model_selection._validation":
            return True
        frame = frame.f_back
    return False


def _counts(index: Any) -> bool:
    """Whether an index is 0, 1, 2, ..."""
    values = np.asarray(index)
    return values.dtype.kind in "iu" and np.array_equal(values, np.arange(values.size))


def _has_numbers(index: Any) -> bool:
    """Whether labels of an index could be taken for positions."""
    values = np.asarray(index)
    objects = values if values.dtype.kind == "O" else ()
    return values.dtype.kind in "biuf" or any(isinstance(one, numbers.Number) for one in objects)


def _named(rules: Constraints) -> Iterator[NDArray[Any]]:
    """All ids that single rules name."""
    for block in (*rules.must_link.blocks, *rules.cannot_link.blocks):
        yield block.samples
    if rules.fixed_and_forbidden:
        yield object_array([rule.sample for rule in rules.fixed_and_forbidden])
    for part in rules.softened:
        yield from _named(part.constraints)


def _counts_rows(rules: Constraints) -> bool:
    """Whether rules name single rows by position, and were not located for them from ids."""
    links = (*rules.must_link.blocks, *rules.cannot_link.blocks)
    unnamed = any(one.ids is None for one in (*links, *rules.fixed_and_forbidden))
    return unnamed or any(_counts_rows(part.constraints) for part in rules.softened)


def _per_row(values: Any, n_samples: int, what: str) -> Any:
    """Read one value per row; which values is for the reader of groups and labels to say."""
    shape = getattr(values, "shape", (0,))
    no_list = isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__")
    if no_list or len(shape) != 1:
        got = f"shape {shape}" if len(shape) > 1 else f"{values!r:.60}"
        raise ValueError(f"{what} must be one value per row of X; got {got}.")
    if len(values) != n_samples:
        raise ValueError(f"{what} has {len(values)} values, but X has {n_samples} rows.")
    return values
