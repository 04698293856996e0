"""How much a file may hold: packed files grow a thousandfold, and some are made to do so."""

from __future__ import annotations

import gzip
import io
import os
import select
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from bckm._core.memory import gigabytes, require
from bckm._core.note import Note
from bckm.tables.errors import TableError, shown

LIMIT = 10**9  # bytes that a file may hold, unpacked, unless more is asked for
_PIECE = 2**22
_REMEDY = "Use fewer rows or columns, or a machine with more memory."


def check_size(size: float, limit: int, source: str, remedy: str = "") -> None:
    """Refuse a file that holds more than the limit, when it is unpacked.

    Sizes are in bytes; `remedy` is what else can be done than to raise the limit.
    """
    if size > limit:
        enough = f"{-(-int(size) // 10**9)}GB"
        text = (
            f"{source} holds {gigabytes(size)} or more after unpacking, but the limit is "
            f"{gigabytes(limit)}; {remedy}if this is intended, raise the limit (--read-limit "
            f"{enough}; in Python, read_limit)."
        )
        most = gigabytes(limit)
        raise TableError(Note(text, "too_large", file=source, size=gigabytes(size), most=most))


def check_memory(needed: float, source: str) -> None:
    """Refuse what does not fit into memory, before it is tried."""
    require(int(needed), f"the cells of {source}", _REMEDY)


def read_all(stream: IO[bytes] | gzip.GzipFile, limit: int, source: str) -> bytes:
    """Everything that a stream holds, if that is not too much; a pipe may have no end."""
    return b"".join(_limited(iter(lambda: stream.read(_PIECE), b""), limit, source))


def read_pipe(stream: IO[bytes], limit: int, source: str) -> bytes:
    """Everything that a pipe or a terminal sends until its end, if that is not too much.

    A signal that comes just before `read` blocks would be heard only with the next data, which may
    never come: so it is waited for in short turns, between which Python hears signals.
    """
    try:
        select.select([stream], [], [], 0)
    except (OSError, ValueError):  # not a file of the system, or a system that cannot wait for one
        return read_all(stream, limit, source)

    def piece() -> bytes:
        while not select.select([stream], [], [], 0.2)[0]:
            pass
        return os.read(stream.fileno(), _PIECE)

    return b"".join(_limited(iter(piece, b""), limit, source))


def read_file(path: str | os.PathLike[str], limit: int, source: str) -> bytes:
    """Everything that a file holds, if that is not too much."""
    with open(path, "rb") as file:
        check_size(os.fstat(file.fileno()).st_size, limit, source)
        return read_all(file, limit, source)


def unzipped(data: bytes, limit: int, source: str) -> bytes:
    """What a gzip file holds, if that is not too much."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        try:
            return read_all(file, limit, source)
        except (OSError, EOFError, zlib.error) as error:
            text = f"{source} is a damaged gzip file: {error}."
            raise TableError(Note(text, "damaged", file=source)) from error


def _limited(pieces: Iterator[bytes], limit: int, source: str) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        check_size(size, limit, source)
        yield piece


def members(data: bytes, limit: int, source: str) -> Iterator[tuple[str, bytes]]:
    """The members of a zip file, unpacked by what is there.

    What a member says of its size may be a lie, and other readers may go by what is there: so it is
    unpacked here first, no further than the limit.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
    end = data.rfind(b"PK\x05\x06")  # of the list of members, with their number
    number = int.from_bytes(data[end + 10 : end + 12], "little")
    if number not in (len(infos), 0xFFFF):  # a damaged entry swallows the next
        text = f"{source} is damaged: it lists {len(infos)} members, but declares {number}."
        raise TableError(Note(text, "damaged", file=source))
    check_size(sum(one.file_size for one in infos), limit, source)
    for one in infos:
        found = _unpacked(data, one, source)
        if len(found) != one.file_size:
            text = (
                f"{source} is damaged: {shown(one.filename)} in it does not hold the declared "
                f"{one.file_size} bytes."
            )
            raise TableError(Note(text, "damaged", file=source))
        yield one.filename, found


def _unpacked(data: bytes, one: zipfile.ZipInfo, source: str) -> bytes:
    """The bytes of a member, at most one more than it is said to hold."""
    head = data[one.header_offset : one.header_offset + 30]
    start = one.header_offset + 30
    start += int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    packed = data[start : start + one.compress_size]
    if one.compress_type == zipfile.ZIP_STORED:
        return packed
    if one.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-15).decompress(packed, one.file_size + 1)
    text = f"{source} uses an unsupported compression method; save it again."
    raise TableError(Note(text, "damaged", file=source))
