"""One process at a time: a lock on a path that ends with the process that holds it."""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bckm._core.terminal import clean
from bckm._storage.atomic import stem
from bckm.exceptions import FileInUseError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_HELD = {errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK, errno.EDEADLK}  # what a held lock says
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}  # of folders
_FAR = 2**30  # the byte that Windows locks: beyond the words that others are to read


@contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a path, which nobody else can hold meanwhile.

    It is a lock of the operating system on a small file beside the path, which says who holds it.
    When the process ends, however that happens, the lock ends too: a file that was left behind
    means nothing. Where there is no folder, or nothing can be written to it, there is nothing to
    guard. A file system without locks is told of, and not guarded.

    Raises `FileInUseError` if somebody else holds it. The path itself need not be there.

    Examples
    --------
    >>> import os, tempfile
    >>> from bckm._storage.lock import alone
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fit.checkpoint")
    ...     with alone(path):
    ...         try:
    ...             with alone(path):
    ...                 pass
    ...         except OSError as error:
    ...             print(type(error).__name__)
    ...     with alone(path):
    ...         print("free again")
    FileInUseError
    free again
    """
    real = os.path.realpath(path)
    beside = os.path.join(os.path.dirname(real), f"{stem(real)}lock")
    fd = _taken(beside, clean(os.fspath(path)))
    try:
        yield
    finally:
        if fd is not None:
            with suppress(OSError):  # while it is held: who opens the name later finds a new file
                os.unlink(beside)
            os.close(fd)


def _taken(beside: str, shown: str) -> int | None:
    """The open file whose lock is held; None where there can be none."""
    while True:
        try:
            fd = os.open(beside, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            if isinstance(error, FileNotFoundError) or error.errno in _CLOSED:
                return None  # whoever wants to write there will hear of it
            raise
        try:
            _lock(fd)
        except OSError as error:
            holder = _holder(fd)
            os.close(fd)
            if error.errno in _HELD:
                raise FileInUseError(
                    f"{shown} is in use by another fit{holder}. Wait for it to end, or choose "
                    "another file."
                ) from None
            with suppress(OSError):
                os.unlink(beside)
            warnings.warn(
                f"the file system of {shown} has no locks ({error.strerror}): a second fit with "
                "the same file would not be detected.",
                RuntimeWarning,
                stacklevel=4,
            )
            return None
        if _still_named(fd, beside):
            break
        os.close(fd)  # its holder removed it between our two steps
    with suppress(OSError):
        os.ftruncate(fd, 0)
        os.write(fd, f"{os.getpid()} {socket.gethostname()}\n".encode())
    return fd


def _lock(fd: int) -> None:
    if sys.platform == "win32":
        os.lseek(fd, _FAR, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _still_named(fd: int, beside: str) -> bool:
    """Whether the file that is locked is the one that others will open."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(beside))
    except FileNotFoundError:
        return False


def _holder(fd: int) -> str:
    """Who holds it, as far as its file tells."""
    with suppress(OSError, ValueError):
        os.lseek(fd, 0, os.SEEK_SET)
        process, host = os.read(fd, 300).decode("utf-8", "replace").split(maxsplit=1)
        return f" (process {int(process)} on {clean(host.strip())})"
    return ""
