"""A part of the campaign, and one of its cases."""

from __future__ import annotations

import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Case:
    """One drawn case: its generator, and what was looked at in it."""

    part: str
    seed: int
    number: int
    counts: Counter[str] = field(default_factory=Counter)
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def __post_init__(self) -> None:
        self.key = [self.seed, zlib.crc32(self.part.encode()), self.number]
        self.rng = np.random.default_rng([*self.key, 0])

    @property
    def folder(self) -> Path:
        """An empty folder that goes with the case."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="campaign-")
        return Path(self._folder.name)

    def count(self, what: str, number: int = 1) -> None:
        """Note that so many of something were looked at."""
        self.counts[what] += number

    def close(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


@dataclass(frozen=True)
class Part:
    """What is tried, how often, and what is promised.

    Attributes
    ----------
    name : str
        Of the module.
    what : str
        What is counted, and counted to `count`; each case counts `each` of it.
    look : callable
        Draws a case and raises where a promise does not hold.
    chunk : int
        Cases that a process takes at once.
    limit : int
        Seconds after which a case is called hung.
    """

    name: str
    what: str
    count: int
    look: Callable[[Case], None]
    each: int = 1
    chunk: int = 50
    limit: int = 120

    def cases(self, count: int | None = None) -> int:
        """How many cases make up a count."""
        return -(-(self.count if count is None else count) // self.each)
