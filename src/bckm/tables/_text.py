"""Bytes of a text file to text, and back."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

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
        raise TableError(_not_decoded(data, source, error, kept, encoding)) from None
    at = text.find("\0")
    if at >= 0:
        line = text.count("\n", 0, at) + 1
        raise TableError(
            f"line {line} of {source} holds a NUL byte, so it is not {_said(kept.name)} text; if "
            "it is UTF-16, use --encoding utf-16-le, else check the format of the file."
        )
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


def _said(name: str) -> str:
    return "UTF-8" if name == "utf-8" else name


def _not_decoded(
    data: bytes, source: str, error: UnicodeDecodeError, kept: Encoding, asked: str | None
) -> str:
    at = min(error.start + len(kept.bom), len(data) - 1)
    line = data.count(b"\n", 0, at) + 1
    remedy = (
        "if a Windows program wrote it, use --encoding cp1252, or save it as UTF-8"
        if asked is None
        else "use another --encoding, or none for UTF-8"
    )
    return (
        f"{source} is not {_said(kept.name)}: line {line} has the byte 0x{data[at]:02X} "
        f"(at position {at}); {remedy}."
    )


def without_nul(text: str) -> str:
    """Text as a file can hold it: NUL would end it early, or is expected by no program."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


def expressible(text: str) -> str:
    """Without halves of surrogate pairs, which are no characters."""
    return text.encode("utf-8", "replace").decode()
