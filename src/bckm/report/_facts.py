"""What a report tells, as values: all its forms are written from one `Facts`."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from bckm._core.arrays import blocks
from bckm._core.names import Name, Told
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.constraints.rules import CannotLink, Fixed, Forbidden, MustLink
from bckm.fit.result import SoftViolation
from bckm.metric.named import LEARNED
from bckm.report._mixed import figures_of_mixed, told_of_mixed
from bckm.report._sentences import Words, bare
from bckm.report._topics import Checked, check_rules
from bckm.report.words import (
    Sentence,
    between,
    counted,
    measured,
    number,
    seconds,
    share,
)
from bckm.study import Study, views

MEMBERS = 3  # samples named for each cluster
TOLD = 0.5  # standard deviations from which on a feature stands out
PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy")
TINY = 1e-9  # a gap below it is rounding


@dataclass(frozen=True, eq=False)
class Cluster:
    """One cluster in a few numbers.

    Attributes
    ----------
    number, size : int
        Its label, and how many samples it holds.
    name : str
        What it is called.
    share : float
        Of the inertia.
    distance : float
        Root of the mean squared distance of its samples from the center; NaN if it is empty.
    members : tuple of str
        Samples nearest to the center.
    features : tuple of (str, str, float)
        What stands out: feature, mean, and standard deviations from the mean of all.
    """

    number: int
    name: str
    size: int
    share: float
    distance: float
    members: tuple[str, ...]
    features: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True, eq=False)
class Facts:
    """Everything that a report tells about a study.

    Attributes
    ----------
    study : Study
        Whose facts.
    checked : Checked
        What was asked, and what the checker says.
    violated : tuple of (Sentence, SoftViolation)
        Soft rules that the labels break, the dearest first.
    amounts : list of views.Amount
        Sizes, loads and quotas against their bounds.
    profile : views.Profile
        Means of the features.
    clusters : tuple of Cluster
        One each.
    gap : float or None
        How far the last assignment can be from the best one for these centers.
    versions : dict of str to str
        Of the libraries.
    """

    study: Study
    checked: Checked
    violated: tuple[tuple[Sentence, SoftViolation], ...]
    amounts: list[views.Amount]
    profile: views.Profile
    clusters: tuple[Cluster, ...]
    gap: float | None
    versions: dict[str, str]

    @classmethod
    def of(cls, study: Study) -> Facts:
        """Collect them; the hard rules are checked anew."""
        if not isinstance(study, Study):
            raise TypeError(
                f"a report needs a Study; got {type(study).__name__}. Use "
                "bckm.Study.of(result, X, constraints)."
            )
        words, checked = Words(study), check_rules(study)
        lost = sorted(study.result.violated, key=lambda one: -one.penalty)
        profile = views.profile(study)
        return cls(
            study=study,
            checked=checked,
            violated=tuple(
                (words.broken(one.rule, one.message, checked.lost.get(one.message)), one)
                for one in lost
            ),
            amounts=views.amounts(study),
            profile=profile,
            clusters=_clusters(study, profile),
            gap=gap_of(study),
            versions=_versions(study.settings),
        )

    @cached_property
    def plane(self) -> views.Plane:
        """Samples and centers in two dimensions."""
        return views.plane(self.study)

    @cached_property
    def styles(self) -> list[views.Style]:
        """Color and marker of each cluster, the same in all pictures and tables."""
        return views.palette(self.plane.centers)

    def total(self, *, soft: bool) -> tuple[int, int]:
        """How many single rules were asked and kept."""
        found = [topic for topic in self.checked.topics if topic.soft == soft]
        return sum(topic.asked for topic in found), sum(topic.kept for topic in found)

    @property
    def strongest(self) -> list[int]:
        """Features, those in which clusters differ most first."""
        sizes = self.study.result.sizes[:, None]
        # squares that are not there (an empty cluster) count nothing
        strength = (np.nan_to_num(self.profile.z) ** 2 * sizes).sum(axis=0)
        return [int(j) for j in np.argsort(-strength, kind="stable")]

    @property
    def headline(self) -> str:
        """What came out, in a sentence."""
        sizes = self.study.result.sizes
        clusters = counted(self.study.n_clusters, "cluster")
        held = between(int(sizes.min()), int(sizes.max())).replace("exactly ", "")
        told = [f"{counted(self.study.n_samples, 'sample')} in {clusters} of {held}"]
        asked, kept = self.total(soft=False)
        broken = max(asked - kept, len(self.checked.broken))
        if broken:
            told.append(f"{broken:,} of {counted(max(asked, broken), 'rule')} violated")
        elif asked:
            told.append(f"all {asked:,} rules met" if asked > 1 else "1 rule met")
        asked, kept = self.total(soft=True)
        if asked:
            soft = counted(asked, "soft rule")
            lost = f"{asked - kept:,} of {soft} violated"
            told.append(lost if kept < asked else f"all {soft} met" if asked > 1 else f"{soft} met")
        return "; ".join(told) + "."

    @property
    def ending(self) -> list[str]:
        """How the fit ended, in sentences."""
        result = self.study.result
        message = result.status.message
        told = [f"{message[:1].upper()}{message[1:]}."]
        if result.mixed is not None:
            return [*told, *told_of_mixed(self.study)]
        optimal = result.assignment_status is Status.OPTIMAL
        if optimal or (self.gap is not None and self.gap <= TINY):
            told.append("The last assignment is proven to be the best for these centers.")
        elif self.gap is not None:
            told.append(
                f"The last assignment is proven to be at most {share(self.gap)} above the best for "
                "these centers."
            )
        else:
            told.append("There is no bound for the last assignment.")
        return told

    @property
    def figures(self) -> list[tuple[str, str]]:
        """The numbers of the fit, with what they are called."""
        result = self.study.result
        told = [(f"Inertia{self.space}", number(result.inertia))]
        if result.mixed is not None:
            told = figures_of_mixed(self.study)
        if self.total(soft=True)[0]:
            told += [("Penalty", number(result.penalty)), ("Objective", number(result.objective))]
        if result.mixed is None:
            told.append(("Gap of the last step", gap_told(self.gap)))
        told += [
            ("Iterations", f"{result.n_iter:,}"),
            ("Time", seconds(result.seconds)),
            ("Solver", Name(result.solver)),
        ]
        return told

    @property
    def tiles(self) -> list[tuple[str, str]]:
        """Of the numbers of the fit those that say how good it is, and how long it took."""
        told = [one for one in self.figures if one[0] not in ("Iterations", "Solver")]
        return told if self.study.result.mixed is not None else [self.typical, *told]

    @property
    def typical(self) -> tuple[str, str]:
        """How far samples are from their centers: the first number for a planner."""
        study = self.study
        mass = study.n_samples if study.sample_weight is None else float(study.sample_weight.sum())
        far = float(np.sqrt(study.result.inertia / mass)) if mass > 0 else 0.0
        unit = f" {self.unit}" if self.unit else ""
        return "Typical distance to the center", f"{number(float(f'{far:.3g}'))}{unit}"

    @property
    def unit(self) -> str:
        """The unit of distances, where it is known: of places."""
        study = self.study
        if study.metric == "latlon":
            return "km"
        if study.X.shape[1] != 2 or study.metric != "euclidean" or study.scaling.kind != "none":
            return ""
        return self.plane.unit if self.plane.kind == "columns" else ""

    @property
    def space(self) -> str:
        """Where the inertia is at home, if that is not where the data are."""
        return " in the learned space" if self.study.metric == LEARNED else ""

    @property
    def judged(self) -> str | None:
        """What came of learning a metric, in a sentence."""
        judgment = self.study.result.metric.judgment
        if judgment is None:
            return None
        return Told(f"Metric: {judgment.message}.")

    @property
    def notes(self) -> list[str]:
        """Sentences that the fit had to say."""
        found = self.study.settings.get("notes")
        return [Told(written(one)) for one in found] if isinstance(found, list | tuple) else []

    @property
    def repeat(self) -> list[tuple[str, Sentence]]:
        """What it takes to repeat the fit; names and values as pairs."""
        study = self.study
        told: list[tuple[str, Sentence]] = []
        for key, value in study.settings.items():
            if key == "notes" and isinstance(value, list | tuple):
                continue  # told as sentences
            if key not in ("versions", "command", "rules") and value is not None:
                told.append((str(key), (Told(written(value)),)))
        metric = {
            "euclidean": "Euclidean distance",
            "cosine": "angle between rows (cosine)",
            "latlon": "distance on the earth, in km",
            "haversine": "distance on a sphere of radius 1 (haversine)",
        }
        judgment = study.result.metric.judgment
        named = metric.get(study.metric, study.metric)
        if judgment is not None:
            named = judgment.message if judgment.learned else f"{named}; {judgment.message}"
        told += [
            ("solver used", (Name(study.result.solver),)),
            ("iterations", (f"{study.result.n_iter:,}",)),
            ("metric", (Told(named),)),
            ("scaling", (Told(SCALINGS.get(study.scaling.kind, study.scaling.kind)),)),
            ("weights", ("none" if study.sample_weight is None else "one per sample",)),
            (
                "versions" if "versions" in study.settings else "versions when reported",
                (Told(", ".join(f"{name} {one}" for name, one in self.versions.items())),),
            ),
        ]
        return told


PENALTY_AND_SAVED = (
    "Penalty: what violating the rule costs in the objective. Saved (for links and fixed or "
    "forbidden clusters): how much the inertia would rise if the cheapest move of a single sample "
    "met the rule, ignoring all other rules."
)
SCALINGS = {
    "none": "none: columns unchanged",
    "standard": "standard: mean and standard deviation of each column",
    "robust": "robust: median and interquartile range of each column",
}


def gap_told(gap: float | None, unknown: str = "unknown") -> str:
    """A gap in words; all forms, and comparisons, say it in this way."""
    if gap is None:
        return unknown
    return "0 (proven)" if gap <= TINY else share(gap)


def saved_told(one: SoftViolation, never: str = "no single move could meet it") -> str:
    """What breaking a link or a place saved; of bounds it is an estimate that says little."""
    if not isinstance(bare(one.rule), MustLink | CannotLink | Fixed | Forbidden):
        return "–"
    return number(one.saved) if np.isfinite(one.saved) else never


def gap_of(study: Study) -> float | None:
    """Gap of the last assignment; None where there is no bound, or no assignment."""
    result = study.result
    if result.mixed is not None:
        return None
    known = np.isfinite(result.lower_bound) and np.isfinite(result.objective)
    return float(result.gap) if known else None


def written(value: Any) -> str:
    """A value of the settings as text: JSON, but strings without quotes."""
    import json

    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _versions(settings: Mapping[str, Any]) -> dict[str, str]:
    """As they were at the fit, if that is known; else those that write the report."""
    kept = settings.get("versions")
    if isinstance(kept, Mapping):
        return {str(name): written(one) for name, one in kept.items()}
    import bckm

    found = {"bckm": bckm.__version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # built into something else
            continue
    return found


def squares(study: Study) -> FloatArray:
    """Squared distance of each sample from its center, in the units of the inertia, (n,)."""
    points = study.result.metric.embedded(study.scaled)
    centers, labels = study.result.embedded, study.result.labels
    found = np.empty(study.n_samples)
    for part in blocks(study.n_samples, points.shape[1]):
        found[part] = ((points[part] - centers[labels[part]]) ** 2).sum(axis=1)
    return found


def _clusters(study: Study, profile: views.Profile) -> tuple[Cluster, ...]:
    k, labels, words = study.n_clusters, study.result.labels, Words(study)
    square = squares(study)
    weight = np.ones(study.n_samples) if study.sample_weight is None else study.sample_weight
    inertia = np.bincount(labels, weight * square, k)
    mass, sizes = np.bincount(labels, weight, k), np.bincount(labels, minlength=k)
    whole = float(inertia.sum()) or 1.0
    order = np.lexsort((square, labels))
    starts = np.cumsum(sizes) - sizes
    return tuple(
        Cluster(
            number=i,
            name=words.cluster(i),
            size=int(sizes[i]),
            share=float(inertia[i] / whole),
            distance=float(np.sqrt(inertia[i] / mass[i])) if mass[i] > 0 else float("nan"),
            members=_members(order[starts[i] : starts[i] + sizes[i]][:MEMBERS], study),
            features=_standing_out(study, profile, i),
        )
        for i in range(k)
    )


def _members(samples: IntArray, study: Study) -> tuple[str, ...]:
    return tuple(Name(study.name(p)) for p in samples.tolist())


def _standing_out(
    study: Study, profile: views.Profile, i: int
) -> tuple[tuple[str, str, float], ...]:
    z, mean, spread = profile.z[i], profile.mean[i], profile.spread
    first = [j for j in np.argsort(-np.abs(z), kind="stable")[:MEMBERS] if abs(z[j]) >= TOLD]
    return tuple(
        (Name(study.feature_names[j]), measured(float(mean[j]), float(spread[j])), float(z[j]))
        for j in first
    )
