"""``bckm app``: the page in the browser."""

from __future__ import annotations

import click

from bckm.cli._errors import BAD_DATA, USAGE, Failure, told

_EPILOG = """
\b
Examples:
  bckm app
  bckm app stops.xlsx
"""


@click.command(epilog=_EPILOG, short_help="Open a page in the browser: table, rules, map, lists.")
@click.argument("table", type=click.Path(exists=True, dir_okay=False), required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: a free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def app(table: str | None, port: int, no_browser: bool) -> None:
    """Open a page in the browser: open a table, state rules, solve, change, take away.

    The page is served by this computer for this computer alone (127.0.0.1), under an address with a
    random token: nothing leaves it. Ctrl-C, or the page itself, ends the server.

    It needs: pip install 'bckm[app]'
    """
    with told():
        from bckm.app import serve
        from bckm.app.errors import Refused

        try:
            serve(table, port=port, browser=not no_browser)
        except ImportError as error:
            raise Failure(f"{error}.", USAGE) from None
        except Refused as refused:
            raise Failure(refused.message, BAD_DATA) from None
