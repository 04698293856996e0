"""What a person takes away: files, and the command that repeats the fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bckm._core.note import Note
from bckm.app import saved
from bckm.app.errors import Refused
from bckm.app.session import Session
from bckm.app.versions import Version
from bckm.app.words import note_tree
from bckm.plan import Clause, Plan, plan_text
from bckm.plan.run import command_of
from bckm.tables import Reading, write_table

KINDS = {
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv; charset=utf-8",
    "table.csv": "text/csv; charset=utf-8",
    "lists.html": "text/html; charset=utf-8",
    "report.html": "text/html; charset=utf-8",
    "rules.toml": "text/plain; charset=utf-8",
    "study.bckm": "application/octet-stream",
}


def written(session: Session, version: Version, kind: str) -> tuple[bytes, str, str]:
    """A file: its bytes, its name, its type."""
    if kind not in KINDS:
        raise Refused("not_found", f"files are {', '.join(KINDS)}.")
    suffix = {"table.csv": "csv"}.get(kind, kind.rsplit(".", 1)[-1])
    path = session.folder.new().with_suffix(f".{suffix}")
    try:
        _writer(session, version, kind)(path)
        data = path.read_bytes()
    except ImportError as error:  # a package that this format needs
        raise Refused(
            "bad_input", Note(f"{error}.", "package", package=error.name or "?")
        ) from None
    finally:
        path.unlink(missing_ok=True)
    stem = session.name.rsplit(".", 1)[0] or "table"
    names = {
        "xlsx": f"{stem}-clusters.xlsx",
        "csv": f"{stem}-clusters.csv",
        "table.csv": "table.csv",
        "lists.html": f"{stem}-lists.html",
        "report.html": f"{stem}-report.html",
        "rules.toml": "rules.toml",
        "study.bckm": f"{stem}.bckm",
    }
    return data, names[kind], KINDS[kind]


def _writer(session: Session, version: Version, kind: str) -> Callable[[Path], Any]:
    study, table = version.study, version.table
    if kind == "csv":
        return lambda path: write_table(_with_clusters(version), path, format="csv")
    if kind == "table.csv":
        return lambda path: write_table(table, path, format="csv")
    if kind in ("xlsx", "lists.html"):
        from bckm.lists import write_lists

        return lambda path: write_lists(study, table, path)
    if kind == "report.html":
        from bckm import report

        return lambda path: report.write(study, path)
    if kind == "rules.toml":
        return lambda path: path.write_text(plan_text(_portable(session, version)), "utf-8")
    return lambda path: saved.write(session, version, path)


def _with_clusters(version: Version) -> Any:
    study = version.study
    names = [str(study.cluster_names[i]) for i in study.result.labels.tolist()]
    return version.table.with_columns({"cluster": names})


def _portable(session: Session, version: Version) -> Plan:
    """The plan, with files called as people call them."""
    plan = version.task.asked.plan
    called = {one.path: one.name for one in session.files.values()}

    def renamed(clause: Clause) -> Clause:
        if "file" not in clause.keys:
            return clause
        file = clause.keys["file"]
        return Clause(clause.kind, {**clause.keys, "file": called.get(file, file)})

    return replace(plan, clauses=tuple(map(renamed, plan.clauses)))


def command(session: Session, version: Version) -> dict[str, Any]:
    """The command line that repeats a version, and the files it needs."""
    plan = _portable(session, version)
    data = "table.csv" if version.task.added else session.name
    needs = [data, "rules.toml"]
    needs += [clause.keys["file"] for clause in plan.clauses if "file" in clause.keys]
    stem = session.name.rsplit(".", 1)[0] or "table"
    reading = Reading.of(version.task.reading)
    if version.task.added:  # rows were left out and columns named when it was written
        reading = Reading(fills=reading.fills)
    files = {"out": f"{stem}-clusters.csv", "lists": f"{stem}-lists.xlsx", "report": "report.html"}
    line = command_of(data, rules="rules.toml", reading=reading, **files)
    note = None
    if version.made == "change":
        text = "samples were moved by hand: to repeat that, keep them there and solve again."
        note = note_tree(Note(text, "by_hand"))
    return {"command": line, "needs": needs, "note": note}
