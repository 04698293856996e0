"""``bckm demo``: a fit of bundled data, with its command."""

from __future__ import annotations

import shlex
from importlib.resources import as_file, files

import click

from bckm._core.terminal import say
from bckm.cli.fit import fit

_EPILOG = """
\b
Example:
  bckm demo --report report.html
"""

CUSTOMERS = files("bckm.cli") / "data" / "customers.csv"
ASKED = (
    *("--clusters", "8", "--size", "28:32", "--together", "together", "--apart", "apart"),
    *("--columns", "x_km,y_km", "--id", "customer", "--n-init", "10"),
)


@click.command(epilog=_EPILOG, short_help="Run an example on bundled data.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="bckm-demo-labels.csv",
    show_default=True,
    help="Labels.",
)
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report (.html or .md).")
@click.pass_context
def demo(ctx: click.Context, out: str, report: str | None) -> None:
    """Divide 240 customers among 8 vans: 28 to 32 each, households together, disputes apart."""
    given = [*ASKED, "--out", out, *(["--report", report] if report else [])]
    say(f"$ {shlex.join(['bckm', 'fit', CUSTOMERS.name, *given])}\n", err=True)
    given += ["--title", "240 customers, 8 vans"]
    with as_file(CUSTOMERS) as data, fit.make_context("fit", [str(data), *given], ctx) as inner:
        fit.invoke(inner)
