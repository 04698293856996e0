"""Files that a command writes: where they go, whether they can, and in which order."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bckm._core.terminal import clean, in_json, say
from bckm.cli._errors import BAD_DATA, USAGE, Failure, no_memory

if TYPE_CHECKING:
    from bckm.study import Study
    from bckm.tables import Table

_WRITTEN = {"xls": "xlsx", "xlsm": "xlsx", "ods": "xlsx"}  # what can be read but not written
_REPORTS = (".html", ".htm", ".md", ".markdown")
_ENDINGS = {"--lists": (".xlsx", ".html"), "--mark": (".xlsx",)}
_STREAMS = ("--out", "--centers", "--summary", "--json")  # what may go to standard output


def labels_path(data: str, out: str | None) -> str:
    """Where the labels go: as asked, else beside one's feet; those of standard input to - ."""
    if out is not None:
        return out
    if data == "-":
        return "-"
    stem, *suffixes = Path(data).name.split(".")
    if suffixes and suffixes[-1].lower() in _WRITTEN:
        suffixes[-1] = _WRITTEN[suffixes[-1].lower()]
    return ".".join([f"{stem}-clusters", *suffixes])


def utf8(stream: Any) -> bool:
    """Whether a stream takes all letters, and blocks for bars."""
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "").startswith("utf")


def ensure_writable(inputs: list[str], outputs: list[tuple[str, str | None]]) -> None:
    """Refuse before a long fit what would fail after it, or would overwrite its input.

    `outputs` are options and what they name: a file, - for standard output, None for nothing.
    """
    given = {os.path.realpath(path) for path in inputs if path != "-"}
    taken: dict[str, str] = {}
    for option, path in outputs:
        if path is None:
            continue
        told = clean(path)
        if _special(path):
            if option == "--checkpoint":  # it is read, and deleted in the end
                raise Failure(f"--checkpoint {told} is not a regular file.", USAGE)
            continue
        if option == "--report" and not path.lower().endswith(_REPORTS):
            raise Failure(f"--report {told}: must end in .html or .md.", USAGE)
        if option in _ENDINGS and not path.lower().endswith(_ENDINGS[option]):
            raise Failure(f"{option} {told}: must end in {' or '.join(_ENDINGS[option])}.", USAGE)
        suffix = Path(path).suffix.lower().removeprefix(".")
        if option in ("--out", "--centers") and suffix in _WRITTEN:
            raise Failure(
                f"{option} {told}: .{suffix} files can only be read; write .{_WRITTEN[suffix]}.",
                USAGE,
            )
        if path == "-" and option not in _STREAMS:
            raise Failure(f"{option} cannot go to standard output; name a file.", USAGE)
        real = os.path.realpath(path)
        if real in given:
            raise Failure(f"{option} {told} would overwrite an input file.", USAGE)
        if real in taken:
            where = "go to standard output" if path == "-" else f"be written to {told}"
            raise Failure(f"{taken[real]} and {option} cannot both {where}; name a file.", USAGE)
        taken[real] = option
        if path == "-":
            continue
        folder = os.path.dirname(real)
        if not os.path.isdir(folder):
            raise Failure(f"{option} {told}: folder {os.path.dirname(told)} does not exist.", USAGE)
        if not os.access(real if os.path.exists(real) else folder, os.W_OK):
            raise Failure(f"{option} {told} cannot be written: permission denied.", USAGE)


def ensure_shown(table: Table) -> None:
    """Refuse before a fit to write to a terminal what it cannot show."""
    if sys.stdout.isatty() and table.format not in ("csv", "tsv", "jsonl"):
        raise Failure(f"a terminal cannot show {table.format} files; name a file with -o.", USAGE)


def _special(path: str) -> bool:
    """Whether it is a pipe, /dev/null or the like, which takes all that comes."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def say_notes(notes: Iterable[str]) -> None:
    """What was decided on the way, to standard error."""
    for note in notes:
        say(f"Note: {note}", err=True)


class Outputs:
    """Writes one file after the other; one that fails does not keep the others from being written.

    Attributes
    ----------
    told : list of str
        What was written, for the person.
    left : list of str
        What was not, because the person pressed Ctrl-C once the first one was there.
    """

    def __init__(self) -> None:
        self.told: list[str] = []
        self.left: list[str] = []
        self._failed: list[str] = []
        self._begun = False

    def write(self, what: str, path: str | None, writer: Callable[[str], str | None]) -> None:
        """Write a file, if it is asked for; what the writer returns is a remark about it."""
        if path is None:
            return
        if self.left:
            self.left.append(f"{what} {clean(path)}")
            return
        try:
            remark = writer(path)
        except BrokenPipeError:
            raise
        except KeyboardInterrupt:
            if not self._begun:
                raise
            self.left.append(f"{what} {clean(path)}")
            return
        except MemoryError as error:
            self._failed.append(f"{what} could not be written to {clean(path)}: {no_memory(error)}")
            return
        except (OSError, ValueError, ImportError) as error:
            self._failed.append(
                f"{what} could not be written to {clean(path)}: {clean(str(error))}"
            )
            return
        self._begun = True
        if path != "-":
            self.told.append(f"{what} {clean(path)}" + (f" ({remark})" if remark else ""))

    def finish(self) -> None:
        """Say what failed, if anything did."""
        if self._failed:
            raise Failure("\n".join(self._failed), BAD_DATA)


def labels_writer(table: Table, column: str, study: Study) -> Callable[[str], str | None]:
    """The table with one more column: the names of the clusters."""
    from bckm.tables import write_table

    def write(path: str) -> str | None:
        names = study.cluster_names
        more = table.with_columns({column: [names[i] for i in study.result.labels.tolist()]})
        written = write_table(more, path)
        if not written.n_escaped:
            return None
        return (
            f"{written.n_escaped} cells that a spreadsheet would run as formulas now start with an "
            "apostrophe, which bckm removes when it reads them"
        )

    return write


def centers_writer(study: Study, table: Table, column: str) -> Callable[[str], str | None]:
    """A row per cluster: its name, its size, its center in the units of the table."""
    from bckm.tables import Table as Columns
    from bckm.tables import write_table

    def write(path: str) -> None:
        columns: dict[str, Any] = {column: list(study.cluster_names)}
        columns["size"] = study.result.sizes.tolist()
        for name, values in zip(study.feature_names, study.centers.T.tolist(), strict=True):
            columns[name if name not in columns else f"{name} (center)"] = values
        # delimiter and decimal sign as in the table: what reads that one reads this one
        found = replace(Columns.of(columns, format=table.format), decimal=table.decimal_sign())
        write_table(replace(found, origin=table.origin) if table.format == "csv" else found, path)

    return write


def write_json(found: Any, path: str = "-") -> None:
    """Write a value as JSON; - is standard output."""
    from bckm._storage.atomic import atomic

    text = in_json(json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False))
    if path == "-":
        say(text)
        return
    with atomic(path, "w") as handle:
        handle.write(text + "\n")
