"""`Step`: a proven optimal assignment, and what it tells the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bckm._core.types import FloatArray, IntArray
from bckm._storage.fields import Fields
from bckm.blocks.answer import Answer
from bckm.blocks.question import Question
from bckm.blocks.settling import Settled


@dataclass(frozen=True, eq=False)
class Memory:
    """What a step tells the next one, at centers that have moved a little.

    Attributes
    ----------
    lesson : array (k,)
        What the sample has above its share; see `row_model`.
    wrong : array (k,)
        Samples that are likely to be in the wrong cluster at the first look.
    drift : array (k,)
        How far prices went from the first look on.
    """

    lesson: FloatArray
    wrong: FloatArray
    drift: FloatArray

    def to_tree(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {"lesson": self.lesson, "wrong": self.wrong, "drift": self.drift}

    @classmethod
    def from_tree(cls, fields: Fields, k: int) -> Memory:
        """From a file, which may hold anything."""
        return cls(*(fields.floats(name, (k,)) for name in ("lesson", "wrong", "drift")))


@dataclass(frozen=True, eq=False)
class Step:
    """A proven optimal assignment; all is in the units of the frame.

    Attributes
    ----------
    settled : Settled
        Prices, cost, bound, sizes and means; the labels of rows near borders.
    question, answer :
        The last look.
    memory : Memory
        For the next step.
    passes, received : int
        How often all rows were read, and the bytes of the answers.
    log : list
        What each look found.
    """

    settled: Settled
    question: Question
    answer: Answer
    memory: Memory
    passes: int
    received: int
    log: tuple[dict[str, Any], ...]

    @property
    def prices(self) -> FloatArray:
        """Prices that prove the labels optimal."""
        return self.settled.prices

    @property
    def cost(self) -> float:
        """What the labels cost."""
        return self.settled.cost

    @property
    def bound(self) -> float:
        """What no labels within the bounds cost less than."""
        return self.settled.bound

    @property
    def sizes(self) -> IntArray:
        """Samples of each cluster."""
        return self.settled.sizes

    @property
    def means(self) -> FloatArray:
        """Means of the clusters; the center of an empty one."""
        return self.settled.means
