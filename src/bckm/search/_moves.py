"""Wait for the helper."""

from collections import Counter
from dataclasses import dataclass

from bckm._types import IntArray


@dataclass(frozen=True, eq=False)
class Descent:
    """Labels after local search.

    Attributes
    ----------
    labels : array (m,)
        Cluster of each item.
    counts : Counter
        Looks at all items (``passes``) and moves made, by their kind.
    work : float
        Numbers looked at, about.
    finished : bool
        Whether these labels are proven a local optimum: no relocation, swap or flip that keeps the
        rules lowers the inertia by more than round-off.
    """

    labels: IntArray
    counts: Counter[str]
    work: float
    finished: bool


