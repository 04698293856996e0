"""Measure search: ``python -m benchmarks.search known|balanced|table|auto|quick``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.search import apart, balance, compare, known, ratio, report, tiny
from benchmarks.search.data import Folders, MissingError, Source, select, small, varied
from benchmarks.search.fit import warm_up
from benchmarks.search.methods import METHODS
from benchmarks.sizes.report import machine

SEEDS = 5  # of auto: times differ

DESCRIPTION = """\
Measure how good the clusterings of search="global", "local" and "auto" are, and how soon. Tables
and JSON go into the output folder. The command fails if labels break a rule, if an inertia is not
what was claimed, or if a value is below a proven bound.

  known     instances with best-known values: global search and the default (--instances)
  balanced  S1 to S4 and Birch1, strictly balanced: every search (--datasets)
  table     inertia against time on instances of different kinds: every search, plain restarts,
            k-means-constrained and scikit-learn where they apply (both folders)
  auto      what search="auto" costs and brings, compared with search="none" (both folders)
  quick     all of these in small, within 20 seconds and without data: to test the program
"""


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and run; 1 if a check failed, 2 if data or instances are not there."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.search",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    shared = Path("..", "shared")
    parser.add_argument("mode", choices=[*MODES, "quick"])
    parser.add_argument("--instances", type=Path, default=shared / "instances",
                        help="folder of known.json; default: %(default)s")  # fmt: skip
    parser.add_argument("--datasets", type=Path, default=shared / "datasets",
                        help="folder of s1.npz, ...; default: %(default)s")  # fmt: skip
    parser.add_argument("--only", metavar="PATTERN", help="instances whose names match or hold it")
    parser.add_argument("--seconds", type=float, default=10.0,
                        help="of a global search in known and balanced; default: 10")  # fmt: skip
    parser.add_argument("--times", type=float, nargs="+", default=[1.0, 3.0, 10.0],
                        help="seconds of the methods in table; default: 1 3 10")  # fmt: skip
    parser.add_argument("--limit", type=float, default=300.0,
                        help="seconds of a single fit in table, auto; default: 300")  # fmt: skip
    parser.add_argument("--seeds", type=int, help="default: 1; in auto 5")
    parser.add_argument("--threads", type=int, default=1, help="of every method; default: 1")
    parser.add_argument("--out", type=Path, default=Path("results"), help="default: results")
    options = parser.parse_args(arguments)
    for method in METHODS.values():
        if not method.installed:
            _say(f"{method.title} is not installed: left out")
    try:
        return _quick(options) if options.mode == "quick" else _measure(options.mode, options)
    except MissingError as error:
        _say(f"benchmarks.search: {error}")
        return 2


def _measure(mode: str, options: argparse.Namespace, tried: bool = False) -> int:
    """Run one mode, in small if it is only tried."""
    warm_up(options.threads)
    seeds = options.seeds or (SEEDS if mode == "auto" and not tried else 1)
    asked = Asked(options, Folders(options.instances, options.datasets), seeds, tried)
    where = machine(options.threads)  # before: the code may change while it is measured
    page = MODES[mode](asked)
    used = {"seeds": seeds} | {name: getattr(options, name) for name in ("only", *USED[mode])}
    print(report.write(page, where, used, options.out), flush=True)
    for line in page.said:
        if "NEW BEST" in line:
            _say(f"*** {line} ***")
    return int(bool(page.broken))


def _quick(options: argparse.Namespace) -> int:
    """All modes on data that is drawn here, into a folder apart from real measurements."""
    with tempfile.TemporaryDirectory() as folder:
        tiny.write(Path(folder))
        tried = argparse.Namespace(**vars(options))
        tried.instances, tried.out = Path(folder), options.out / "quick"
        tried.only, tried.seconds, tried.times, tried.limit = None, 0.1, [0.05], 10.0
        return max(_measure(mode, tried, tried=True) for mode in MODES)


@dataclass(frozen=True)
class Asked:
    """What the command line asks of a mode; `tried` is in small, for a test."""

    options: argparse.Namespace
    folders: Folders
    seeds: int
    tried: bool

    def varied(self) -> list[Source]:
        """Instances of different kinds."""
        return select(small() if self.tried else varied(self.folders), self.options.only)


def _known(asked: Asked) -> report.Page:
    chosen, options = select(known.read(asked.folders), asked.options.only), asked.options
    rows = known.run(chosen, asked.seeds, options.seconds, options.threads, _say)
    return report.known_page(rows)


def _balanced(asked: Asked) -> report.Page:
    options = asked.options
    chosen = select(balance.sources(None if asked.tried else asked.folders), options.only)
    rows = balance.run(chosen, asked.seeds, options.seconds, options.threads, _say)
    return report.balanced_page(rows)


def _table(asked: Asked) -> report.Page:
    options, fit = asked.options, apart.inside if asked.tried else apart.measure
    limits = options.threads, options.limit
    rows = compare.run(asked.varied(), asked.seeds, options.times, *limits, _say, fit)
    return report.table_page(rows)


def _auto(asked: Asked) -> report.Page:
    options, chosen = asked.options, asked.varied()[:: 3 if asked.tried else 1]
    rows = ratio.run(chosen, asked.seeds, options.threads, options.limit, _say)
    return report.auto_page(rows)


MODES: dict[str, Callable[[Asked], report.Page]] = {
    "known": _known,
    "balanced": _balanced,
    "table": _table,
    "auto": _auto,
}
USED = {  # settings that matter
    "known": ("seconds",),
    "balanced": ("seconds",),
    "table": ("times", "limit"),
    "auto": ("limit",),
}


def _say(line: str) -> None:
    """Progress, apart from the tables."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
