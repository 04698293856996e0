"""``bckm completion``: what a shell needs to complete commands, options and column names."""

from __future__ import annotations

import click

from bckm._core.terminal import say

_EPILOG = """
\b
Example, for bash (in ~/.bashrc):
  eval "$(bckm completion bash)"
"""


@click.command(epilog=_EPILOG, short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that makes SHELL complete commands, options, files and column names."""
    from click.shell_completion import get_completion_class

    from bckm.cli import cli

    found = get_completion_class(shell)
    assert found is not None  # click knows these three
    say(found(cli, {}, "bckm", "_BCKM_COMPLETE").source())
