"""Drawn questions to blocks of rows, and answers that must be the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.labeling import Labeling
from bckm.blocks.question import Question


def drawn_question(X: Any, k: int, seed: int = 0, **asked: Any) -> Question:
    """Centers among the rows, prices that matter, and much to tell."""
    rng = np.random.default_rng(seed)
    frame = ArrayHolder(X).survey(1.0, 0).frame()
    centers = frame.inside(X[rng.choice(len(X), k, replace=False)])
    width = 0.1 * np.square(centers - centers.mean(axis=0)).sum(axis=1).mean()
    prices = width * rng.normal(size=k)
    much = {"limit": np.full((k, k), width / 5), "wide": np.full(k, width)}
    return Question(frame, centers, prices, **(much | asked))


def drawn_labeling(question: Question, n: int, seed: int = 0) -> Labeling:
    """Labels at the centers and prices of a question, with exceptions."""
    rng = np.random.default_rng(seed)
    index = np.sort(rng.choice(n, 9, replace=False))
    label = rng.integers(question.k, size=9).astype(np.int32)
    return Labeling(question.frame, question.centers, question.prices, index, label)


def same(a: Any, b: Any) -> None:
    """Equal bit by bit, field by field."""
    assert type(a) is type(b)
    if hasattr(a, "__dataclass_fields__"):
        for name in a.__dataclass_fields__:
            same(getattr(a, name), getattr(b, name))
    else:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)
