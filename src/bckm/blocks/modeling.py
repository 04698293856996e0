"""Prices from the rows of a look: a model of them, solved as far as it knows the data.

What is wrong after the next look is then what the rows could not tell, and no more: a model that is
left with a quarter of its own wrong samples would cost a look each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bckm._core.types import FloatArray
from bckm.blocks.look import see
from bckm.blocks.look_model import Model

if TYPE_CHECKING:
    from bckm.blocks.attempt import Attempt, Seen

LISTS, HALF = 3, 0.5  # times that rows are listed, while each leaves no more of the wrong samples
STRAYS = 0.25  # share of the wrong samples that lists may leave, or be too short for
FINISHED, PATHED = 0.02, 2.0  # share that they may leave without paths; so many for each cluster
# are brought where they belong by these
SHORT = 0.1  # share that rows of a look alone may leave: those that are too many did not come
UNSEEN = 0.1  # share of the wrong samples that may move although the look told nothing of them


def listed_model(attempt: Attempt, seen: Seen) -> Model | None:
    """A model of the rows of a look at prices that are right for them, begun on lists.

    None if lists do not lead there.
    """
    model, wrong, centers = attempt.near(seen), seen.infeasibility, attempt.centers
    for _ in range(LISTS):
        before = model.model.state.infeasibility
        left = model.model.approach(centers, attempt.deadline)
        rest = model.model.state.infeasibility + model.model.strays(centers)
        if left is None and rest > HALF * before:
            return None
        if rest <= max(PATHED * attempt.k, FINISHED * wrong):
            break
        model.model = model.model.relisted(centers)
    if rest > max(PATHED * attempt.k, STRAYS * wrong):
        return None
    if rest > FINISHED * wrong:
        model.model = model.model.finished(centers, attempt.deadline)
    if _unseen(attempt, seen, model.model.prices) > UNSEEN * wrong:
        return None
    model.left = np.abs(model.model.state.gradient) if left is None else left
    return model


def solved_model(attempt: Attempt, seen: Seen) -> Model:
    """The same without lists; with the sample where the rows of the look do not suffice."""
    if not attempt.lacks(seen):
        model = attempt.near(seen, listed=False)
        model.solve(attempt.centers, attempt.deadline)
        unseen, left = _unseen(attempt, seen, model.model.prices), model.model.state.infeasibility
        if unseen <= UNSEEN * seen.infeasibility and left <= SHORT * seen.infeasibility:
            return model
    model = attempt.gathered(seen)
    model.solve(attempt.centers, attempt.deadline)
    return model


def _unseen(attempt: Attempt, seen: Seen, prices: FloatArray) -> float:
    """About how many samples change cluster on the way to prices that the look told nothing of.

    Where there are gaps between groups of clusters, the rows that came may ask for prices at which
    others do not stay where they are.
    """
    sample, question, threads = attempt.sample, seen.question, attempt.task.threads
    points, step = sample.few
    assert question.wide is not None
    before, after = (see(points, attempt.centers, p, threads) for p in (question.prices, prices))
    moved = (before.label != after.label) & (before.gap > question.wide[before.label])
    return float(sample.supply[::step][moved].sum()) * step / sample.share
