"""Damaged files: refused in a sentence of their own kind, or read as what they were.

Archives, checkpoints, tables of all formats and rules files are flipped, cut, lengthened; archives
and checkpoints are also altered inside and written with right checksums, rules files key by key
(`tests.support.damage`).
"""

from __future__ import annotations

import copy
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bckm
from bckm.plan import PlanError, compile_plan, read_plan, write_plan
from bckm.tables import Table, TableError, read_table, write_table
from campaign.part import Case, Part
from campaign.stating import toml_of
from tests.archive.make import HERE, data
from tests.support.as_json import told
from tests.support.damage import alter, alter_content, alter_header, broken, load, use

ARCHIVES = ("result", "model", "study", "haversine", "strange")
TABLES = ("csv", "tsv", "jsonl", "npz", "parquet", "xlsx", "csv.gz")
CHECKED = ("npz", "xlsx", "csv.gz")  # formats with checksums: what is read is what was written
FIT = {"random_state": 3, "n_init": 3, "search": "none"}
RULES = bckm.Constraints([(0, 1)], [(2, 3)], size_min=3, size_max=5)


def look(case: Case) -> None:
    """Damage one file in one way."""
    kind = list(_KINDS)[case.number % len(_KINDS)]
    refused = _KINDS[kind](case)
    case.count(PART.what)
    case.count(f"{kind} refused", bool(refused))


# -- archives and checkpoints ---------------------------------------------------------------------


@functools.cache
def _archive(name: str) -> tuple[bytes, str]:
    path = HERE / f"{name}.bckm"
    return path.read_bytes(), told(bckm.load(path))


def _one_of(case: Case, names: tuple[str, ...]) -> str:
    return names[int(case.rng.integers(len(names)))]


def _damaged_archive(case: Case) -> bool:
    content, right = _archive(_one_of(case, ARCHIVES))
    place = case.folder / "x.bckm"
    place.write_bytes(broken(content, case.rng))
    found = load(place)
    assert found is None or told(found) == right, "something else was loaded"
    return found is None


def _altered_archive(case: Case) -> bool:
    return _used(case, alter_content)


def _altered_header(case: Case) -> bool:
    return _used(case, alter_header)


def _used(case: Case, alter: Callable[[Path, np.random.Generator], None]) -> bool:
    """Alter an archive; if it can be loaded all the same, it is of use."""
    content, _ = _archive(_one_of(case, ARCHIVES))
    place = case.folder / "x.bckm"
    place.write_bytes(content)
    alter(place, case.rng)
    found = load(place)
    if found is not None:
        use(found, case.folder)
    return found is None


def _fit(path: Path | None = None) -> bckm.Result:
    return bckm.kmeans(data(), 3, RULES, checkpoint=path, **FIT)


def _outcome(found: bckm.Result) -> Any:
    return found.labels.tolist(), found.centers.tolist(), found.inertia, found.lower_bound


@functools.cache
def _checkpoint() -> tuple[bytes, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fit.checkpoint")
        found = _fit(path)
        return path.read_bytes(), _outcome(found)


def _damaged_checkpoint(case: Case) -> bool:
    content, right = _checkpoint()
    place = case.folder / "x.checkpoint"
    place.write_bytes(broken(content, case.rng))
    try:
        found = _fit(place)
    except bckm.DamagedFileError as error:
        assert str(place) in str(error), error
        return True
    assert _outcome(found) == right, "another result came out"
    return False


def _altered_checkpoint(case: Case) -> bool:
    """Whatever a file says: labels that are returned obey, and their inertia is theirs."""
    content, _ = _checkpoint()
    place = case.folder / "x.checkpoint"
    place.write_bytes(content)
    alter_content(place, case.rng)
    try:
        found = _fit(place)
    except bckm.DamagedFileError as error:
        assert str(place) in str(error), error
        return True
    except ValueError as error:
        assert "checkpoint" in str(error), error  # of another fit
        return True
    X = data()
    assert bckm.verify(found.labels, 3, RULES) == []
    means = np.array([X[found.labels == i].mean(axis=0) for i in range(3)])
    inertia = np.square(X - means[found.labels]).sum()
    assert abs(found.inertia - inertia) <= 1e-9 * inertia, (found.inertia, inertia)
    assert found.lower_bound <= inertia * (1 + 1e-9)
    return False


# -- tables and rules files -----------------------------------------------------------------------


@functools.cache
def _table() -> Table:
    n = 24
    return Table.of(
        {
            "name": [f"n{p:02d}" for p in range(n)],
            "x": [round(p * 1.37 % 5, 2) for p in range(n)],
            "y": [round(p * 2.11 % 7, 2) for p in range(n)],
            "kg": [p % 5 for p in range(n)],
            "team": [["red", 'Müller, "Jo"', "日本"][p % 3] for p in range(n)],
            "van": [f"van {p % 3}" for p in range(n)],
        }
    )


@functools.cache
def _table_file(kind: str) -> tuple[bytes, list[list[Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"data.{kind}")
        write_table(_table(), path)
        return path.read_bytes(), _cells(read_table(path))


def _cells(table: Table) -> list[list[Any]]:
    return [[name, *map(str, table.cells(name))] for name in table.names]


def _damaged_table(case: Case) -> bool:
    kind = _one_of(case, TABLES)
    content, right = _table_file(kind)
    place = case.folder / f"data.{kind}"
    place.write_bytes(broken(content, case.rng))
    try:
        table = read_table(place)
        for name in table.names:
            table.texts(name)
            if table.is_numeric(name):
                table.numbers(name)
    except TableError as error:
        assert 10 < len(str(error)) < 1000, error
        return True
    assert kind not in CHECKED or _cells(table) == right, f"another table was read: {kind}"
    return False


PLAN: dict[str, Any] = {
    "clusters": 3,
    "cluster_names": ["van 0", "van 1", "van 2"],
    "id": "name",
    "columns": ["x", "y"],
    "scale": "standard",
    "metric": "euclidean",
    "missing": "error",
    "fit": {"seed": 1, "solver": "auto", "search": "none", "n_init": 2, "tol": 1e-4},
    "size": [{"min": 0.15, "max": [12, 12, 24]}],
    "capacity": [{"column": "kg", "max": 40.5}, {"column": "kg", "min": 1, "price": 0.5}],
    "together": [{"ids": ["n00", "n03"]}, {"column": "team", "confidence": 0.1}],
    "apart": [{"ids": ["n00", "n01", "n02"]}],
    "quota": [{"column": "team", "within": "±60%"}, {"column": "team", "count_max": {"red": 8}}],
    "known": [{"column": "van", "confidence": 0.01}],
    "fixed": [{"id": "n05", "cluster": "van 0"}],
    "forbidden": [{"id": "n06", "cluster": ["van 1", "van 2"]}],
    "stay": [{"column": "van", "at_most": 23}],
}


def _toml(tree: dict[str, Any]) -> str:
    single = {key: value for key, value in tree.items() if not isinstance(value, dict | list)}
    single |= {key: tree[key] for key in ("columns", "cluster_names") if key in tree}
    lines = [f"{key} = {toml_of(value)}" for key, value in single.items()]
    for key, value in tree.items():
        if key in single:
            continue
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, dict):
                return f"{key} = {toml_of(value)}\n" + "\n".join(lines)
            lines.append(f"[[{key}]]" if isinstance(value, list) else f"[{key}]")
            lines += [f"{name} = {toml_of(one)}" for name, one in part.items()]
    return "\n".join(lines) + "\n"


def _read_rules(case: Case, content: bytes) -> bool:
    place = case.folder / "rules.toml"
    place.write_bytes(content)
    try:
        plan = read_plan(place)
    except PlanError as error:
        assert str(place) in str(error) or "rules.toml" in str(error), error
        return True
    # what was read is written and read again, and asks something of a table, or says why not
    again = case.folder / "again.toml"
    write_plan(plan, again)
    assert repr(read_plan(again)) == repr(plan)
    try:
        compile_plan(plan, _table())
    except (PlanError, TableError) as error:
        assert 10 < len(str(error)) < 2000, error
        return True
    except ValueError as error:
        assert type(error) is ValueError, error  # rules that the library refuses in its own words
        assert 10 < len(str(error)) < 2000, error
        return True
    return False


def _damaged_rules(case: Case) -> bool:
    return _read_rules(case, broken(_toml(PLAN).encode(), case.rng))


def _altered_rules(case: Case) -> bool:
    tree = copy.deepcopy(PLAN)
    alter(tree, case.rng)
    return _read_rules(case, _toml(tree).encode())


_KINDS: dict[str, Callable[[Case], bool]] = {
    "archives": _damaged_archive,
    "altered archives": _altered_archive,
    "checkpoints": _damaged_checkpoint,
    "altered checkpoints": _altered_checkpoint,
    "tables": _damaged_table,
    "rules files": _damaged_rules,
    "altered rules files": _altered_rules,
    "altered headers": _altered_header,
}

PART = Part("files", "damaged files", 20_000, look, chunk=700)
