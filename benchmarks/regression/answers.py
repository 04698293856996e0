"""Answers as plain values, and the comparison of two files of them."""

from __future__ import annotations

import base64
import hashlib
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

Answer = dict[str, Any]
NUMBERS = ("inertia", "penalty", "lower_bound", "numbers")  # may differ by a little


def pack(labels: Any) -> str:
    """Labels as a short text."""
    return base64.b64encode(zlib.compress(np.asarray(labels, "<i2").tobytes(), 9)).decode()


def unpack(text: str) -> np.ndarray:
    """Labels from their text."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i2")


def digest(*arrays: Any) -> str:
    """Of data: whether two versions were given the same."""
    found = hashlib.sha256()
    for array in arrays:
        values = array.toarray() if sparse.issparse(array) else array
        if values is not None:
            found.update(np.ascontiguousarray(values, float).tobytes())
    return found.hexdigest()[:16]


def plain(status: Any) -> str:
    """A status however its words are joined."""
    return str(status).replace(" ", "").replace("_", "").replace("-", "")


@dataclass(frozen=True)
class Difference:
    """What differs in one fit: a field, and a sentence."""

    family: str
    name: str
    field: str
    words: str
    size: float = 0.0

    def __str__(self) -> str:
        return f"{self.family} / {self.name}: {self.words}"


def differences(
    before: dict[str, dict[str, Answer]], after: dict[str, dict[str, Answer]], within: float
) -> Iterator[Difference]:
    """All fits of two files that are not alike; numbers within a share of themselves are."""
    for family in sorted({*before, *after}):
        old, new = before.get(family, {}), after.get(family, {})
        for name in sorted({*old, *new}):
            if name not in old or name not in new:
                where = "first" if name in old else "second"
                yield Difference(family, name, "missing", f"only in the {where} file")
            else:
                yield from _of_fit(family, name, old[name], new[name], within)


def _of_fit(
    family: str, name: str, old: Answer, new: Answer, within: float
) -> Iterator[Difference]:
    if old.get("data") != new.get("data"):
        yield Difference(family, name, "data", "the data are not the same")
        return
    scale = abs(old.get("inertia", 0.0)) + abs(old.get("penalty", 0.0))
    for field in sorted({*old, *new}):
        one, two = old.get(field), new.get(field)
        if one == two:
            continue
        size, words = 0.0, f"{field} {one!r} -> {two!r}"
        if field in NUMBERS and None not in (one, two):
            size = _apart(np.atleast_1d(one), np.atleast_1d(two), scale)
            if size <= within:
                continue
            if field != "numbers":
                words += f" ({(two - one) / scale if scale else math.inf:+.2e})"
        elif field == "labels" and None not in (one, two):
            words = _moved(unpack(one), unpack(two))
        yield Difference(family, name, field, words, size)


def _apart(one: np.ndarray, two: np.ndarray, scale: float) -> float:
    """The largest difference, relative to the number or what it is a part of."""
    if one.shape != two.shape:
        return math.inf
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(two - one) / np.maximum(np.maximum(np.abs(one), np.abs(two)), scale)
    apart[(one == two) | (np.isnan(one) & np.isnan(two))] = 0.0
    return float(np.nan_to_num(apart, nan=math.inf, posinf=math.inf).max())


def _moved(one: np.ndarray, two: np.ndarray) -> str:
    if one.shape != two.shape:
        return f"{one.size} labels -> {two.size}"
    pairs = {(int(a), int(b)) for a, b in zip(one, two, strict=True)}
    if len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}):
        return "the same clusters under other labels"
    return f"{np.count_nonzero(one != two)} of {one.size} labels differ"


def table(before: dict[str, dict[str, Answer]], found: list[Difference]) -> str:
    """Fits that are alike and that differ, by family."""
    head = ("family", "fits", "alike", "labels", "inertia", "by at most", "bound", "other")
    rows = [head]
    for family in sorted({*before, *(one.family for one in found)}):
        own = [one for one in found if one.family == family]
        kinds = {kind: {one.name for one in own if one.field == kind} for kind in
                 ("labels", "inertia", "lower_bound")}  # fmt: skip
        other = {one.name for one in own if one.field not in kinds}
        number = len(before.get(family, {}))
        most = max((one.size for one in own if one.field == "inertia"), default=0.0)
        alike = number - len({one.name for one in own} & {*before.get(family, {})})
        rows.append(
            (family, str(number), str(alike), *(str(len(kinds[kind])) for kind in
             ("labels", "inertia")), f"{most:.1e}" if most else "", str(len(kinds["lower_bound"])),
             str(len(other)))
        )  # fmt: skip
    width = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width[i]) if i == 0 else cell.rjust(width[i]) for i, cell in enumerate(row)
        )
        for row in rows
    )
