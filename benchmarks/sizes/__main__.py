"""Measure size bounds: ``python -m benchmarks.sizes main|step|million|...|quick|all``."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

from benchmarks.sizes import report
from benchmarks.sizes.measure import measure
from benchmarks.sizes.methods import METHODS
from benchmarks.sizes.modes import MODES
from benchmarks.sizes.run import check, run

DESCRIPTION = """\
Measure clustering under size bounds against k-means-constrained, and its cost above clustering
without bounds (scikit-learn's Lloyd, faiss). Tables and JSON go into the output folder. The command
fails if sizes are broken, a gap is not proven, or a peer's assignment step is better than ours.

  main        N = 20,000, k = 100, until convergence: all methods
  step        one assignment step at the same centers, compared in squared distances
  million     N = 1,000,000, k = 100: time per iteration
  duplicates  100,000 samples that are identical, or at 50 distinct points, k = 200
  memory      N = 1,000,000, k = 500: peak memory above the data
  grow        time per iteration against N (10,000 to 10,000,000) and k (10 to 1,000), with a plot
  hard        few samples per cluster, an outlier, centers far away, ties
  quick       all of these in small, within a minute: to test the program
  all         all of these in full
"""


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and run; 1 if a check failed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sizes",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mode", choices=[*MODES, "quick", "all"])
    parser.add_argument("--threads", type=int, default=2, help="of every method; default: 2")
    parser.add_argument("--budget", type=float, help="seconds for a fit; default: 900, 20 in quick")
    parser.add_argument("--repeats", type=int, default=1, help="fits each; the median is shown")
    parser.add_argument("--seed", type=int, default=0, help="of data and centers")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--largest", type=int, help="leave out cases with more samples than this")
    parser.add_argument(
        "--gap", type=float, default=1e-12, help="largest gap allowed; default: 1e-12"
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="default: results")
    options = parser.parse_args(arguments)
    for name in options.methods:
        if not METHODS[name].installed:
            _say(f"{METHODS[name].title} is not installed: left out")
    small = options.mode == "quick"
    out = options.out / "quick" if small else options.out  # never over a real measurement
    names = list(MODES) if options.mode in ("quick", "all") else [options.mode]
    return max(_measure(name, small, options, out) for name in names)


def _measure(mode: str, small: bool, options: argparse.Namespace, out: Path) -> int:
    cases = [
        dataclasses.replace(
            case,
            seed=options.seed,
            methods=tuple(name for name in case.methods if name in options.methods),
        )
        for case in MODES[mode](small)
        if options.largest is None or case.n <= options.largest
    ]
    if not cases:
        _say(f"{mode}: no case is as small as --largest {options.largest}")
        return 0
    budget = options.budget or (20.0 if small else 900.0)
    out.mkdir(parents=True, exist_ok=True)
    where = report.machine(options.threads)
    with tempfile.TemporaryDirectory(dir=out) as folder:  # /tmp may be memory, which is measured
        rows = run(
            cases,
            lambda request: measure(request, budget),
            Path(folder),
            options.threads,
            options.repeats,
            _say,
        )
    broken = check(rows, options.gap)
    print(report.write(mode, rows, broken, where, out), flush=True)
    if mode == "grow":
        from benchmarks.sizes import plot

        plot.grow(rows, out / "sizes-grow.png")
    return int(bool(broken))


def _say(line: str) -> None:
    """Progress, apart from the tables."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
