"""Everything in one ``.bckm`` file: a study, with the table and what the page says inside."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bckm._core.note import Note
from bckm.app.cards import Rules, Setup
from bckm.app.errors import Refused
from bckm.app.folder import Folder, label
from bckm.app.jobs import Task, open_table
from bckm.app.previous import Previous
from bckm.archive import load, save
from bckm.exceptions import DamagedFileError
from bckm.study import Study
from bckm.tables import Reading, Table, write_table

if TYPE_CHECKING:
    from bckm.app.session import Session
    from bckm.app.versions import Version

_DAMAGED = Note(
    "the file is damaged or was edited by hand: what the page kept in it is not there.",
    "page_lost",
)


def write(session: Session, version: Version, path: Path) -> None:
    """Write a version with all that is needed to go on."""
    task = version.task
    page: dict[str, Any] = {
        "name": task.source,
        "table": _bytes(task.path),
        "reading": json.dumps(task.reading),
        "setup": json.dumps(task.setup.tree()),
        "rules": json.dumps(task.rules.tree()),
        "files": [
            {
                "id": one.id,
                "name": one.name,
                "kind": one.kind,
                "file": _bytes(one.path),
                "label_column": one.label_column,
            }
            for one in session.files.values()
        ],
    }
    save(replace(version.study, page=page), path)


def _bytes(path: str) -> Any:
    return np.frombuffer(Path(path).read_bytes(), np.uint8)


def read(data: bytes, name: str, folder: Folder) -> dict[str, Any]:
    """What such a file holds; one that ``bckm fit --save`` wrote has a table of its data."""
    path = folder.keep(name, data)
    try:
        study = load(path)
    except DamagedFileError as error:
        text = str(error).replace(str(path), name)
        raise Refused("bad_input", Note(text, "damaged", file=name)) from None
    finally:
        path.unlink(missing_ok=True)
    if not isinstance(study, Study):
        text = f"{name} holds a {type(study).__name__}, not a study."
        raise Refused("bad_input", Note(text, "no_study", file=name))
    try:
        found = _page(study, name, folder)
        table = open_table(found["path"], found["name"], found["reading"].dict())
    except Refused:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Refused("bad_input", _DAMAGED) from None
    if table.n_rows != study.n_samples:
        raise Refused("bad_input", _DAMAGED)
    return {**found, "table": table, "study": replace(study, page=None)}


def _page(study: Study, name: str, folder: Folder) -> dict[str, Any]:
    page = study.page
    if page is None:
        return _without(study, name, folder)
    files = {}
    for one in page["files"]:
        path = folder.keep(one["name"], one["file"].astype(np.uint8).tobytes())
        kind = "links" if one["kind"] == "links" else "clusters"
        named = (str(one["id"]), label(one["name"]), str(path))
        files[named[0]] = Previous(*named, kind, str(one["label_column"]))
    return {
        "name": label(page["name"]),
        "path": str(folder.keep(page["name"], page["table"].astype(np.uint8).tobytes())),
        "reading": Reading.of(json.loads(page["reading"])),
        "setup": Setup.of(json.loads(page["setup"])),
        "rules": Rules.of(json.loads(page["rules"])),
        "files": files,
    }


def _without(study: Study, name: str, folder: Folder) -> dict[str, Any]:
    """A study without a page: a table of its ids and features, and no cards."""
    columns: dict[str, Any] = {}
    if study.sample_id is not None:
        columns["id"] = list(study.sample_id)
    features = []
    for j, feature in enumerate(study.feature_names):
        features.append(feature if feature not in columns else f"{feature} (feature)")
        columns[features[-1]] = study.X[:, j].tolist()
    file = io.BytesIO()
    write_table(Table.of(columns), file, format="csv")
    kind = "latlon" if study.metric == "latlon" else "features"
    position = {"kind": kind, "columns": features, "scale": study.scaling.kind}
    setup = {"id": "id" if "id" in columns else None, "position": position}
    names = [str(one) for one in study.constraints.cluster_names or ()]
    clusters = {"count": study.n_clusters, "names": names}
    table = name.removesuffix(".bckm") + ".csv"
    return {
        "name": table,
        "path": str(folder.keep(table, file.getvalue())),
        "reading": Reading(),
        "setup": Setup.of(setup),
        "rules": Rules.of({"cards": [], "clusters": clusters}),
        "files": {},
    }


def restore(session: Session, found: Mapping[str, Any], name: str) -> None:
    """Make it what the session shows."""
    session.table, session.path, session.name = found["table"], found["path"], found["name"]
    session.reading, session.setup = found["reading"], found["setup"]
    session.rules, session.files = found["rules"], dict(found["files"])
    study: Study = found["study"]
    task: Task = session.task()
    session.keep("opened", study, task, Note(f"opened from {name}", "opened", file=name))
