"""Files whose checksums are right and whose content is not: every node of the tree, exchanged.

    python -m tests.support.altered_archives NUMBER SEED

Prints JSON: how many altered files were refused, how many were loaded and are wholly usable, and
what went wrong with the others. A number of 0 means all of them.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bckm
from bckm import report
from bckm._storage.container import read_container, write_container
from bckm.fit import checkpoint
from bckm.fit.search import explore
from tests.archive import make

Place = tuple[Any, ...]

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


def places(tree: Any, here: Place = ()) -> Iterator[Place]:
    """Every node of a tree, by the keys that lead to it; the whole tree is ()."""
    yield here
    if isinstance(tree, dict):
        for key in tree:
            yield from places(tree[key], (*here, key))
    elif isinstance(tree, list):
        for at in range(min(len(tree), 3)):  # the others are alike
            yield from places(tree[at], (*here, at))


def exchanged(tree: Any, place: Place, value: Any) -> Any:
    """A copy of the tree with another value at a place."""
    if not place:
        return value
    tree = copy.deepcopy(tree)
    inner = tree
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return tree


def rewritten(path: Path, header: Any) -> None:
    """Put another header into a file, with the checksum that belongs to it."""
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    members["header.json"] = json.dumps(header).encode("ascii")
    total = hashlib.sha256()
    for name, data in members.items():
        if name != "sha256.txt":
            total.update(f"{name} {len(data)}\n".encode() + data)
    members["sha256.txt"] = total.hexdigest().encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def use(found: Any, folder: Path) -> None:
    """Whatever one does with what was loaded; all of it must work."""
    repr(found)
    bckm.save(found, folder / "again.bckm")
    bckm.load(folder / "again.bckm")
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
            demand = {name: np.ones(12) for name in found._bounds._totals}
            with suppress(bckm.InfeasibleError, bckm.UndecidedError):
                found.assign(X, demand=demand or None)


X = make.data(8, 24)


def fit(path: Path) -> bckm.Result:
    """A fit that goes on from a checkpoint."""
    rules = bckm.Constraints(size_max=10, cannot_link=[(0, 1)]) & bckm.Constraints(
        must_link=[(2, 3)]
    ).soft(price=0.1)
    return bckm.kmeans(X, 3, rules, n_init=2, random_state=0, checkpoint=path)


def fits_of(path: Path, folder: Path) -> None:
    found = fit(path)
    repr(found)
    bckm.save(found, folder / "again.bckm")


def originals(folder: Path) -> dict[str, Path]:
    """Valid files of every kind."""
    found = {path.stem: path for path in sorted(make.HERE.glob("*.bckm"))}
    bckm.save(bckm.ConstrainedKMeans(3, size_max=5), folder / "unfitted.bckm")
    sized = bckm.ConstrainedKMeans(3, size_min=[1, 2, 3], size_max=9, random_state=0)
    bckm.save(sized.set_output(transform="pandas").fit(make.data(5)), folder / "sized.bckm")
    explore.PATIENCE, before = 3, explore.PATIENCE
    try:
        fit(folder / "checkpoint.bckm")
    finally:
        explore.PATIENCE = before
    for name in ("unfitted", "sized", "checkpoint"):
        found[name] = folder / f"{name}.bckm"
    return found


def altered(paths: dict[str, Path]) -> Iterator[tuple[str, Place, Any, Callable[[Path], None]]]:
    """Name, place, value and a writer, for each file that can be made."""
    kinds = ["result", "model", "study", checkpoint.KIND]
    for name, path in paths.items():
        found = read_container(path, kinds)

        def content(place: Place, value: Any, found: Any = found) -> Callable[[Path], None]:
            tree = exchanged(found.content, place, value)
            return lambda to: write_container(to, found.kind, tree)

        for place in places(found.content):
            for value in VALUES:
                yield name, place, value, (lambda to, p=place, v=value, c=content: c(p, v)(to))
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("header.json"))

        def marked(to: Path, place: Place, value: Any, path: Path = path, h: Any = header) -> None:
            to.write_bytes(path.read_bytes())
            rewritten(to, exchanged(h, place, value))

        for place in places(header):
            for value in MARKS:
                yield name, place, value, (lambda to, p=place, v=value, m=marked: m(to, p, v))


def look(number: int, seed: int, folder: Path) -> dict[str, Any]:
    """Alter files, load them, and use what could be loaded."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    every = list(altered(originals(folder)))
    if number:
        rng = np.random.default_rng(seed)
        every = [every[at] for at in rng.choice(len(every), min(number, len(every)), replace=False)]
    path = folder / "altered.bckm"
    for name, place, value, write in every:
        told = f"{name} {place} = {str(value)[:60]}"
        write(path)
        step = "load"
        try:
            if name == "checkpoint":
                fits_of(path, folder)
            else:
                found = bckm.load(path)
                step = "use"
                use(found, folder)
        except bckm.DamagedFileError as error:
            if step == "use":
                wrong.append(f"{told}: {step} {error}")
            counts["refused"] += 1
        except ValueError as error:
            if (name == "checkpoint" and "belongs to another fit" in str(error)) or (
                "not a" in str(error) and "holds a" in str(error)
            ):
                counts["refused"] += 1
            else:
                wrong.append(f"{told}: {step} {type(error).__name__}: {error}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            wrong.append(f"{told}: {step} {type(error).__name__}: {error}")
        else:
            counts["loaded"] += 1
    return {"files": len(every), **counts, "wrong": wrong}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        told = look(int(sys.argv[1]), int(sys.argv[2]), Path(place))
    sys.stdout.write(json.dumps(told, indent=1) + "\n")
