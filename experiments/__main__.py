"""Run the paper's experiments: ``python -m experiments synthetic|sizes|features|real|pump|all``."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments import tasks
from experiments.methods import FITS, add
from experiments.runner import run

DESCRIPTION = """\
Run the experiments of the paper and draw its figures and table.

Each experiment writes a tidy CSV and, from it, figures (PNG and SVG) or tables (Markdown and
LaTeX) into the output folder. A run that was stopped goes on where it was; delete the CSV to start
anew.
"""


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("experiment", choices=[*RUNS, "all"])
    parser.add_argument("--data", help="folder with mnist.npz, yale.npz, ... (X and y in each)")
    parser.add_argument("--out", type=Path, default=Path("results"), help="default: results")
    parser.add_argument("--seeds", type=int, help="default: 5; 3 with --quick")
    parser.add_argument("--quick", action="store_true", help="a small part, within two minutes")
    parser.add_argument("--methods", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="MODULE:FUNCTION",
        help="a method of your own beside them; may be given several times (see docs/extending.md)",
    )
    options = parser.parse_args(arguments)
    try:
        options.methods = [*options.methods, *map(add, options.method)]
    except (ValueError, ImportError) as error:
        parser.error(f"--method: {error}")
    seeds = options.seeds or (3 if options.quick else 5)
    names = list(RUNS) if options.experiment == "all" else [options.experiment]
    for name in names:
        RUNS[name](options, seeds)


def _synthetic(options: argparse.Namespace, seeds: int) -> None:
    from experiments import figures

    cases = tasks.synthetic(options.quick)
    rows = run(cases, seeds, options.methods, options.out / "synthetic.csv")
    drawn = list(dict.fromkeys(f"{case.sigma:g}" for case in cases))
    for name, sigmas in (("synthetic", tasks.PAPER_SIGMA), ("harder", tasks.HARD_SIGMA)):
        chosen = [sigma for sigma in drawn if float(sigma) in sigmas]
        if chosen:
            figures.synthetic(rows, chosen, options.out / name)


def _sizes(options: argparse.Namespace, seeds: int) -> None:  # noqa: ARG001
    from experiments import figures

    cases = tasks.cluster_sizes(options.quick)
    rows = run(cases, 1, ["KM", "BCKM"], options.out / "sizes.csv")
    figures.cluster_sizes(rows, options.out / "sizes")


def _real(options: argparse.Namespace, seeds: int) -> None:
    from experiments import table

    path = options.out / "real.csv"
    for space in table.PARTS:
        # a metric is not learned twice
        again = [table.OWN] if space == "learned" else []
        methods = [method for method in options.methods if method not in again]
        rows = run(tasks.real(options.data, options.quick, space), seeds, methods, path)
    table.write(rows, options.out / "real.md")
    table.write_latex(rows, options.out / "real.tex")


def _features(options: argparse.Namespace, seeds: int) -> None:
    from experiments import choice

    rows = choice.run_maps(options.data, options.quick, seeds, options.out / "features.csv")
    choice.write(rows, options.out / "features.md")


def _pump(options: argparse.Namespace, seeds: int) -> None:
    from experiments import pump

    cases = tasks.synthetic(options.quick) + tasks.real(options.data, options.quick)
    pump.write(cases, 1 if options.quick else seeds, options.out / "pump.md")


RUNS = {
    "synthetic": _synthetic,
    "sizes": _sizes,
    "features": _features,
    "real": _real,
    "pump": _pump,
}

if __name__ == "__main__":
    main()
