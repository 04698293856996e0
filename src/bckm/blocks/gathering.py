"""Labels within the bounds where none are proven: rows that may move, gathered over some looks.

Where more rows lie at borders than a message may hold, a look brings some of them, drawn by their
numbers, and other looks at the same prices bring others. Once they are enough, they are settled as
if no other row could move. The dual value of a look says what these labels are worth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray
from bckm.blocks.answer import SPARE, Taken
from bckm.blocks.drawn import Drawn
from bckm.blocks.equal_rows import alike
from bckm.blocks.label_exceptions import margin_of
from bckm.blocks.look import best_labels
from bckm.blocks.planning import TINY, Plan
from bckm.blocks.question import Question
from bckm.blocks.settling import Parts, Settled, rounding_of_gaps

if TYPE_CHECKING:
    from bckm.blocks.attempt import Attempt, Best, Seen

TIMES, FEWEST = 2.0, 16.0  # rows near borders for each that has to move, and for each cluster
SHARE = 0.5  # of a message: rows nearest to borders; others are drawn from beyond
NEARER, FARTHER = 0.25, 4.0  # than in the last look, where there were too many, or too few
MESSAGES = 4.0  # full of rows: more have to move than are worth their looks
LOOKS, MORE = 8, 32  # and so many more for each message full of rows that have to move


@dataclass(frozen=True, eq=False)
class Singles:
    """Samples that were drawn, in the order of their numbers, and their best clusters."""

    rows: NDArray[Any]
    index: IntArray
    label: NDArray[np.int32]

    @classmethod
    def of(cls, drawn: Drawn, question: Question, *, sure: bool) -> Singles:
        """Rows of an answer; `sure`: without those where others may see another cluster."""
        label, kept = np.empty(len(drawn.rows), np.int32), np.ones(len(drawn.rows), bool)
        for part, seen in best_labels(drawn.rows, question, 1):
            label[part] = seen.label
            if sure:
                apart = question.frame.inside(drawn.rows[part]) - question.centers[seen.label]
                own = np.square(apart).sum(axis=1)
                kept[part] = seen.slack > margin_of(own, question.centers, question.prices)
        return cls(drawn.rows[kept], drawn.index[kept], label[kept])

    def and_those(self, others: Singles) -> Singles:
        """Both, each sample once."""
        index, first = np.unique(np.concatenate([self.index, others.index]), return_index=True)
        rows = np.concatenate([self.rows, others.rows])[first]
        return Singles(rows, index, np.concatenate([self.label, others.label])[first])

    def beside(self, taken: Taken) -> Taken:
        """Rows that were returned, and these samples of others, one by one."""
        new = np.flatnonzero(alike(taken.rows, self.rows) < 0)
        index, which = self.index[new], len(taken.rows) + np.arange(new.size)
        index, which = np.append(taken.index, index), np.append(taken.which, which)
        order = np.argsort(index)
        return Taken(
            np.concatenate([taken.rows, self.rows[new]]),
            np.append(taken.label, self.label[new]),
            np.append(taken.number, np.ones(new.size, np.int64)),
            np.append(taken.first, self.index[new]),
            index[order],
            which[order],
        )


def unproven_labels(
    attempt: Attempt, known: tuple[Seen, Parts] | None = None, *, anyhow: bool = False
) -> tuple[Seen, Settled] | None:
    """Labels within the bounds after an attempt that has proven none; None if there are none.

    Those that are `known`, or those of rows that further looks bring; of these not too many,
    unless `anyhow`.
    """
    best, found = attempt.best, []
    assert best is not None
    if known is not None:
        found.append((known[0], attempt.settling(known[0]).unproven(known[1], best.dual)))
    if anyhow or float(np.abs(best.gradient).sum()) / 2 <= MESSAGES * attempt.task.most:
        more = _gathered(attempt, best)
        found += [] if more is None else [more]
    return min(found, key=lambda one: one[1].cost, default=None)


def _gathered(attempt: Attempt, best: Best) -> tuple[Seen, Settled] | None:
    """Labels of rows that may move, gathered where the dual was largest."""
    task, k, n, prices = attempt.task, attempt.k, attempt.n, best.prices
    model = task.sample.part(task.sample.stride)
    model.go(attempt.centers, prices, attempt.deadline)
    supply = np.asarray(model.supply, np.float64)
    borders = model.borders(supply * (n / max(1.0, float(supply.sum()))))
    number = len(attempt.log)
    seen = attempt.look(prices, Plan(np.zeros((k, k)), np.zeros(k)), number)
    goal = TIMES * _over(seen, task.lower, task.upper)
    some = np.maximum(goal, FEWEST)
    limit = np.maximum(borders.reach(some), TINY * rounding_of_gaps(attempt.centers, prices))
    limit *= min(1.0, SHARE * task.most / float(some.sum()))
    singles, wide = Singles.of(seen.answer.drawn, seen.question, sure=False), np.full(k, np.inf)
    for _ in range(LOOKS + int(MORE * goal.sum() / task.most)):
        number += 1
        seen = attempt.look(prices, Plan(np.tile(limit[:, None], (1, k)), wide), number)
        near, beyond = (
            Singles.of(drawn, seen.question, sure=attempt.holder.quick)
            for drawn in (seen.answer.spare, seen.answer.drawn)
        )
        singles = singles.and_those(near).and_those(beyond)
        taken = singles.beside(seen.answer.taken)
        held = np.bincount(taken.label, taken.number, k).astype(np.float64)
        if _suffice(seen, held, task.lower, task.upper):
            seen = replace(seen, answer=replace(seen.answer, taken=taken))
            return seen, attempt.settling(seen).anyhow(best.dual, attempt.deadline)
        # too many of a cluster within its limit: more are drawn from beyond a nearer one
        within = np.bincount(near.label, minlength=k)
        many = seen.answer.taken.overflow & ((within << SPARE) > some - held)
        limit *= np.where(many | (held >= some), NEARER, FARTHER)
    return None


def _over(seen: Seen, lower: IntArray, upper: IntArray) -> FloatArray:
    """About how many samples of each cluster have to go elsewhere."""
    counts = seen.answer.counts
    over, short = np.maximum(counts - upper, 0), np.maximum(lower - counts, 0)
    more = max(0, int(short.sum() - over.sum()))  # also from clusters that need not give any
    spare = np.maximum(np.minimum(counts, upper) - lower, 0)
    return np.asarray(over + spare * (more / max(1, int(spare.sum()))))


def _suffice(seen: Seen, held: FloatArray, lower: IntArray, upper: IntArray) -> bool:
    """Whether labels of so many rows of each cluster can bring all sizes within their bounds."""
    rest = seen.answer.counts - held
    return bool((rest <= upper).all() and np.maximum(lower - rest, 0).sum() <= held.sum())
