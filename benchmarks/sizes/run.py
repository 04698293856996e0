"""Cases times methods into rows, with ratios and checks within the same run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks.sizes.data import BOUNDS, Case, write
from benchmarks.sizes.measure import Request, Row
from benchmarks.sizes.methods import METHODS

UNBOUNDED = "none"
AGREE = 1e-6  # how far the inertia that this library claims may be from the judge's
NOT_BETTER = 1e-9  # rounding in a comparison of two sums of squared distances


def run(
    cases: list[Case],
    measure: Callable[[Request], Row],
    folder: Path,
    threads: int,
    repeats: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """Measure all cases; of several repeats the median (by time) is kept."""
    rows: list[Row] = []
    for case in cases:
        data, start = write(case, folder)
        jobs = list(_jobs(case))
        found: list[list[Row]] = [[] for _ in jobs]
        for _ in range(repeats):  # outside: a machine that slows down slows down all of them
            for (method, bounds, low, high), sofar in zip(jobs, found, strict=True):
                if sofar and sofar[-1]["status"] != "done":
                    continue
                request = Request(
                    method, str(data), str(start), low, high, case.max_iter, case.tol, threads
                )
                sofar.append(measure(request))
                say(_line(case, method, bounds, sofar[-1]))
        for (method, bounds, low, high), sofar in zip(jobs, found, strict=True):
            kept = _median(sofar)
            times = [row["seconds"] for row in sofar if "seconds" in row]
            about = {"low": low, "high": high, "all_seconds": times}
            rows.append({"case": case.name, "method": method, "bounds": bounds} | about | kept)
            rows[-1]["settings"] = asdict(case)
        _relate([row for row in rows if row["case"] == case.name])
    return rows


def _line(case: Case, method: str, bounds: str, row: Row) -> str:
    took = f"{row['seconds']:.3f} s" if "seconds" in row else row["message"]
    return f"{case.name}, bounds {bounds}, {METHODS[method].title}: {row['status']}, {took}"


def _jobs(case: Case):
    """Yield method, name of the bounds, bounds; methods that know no bounds come once, first."""
    installed = [name for name in case.methods if METHODS[name].installed]
    for method in installed:
        if not METHODS[method].bounded:
            yield method, UNBOUNDED, 0, case.n
    for bounds in case.bounds:
        for method in installed:
            if METHODS[method].bounded:
                yield method, bounds, *BOUNDS[bounds](case.n, case.k)


def _median(rows: list[Row]) -> Row:
    """The run in the middle; one that failed or was stopped tells more than those before it."""
    if rows[-1]["status"] != "done":
        return rows[-1]
    return sorted(rows, key=lambda row: row["seconds"])[(len(rows) - 1) // 2]


def _relate(rows: list[Row]) -> None:
    """Add ratios: per iteration to the peers without bounds, the rest to ours at these bounds."""
    for row in rows:
        for peer in ("lloyd", "faiss"):
            other = _find(rows, peer, UNBOUNDED)
            row[f"over_{peer}"] = _ratio(row, other, "per_iteration")
        own = _find(rows, "ours", row["bounds"])
        is_peer = row["method"] != "ours"
        for value in ("seconds", "per_iteration", "inertia", "start_cost"):
            row[f"{value}_over_ours"] = _ratio(row, own, value) if is_peer else None


def _find(rows: list[Row], method: str, bounds: str) -> Row:
    wanted = (method, bounds)
    return next((row for row in rows if (row["method"], row["bounds"]) == wanted), {})


def _ratio(row: Row, other: Row, value: str) -> float | None:
    if other.get("status") != "done" or row.get(value) is None or not other.get(value):
        return None  # nothing to compare with, or nothing but zero
    return row[value] / other[value]


def check(rows: list[Row], gap: float) -> list[str]:
    """What must not happen to this library, in sentences; empty if all is well."""
    broken = []
    for row in rows:
        name = f"{row['case']}, {row['bounds']}, {METHODS[row['method']].title}"
        own = row["method"] == "ours"
        if row["status"] != "done":
            if own:
                broken.append(f"{name}: {row['status']} {row.get('message', '')}".rstrip())
            continue
        if own:
            if not row["sizes_kept"]:
                sizes, bounds = (row["smallest"], row["largest"]), (row["low"], row["high"])
                broken.append(f"{name}: sizes {sizes} are outside {bounds}")
            # written so that a gap which is missing or not a number fails as well
            if not (row["gap"] is not None and row["gap"] <= gap):
                broken.append(f"{name}: gap {row['gap']} is not proven below {gap:g}")
            # a cost of nothing but rounding has no digits to agree on
            error = abs(row["claimed_inertia"] - row["inertia"])
            if not error <= AGREE * max(row["inertia"], 1e-12 * abs(row["start_cost"]), 1e-6):
                broken.append(
                    f"{name}: claims inertia {row['claimed_inertia']}, it is {row['inertia']}"
                )
        ratio = row["start_cost_over_ours"]
        one_step = row["settings"]["max_iter"] == 1
        if one_step and ratio is not None and not ratio >= 1 - NOT_BETTER:
            broken.append(f"{name}: its step is better than ours ({ratio:.12f})")
    return broken
