"""The `bckm` command: k-means under rules, for tables and terminals.

Only click is imported here and at the top of the commands: what computes is imported by the command
that needs it, so that ``bckm --help`` is instant.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from bckm._core.terminal import clean, say
from bckm.cli._errors import BAD_DATA, BUG, KILLED, PIPE_CLOSED, no_memory
from bckm.cli._outputs import utf8
from bckm.cli.app import app
from bckm.cli.check import check
from bckm.cli.compare import compare
from bckm.cli.completion import completion
from bckm.cli.demo import demo
from bckm.cli.fit import fit
from bckm.cli.show import show
from bckm.cli.verify import verify

_EPILOG = """
\b
Examples:
  bckm fit customers.csv --clusters 12 --size 40:60 --report report.html
  bckm check customers.csv --clusters 12 --size 40:60 --together household
  bckm fit --help

\b
Exit codes:
  0    success
  1    verify: rules are violated
  2    usage error
  3    infeasible; the reason is given
  4    stopped early (time limit, Ctrl-C) with a valid result
  5    bad or oversized data
  6    undecided: neither a result nor a proof
  70   internal error (a bug in bckm)
  130  stopped by Ctrl-C before there was a result
  141  the reading end of a pipe was closed
"""


class _PipeClosed(Exception):  # noqa: N818 - no error
    """The reader of standard output has left; click would exit with 1, which means other things."""


class _Commands(click.Group):
    """Commands in the order in which people need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            found = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise _PipeClosed from error
        return found


@click.group(
    cls=_Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="bckm", prog_name="bckm", message="%(prog)s %(version)s")
def cli() -> None:
    """k-means that obeys your rules: sizes, capacities, together, apart, quotas.

    Give it a table and your rules: it assigns every row to a cluster so that every rule holds, or
    tells you which of your rules contradict each other.
    """


for command in (fit, app, check, verify, show, compare, demo, completion):
    cli.add_command(command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code.

    Parameters
    ----------
    args : sequence of str, optional
        Arguments after ``bckm``; by default, those of this process.

    Examples
    --------
    >>> from bckm.cli import main
    >>> try:
    ...     main(["fit", "no-such-file.csv", "--clusters", "3"])
    ... except SystemExit as stopped:
    ...     print(stopped.code)
    2
    """
    for stream in (sys.stdout, sys.stderr):  # names of rows may hold letters that a terminal lacks
        if not utf8(stream) and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _say_warning
        code = _code(args)
    sys.exit(code)


def _code(args: Sequence[str] | None) -> int:
    """Run a command; what goes wrong, in words, to standard error."""
    try:
        code = cli.main(args, prog_name="bckm", standalone_mode=False)
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        say(words.getvalue().removesuffix("\n"), err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("Stopped early; no partial files were written.", err=True)
        return KILLED
    except _PipeClosed:
        _forget_stdout()
        return PIPE_CLOSED
    except OSError as error:  # a full disk behind standard output
        say(f"Error: {clean(str(error))}", err=True)
        _forget_stdout()
        return BAD_DATA
    except MemoryError as error:
        say(f"Error: {no_memory(error)}", err=True)
        return BAD_DATA
    except Exception:
        say(traceback.format_exc(), err=True)
        say("This is a bug in bckm; please report it and include the lines above.", err=True)
        return BUG
    return code if isinstance(code, int) else 0


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"Warning: {message}", err=True)


def _forget_stdout() -> None:
    """No complaint at exit about what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
