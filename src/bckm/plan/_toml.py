"""Plans as TOML files."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from bckm._core.terminal import clean
from bckm._storage.atomic import atomic
from bckm.plan._model import FIT, KINDS, SETTINGS, Clause, Plan, PlanError, near


def read_plan(path: str | os.PathLike[str]) -> Plan:
    r"""Read a plan from a TOML file.

    Parameters
    ----------
    path : str or path
        The file; file names in it are relative to its folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bckm.plan import read_plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rules.toml"
    ...     _ = path.write_text('clusters = 3\n[size]\nmin = 2\n[[apart]]\ncolumn = "team"\n')
    ...     plan = read_plan(path)
    >>> plan.clusters, [clause.kind for clause in plan.clauses]
    (3, ['size', 'apart'])
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError(f"{clean(file.name)}: must be UTF-8 text: {error}.") from None
    return plan_of_text(text, source=clean(file.name), folder=file.parent)


def plan_of_text(
    text: str, *, source: str = "the rules", folder: str | os.PathLike[str] = "."
) -> Plan:
    r"""Read a plan from the text of a TOML file.

    Parameters
    ----------
    text : str
        The text.
    source : str
        Name of the text in messages.
    folder : str or path
        File names in it are relative to this folder.

    Examples
    --------
    >>> from bckm.plan import plan_of_text
    >>> plan_of_text("clusters = 3").clusters
    3
    """
    where = f"{source}: "
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{where}not valid TOML: {error}.") from None
    except RecursionError:
        raise PlanError(f"{where}not a rules file: nested too deeply.") from None
    settings: dict[str, Any] = {}
    clauses: list[Clause] = []
    for name, value in found.items():
        if name in SETTINGS:
            settings[name] = _read(SETTINGS, name, value, where)
        elif name == "fit":
            settings["fit"] = _read_fit(value, where)
        elif name in KINDS:
            for at, one in enumerate(value if isinstance(value, list) else [value], 1):
                number = f"[[{name}]] {at}, " if isinstance(value, list) else ""
                clauses.append(_relative(Clause.read(name, one, f"{where}{number}"), Path(folder)))
        else:
            known = (*SETTINGS, "fit", *KINDS)
            raise PlanError(
                f"{where}unknown key {name!r}{near(name, known)} Keys: {', '.join(known)}."
            )
    return Plan(**settings, clauses=tuple(clauses))


def _read(readers: Mapping[str, Any], name: str, value: Any, where: str) -> Any:
    try:
        return readers[name](value)
    except ValueError as error:
        raise PlanError(f"{where}{name} {error}; got {value!r}.") from None


def _read_fit(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise PlanError(f"{where}fit must be a table [fit]; got {value!r}.")
    for name in value:
        if name not in FIT:
            raise PlanError(
                f"{where}[fit] has no key {name!r}{near(name, FIT)} Keys: {', '.join(FIT)}."
            )
    return {name: _read(FIT, name, one, f"{where}[fit] ") for name, one in value.items()}


def _relative(clause: Clause, folder: Path) -> Clause:
    """Names of files as seen from here."""
    if "file" not in clause.keys:
        return clause
    return Clause(clause.kind, {**clause.keys, "file": str(folder / clause.keys["file"])})


def write_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan as a TOML file that `read_plan` reads to the same plan.

    Parameters
    ----------
    plan : Plan
        The plan.
    path : str or path
        The file; it is replaced atomically.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bckm.plan import Clause, Plan, write_plan
    >>> plan = Plan(clusters=3, clauses=(Clause.read("quota", {"column": "a", "within": "10%"}),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rules.toml"
    ...     write_plan(plan, path)
    ...     print(path.read_text())
    # Rules for bckm: bckm fit DATA --rules THIS_FILE
    clusters = 3
    <BLANKLINE>
    [[quota]]
    column = "a"
    within = "10%"
    <BLANKLINE>
    """
    file = Path(path)
    with atomic(file, "w") as handle:
        handle.write(plan_text(plan, folder=file.parent))


def plan_text(plan: Plan, *, folder: str | os.PathLike[str] = ".") -> str:
    """Return a plan as the text of a TOML file.

    Parameters
    ----------
    plan : Plan
        The plan.
    folder : str or path
        Folder of the file; names of files in it are relative to that.

    Examples
    --------
    >>> from bckm.plan import Plan, plan_of_text, plan_text
    >>> plan = Plan(clusters=3, columns=("x", "y"))
    >>> plan_of_text(plan_text(plan)) == plan
    True
    """
    lines = ["# Rules for bckm: bckm fit DATA --rules THIS_FILE"]
    for one in fields(plan):
        value = getattr(plan, one.name)
        if one.name in SETTINGS and value:
            lines.append(_line(one.name, value))
    if plan.fit:
        lines += ["", "[fit]", *(_line(name, value) for name, value in plan.fit.items())]
    for clause in plan.clauses:
        keys = dict(clause.keys)
        if "file" in keys:
            keys["file"] = Path(os.path.relpath(keys["file"], folder)).as_posix()
        lines += ["", f"[[{clause.kind}]]", *(_line(name, value) for name, value in keys.items())]
    return "\n".join(lines) + "\n"


def _line(name: str, value: Any) -> str:
    return f"{_key(name)} = {_value(value)}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return '"' + re.sub(r'["\\\x00-\x1f\x7f]', _escaped, value) + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_line(str(name), one) for name, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
