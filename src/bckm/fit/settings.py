"""`Settings`: the parameters of a fit, as `kmeans` has read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bckm._core.deadline import Deadline
from bckm.fit.listener import Listener


@dataclass(frozen=True, eq=False)
class Settings:
    """Parameters of a fit that concern neither data nor rules; see `bckm.kmeans`.

    Instead of a time limit there is a `deadline`; `began` is when the fit began.
    """

    init: Any
    n_init: Any
    search: str
    label_bounds: str
    max_iter: int
    tol: float
    random_state: Any
    n_jobs: Any
    deadline: Deadline
    listener: Listener
    began: float
