"""`moves`: who has left the cluster that an earlier result gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm.study import Study


@dataclass(frozen=True)
class Move:
    """A sample that is in another cluster than before.

    Attributes
    ----------
    sample : int
        Its position.
    before, after : int
        Labels of the clusters; before is -1 for a new sample.

    Examples
    --------
    >>> from bckm.study.views import Move
    >>> Move(3, 0, 1).after
    1
    """

    sample: int
    before: int
    after: int


def moves(study: Study) -> list[Move] | None:
    """Return the samples that left their previous cluster, and new ones.

    None if no rule (`bckm.Stay`) knows of previous clusters.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> rules = bckm.Constraints(stay=bckm.Stay([0, 1, 1, 1], at_most=2))
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    >>> views.moves(study)
    [Move(sample=1, before=1, after=0)]
    """
    if not study.constraints.stay:
        return None
    labels, before = study.result.labels, study.constraints.stay[0].values
    changed = np.flatnonzero(before != labels).tolist()
    return [Move(sample, int(before[sample]), int(labels[sample])) for sample in changed]
