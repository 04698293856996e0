"""A private folder for uploads, removed at the end."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: folders of processes that were killed stay
    fcntl = None  # type: ignore[assignment]

_PREFIX = "bckm-app-"
_LOCK = "lock"  # held while the process lives

_SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".xlsm", ".ods", ".parquet", ".jsonl", ".npz")


class Folder:
    """Files of a session; their names are numbers, never what the page called them."""

    def __init__(self) -> None:
        remove_left_behind()
        self._held = tempfile.TemporaryDirectory(prefix=_PREFIX)  # mode 0700
        self.path = Path(self._held.name)
        self._lock = _locked(self.path)
        self._number = 0
        atexit.register(self.close)

    def new(self, name: str = "") -> Path:
        """A path for a file; of the name only a known suffix is kept, since it tells the format."""
        self._number += 1
        suffix = next((one for one in _SUFFIXES if name.lower().endswith(one)), "")
        packed = name.lower().endswith(".gz")
        if packed:
            stem = name[: -len(".gz")].lower()
            suffix = next((one for one in _SUFFIXES if stem.endswith(one)), "") + ".gz"
        return self.path / f"upload-{self._number}{suffix}"

    def keep(self, name: str, data: bytes) -> Path:
        """Write a file."""
        path = self.new(name)
        path.write_bytes(data)
        return path

    def close(self) -> None:
        """Remove everything."""
        self._held.cleanup()
        if self._lock is not None:
            self._lock.close()
        atexit.unregister(self.close)


def _locked(folder: Path) -> IO[bytes] | None:
    """A lock in a folder, which the system releases when the process ends, however it does."""
    if fcntl is None:
        return None
    new = folder / f"{_LOCK}.new"
    lock = new.open("wb")
    with contextlib.suppress(OSError):  # not on every file system
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        new.rename(folder / _LOCK)  # only now others may try it
    return lock


def remove_left_behind() -> None:
    """Remove folders of this person whose process was killed."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            mine = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if not mine or not (folder / _LOCK).is_file():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while it lives
                shutil.rmtree(folder, ignore_errors=True)


def label(name: str) -> str:
    """What a file is called on the page: the last part of its name, shortened."""
    return name.replace("\\", "/").rsplit("/", 1)[-1].strip()[-120:] or "table"
