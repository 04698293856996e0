"""`Comparison`: two or more studies side by side, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bckm._core.names import Name, visible
from bckm._core.types import IntArray
from bckm.metric.embedding import Metric
from bckm.metric.named import LEARNED
from bckm.report._facts import gap_of, gap_told
from bckm.report._markdown import safe, table
from bckm.report.words import number, plain, seconds, share
from bckm.study import Study
from bckm.study.views import matched


@dataclass(frozen=True)
class Agreement:
    """Agreement of two clusterings.

    Attributes
    ----------
    first, second : str
        Names of the studies.
    n_samples : int
        Number of samples in both.
    moved : int
        Number of these in different clusters, after matching the clusters as well as possible.
    rand : float
        Adjusted Rand index: 1 for the same clustering, about 0 for unrelated ones.
    """

    first: str
    second: str
    n_samples: int
    moved: int
    rand: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of studies, with methods `text`, `markdown` and `dict`.

    Attributes
    ----------
    names : tuple of str
        Names of the studies.
    rows : tuple of dict
        For each study: objective, ratio (to the best objective), inertia, penalty, gap, size_min,
        size_max, n_samples, n_clusters, violated, seconds, solver, metric.
    agreements : tuple of Agreement
        One for each pair of studies that share samples.
    remarks : tuple of str
        What could not be compared and why.

    Examples
    --------
    >>> import bckm
    >>> from bckm import report
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> free = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X)
    >>> rules = bckm.Constraints(must_link=[(0, 3)])
    >>> tied = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    >>> found = report.compare([free, tied], ["free", "tied"])
    >>> found.rows[0]["ratio"], found.agreements[0].moved
    (1.0, 1)
    """

    names: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    agreements: tuple[Agreement, ...]
    remarks: tuple[str, ...]

    def dict(self) -> dict[str, Any]:
        """Return the comparison as a dict for JSON."""
        return {
            "studies": [
                {"name": name, **row} for name, row in zip(self.names, self.rows, strict=True)
            ],
            "agreements": [dict(vars(one)) for one in self.agreements],
            "remarks": list(self.remarks),
        }

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Heads, and for each study what is written below them; names are not escaped."""
        hidden = [] if any(row["penalty"] for row in self.rows) else ["penalty", "violated"]
        hidden += ["metric"] if len({row["metric"] for row in self.rows}) == 1 else []
        lines = [
            {
                "metric": row["metric"],
                "objective": _number(row["objective"]),
                "above best": "–" if row["ratio"] is None else _above(row["ratio"]),
                "inertia": _number(row["inertia"]),
                "penalty": _number(row["penalty"]),
                "violated": number(row["violated"]),
                "gap": gap_told(row["gap"], "–"),
                "sizes": f"{row['size_min']:,}–{row['size_max']:,}",
                "time": seconds(row["seconds"]),
            }
            for row in self.rows
        ]
        heads = [head for head in lines[0] if head not in hidden]
        return heads, [[line[head] for head in heads] for line in lines]

    def text(self) -> str:
        """Return the comparison as lines for a terminal."""
        heads, lines = self._cells()
        names = [plain([Name(name)]) for name in self.names]
        columns = [["", *names]]
        columns += [[head, *[line[at] for line in lines]] for at, head in enumerate(heads)]
        wide = [max(map(len, column)) for column in columns]
        found = []
        for at in range(len(lines) + 1):
            cells = [column[at].rjust(room) for column, room in zip(columns, wide, strict=True)]
            cells[0] = columns[0][at].ljust(wide[0])
            found.append("  ".join(cells).rstrip())
        found += ["", *(_sentence(one, visible) for one in self.agreements), *self.remarks]
        return "\n".join(found).rstrip() + "\n"

    def markdown(self) -> str:
        """Return the comparison as Markdown."""
        heads, lines = self._cells()
        names = [safe(visible(Name(name))) for name in self.names]
        rows = [[name, *line] for name, line in zip(names, lines, strict=True)]
        found = table(["", *heads], rows, len(heads))
        told = [_sentence(one, lambda name: safe(visible(Name(name)))) for one in self.agreements]
        found += [f"- {one}" for one in [*told, *map(safe, self.remarks)]]
        return "\n".join(found).strip() + "\n"


def _number(value: float | None) -> str:
    return "–" if value is None else number(value)


def _above(ratio: float) -> str:
    return "best" if ratio <= 1 else f"+{share(ratio - 1)}"


def _sentence(one: Agreement, write: Any) -> str:
    return (
        f"{write(one.first)} and {write(one.second)}: {one.moved:,} of {one.n_samples:,} samples "
        f"({share(one.moved / one.n_samples)}) in different clusters; adjusted Rand index "
        f"{one.rand:.3f}"
    )


def comparison_of(studies: Sequence[Study], names: Sequence[str] | None) -> Comparison:
    """Compare studies; see `bckm.report.compare`."""
    if len(studies) < 2:
        raise ValueError(f"a comparison needs at least two studies; got {len(studies)}.")
    called = [one.title for one in studies] if names is None else [str(name) for name in names]
    if len(called) != len(studies):
        raise ValueError(f"got {len(called)} names for {len(studies)} studies.")
    from sklearn.metrics import adjusted_rand_score  # slow to import

    comparable = _same_scale(studies)
    best = min(one.result.objective for one in studies)
    rows = tuple(_row(one, best if comparable else None) for one in studies)
    agreements, remarks = [], []
    if not comparable:
        learned = any(one.metric == LEARNED for one in studies)
        remarks.append(
            "Objectives are not compared: data, scaling, metric or aim differ, so the units differ "
            "too." + (" A learned metric has a space of its own." * learned)
        )
    for i, j in combinations(range(len(studies)), 2):
        shared = _shared(studies[i], studies[j])
        if shared is None:
            remarks.append(
                f"{plain([Name(called[i])])} and {plain([Name(called[j])])} cannot be matched: "
                f"they have {studies[i].n_samples:,} and {studies[j].n_samples:,} samples and no "
                "ids in common."
            )
            continue
        a, b = shared
        same = matched(a, b, int(max(a.max(), b.max())) + 1)[a] == b
        moved, rand = int(np.count_nonzero(~same)), float(adjusted_rand_score(a, b))
        agreements.append(Agreement(called[i], called[j], int(a.size), moved, rand))
    return Comparison(tuple(called), rows, tuple(agreements), tuple(remarks))


def _same_scale(studies: Sequence[Study]) -> bool:
    """Whether objectives mean the same: as many rows and features, scaled alike."""
    first = studies[0]
    return all(
        one.X.shape == first.X.shape
        and same_metric(one.result.metric, first.result.metric)
        and np.array_equal(one.scaling.factor, first.scaling.factor)
        and _aim(one) == _aim(first)
        for one in studies[1:]
    )


def _aim(study: Study) -> tuple[bool, bool]:
    """Whether groups are to be alike, and in their variances, too."""
    mixed = study.result.mixed
    return mixed is not None, mixed is not None and mixed.variances


def same_metric(one: Metric, other: Metric) -> bool:
    """Whether two metrics measure alike."""
    return one.name == other.name and all(map(np.array_equal, one.arrays, other.arrays))


def _row(study: Study, best: float | None) -> dict[str, Any]:
    result = study.result
    ratio = None
    if best is not None and np.isfinite(result.objective):
        ratio = result.objective / best if best > 0 else 1.0 if result.objective <= 0 else None
    known = {"objective": result.objective, "inertia": result.inertia, "penalty": result.penalty}
    return {
        **{name: float(one) if np.isfinite(one) else None for name, one in known.items()},
        "ratio": None if ratio is None else float(ratio),
        "gap": gap_of(study),
        "size_min": int(result.sizes.min()),
        "size_max": int(result.sizes.max()),
        "n_samples": study.n_samples,
        "n_clusters": study.n_clusters,
        "violated": len(result.violated),
        "seconds": float(result.seconds),
        "solver": result.solver,
        "metric": study.metric,
    }


def _shared(one: Study, other: Study) -> tuple[IntArray, IntArray] | None:
    """Labels of the samples that both know: by their ids, or all in their order."""
    a, b = one.result.labels, other.result.labels
    if one.sample_id is not None and other.sample_id is not None:
        if one.sample_id == other.sample_id:
            return a, b
        where = {name: p for p, name in enumerate(other.sample_id)}
        pairs = [(p, where[name]) for p, name in enumerate(one.sample_id) if name in where]
        if not pairs:
            return None
        p, q = np.array(pairs).T
        return a[p], b[q]
    return (a, b) if a.size == b.size else None
