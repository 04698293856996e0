"""One file for a tree of values and arrays: a zip of ``header.json`` and ``.npy`` members.

`numpy.load` opens it too. Members are stored as they are, so that the same content is the same
bytes everywhere and no file unpacks to more than its own size. Reading runs no code from the file.
What JSON cannot say is an object with one key that begins with a dollar sign: ``{"$array": name}``
a member, ``{"$small": [dtype, shape, values]}`` an array that is not worth one, ``{"$float":
"inf"}`` a number that is not finite, ``{"$dict": pairs}`` a mapping whose own keys begin so.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bckm
from bckm._core.memory import require
from bckm._core.terminal import clean
from bckm._storage.atomic import atomic
from bckm.exceptions import DamagedFileError

FORMAT = "bckm"
VERSION = 3  # of the format; raise it when older versions of the library must not read a file
HEADER, SUM = "header.json", "sha256.txt"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed time: the same content is the same file
DEEPEST = 60  # lists and mappings within each other
SMALL = 16  # entries of an array that the header holds
_KINDS = "biuf"  # of arrays: truth values, whole numbers, numbers
_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_AGAIN = "copy or write it again"
_BARE = {str, int, bool, type(None)}  # what JSON says as it is


@dataclass(frozen=True, eq=False)
class Container:
    """What a file holds.

    Attributes
    ----------
    kind : str
        What it is about: "result", "model", ...
    version : int
        Of the format.
    library : str
        Version of the library that wrote it.
    content : tree
        Mappings, lists, strings, numbers, None and arrays.
    """

    kind: str
    version: int
    library: str
    content: Any


def write_container(path: str | os.PathLike[str], kind: str, content: Any) -> None:
    """Write a tree of values and arrays, whole or not at all.

    Parameters
    ----------
    path : str or path
        A file there is replaced.
    kind : str
        What it is about.
    content : tree
        Mappings with keys of text, lists or tuples (which come back as lists), text, numbers, truth
        values, None, and arrays of numbers or truth values.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> from bckm._storage.container import read_container, write_container
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.bckm")
    ...     write_container(path, "example", {"a": np.arange(3), "b": [1.5, None, float("inf")]})
    ...     read_container(path, ["example"]).content
    {'a': array([0, 1, 2]), 'b': [1.5, None, inf]}
    """
    arrays: dict[str, NDArray[Any]] = {}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "library": bckm.__version__,
        "content": _plain(content, (), arrays),
    }
    # ASCII: half a surrogate pair, which a file name or a broken table may hold, is no UTF-8
    text = json.dumps(header, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    total = hashlib.sha256()
    with atomic(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in _members(text, arrays):
            _digest(total, name, data)
            _store(archive, name, data)
        _store(archive, SUM, total.hexdigest().encode())


def _members(text: str, arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, bytes]]:
    yield HEADER, text.encode("ascii")
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
        yield f"{name}.npy", buffer.getvalue()


def _store(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system, info.external_attr = 3, 0o644 << 16  # the same on every system
    archive.writestr(info, data, zipfile.ZIP_STORED)


def _digest(total: Any, name: str, data: bytes) -> None:
    total.update(f"{name} {len(data)}\n".encode())
    total.update(data)


def _plain(value: Any, where: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> Any:
    """What JSON can say; arrays are put aside."""
    if len(where) > DEEPEST:
        raise TypeError(f"{_named(where[:3])} is nested more than {DEEPEST} levels deep.")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, np.ndarray):
        return _put(value, where, arrays)
    if isinstance(value, list | tuple):
        if set(map(type, value)) <= _BARE:  # many ids
            return list(value)
        return [_plain(one, (*where, str(at)), arrays) for at, one in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{_named(where)} has the key {key!r:.60}; keys must be text.")
        pairs = [(key, _plain(one, (*where, key), arrays)) for key, one in value.items()]
        if any(key.startswith("$") for key in value):
            return {"$dict": [list(pair) for pair in pairs]}
        return dict(pairs)
    raise TypeError(
        f"{_named(where)} is a {type(value).__name__} ({value!r:.60}), which cannot be saved: only "
        "text, numbers, booleans, None, arrays of numbers, and lists and mappings of them can."
    )


def _named(where: tuple[str, ...]) -> str:
    return ".".join(where) or "the content"


def _put(array: NDArray[Any], where: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> Any:
    if array.dtype.kind not in _KINDS or array.dtype.itemsize > 8:
        raise TypeError(
            f"{_named(where)} is an array of {array.dtype}; only arrays of numbers and booleans of "
            "at most 64 bits can be saved."
        )
    array = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    if array.size <= SMALL:
        values = _plain(array.ravel().tolist(), where, arrays)
        return {"$small": [array.dtype.str, list(array.shape), values]}
    stem = re.sub(r"[^A-Za-z0-9_.]", "_", ".".join(where)).strip(".")[:100] or "array"
    name, number = stem, 1
    while name.lower() in {other.lower() for other in arrays}:  # may be unpacked by hand
        name, number = f"{stem}~{number}", number + 1
    arrays[name] = np.ascontiguousarray(array)
    return {"$array": name}


def read_container(path: str | os.PathLike[str], kinds: Collection[str]) -> Container:
    """Read what `write_container` wrote.

    Raises `DamagedFileError` if it is no such file, or no longer, or of a newer version; ValueError
    if it is about none of the `kinds`.
    """
    shown = clean(os.fspath(path))
    if os.path.isdir(path):
        raise DamagedFileError(f"{shown} is a folder, not a file written by bckm.")
    with open(path, "rb") as file:
        # the file, its members, and what they become
        needed = 3 * os.fstat(file.fileno()).st_size
        require(needed, f"what {shown} holds", "Read it on a machine with more memory.")
        data = file.read()
    _refuse_strange(shown, data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = _members_of(shown, archive, len(data))
        found = _parse(members[HEADER])
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:  # whatever damaged bytes make zipfile and json raise
        raise DamagedFileError(f"{shown} is damaged ({_because(error)}); {_AGAIN}.") from None
    _refuse_newer(shown, found)
    # after that: members of a newer version may be summed up in another way
    if _sum(members) != members.get(SUM):
        raise DamagedFileError(
            f"{shown} is damaged: its content does not match its checksum; {_AGAIN}."
        )
    try:
        content = _rich(found["content"], members)
        kind, library = found["kind"], found["library"]
        if not isinstance(kind, str) or not isinstance(library, str):
            raise ValueError("the header does not say what it holds")
    except MemoryError:
        raise
    except Exception as error:
        raise DamagedFileError(f"{shown} is damaged ({_because(error)}); {_AGAIN}.") from None
    if kind not in kinds:
        wanted = " or a ".join(kinds)
        raise ValueError(f"{shown} holds a {clean(kind)}, not a {wanted}; choose another file.")
    return Container(kind, found["version"], library, content)


def _because(error: Exception) -> str:
    return clean(f"{type(error).__name__}: {error}".rstrip(": .")[:200])


def _refuse_strange(shown: str, data: bytes) -> None:
    """Tell files of others by their first bytes."""
    if not data:
        raise DamagedFileError(
            f"{shown} is empty: nothing was written to it, or it was truncated; write it again."
        )
    if data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05":
        raise DamagedFileError(
            f"{shown} is a pickle, which bckm does not open, because that may run arbitrary code; "
            "write it with bckm.save."
        )
    if not data.startswith(b"PK\x03\x04"):
        raise DamagedFileError(f"{shown} was not written by bckm, or its start is damaged.")


def _members_of(shown: str, archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if HEADER not in names:
        raise DamagedFileError(
            f"{shown} is a zip file not written by bckm, or damaged: it has no {HEADER}."
        )
    if len(set(names)) < len(names):
        raise DamagedFileError(
            f"{shown} is damaged: it has two members of the same name; {_AGAIN}."
        )
    stored = all(
        info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
        for info in infos
    )
    # nothing may claim to be larger than the file is: it would be unpacked to fill the memory
    if not stored or sum(info.file_size for info in infos) > size:
        raise DamagedFileError(
            f"{shown} is damaged, or was repacked by another program: bckm does not compress; "
            f"{_AGAIN}."
        )
    return {info.filename: archive.read(info) for info in infos}


def _parse(data: bytes) -> dict[str, Any]:
    found = json.loads(data.decode("ascii"), parse_constant=_no_constant)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"the header does not say that it is of the format {FORMAT!r}")
    version = found.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError(f"the header names the format version {version!r:.60}")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"the header contains {name}, which is not JSON")


def _refuse_newer(shown: str, found: Mapping[str, Any]) -> None:
    if found["version"] > VERSION:
        raise DamagedFileError(
            f"{shown} was written by a newer bckm (format {found['version']}; this one reads up "
            f"to {VERSION}): upgrade bckm."
        )


def _sum(members: Mapping[str, bytes]) -> bytes:
    total = hashlib.sha256()
    for name, data in members.items():
        if name != SUM:
            _digest(total, name, data)
    return total.hexdigest().encode()


def _rich(value: Any, members: Mapping[str, bytes], depth: int = 0) -> Any:
    """The tree as it was written."""
    if depth > DEEPEST:
        raise ValueError(f"the header is nested more than {DEEPEST} times")
    if isinstance(value, list):
        return [_rich(one, members, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (key, inner), *_ = value.items()
        if key == "$array":
            return _array(members[f"{inner}.npy"])
        if key == "$small":
            return _small(*inner)
        if key == "$float":
            return _FLOATS[inner]
        if key == "$dict":
            return _mapping(inner, members, depth)
    if any(key.startswith("$") for key in value):
        raise ValueError("the header contains a mark unknown to this version")
    return {key: _rich(one, members, depth + 1) for key, one in value.items()}


def _mapping(pairs: Any, members: Mapping[str, bytes], depth: int) -> dict[str, Any]:
    found = {name: _rich(one, members, depth + 1) for name, one in pairs}
    if len(found) < len(pairs) or not all(isinstance(name, str) for name in found):
        raise ValueError("the header contains a mapping whose keys are not distinct texts")
    return found


def _small(code: str, shape: list[int], values: list[Any]) -> NDArray[Any]:
    dtype = np.dtype(str(code))
    if dtype.kind not in _KINDS or math.prod(shape) != len(values):
        raise ValueError(f"an array of {dtype} of shape {shape} has {len(values)} values")
    return np.array([_rich(one, {}) for one in values], dtype.newbyteorder("=")).reshape(shape)


def _array(data: bytes) -> NDArray[Any]:
    """An array from the bytes of a ``.npy`` file, and from no others."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of another version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in _KINDS or fortran:
        raise ValueError(f"an array of {dtype}")
    rest = data[file.tell() :]
    if math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError(f"an array of shape {shape} has {len(rest)} bytes")
    return np.frombuffer(rest, dtype).reshape(shape).astype(dtype.newbyteorder("="))
