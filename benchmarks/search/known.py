"""Mode `known`: instances with best-known values, read from a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import bckm
from benchmarks.search.case import Case
from benchmarks.search.data import Folders, MissingError, Source
from benchmarks.search.fit import fit, pair
from benchmarks.sizes.measure import Row

NEW = 1e-9  # relative difference below the best known from which a value is a new best
REACHED, NEAR, FAIR = 1e-6, 1e-3, 1e-2  # relative differences that the summary counts


@dataclass(frozen=True)
class Known:
    """An instance, and what is known of it."""

    source: Source
    best: float
    bound: float | None

    @property
    def name(self) -> str:
        """As in the file."""
        return self.source.name


def read(folders: Folders) -> list[Known]:
    """All instances that known.json lists."""
    listed = json.loads(folders.file("instances", "known.json").read_text(encoding="utf-8"))
    return [
        Known(
            Source(entry["instance"], lambda entry=entry: _case(entry, folders)),
            entry["best"],
            entry["lower_bound"],
        )
        for entry in listed
    ]


def _case(entry: dict[str, Any], folders: Folders) -> Case:
    with np.load(folders.file("instances", entry["data"])) as file:
        X = file["X"].astype(float)
    return Case(entry["instance"], X, entry["k"], _rules(entry, folders))


def _rules(entry: dict[str, Any], folders: Folders) -> bckm.Constraints:
    if "sizes" in entry:
        return bckm.Constraints(size_min=entry["sizes"], size_max=entry["sizes"])
    if entry["n_ml"] == entry["n_cl"] == 0:
        return bckm.Constraints()
    folder, links = entry["instance"].split("/")
    text = folders.file("instances", f"{folder}.json").read_text(encoding="utf-8")
    drawn = json.loads(text)[links]
    number = len(drawn["ml"]), len(drawn["cl"])
    if number != (entry["n_ml"], entry["n_cl"]):
        raise MissingError(
            f"{entry['instance']} has {number[0]} must-links and {number[1]} cannot-links; "
            f"known.json says {entry['n_ml']} and {entry['n_cl']}."
        )
    return bckm.Constraints(must_link=drawn["ml"], cannot_link=drawn["cl"])


def run(
    instances: list[Known],
    seeds: int,
    seconds: float,
    threads: int,
    say: Callable[[str], None],
) -> list[Row]:
    """One row for each instance and seed: global search, and the default against no search."""
    rows = []
    for known in instances:
        case = known.source.make()
        for seed in range(seeds):
            searched = fit(case, "global", seed, threads, seconds=seconds).facts
            default = pair(case, seed, threads).facts
            row = {
                "instance": known.name,
                "seed": seed,
                "best": known.best,
                "lower_bound": known.bound,
                "global": searched | {"above": searched["inertia"] / known.best - 1},
                "default": default
                | {
                    "above": default["auto_inertia"] / known.best - 1,
                    "none_above": default["none_inertia"] / known.best - 1,
                },
            }
            rows.append(row)
            say(
                f"{known.name}, seed {seed}: {row['global']['above']:+.2e} "
                f"in {searched['best_after']:.2f} of {searched['seconds']:.2f} s, "
                f"default {row['default']['above']:+.2e}"
            )
    return rows


def check(rows: list[Row]) -> list[str]:
    """Rules that labels break, false claims, and values that proofs exclude."""
    broken = []
    for row in rows:
        name = f"{row['instance']}, seed {row['seed']}"
        for part in ("global", "default"):
            broken += [f"{name}, {part}: {line}" for line in row[part]["broken"]]
        bound = row["lower_bound"]
        for value in (row["global"]["inertia"], row["default"]["auto_inertia"]):
            if bound is not None and value < bound * (1 - NEW):
                broken.append(f"{name}: {value!r} is below the proven bound {bound!r}")
    return broken


def records(rows: list[Row]) -> list[str]:
    """Values below the best known, of labels that obey every rule."""
    found = []
    for row in rows:
        for part, key in (("global", "inertia"), ("default", "auto_inertia")):
            if row[part]["above"] < -NEW and not row[part]["broken"]:
                found.append(
                    f"NEW BEST: {row['instance']}, seed {row['seed']}, {part}: {row[part][key]!r} "
                    f"(known: {row['best']!r}, {row[part]['above']:+.3e})"
                )
    return found


def summary(rows: list[Row]) -> list[str]:
    """How often the best known is reached, in sentences."""
    n = len(rows)
    above = np.array([row["global"]["above"] for row in rows])
    default = np.array([row["default"]["above"] for row in rows])
    plain = np.array([row["default"]["none_above"] for row in rows])
    ratio = np.array([row["default"]["time_ratio"] for row in rows])
    after = np.array([row["global"]["best_after"] for row in rows])
    return [
        f"- Global search: {(above <= REACHED).sum()} of {n} within 1e-6 of the best known, "
        f"{(above <= NEAR).sum()} within 0.1 %; worst {100 * above.max():+.4f} % "
        f"({rows[int(above.argmax())]['instance']}). Best found after {np.median(after):.3f} s "
        f"(median), {after.max():.2f} s (longest).",
        f'- Default (search="auto"): {(default <= FAIR).sum()} of {n} within 1 %, '
        f"{(default <= REACHED).sum()} within 1e-6; worst {100 * default.max():+.3f} % "
        f"({rows[int(default.argmax())]['instance']}). Without search: {(plain <= FAIR).sum()} "
        f"within 1 %, worst {100 * plain.max():+.3f} %.",
        f'- Time of search="auto" ÷ search="none": median {np.median(ratio):.2f}, '
        f"largest {ratio.max():.2f} ({rows[int(ratio.argmax())]['instance']}).",
    ]
