"""``bckm show``: the report of a saved result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bckm._core.terminal import clean, say
from bckm.cli._errors import BAD_DATA, USAGE, Failure, told
from bckm.cli._options import json_option
from bckm.cli._outputs import Outputs, ensure_writable, utf8, write_json

if TYPE_CHECKING:
    from bckm.study import Study

_EPILOG = """
\b
Examples:
  bckm show fit.bckm
  bckm show fit.bckm --report report.html --report report.md
  bckm show fit.bckm --json | jq .gap
"""


def load_study(path: str) -> Study:
    """Read what ``bckm fit --save`` or `bckm.save` wrote; only a study has data to show."""
    from bckm.archive import load
    from bckm.study import Study

    found = load(path)
    if not isinstance(found, Study):
        raise Failure(
            f"{clean(path)} holds a {type(found).__name__} without its data; save a bckm.Study to "
            "show it.",
            BAD_DATA,
        )
    return found


@click.command(epilog=_EPILOG, short_help="Show a saved result.")
@click.argument("saved", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    multiple=True,
    help="Write a report (.html or .md).",
)
@click.option(
    "--lists",
    type=click.Path(dir_okay=False),
    multiple=True,
    help="Write a list per cluster (.xlsx or .html), of ids and features.",
)
@click.option("--markdown", is_flag=True, help="Print the full report as Markdown.")
@json_option
def show(
    saved: str, report: tuple[str, ...], lists: tuple[str, ...], markdown: bool, as_json: bool
) -> None:
    """Show a result saved by 'bckm fit --save', on standard output or as a report."""
    files = [("--report", path) for path in report] + [("--lists", path) for path in lists]
    ensure_writable([saved], [*files])
    if as_json and markdown:
        raise Failure("--json and --markdown cannot both go to standard output.", USAGE)
    with told():
        import bckm.report as reports
        from bckm.lists import write_lists

        study, outputs = load_study(saved), Outputs()
        if as_json:
            write_json(reports.summary(study))
        elif markdown:
            say(reports.markdown(study).removesuffix("\n"))
        elif not files:
            say(reports.text(study, blocks=utf8(sys.stdout)).removesuffix("\n"))
        for path in report:
            outputs.write("report", path, lambda one: reports.write(study, one))
        for path in lists:
            outputs.write("lists", path, lambda one: write_lists(study, None, one))
    for line in outputs.told:
        say(f"Written: {line}", err=True)
    outputs.finish()
