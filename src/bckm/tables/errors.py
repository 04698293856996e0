"""Errors about files and their columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from bckm._core.note import Note, few
from bckm.exceptions import BckmError

_SHOWN = 12  # column names in a message
_SEARCHED = 20_000  # names that are compared letter by letter with one that is not there


class TableError(BckmError, ValueError):
    """A file cannot be read or written, or a column does not hold what is required.

    Examples
    --------
    >>> from bckm.tables import Table
    >>> Table.of({"weight": ["3", "heavy"]}).numbers("weight")
    Traceback (most recent call last):
        ...
    bckm.tables.errors.TableError: column 'weight' of the table: row 2 has 'heavy', which is \
not a number; correct it, leave the cell empty, or choose another column.
    """


class NoFileError(TableError, FileNotFoundError):
    """A file does not exist.

    Examples
    --------
    >>> from bckm.tables import NoFileError
    >>> issubclass(NoFileError, FileNotFoundError)
    True
    """

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[NoFileError], tuple[object, ...]]:
        return NoFileError, self.args  # distributed pickles errors without one in its own way


class OptionError(TableError):
    r"""A reading option does not apply to a file: a sheet, an encoding.

    Examples
    --------
    >>> import io
    >>> from bckm.tables import OptionError, read_table
    >>> try:
    ...     read_table("-", stdin=io.BytesIO(b"a,b\n1,2\n"), sheet=3)
    ... except OptionError as error:
    ...     print(error)
    standard input is a CSV file, which has no sheets; drop --sheet.
    """


class UnknownColumnError(TableError):
    """A column does not exist.

    Attributes
    ----------
    name : str
        The name that was not found.
    suggestion : str or None
        The column with the most similar name.

    Examples
    --------
    >>> from bckm.tables import Table, UnknownColumnError
    >>> try:
    ...     Table.of({"weight": [1, 2]}).cells("wieght")
    ... except UnknownColumnError as error:
    ...     error.suggestion
    'weight'
    """

    def __init__(self, name: str, names: Sequence[str], source: str) -> None:
        self.name = name
        self.suggestion = near(name, names[:_SEARCHED])
        text = there_is_no("column", name, names, source, self.suggestion)
        some_names = few([shown(one)[1:-1] for one in names[:_SHOWN]], _SHOWN - 1)
        column = shown(name)[1:-1]
        super().__init__(Note(text, "no_column", column=column, file=source, names=some_names))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.args[0], self.name, self.suggestion)


def _rebuilt(message: str, name: str, suggestion: str | None) -> UnknownColumnError:
    """The error again, on the other side of a pickle."""
    error = UnknownColumnError.__new__(UnknownColumnError, message)
    error.args, error.name, error.suggestion = (message,), name, suggestion
    return error


def there_is_no(
    what: str, name: str, names: Sequence[str], source: str, suggestion: str | None
) -> str:
    """What to say of a name that is not there: what is meant perhaps, and which there are."""
    meant = "" if suggestion is None else f"did you mean {shown(suggestion)}? "
    its = "Its" if meant else "its"
    return f"there is no {what} {shown(name)} in {source}; {meant}{its} {what}s are: {some(names)}."


def near(name: str, names: Iterable[str]) -> str | None:
    """The one of the names that a person may have meant."""
    folded: dict[str, str] = {}
    for each in names:
        folded.setdefault(each.strip().casefold(), each)
    asked = name.strip().casefold()
    found = difflib.get_close_matches(asked, folded, n=1, cutoff=0.6)
    if not found and len(asked) >= 3:  # "weight" for "weight_kg"
        found = [each for each in folded if each.startswith(asked)][:1]
    return folded[found[0]] if found else None


def shown(value: object, most: int = 40) -> str:
    """A value in a message: short, on one line, without control characters."""
    text = value if isinstance(value, str) else str(value)
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return repr(cut) if isinstance(value, str) else repr(cut)[1:-1]


def some(names: Sequence[str], most: int = _SHOWN) -> str:
    """The first of many names, in a message.

    Examples
    --------
    >>> from bckm.tables.errors import some
    >>> some(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


def needed(module: str, purpose: str) -> Any:
    """Import what a kind of file needs, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        text = (
            f"{purpose} need the package {package}, which is not installed; "
            f"run: pip install 'bckm[io]'"
        )
        raise TableError(Note(text, "package", package=package)) from error
