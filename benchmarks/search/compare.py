"""Mode `table`: inertia against time, all methods on the same data in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import mean

from benchmarks.search.apart import FAILED, Found, Outcome, measure
from benchmarks.search.case import Case, ratio, verdict
from benchmarks.search.data import Source
from benchmarks.search.methods import METHODS
from benchmarks.sizes.measure import Row

OURS = "bckm"
Measure = Callable[[Case, str, int, float, int, float], Outcome]


def run(
    chosen: list[Source],
    seeds: int,
    times: list[float],
    threads: int,
    limit: float,
    say: Callable[[str], None],
    fit: Measure = measure,
) -> list[Row]:
    """One row for each instance, method, time and seed; times that a method has not are None."""
    rows: list[Row] = []
    for source in chosen:
        case = source.make()
        own = [
            row
            for seed in range(seeds)
            for row in _measured(case, seed, sorted(times), threads, limit, say, fit)
        ]
        _relate(own)
        rows += own
    return rows


def _measured(
    case: Case,
    seed: int,
    times: list[float],
    threads: int,
    limit: float,
    say: Callable[[str], None],
    fit: Measure,
) -> Iterator[Row]:
    for name, method in METHODS.items():
        if not method.installed or not method.fits(case):
            continue
        for time in times[-1:] if method.anytime or not method.timed else times:
            outcome = fit(case, name, seed, time, threads, limit + time)
            asked = times if method.anytime else [time if method.timed else None]
            for one in asked:
                found = outcome.until(limit if one is None else one)
                if not method.anytime and outcome.found:  # it has one answer, whenever it came
                    found = outcome.found[-1]
                yield _row(case, name, seed, one, outcome, found)
            say(f"{case.name}, {method.title}, seed {seed}, {time:g} s: {outcome.status}")


def _row(
    case: Case, method: str, seed: int, time: float | None, outcome: Outcome, found: Found | None
) -> Row:
    shape = {"n": len(case.X), "d": case.X.shape[1], "k": case.k}
    row = {"instance": case.name, **shape, "method": method, "time": time, "seed": seed}
    row |= {"status": outcome.status, "message": outcome.message, "fit_seconds": outcome.seconds}
    if found is None:
        nothing = {"inertia": None, "ratio": None, "seconds": outcome.seconds, "starts": 0}
        return row | nothing | {"broken": []}
    judged = verdict(case, found.labels, found.claimed)
    return row | {
        "inertia": judged.inertia,
        "broken": list(judged.broken),
        "seconds": found.seconds,
        "starts": found.starts,
    }


def _relate(rows: list[Row]) -> None:
    """Add ratios to the best of the instance; labels that break a rule have none."""
    good = [row["inertia"] for row in rows if row["inertia"] is not None and not row["broken"]]
    for row in rows:
        valid = row["inertia"] is not None and not row["broken"]
        row["ratio"] = ratio(row["inertia"], min(good)) if valid else None


def check(rows: list[Row]) -> list[str]:
    """What must not happen to this library; peers may break rules, which the table shows."""
    broken = []
    for row in rows:
        if METHODS[row["method"]].module != OURS:
            continue
        name = f"{row['instance']}, {METHODS[row['method']].title}, seed {row['seed']}"
        broken += [f"{name}: {line}" for line in row["broken"]]
        if row["status"] == FAILED:  # one that is stopped only takes long, which the table shows
            broken.append(f"{name}: {row['message']}")
    return broken


def cells(rows: list[Row]) -> list[Row]:
    """Seeds of one cell together: means of ratios and seconds; one bad fit spoils the cell."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault((row["instance"], row["method"], row["time"]), []).append(row)
    whole = []
    for same in groups.values():
        ratios = [row["ratio"] for row in same]
        known = None not in ratios
        whole.append(
            same[0]
            | {
                "ratio": mean(ratios) if known else None,
                "worst": max(ratios) if known else None,
                "seconds": mean(row["seconds"] for row in same),
                "fit_seconds": mean(row["fit_seconds"] for row in same),
                "broken": [line for row in same for line in row["broken"]],
            }
        )
    return whole
