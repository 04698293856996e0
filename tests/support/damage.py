"""Damaged files: bytes flipped, cut and mixed, or another value inside with right checksums."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bckm
from bckm import report
from bckm._storage.container import read_container, write_container
from tests.archive import make
from tests.support.as_json import told

DEEP: Any = [1]
for _ in range(400):
    DEEP = [DEEP]

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    7,
    2**63,
    10**400,
    0.5,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    "",
    "x",
    "\x00\x1b[31m",
    "\ud800",
    [],
    [[]],
    [None],
    [1, "a"],
    [{}],
    ["x", "x"],
    {},
    {"x": 1},
    {"$array": "x"},
    {"": []},
    [[[[[[[[1]]]]]]]],
    np.zeros(0),
    np.ones(3),
    np.array(2.5),
    np.array(True),
    np.array([np.nan, 1.0]),
    np.array([-5, 2**62]),
    np.zeros((0, 2)),
    np.zeros((2, 2, 2)),
    np.arange(12),
    np.ones(20, bool),
    np.full((12, 2), np.inf),
    np.full(40, 2**63, np.uint64),
    np.array(["x"]).view(np.uint8),
    "optimal",
)
# in place of what the header itself says, where everything else is text, numbers and marks
MARKS: tuple[Any, ...] = (
    None,
    True,
    -1,
    2,
    10**400,
    0.5,
    "",
    "x",
    [],
    [1],
    {},
    {"$array": "absent"},
    {"$array": ["x"]},
    {"$array": None},
    {"$small": []},
    {"$small": None},
    {"$small": ["<f8", [2], [1.0]]},
    {"$small": ["<f8", [-1, -1], [1.0]]},
    {"$small": ["<f8", [1.0], [1.0]]},
    {"$small": ["<f8", "1", [1.0]]},
    {"$small": ["<f8", [1], "1"]},
    {"$small": ["<f8", [1], [[1.0, 2.0]]]},
    {"$small": ["<f8", [1], [{"a": 1}]]},
    {"$small": ["<f8", [1] * 70, [1.0]]},
    {"$small": ["|O", [1], [1.0]]},
    {"$small": ["zzz", [1], [1.0]]},
    {"$small": [["<f8"], [1], [1.0]]},
    {"$small": ["<f8,<f8", [1], [1.0]]},
    {"$small": ["|S5", [1], ["a"]]},
    {"$small": ["<M8[s]", [1], [1]]},
    {"$small": ["<i8", [1], [10**400]]},
    {"$small": ["|b1", [1], ["x"]]},
    {"$float": "9"},
    {"$float": ["nan"]},
    {"$dict": None},
    {"$dict": [["a"]]},
    {"$dict": [[["a"], 1]]},
    {"$dict": [["a", 1], ["a", 2]]},
    {"$dict": 5},
    {"$odd": 1},
    DEEP,
)


def broken(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip bits, cut, lengthen, leave out, exchange parts, repeat."""
    found, at = bytearray(content), int(rng.integers(len(content)))
    kind = rng.integers(8)
    if kind < 3:
        for one in rng.integers(len(content), size=1 + int(rng.integers(3))):
            found[one] ^= 1 << int(rng.integers(8))
    elif kind == 3:
        del found[at:]
    elif kind == 4:
        found[at:at] = rng.bytes(1 + int(rng.integers(9)))
    elif kind == 5:
        del found[at : at + 1 + int(rng.integers(9))]
    elif kind == 6:
        other = int(rng.integers(len(content)))
        found[at : at + 8], found[other : other + 8] = found[other : other + 8], found[at : at + 8]
    else:
        found += content[:at] if rng.random() < 0.5 else rng.bytes(1 + at % 99)
    return bytes(found)


def alter(tree: Any, rng: np.random.Generator, values: Sequence[Any] = VALUES) -> None:
    """Exchange one value somewhere in a tree, leave it out, or put in another."""
    keys: list[tuple[Any, Any]] = []
    while isinstance(tree, dict | list) and len(tree):
        at = int(rng.integers(len(tree)))
        key = list(tree)[at] if isinstance(tree, dict) else at
        keys.append((tree, key))
        tree = tree[key]
    holder, key = keys[int(rng.integers(len(keys)))]
    kind = rng.integers(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder["another"] = values[int(rng.integers(len(values)))]
    elif kind == 2 and isinstance(holder[key], np.ndarray) and holder[key].size:
        array = holder[key] = np.array(holder[key])
        array.flat[int(rng.integers(array.size))] = (1, 0, -1, 99)[int(rng.integers(4))]
    elif kind == 3 and isinstance(holder[key], np.ndarray):
        holder[key] = np.concatenate([holder[key].ravel()] * 2)
    else:
        holder[key] = values[int(rng.integers(len(values)))]


def alter_content(path: Path, rng: np.random.Generator) -> None:
    """Exchange something in what an archive or a checkpoint holds."""
    held = read_container(path, ["result", "model", "study", "checkpoint"])
    alter(held.content, rng)
    write_container(path, held.kind, held.content)


def alter_header(path: Path, rng: np.random.Generator) -> None:
    """Exchange something in the header of an archive, with the checksum that belongs to it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    kind = header["kind"]
    alter(header, rng, MARKS)
    if isinstance(header.get("kind"), str):
        header["kind"] = kind  # a file of another kind is not damaged
    members["header.json"] = json.dumps(header).encode("ascii")
    total = hashlib.sha256()
    for name, data in members.items():
        if name != "sha256.txt":
            total.update(f"{name} {len(data)}\n".encode() + data)
    members["sha256.txt"] = total.hexdigest().encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def load(path: Path) -> Any:
    """What an archive holds, or None if it is refused as damaged, by its name."""
    try:
        return bckm.load(path)
    except bckm.DamagedFileError as error:
        message = str(error)
    assert str(path) in message
    return None


def use(found: Any, folder: Path) -> None:
    """Whatever one does with what was loaded; all of it must work."""
    repr(found)
    bckm.save(found, folder / "again.bckm")
    assert told(bckm.load(folder / "again.bckm")) == told(found)
    if isinstance(found, bckm.Study):
        report.text(found)
        report.html(found)
        report.markdown(found)
        json.dumps(report.summary(found), allow_nan=False)
        report.compare([found, found])
    elif isinstance(found, bckm.ConstrainedKMeans):
        found.get_params()
        if hasattr(found, "result_"):
            X: Any = make.data(5)
            if hasattr(found, "feature_names_in_"):
                X = pd.DataFrame(X, columns=found.feature_names_in_)
            found.predict(X)
            found.transform(X)
            amounts = {name: np.ones(12) for name in found._bounds.totals}
            with suppress(bckm.InfeasibleError, bckm.UndecidedError):
                found.assign(X, amounts=amounts or None)
