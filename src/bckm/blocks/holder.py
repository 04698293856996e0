"""`Holder`: whoever holds the blocks; all that a coordinator needs from the data."""

from __future__ import annotations

from typing import Any, Protocol

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.blocks.answer import Answer, Taken
from bckm.blocks.borders import Borders
from bckm.blocks.labeling import Labeling
from bckm.blocks.question import Question
from bckm.blocks.row_moves import Moves
from bckm.blocks.soft_prices import SoftRows
from bckm.blocks.survey import Survey

IN_BLOCKS = (
    "where all data are in memory; these are read in blocks, which can bound sizes and nothing "
    "else. Load them, or a sample of them, into an array, or do without."
)


class Holder(Protocol):
    """Blocks of rows somewhere: in memory, in files, on many machines.

    Answers are those of all rows, whatever the blocks; if the deadline passes, `TimeUp` is raised.

    Attributes
    ----------
    n_rows, n_features, dtype :
        Shape and type of the data.
    names : tuple of str or None
        Names of the features, where they have any.
    elsewhere : str
        Where more than sizes can be asked for, and the way there: the end of a sentence.
    passes : int
        How often all rows were read so far.
    received : int
        Bytes of all answers so far.
    quick : bool
        Whether a look takes less time than the work of the coordinator on many rows: then answers
        bring fewer rows, and another look may be needed.
    """

    n_rows: int
    n_features: int
    dtype: Any
    names: tuple[str, ...] | None
    elsewhere: str
    passes: int
    received: int
    quick: bool

    def survey(self, share: float, seed: int, deadline: Deadline | None = None) -> Survey:
        """Survey all rows."""

    def look(self, question: Question, deadline: Deadline | None = None) -> Answer:
        """Answer a question about all rows."""

    def count(self, labeling: Labeling, deadline: Deadline | None = None) -> IntArray:
        """Count the labels of all rows, (k,)."""

    def labels(self, labeling: Labeling) -> Any:
        """Labels of all rows: an array, or what makes them when it is asked."""

    def place(self, row: int, feature: int) -> str:
        """Where a number is, for messages."""


class QuickHolder(Holder, Protocol):
    """A holder whose looks cost less than a model of the rows: prices are found by looks alone."""

    def borders(self, question: Question, goal: FloatArray) -> Borders:
        """So many rows of each cluster that are nearest to others, where the last look was."""

    def tied(self, slack: float) -> Taken | None:
        """The rows that had at most so much slack in the last look; None if they are many."""

    def soft_rows(self, k: int) -> SoftRows | None:
        """Some of the rows, which know their best clusters; None where clusters are too many."""

    def depth(self, goal: FloatArray) -> FloatArray:
        """Up to which slack so many rows of each cluster lie where the last look was, (k,), about.

        Slack: what the next best cluster costs more, or less than that.
        """

    def others(self) -> IntArray:
        """Clusters that are near each, increasing: pairs of which limits are told, (k, m)."""

    def limits(self, goal: FloatArray, *, shorter: bool) -> FloatArray:
        """Up to which cost so many rows of each cluster lie to its others, (k, m), about.

        Where the last look was; infinite where there are not so many. `shorter`: or as many rows on
        the way by other clusters.
        """

    def moves(self, limit: FloatArray) -> Moves | None:
        """All moves that cost at most a limit, where the last look was.

        The limit of their cluster, (k,), or of their pair, (k, m); see `others`. None if they are
        too many to be told.
        """
