"""``bckm compare``: two or more results side by side."""

from __future__ import annotations

import click

from bckm._core.terminal import say
from bckm.cli._errors import USAGE, Failure, told
from bckm.cli._options import json_option
from bckm.cli._outputs import write_json
from bckm.cli.show import load_study

_EPILOG = """
\b
Example:
  bckm compare balanced.bckm loose.bckm free.bckm
"""


@click.command(epilog=_EPILOG, short_help="Compare saved results side by side.")
@click.argument("saved", type=click.Path(exists=True, dir_okay=False), nargs=-1, required=True)
@click.option("--markdown", is_flag=True, help="Print a Markdown table.")
@json_option
def compare(saved: tuple[str, ...], markdown: bool, as_json: bool) -> None:
    """Compare results saved by 'bckm fit --save'.

    Shows the objective, the sizes of the clusters, the violated soft rules, and how many rows are
    in another cluster than in the first result.
    """
    if len(saved) < 2:
        raise Failure("compare needs at least two results.", USAGE)
    if as_json and markdown:
        raise Failure("--json and --markdown cannot both go to standard output.", USAGE)
    with told():
        from bckm.report import compare as side_by_side

        found = side_by_side([load_study(path) for path in saved], list(saved))
        if as_json:
            write_json(found.dict())
        else:
            say((found.markdown() if markdown else found.text()).removesuffix("\n"))
