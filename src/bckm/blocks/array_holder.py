"""`ArrayHolder`: rows that one process reads block by block, from memory or from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import IntArray
from bckm.blocks.answer import Answer, gathered
from bckm.blocks.holder import IN_BLOCKS
from bckm.blocks.labeling import Labeling, label_block
from bckm.blocks.labels import Labels
from bckm.blocks.look import look
from bckm.blocks.question import Question
from bckm.blocks.sources import ArrayRows, Source
from bckm.blocks.survey import Survey, merged_surveys, survey


class ArrayHolder:
    """Rows of one array or source, looked at one block after the other; a `Holder`."""

    elsewhere = IN_BLOCKS

    def __init__(self, source: Any, threads: int = 1) -> None:
        self.source: Source = source if hasattr(source, "in_file") else ArrayRows(source)
        self.names = self.source.names
        self.n_rows: int = self.source.shape[0]
        self.n_features: int = self.source.shape[1]
        self.dtype = self.source.dtype
        self.threads = threads
        self.passes = self.received = 0
        self.quick = False

    def survey(self, share: float, seed: int, deadline: Deadline | None = None) -> Survey:
        """Survey all rows."""
        self.passes += 1
        return merged_surveys(
            survey(block, offset, share, seed, deadline) for offset, block in self.source.blocks()
        )

    def look(self, question: Question, deadline: Deadline | None = None) -> Answer:
        """Answer a question about all rows."""
        self.passes += 1
        answer = gathered(
            look(block, offset, question, self.threads, deadline)
            for offset, block in self.source.blocks()
        )
        self.received += answer.nbytes
        return answer

    def labels(self, labeling: Labeling) -> Any:
        """Labels of all rows: of an array in memory at once, else when they are asked for."""
        labels = Labels(self.source, labeling, self.threads)
        if self.source.in_file:
            return labels
        self.passes += 1
        return np.asarray(labels, np.int64)

    def place(self, row: int, feature: int) -> str:
        """Where a number is, for messages."""
        return self.source.place(row, feature)

    def count(self, labeling: Labeling, deadline: Deadline | None = None) -> IntArray:
        """Count the labels of all rows, (k,)."""
        self.passes += 1
        k = labeling.prices.size
        counts = np.zeros(k, np.int64)
        for offset, block in self.source.blocks():
            labels = label_block(block, offset, labeling, self.threads, deadline)
            counts += np.bincount(labels, minlength=k)
        return counts
