"""`ArrayHolder`: rows that one process reads block by block, from memory or from a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import blocks
from bckm._core.deadline import Deadline
from bckm._core.types import IntArray
from bckm.blocks.answer import Answer, merged
from bckm.blocks.labelling import Labelling, label_block
from bckm.blocks.look import look
from bckm.blocks.question import Question
from bckm.blocks.survey import Survey, merged_surveys, survey

NUMBERS = 2**22  # in a block of an array


class Source(Protocol):
    """Something that yields its rows block by block, as often as needed."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """All blocks in turn, each with the number of its first row."""


class Slices:
    """A source that cuts an array, or what can be sliced like one, into blocks of rows."""

    def __init__(self, array: Any, rows: int | None = None) -> None:
        self.array = array
        self.shape: tuple[int, int] = array.shape
        self.dtype = array.dtype
        self.rows = rows

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Blocks of so many rows, or of about 2^22 numbers."""
        n, d = self.shape
        numbers = NUMBERS if self.rows is None else self.rows * d
        for part in blocks(n, d, numbers):
            yield part.start, np.asarray(self.array[part])


class ArrayHolder:
    """Rows of one array or source, looked at one block after the other; a `Holder`."""

    def __init__(self, source: Any, threads: int = 1) -> None:
        self.source: Source = source if hasattr(source, "blocks") else Slices(source)
        self.n_rows: int = self.source.shape[0]
        self.n_features: int = self.source.shape[1]
        self.dtype = self.source.dtype
        self.threads = threads
        self.passes = self.received = 0

    def survey(self, share: float, seed: int, deadline: Deadline | None = None) -> Survey:
        """Survey all rows."""
        self.passes += 1
        return merged_surveys(
            survey(block, offset, share, seed, deadline) for offset, block in self.source.blocks()
        )

    def look(self, question: Question, deadline: Deadline | None = None) -> Answer:
        """Answer a question about all rows."""
        self.passes += 1
        answers: list[Answer] = []
        for offset, block in self.source.blocks():
            answers.append(look(block, offset, question, self.threads, deadline))
            if len(answers) > 16:
                answers = [merged(answers)]
        answer = merged(answers)
        self.received += answer.nbytes
        return answer

    def count(self, labelling: Labelling, deadline: Deadline | None = None) -> IntArray:
        """Count the labels of all rows, (k,)."""
        self.passes += 1
        k = labelling.prices.size
        counts = np.zeros(k, np.int64)
        for offset, block in self.source.blocks():
            labels = label_block(block, offset, labelling, self.threads, deadline)
            counts += np.bincount(labels, minlength=k)
        return counts
