"""How good clusterings under rules of several kinds are, and what they cost.

    python -m benchmarks.mixed.quality --offset 1000 --only a b --modes auto global --limits 10

Each fit runs in a process of its own, with one thread; seconds are CPU seconds. The distance is
that to the least value known for an instance: of all fits of this run, and of `--best`, a file in
which the least values are kept ({name: value}). With `--before`, an interpreter with another
version of the library, every fit is also made by that one. Tables and JSON go into the output
folder. The command fails if labels break a rule.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import mean

from benchmarks.mixed.families import chosen
from benchmarks.mixed.fit import Request, Row, fit

SAME = 1e-9  # relative difference of two values that are the same


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, measure and write; 1 if a rule was broken."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mixed.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--offset", type=int, default=1000, help="draws the instances")
    parser.add_argument("--only", nargs="+", default=[], help="names, or letters of families")
    parser.add_argument("--modes", nargs="+", default=["auto"], help="none, auto, local, global")
    parser.add_argument("--limits", type=float, nargs="+", default=[10.0], help="of global")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--n-init", type=int, help="starts, if not the default")
    parser.add_argument("--before", help="an interpreter with another version of the library")
    parser.add_argument("--stop", type=float, default=300.0, help="seconds of any fit")
    parser.add_argument("--best", type=Path, help="file of least values, read and written")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    rows = []
    for row in _measured(options):
        rows.append(row)
        _say(_line(row))
    best = least(rows, options.best)
    if options.best is not None:
        _merge(options.best, best)
    page = "\n".join([*table(rows, best), "", *summary(rows, best)])
    print(page)
    options.out.mkdir(parents=True, exist_ok=True)
    name = f"mixed-quality-{options.offset}"
    (options.out / f"{name}.md").write_text(page + "\n", encoding="utf-8")
    (options.out / f"{name}.json").write_text(json.dumps({"rows": rows, "best": best}, indent=1))
    return int(any(row.get("broken") for row in rows))


def _measured(options: argparse.Namespace) -> Iterable[Row]:
    versions = {"now": sys.executable} | ({"before": options.before} if options.before else {})
    for name in chosen(options.only):
        for seed in range(options.seeds):
            for mode in options.modes:
                for limit in options.limits if mode == "global" else [None]:
                    request = Request(name, options.offset, mode, limit, seed, options.n_init)
                    for version, python in versions.items():
                        yield fit(request, python, options.stop) | {"version": version}


def least(rows: list[Row], file: Path | None) -> dict[str, float]:
    """The least value of each instance, of these fits and of the file."""
    best: dict[str, float] = {}
    if file is not None and file.exists():
        best = json.loads(file.read_text(encoding="utf-8"))
    for row in rows:
        if "failed" not in row and not row["broken"]:
            best[row["instance"]] = min(row["inertia"], best.get(row["instance"], row["inertia"]))
    return best


def _merge(file: Path, best: dict[str, float]) -> None:
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known |= {name: min(value, known.get(name, value)) for name, value in best.items()}
    file.write_text(json.dumps(known, indent=1, sort_keys=True), encoding="utf-8")


def _kind(row: Row) -> str:
    limit = "" if row["limit"] is None else f" {row['limit']:g} s"
    return f"{row['search']}{limit}" + ("" if row["version"] == "now" else ", before")


def _above(row: Row, best: dict[str, float]) -> float:
    return 100 * (row["inertia"] / best[row["instance"]] - 1)


def table(rows: list[Row], best: dict[str, float]) -> list[str]:
    """Distance in percent, and CPU seconds, of each kind of fit."""
    kinds = list(dict.fromkeys(map(_kind, rows)))
    lines = ["| instance | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for row in rows:
        of = cells.setdefault((row["instance"], row["seed"]), {})
        if "failed" in row:
            of[_kind(row)] = row["failed"][:40]
        else:
            flag = f" BROKEN {row['broken']}" if row["broken"] else ""
            of[_kind(row)] = f"{_above(row, best):.2f} % in {row['cpu']:.2f} s{flag}"
    for (name, _), of in cells.items():
        lines.append(f"| {name} | " + " | ".join(of.get(kind, "") for kind in kinds) + " |")
    return lines


def summary(rows: list[Row], best: dict[str, float]) -> list[str]:
    """Each kind of fit over all instances, in sentences."""
    lines = []
    done = [row for row in rows if "failed" not in row]
    for kind in dict.fromkeys(map(_kind, rows)):
        own = [row for row in done if _kind(row) == kind]
        if not own:
            continue
        above = [_above(row, best) for row in own]
        worst = own[above.index(max(above))]["instance"]
        reached = sum(value <= 100 * SAME for value in above)
        lines.append(
            f"- {kind}: {len(own)} fits, {mean(above):.2f} % above the least known on average, "
            f"{max(above):.2f} % at most ({worst}); {reached} reach it; "
            f"{sum(row['cpu'] for row in own):.1f} CPU s."
        )
        other = {_key(row): row for row in done if _kind(row) == f"{kind}, before"}
        ratios = {
            row["instance"]: row["cpu"] / other[_key(row)]["cpu"]
            for row in own
            if _key(row) in other
        }
        if ratios:
            most = max(ratios, key=lambda name: ratios[name])
            lines.append(
                f"  CPU of before: × {mean(ratios.values()):.2f} on average, × {ratios[most]:.2f} "
                f"at most ({most})."
            )
    lines += _never_worse(done)
    return lines


def _never_worse(done: list[Row]) -> list[str]:
    """Fits of global search that are worse than the default."""
    default = {
        _key(row): row["inertia"]
        for row in done
        if row["search"] == "auto" and row["version"] == "now"
    }
    lines = []
    for row in done:
        if row["search"] != "global" or row["version"] != "now" or _key(row) not in default:
            continue
        worse = row["inertia"] / default[_key(row)] - 1
        if worse > SAME:
            lines.append(
                f"- {row['instance']}, seed {row['seed']}: {_kind(row)} is {100 * worse:.2f} % "
                "worse than the default."
            )
    return lines


def _key(row: Row) -> tuple[str, int]:
    return row["instance"], row["seed"]


def _line(row: Row) -> str:
    name = f"{row['instance']} {_kind(row)} seed {row['seed']}"
    if "failed" in row:
        return f"{name}: {row['failed']}"
    return (
        f"{name}: {row['inertia']:.6g} in {row['cpu']:.2f} s, {row['solver']} {row['broken'] or ''}"
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
