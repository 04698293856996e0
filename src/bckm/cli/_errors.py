"""Exit codes, and what a person reads when something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from bckm._core.terminal import clean

BROKEN, USAGE, INFEASIBLE, STOPPED, BAD_DATA, UNDECIDED = 1, 2, 3, 4, 5, 6
BUG = 70  # not 1, which is an answer of verify
KILLED, PIPE_CLOSED = 130, 141  # as shells say it: 128 and the number of the signal


_MARK = "\nTo get the table with these cells marked: bckm fit ... --mark problems.xlsx"


class Failure(click.ClickException):
    """A sentence on standard error and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc] # click has one for each class


def no_memory(error: MemoryError) -> str:
    """What to say, and to do, when memory has run out; the error itself often says nothing."""
    from bckm._core.memory import available, gigabytes

    why = clean(str(error)).rstrip(".")
    if "are available" in why:  # it was asked for before, with numbers and a remedy
        return f"not enough memory: {why}."
    free = available()
    left = "" if free is None else f" ({gigabytes(free)} available)"
    return (
        f"not enough memory{f': {why}' if why else ''}{left}. Use fewer rows or columns "
        "(--columns), omit --report and --save, or use a machine with more memory."
    )


@contextmanager
def told() -> Iterator[None]:
    """Turn errors about plans, tables and files into sentences with exit codes."""
    from bckm.exceptions import DamagedFileError, UndecidedError
    from bckm.tables import (
        NoFileError,
        OptionError,
        ProblemsError,
        TableError,
        UnknownColumnError,
    )

    try:
        yield
    except (UnknownColumnError, NoFileError, OptionError) as error:
        raise Failure(str(error), USAGE) from error
    except ProblemsError as error:
        more = "" if len(error.problems) == 1 else _MARK
        raise Failure(f"{error}{more}", BAD_DATA) from error
    except (TableError, DamagedFileError) as error:
        raise Failure(str(error), BAD_DATA) from error
    except (ValueError, OverflowError) as error:  # a plan, or what it asks of the library
        raise Failure(str(error), USAGE) from error
    except UndecidedError as error:
        raise Failure(str(error), UNDECIDED) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{clean(str(error.filename))}: " if error.filename else ""
        raise Failure(f"{where}{error.strerror or error}", BAD_DATA) from error
    except MemoryError as error:
        raise Failure(no_memory(error), BAD_DATA) from error
