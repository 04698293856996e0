"""Options that several commands share, and the plan they amount to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bckm.fit.parameters import PARAMETERS

if TYPE_CHECKING:
    from bckm.plan import Plan
    from bckm.tables import Reading, Table

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("csv", "tsv", "parquet", "xlsx", "jsonl", "npz")


def _bytes(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """A size of a file: 500MB, 4GB, or a number of bytes."""
    if value is None:
        return None
    found = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([kMGT]?)B?\s*", value, re.I)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a size such as 500MB or 4GB.")
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2].lower() or " "))


def _all(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _columns_of(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Column names of the data, for the completion of shells; after a comma the next one."""
    from bckm.tables import read_table

    before, comma, begun = incomplete.rpartition(",")
    try:
        # while an option lacks its value, click leaves the arguments where they are
        names = read_table(ctx.params.get("data") or ctx.args[0]).names
    except Exception:  # a shell that asks for help is not told of errors
        return []
    # what is not printable would reach the terminal by way of the shell
    found = [name for name in names if name.startswith(begun) and name.isprintable()]
    return [before + comma + name for name in found]


def _column(name: str, text: str, **more: Any) -> Callable[[F], F]:
    return click.option(name, metavar="COLUMN", help=text, shell_complete=_columns_of, **more)


_TYPES = {
    "count": click.IntRange(1),
    "amount": click.FloatRange(0),
    "seconds": click.FloatRange(0, min_open=True),
    "seed": click.IntRange(0),
    "threads": click.INT,
}


def fit_option(name: str) -> Callable[[F], F]:
    """Return the option of a parameter of `bckm.kmeans`."""
    parameter = PARAMETERS[name]
    text, default = parameter.help, parameter.default
    if default is not None and "Default" not in text:
        text += f" Default: {default}."
    kind = _TYPES.get(parameter.kind) or click.Choice(parameter.choices)
    return click.option(f"--{parameter.option}", type=kind, help=text)


# whether it is there is seen when it is read, with a near name if it is not
data_argument = click.argument(
    "data", type=click.Path(dir_okay=False, allow_dash=True), metavar="DATA"
)

reading_options = _all(
    click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        help="Format of DATA. Default: by file name.",
    ),
    click.option("--sheet", help="Sheet of a workbook, by name or number. Default: the first."),
    click.option("--encoding", help="Encoding of a CSV file. Default: UTF-8, else cp1252."),
    click.option("--delimiter", help="Delimiter of a CSV file. Default: detected."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal separator."),
    click.option(
        "--header-row",
        metavar="LINE",
        type=click.IntRange(1),
        help="Line, or row of the sheet, with the column names. Default: the first one that is no "
        "title.",
    ),
    click.option(
        "--drop-rows",
        metavar="LINE,LINE,...",
        multiple=True,
        help="Lines, or rows of the sheet, to leave out, numbered as in the file.",
    ),
    click.option(
        "--totals",
        type=click.Choice(["drop", "keep"]),
        help="Leave out a last row that sums up the others, or keep it. Default: drop, if it "
        "clearly does.",
    ),
    click.option(
        "--fill",
        metavar="COLUMN:HOW",
        multiple=True,
        shell_complete=_columns_of,
        help="Fill cells without a number: kg:0, kg:mean, kg:median.",
    ),
    click.option(
        "--read-limit",
        metavar="SIZE",
        callback=_bytes,
        help="Largest accepted size of DATA after unpacking, such as 4GB. Default: 1GB.",
    ),
)

rule_options = _all(
    click.option(
        "-k",
        "--clusters",
        metavar="NUMBER|A,B,...",
        help='Number of clusters, or their names: 8, "Van 1,Van 2,Van 3". Default names: 1, 2, 3.',
    ),
    click.option(  # before names could be given by --clusters
        "--cluster-names", metavar="A,B,...", multiple=True, hidden=True
    ),
    click.option(
        "--size",
        metavar="MAX|MIN:MAX",
        help="Rows in each cluster: 60 (at most 60), 40:60, 40:, 50:50 (exactly 50), 10%:20% of "
        "all rows, or one of these per cluster: 40:60,20:30.",
    ),
    click.option(
        "--capacity",
        metavar="COLUMN:MAX|COLUMN:MIN:MAX",
        multiple=True,
        shell_complete=_columns_of,
        help="Sum of a column in each cluster: kg:600 (at most 600), kg:400:600, kg:400:, or one "
        "bound per cluster: kg:600,600,450.",
    ),
    _column("--together", "Rows with the same value go to the same cluster.", multiple=True),
    _column("--apart", "Rows with the same value go to different clusters.", multiple=True),
    _column(
        "--together-with", "Ids of rows to put in the same cluster as this row.", multiple=True
    ),
    _column("--apart-from", "Ids of rows to keep out of the cluster of this row.", multiple=True),
    click.option(
        "--quota",
        metavar="COLUMN:±PERCENT",
        multiple=True,
        shell_complete=_columns_of,
        help="Keep each value's share in each cluster close to its share overall: gender:±10%.",
    ),
    _column("--known", "Same value: same cluster. Different values: different clusters."),
    _column("--fixed", "Fixed cluster of each row, by name; empty: any cluster."),
    click.option(
        "--stay",
        metavar="FILE:MOVES|COLUMN:MOVES",
        help="Previous clusters, and how many rows may leave theirs: last-week.xlsx:5 (matched by "
        "--id; its column of clusters is found, or told: last-week.xlsx:van:5), or a column of "
        "DATA: van:5.",
    ),
    click.option(
        "--nice",
        metavar="RULE=VALUE[@STRENGTH]",
        multiple=True,
        help="A wish instead of a rule: together=household, size=40:60@strong, stay=van@slight. "
        "Strength: strong, nice (default), slight, or a number (nice is 1, strong is 10).",
    ),
    click.option(
        "--links",
        type=click.Path(exists=True, dir_okay=False),
        multiple=True,
        help="Table of links: kind (together, apart), a, b, confidence; a and b are ids.",
    ),
    click.option(
        "--rules",
        type=click.Path(exists=True, dir_okay=False),
        help="TOML file of rules and settings. Options add to it, and override it where both set "
        "the same thing.",
    ),
    _column("--id", "Column of ids; links and messages refer to rows by id.", default=None),
)

feature_options = _all(
    click.option(
        "--mixed",
        is_flag=True,
        help="Clusters that are alike, each a mix of everything, for classes and teams; the same "
        "as --objective mixed.",
    ),
    fit_option("objective"),
    click.option(
        "--columns",
        metavar="A,B,...",
        multiple=True,
        shell_complete=_columns_of,
        help="Columns to cluster by. Default: every numeric column that no rule uses.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["none", "standard", "robust"]),
        help="Put columns on comparable scales: by mean and standard deviation, or by median and "
        "quartiles. Default: none; of mixed clusters standard.",
    ),
    fit_option("metric"),
    click.option(
        "--missing",
        type=click.Choice(["error", "mean", "median"]),
        help="How to treat empty cells in columns to cluster by. Default: error.",
    ),
    _column("--weight", "Weight of each row in the objective."),
)

# check and verify take, and do not show, what fit takes: a command is easily edited to another one
unused_options = _all(
    click.option("--columns", multiple=True, hidden=True),
    *(
        click.option(f"--{name}", hidden=True)
        for name in ("scale", "metric", "missing", "weight", "objective")
    ),
    click.option("--mixed", is_flag=True, hidden=True),
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress or notes.")


def read_data(data: str, given: dict[str, Any]) -> Table:
    """The table that a command is about."""
    from bckm.tables import read_table

    return read_table(data, reading_of(given), read_limit=given["read_limit"])


def reading_of(given: dict[str, Any]) -> Reading:
    """How DATA is to be read, as options say."""
    from bckm.tables import OptionError, Reading

    rows, fills = [], {}
    for text in ",".join(given["drop_rows"]).split(",") if given["drop_rows"] else ():
        if not text.strip().isdecimal():
            raise OptionError(f"--drop-rows {text.strip()!r}: must be numbers such as 5,17.")
        rows.append(int(text))
    for text in given["fill"]:
        column, colon, how = text.rpartition(":")
        if not colon or not column:
            raise OptionError(f"--fill {text!r}: must be COLUMN:HOW, such as kg:0 or kg:mean.")
        fills[column] = how.strip()
    return Reading(
        format=given["format_"],
        sheet=given["sheet"],
        encoding=given["encoding"],
        delimiter=given["delimiter"],
        decimal=given["decimal"],
        header_row=given["header_row"],
        drop_rows=tuple(rows),
        fills=fills,
        totals=given["totals"],
    )


def _clusters(given: dict[str, Any]) -> tuple[int | None, tuple[str, ...]]:
    """How many clusters, if a number is given, and their names, if names are."""
    from bckm.plan import PlanError, names_of

    names, text = names_of(given["cluster_names"], "--cluster-names"), given["clusters"]
    if text is None:
        return None, names
    if text.strip().lstrip("+-").isdecimal():
        if int(text) < 1:
            raise PlanError(f"--clusters {text}: there must be at least 1.")
        return int(text), names
    found = names_of([text], "--clusters")
    if len(found) < 2:
        raise PlanError(
            f"--clusters {text!r}: must be a number, or names with commas between, such as "
            "'Van 1,Van 2'."
        )
    if len(set(found)) < len(found):
        raise PlanError(f"--clusters {text!r}: names must be different.")
    if names:
        raise PlanError("give names of clusters by --clusters or --cluster-names, not both.")
    # with their number, so that a rules file with another number is overridden
    return len(found), tuple(name.strip() for name in found)


def plan_of(given: dict[str, Any]) -> Plan:
    """What options ask, on top of the rules file."""
    from bckm.plan import FIT, SHORT, Plan, PlanError, clauses_of, names_of, read_plan

    for name in ("id", "weight", "scale", "metric", "missing"):
        if given.get(name) is not None and not given[name].strip():
            raise PlanError(f"--{name} {given[name]!r}: the value is empty.")
    asked = {kind: given[kind] for kind in SHORT if given[kind] is not None}
    texts = {kind: [one] if isinstance(one, str) else one for kind, one in asked.items()}
    fit = {name: given[name] for name in FIT if given.get(name) is not None}
    clusters, names = _clusters(given)
    if given.get("mixed"):
        fit = {"objective": "mixed", **fit}
    plan = Plan(
        clusters=clusters,
        cluster_names=names,
        id=given["id"],
        columns=names_of(given.get("columns") or ()),
        **{name: given.get(name) for name in ("scale", "metric", "missing", "weight")},
        fit=fit,
        clauses=clauses_of(texts),
    )
    return read_plan(given["rules"]).joined(plan) if given["rules"] else plan
