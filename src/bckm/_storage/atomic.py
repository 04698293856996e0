"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Literal

LONGEST = 150  # bytes of a name that a temporary file repeats; systems admit 255 in all
STALE = 3600.0  # seconds after which a temporary file has lost its writer
_NO_SYNC = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}  # what file systems without fsync say


@contextmanager
def atomic(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "wb") -> Iterator[IO[Any]]:
    r"""Open a file for writing that replaces `path` in one moment, when all is written.

    Whoever looks, and whatever is killed or loses power, sees the old file or the new one. After an
    exception the old one is there as before. Text is UTF-8, its line ends are left as they are. A
    link is followed; what is no file (a pipe, ``/dev/null``) is written to directly.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bckm._storage.atomic import atomic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.txt")
    ...     with atomic(path, "w") as file:
    ...         _ = file.write("first\n")
    ...     try:
    ...         with atomic(path, "w") as file:
    ...             _ = file.write("sec")
    ...             raise RuntimeError
    ...     except RuntimeError:
    ...         print(path.read_text(), end="")
    first
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb'; got {mode!r}.")
    shown, path = os.fspath(path), os.path.realpath(path)
    text: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if mode == "w" else {}
    old: os.stat_result | None = None
    with suppress(FileNotFoundError):
        old = os.stat(shown)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(shown, mode, **text) as handle:
            yield handle
        return
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", shown)
    fd, temporary = _create(path, shown, private=old is not None)
    try:
        try:
            with open(fd, mode, closefd=False, **text) as handle:
                yield handle
            _sync(fd)
        finally:
            os.close(fd)
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode) & 0o777)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(os.path.dirname(path))
    _sweep(path)


def stem(path: str) -> str:
    """What the names of files beside this path, temporary ones and its lock, begin with."""
    name = os.path.basename(path)
    short = name
    while len(os.fsencode(short)) > LONGEST:
        short = short[:-1]
    if short != name:  # others may begin like this one
        short += "." + hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return f".{short}."


def _create(path: str, shown: str, *, private: bool) -> tuple[int, str]:
    """A new file beside the path, readable for others only if none had to be replaced."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        name = f"{stem(path)}{secrets.token_hex(8)}.tmp"
        temporary = os.path.join(os.path.dirname(path), name)
        try:
            return os.open(temporary, flags, 0o600 if private else 0o666), temporary
        except FileExistsError:
            continue
        except OSError as error:  # name what was asked for, not what nobody knows
            why = os.strerror(error.errno or 0)
            if isinstance(error, FileNotFoundError):
                why = f"folder {os.path.dirname(shown) or '.'} does not exist"
            raise OSError(error.errno, f"cannot write ({why})", shown) from None


def _sync(fd: int) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def _sync_folder(folder: str) -> None:
    """Make the new name last; a system that cannot do so has a new file all the same."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sweep(path: str) -> None:
    """Remove what killed writers of this path have left behind."""
    ours = re.compile(re.escape(stem(path)) + r"[0-9a-f]{16}\.tmp")
    with suppress(OSError), os.scandir(os.path.dirname(path)) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE:
                        os.unlink(entry.path)
