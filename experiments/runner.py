"""Run cases x seeds x methods into one tidy CSV; a run that was stopped goes on where it was."""

from __future__ import annotations

import csv
from pathlib import Path

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from experiments.methods import FITS
from experiments.objective import measure
from experiments.tasks import Case

COLUMNS = (
    "case", "space", "n_clusters", "sigma", "seed", "method", "cpu_seconds", "wall_seconds",
    "error", "nmi", "nmi_geometric", "ari", "inertia", "broken_must_link", "broken_cannot_link",
    "broken_size", "smallest", "largest", "sizes",
)  # fmt: skip
KEY = COLUMNS[:6]


def read(path: Path) -> list[dict[str, str]]:
    """Rows of a result file; a last line that was cut off does not count."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as handle:
        reader = csv.DictReader(handle)
        if tuple(reader.fieldnames or COLUMNS) != COLUMNS:
            raise SystemExit(f"{path} was written by another version; delete it to start anew.")
        return [row for row in reader if row["sizes"] is not None]


def run(cases: list[Case], seeds: int, methods: list[str], path: Path) -> list[dict[str, str]]:
    """Measure what is not yet in the file, appending row by row."""
    rows = read(path)
    _write(rows, path)  # drops a line that was cut off
    done = {tuple(row[name] for name in KEY) for row in rows}
    todo = [
        (case, seed, method)
        for case in cases
        for seed in range(seeds)
        for method in methods
        if _key(case, seed, method) not in done
    ]
    task_of: tuple[tuple[Case, int], object] | None = None
    with (
        path.open("a", newline="", encoding="utf-8") as handle,
        threadpool_limits(1),  # methods are compared on one core each
        tqdm(todo, unit="fit", disable=None) as bar,
    ):
        writer = csv.DictWriter(handle, COLUMNS)
        for case, seed, method in bar:
            bar.set_description(f"{case.name} {case.space} k={case.n_clusters} {method}")
            if task_of is None or task_of[0] != (case, seed):
                task_of = ((case, seed), case.make(seed))
            row = measure(FITS[method], task_of[1], seed)
            writer.writerow(dict(zip(KEY, _key(case, seed, method), strict=True)) | row)
            handle.flush()
    return read(path)


def _key(case: Case, seed: int, method: str) -> tuple[str, ...]:
    numbers = (str(case.n_clusters), f"{case.sigma:g}", str(seed))
    return (case.name, case.space, *numbers, method)


def _write(rows: list[dict[str, str]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)
