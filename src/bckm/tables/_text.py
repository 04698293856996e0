"""Bytes of a text file to text, and back."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from bckm._core.note import Note
from bckm.tables.errors import OptionError, TableError

_BOMS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Encoding:
    """How text is kept as bytes: a name that Python knows, and the mark in front."""

    name: str = "utf-8"
    bom: bytes = b""
    assumed: tuple[str, ...] = ()  # what is to be said of it

    def bytes_of(self, text: str) -> bytes:
        """The text as bytes; in UTF-8 if the encoding cannot express it."""
        try:
            return self.bom + text.encode(self.name)
        except UnicodeEncodeError:
            mark = codecs.BOM_UTF8 if self.bom or not self.name.startswith("utf") else b""
            # half a surrogate pair, which JSON allows, is no character
            return mark + text.encode("utf-8", "replace")


def decoded(data: bytes, source: str, encoding: str | None) -> tuple[str, Encoding]:
    """The text, and how to write it again."""
    bom, found = next(((b, name) for b, name in _BOMS if data.startswith(b)), (b"", None))
    kept = Encoding(found or "utf-8", bom) if encoding is None else _asked(encoding, bom, found)
    try:
        text = data[len(kept.bom) :].decode(kept.name)
    except UnicodeDecodeError as error:
        if encoding is not None or bom or not _is_windows(data):
            raise TableError(_not_decoded(data, source, error, kept, encoding)) from None
        said = "read as cp1252, a Windows encoding, since it is not UTF-8 (--encoding)."
        kept = Encoding("cp1252", assumed=(Note(said, "windows"),))
        text = data.decode("cp1252")
    at = text.find("\0")
    if at >= 0:
        line = text.count("\n", 0, at) + 1
        told = (
            f"line {line} of {source} holds a NUL byte, so it is not {_said(kept.name)} text; if "
            "it is UTF-16, use --encoding utf-16-le, else check the format of the file."
        )
        raise TableError(Note(told, "encoding", file=source, row=str(line)))
    return text, kept


def _asked(encoding: str, bom: bytes, found: str | None) -> Encoding:
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise OptionError(
            f"unknown encoding {encoding!r}; common ones are utf-8, cp1252 (Western Windows), "
            "latin-1, utf-16."
        ) from None
    if not getattr(codecs.lookup(encoding), "_is_text_encoding", True):
        raise OptionError(f"{encoding!r} is not a text encoding; common ones are utf-8, cp1252.")
    same = found is not None and found.startswith(name.removesuffix("-sig"))
    if same and found is not None:
        return Encoding(found, bom)
    name = name.removesuffix("-sig")
    return Encoding(f"{name}-le" if name in ("utf-16", "utf-32") else name)


def _is_windows(data: bytes) -> bool:
    """Whether bytes that are not UTF-8 are text as Windows wrote it, and not damaged UTF-8."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    if any(one < " " and one not in "\t\n\r\f\v" for one in set(text)):
        return False
    strange = sum(data.count(byte) for byte in map(_byte, range(128, 256)))
    # UTF-8 has two bytes or more for a letter, in an order that other text has by accident alone
    whole = [one for one in data.decode("utf-8", "ignore") if one > "\x7f"]
    return 2 * sum(len(one.encode()) for one in whole) < strange


def _byte(code: int) -> bytes:
    return bytes([code])


def _said(name: str) -> str:
    return "UTF-8" if name == "utf-8" else name


def _not_decoded(
    data: bytes, source: str, error: UnicodeDecodeError, kept: Encoding, asked: str | None
) -> Note:
    at = min(error.start + len(kept.bom), len(data) - 1)
    line = data.count(b"\n", 0, at) + 1
    remedy = (
        "if a Windows program wrote it, use --encoding cp1252, or save it as UTF-8"
        if asked is None
        else "use another --encoding, or none for UTF-8"
    )
    text = (
        f"{source} is not {_said(kept.name)}: line {line} has the byte 0x{data[at]:02X} "
        f"(at position {at}); {remedy}."
    )
    return Note(text, "encoding", file=source, row=str(line))


def without_nul(text: str) -> str:
    """Text as a file can hold it: NUL would end it early, or is expected by no program."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


def expressible(text: str) -> str:
    """Without halves of surrogate pairs, which are no characters."""
    return text.encode("utf-8", "replace").decode()
