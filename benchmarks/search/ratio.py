"""Mode `auto`: what search="auto" costs and brings, with as many starts as search="none"."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from benchmarks.search.data import Source
from benchmarks.search.fit import pair
from benchmarks.sizes.measure import Row

STARTS: tuple[int | str, ...] = (1, "auto", 10)


def run(
    chosen: list[Source],
    seeds: int,
    threads: int,
    limit: float,
    say: Callable[[str], None],
) -> list[Row]:
    """One row for each instance, number of starts and seed, but for those that take too long."""
    rows: list[Row] = []
    for source in chosen:
        case = source.make()
        alone = 0.0  # longest fit of one start with search
        for n_init in STARTS:
            if n_init == 10 and 10 * alone > limit:
                say(f"{source.name}, 10 starts: left out, more than {limit:g} s (--limit)")
                continue
            for seed in range(seeds):
                row = {"instance": source.name, "n_init": n_init, "seed": seed}
                rows.append(row | pair(case, seed, threads, n_init).facts)
                if n_init == 1:
                    alone = max(alone, rows[-1]["auto_seconds"])
            say(f"{source.name}, n_init={n_init}: {together(rows)[-1]['time_ratio']:.2f}")
    return rows


def together(rows: list[Row]) -> list[Row]:
    """Seeds together: medians of ratios and times, and the worst of both ratios."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault((row["instance"], row["n_init"]), []).append(row)
    whole = []
    for (instance, n_init), same in groups.items():
        values = {
            key: median(row[key] for row in same)
            for key in ("time_ratio", "inertia_ratio", "none_seconds", "auto_seconds")
        }
        worst = {
            f"worst_{key}": max(row[key] for row in same) for key in ("time_ratio", "inertia_ratio")
        }
        whole.append({"instance": instance, "n_init": n_init, "seeds": len(same)} | values | worst)
    return whole


def check(rows: list[Row]) -> list[str]:
    """Rules that labels break, and false claims."""
    return [
        f"{row['instance']}, n_init={row['n_init']}, seed {row['seed']}: {line}"
        for row in rows
        for line in row["broken"]
    ]


def summary(rows: list[Row]) -> list[str]:
    """The worst of each, in sentences."""
    whole = together(rows)
    slow = max(whole, key=lambda row: row["time_ratio"])
    slowest = max(rows, key=lambda row: row["time_ratio"])
    worse = max(rows, key=lambda row: row["inertia_ratio"])
    return [
        f"- Time ratio: median of all {median(row['time_ratio'] for row in rows):.2f}; worst "
        f"median {slow['time_ratio']:.2f} ({slow['instance']}, n_init={slow['n_init']}); worst "
        f"single {slowest['time_ratio']:.2f} ({slowest['instance']}, "
        f"n_init={slowest['n_init']}, seed {slowest['seed']}).",
        f"- Inertia ratio: median {median(row['inertia_ratio'] for row in rows):.6f}, worst "
        f"{worse['inertia_ratio']:.6f} ({worse['instance']}, n_init={worse['n_init']}, "
        f"seed {worse['seed']}).",
    ]
