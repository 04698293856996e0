"""``bckm demo``: the main job on bundled data."""

from __future__ import annotations

import click

from bckm.cli._errors import told
from bckm.cli._outputs import ensure_writable

_EPILOG = """
\b
Example:
  bckm demo --report report.html
"""


@click.command(epilog=_EPILOG, short_help="Run an example on bundled data.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    default="bckm-demo-labels.csv",
    show_default=True,
    help="Labels.",
)
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report (.html or .md).")
def demo(out: str, report: str | None) -> None:
    """Divide 240 customers among 8 vans: 28 to 32 each, households together, disputes apart."""
    ensure_writable([], [("-o", out), ("--report", report)])
    with told():
        from bckm.cli._demo import main

        main(out, report)
