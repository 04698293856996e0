"""Mode `balanced`: strictly balanced clusterings of sets that other codes were tried on."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.search.data import Folders, Source, even, from_file, small
from benchmarks.search.fit import fit
from benchmarks.sizes.measure import Row

# best of 20 starts of the best public code for balanced clusterings that was tried; six digits
REFERENCE = {"S1": 1.08875e13, "S2": 1.42793e13, "S3": 1.73398e13, "S4": 1.65089e13}
DIGITS = ".5e"
SEARCHES = ("none", "auto", "local", "global")


def sources(folders: Folders | None) -> list[Source]:
    """S1 to S4 and Birch1; without folders something small."""
    if folders is None:
        return [source for source in small() if source.name == "balanced"]
    sets = [from_file(folders, name.lower(), name, 15, even) for name in REFERENCE]
    return [*sets, from_file(folders, "birch1", "Birch1", 100, even)]


def run(
    chosen: list[Source],
    seeds: int,
    seconds: float,
    threads: int,
    say: Callable[[str], None],
) -> list[Row]:
    """One row for each instance, search and seed."""
    rows = []
    for source in chosen:
        case = source.make()
        for search in SEARCHES:
            limit = seconds if search == "global" else None
            for seed in range(seeds):
                about = {"instance": source.name, "search": search, "seed": seed}
                row = about | fit(case, search, seed, threads, seconds=limit).facts
                reference = REFERENCE.get(source.name)
                row["reference"] = reference
                row["above"] = None if reference is None else row["inertia"] / reference - 1
                rows.append(row)
                say(f"{source.name}, {search}, seed {seed}: {row['inertia']:.9e}")
    return rows


def place(row: Row) -> str:
    """Compare with the reference, as far as its six digits go."""
    shown, reference = (float(format(row[key], DIGITS)) for key in ("inertia", "reference"))
    return "same" if shown == reference else "better" if shown < reference else "worse"


def check(rows: list[Row]) -> list[str]:
    """Rules that labels break, and false claims."""
    return [
        f"{row['instance']}, {row['search']}, seed {row['seed']}: {line}"
        for row in rows
        for line in row["broken"]
    ]
