"""First centers, and which of them gets which bounds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from bckm._core.arrays import nearest, rows_of, squared_distances, totals
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray, PointArray
from bckm._core.validation import read_centers
from bckm.constraints.rules import MovedMax
from bckm.fit.parameters import PARAMETERS, read_setting
from bckm.kernels import missing, native
from bckm.metric.embedding import Metric
from bckm.problem.cliques import clique_cover
from bckm.problem.problem import Problem

ENOUGH = 20_000  # items from which seeds are drawn, and counted; more where clusters are many
ENOUGH_EACH = 100
SAME = 1e-13  # of all that is left: gains that differ less are equal
SHARE = 0.3  # of the time that is left, after which the rest of the seeds is drawn at once
RANDOM_STARTS, MOST_STARTS = 10, 20  # of n_init="auto": as people know it, and at most
SMALL = 20_000  # items x clusters of all starts together, if one alone is not more
LINKED = 0.03  # share of samples with links from which one start is too few:
LINKED_STARTS, LINKED_COSTS = 5, 500_000  # so many then, up to so many items x clusters
SLOWER = 8  # a step where sums are bounded takes so many times as long


@dataclass(frozen=True, eq=False)
class Seeds:
    """First centers; `complete` unless a deadline left no time to choose them with care."""

    centers: FloatArray
    complete: bool = True


@dataclass(frozen=True, eq=False)
class Starts:
    """Where a fit begins.

    Attributes
    ----------
    seeds : tuple of callables
        Each returns the first centers of a start, and always the same.
    fresh : callable or None
        Draws further first centers; None where no others than the given ones are wanted.
    rng : Generator
        Parent of the generators of everything that is drawn after these starts.
    number : int
        What `n_init` came to; given centers are one start, whatever it is.
    population : int
        Starts that a global search breeds from.
    automatic : bool
        Whether `n_init` left their number open.
    given : bool
        Whether the person gave the centers.
    spread : bool
        Whether they are chosen by k-means++, and others that are better may take their place.
    """

    seeds: tuple[Callable[[], Seeds], ...]
    fresh: Callable[[np.random.Generator], Seeds] | None
    rng: np.random.Generator
    number: int = 1
    population: int = 1
    automatic: bool = False
    given: bool = False
    spread: bool = False

    def generator(self, number: int) -> np.random.Generator:
        """The generator of this number: what was drawn from others does not change it."""
        bits = self.rng.bit_generator
        seed: Any = bits.seed_seq
        key = (*seed.spawn_key, number)  # as `rng.spawn` numbers its children
        child = np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)
        return np.random.Generator(type(bits)(child))


def starts_of(
    problem: Problem,
    space: Metric,
    init: Any,
    n_init: Any,
    search: str,
    random_state: Any,
    deadline: Deadline,
    *,
    tied: bool = False,
) -> Starts:
    """Prepare the starts of a fit; nothing is drawn yet.

    Parameters
    ----------
    problem, space : Problem, Metric
        What to solve, and how X became its points.
    init, n_init, search, random_state :
        As in `kmeans`; a callable has its X.
    deadline : Deadline
        When long work has to end.
    tied : bool
        Whether label i is tied to center i of `init`.
    """
    given = given_centers(init, problem, space)
    if tied and given is None:
        raise ValueError("label_bounds='given' ties label i to center i: pass an array as init.")
    number = number_of_starts(n_init, init, problem)
    automatic = isinstance(n_init, str)
    population = max(number, RANDOM_STARTS) if automatic else number
    *generators, rng = _generators(random_state, number + 1)
    choose: Callable[..., Seeds]
    if callable(init):
        choose = partial(_called, init, space)
    else:
        choose = SEEDINGS["k-means++" if given is not None else init]
    # given centers are where to begin, unless a search among all is asked for; and where labels are
    # tied to them, others would be other labels
    stay = tied or (given is not None and search == "auto")
    fresh = None if stay else partial(choose, problem, deadline=deadline)
    if given is not None:
        return Starts((lambda: Seeds(given),), fresh, rng, number, given=True)

    def seeds(at: int) -> Seeds:  # the same ones each time: the generator stays as it is
        return choose(problem, deepcopy(generators[at]), deadline, at == 0)

    first = tuple(partial(seeds, at) for at in range(number))
    return Starts(first, fresh, rng, number, population, automatic, spread=choose is spread)


def _generators(random_state: Any, number: int) -> list[np.random.Generator]:
    """One generator per start, so that a start does not depend on those before it."""
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(number)
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    seeds = np.random.SeedSequence(read_setting("random_state", random_state)).spawn(number)
    return [np.random.default_rng(seed) for seed in seeds]


def given_centers(init: Any, problem: Problem, space: Metric) -> FloatArray | None:
    """Centers from `init` in the units of the problem; None when they are to be chosen."""
    if isinstance(init, str):
        read_setting("init", init)
    if isinstance(init, str) or callable(init):
        return None
    return _centers(init, problem, space)


def _called(
    init: Callable[..., Any],
    space: Metric,
    problem: Problem,
    rng: np.random.Generator,
    *_: object,
    **__: object,
) -> Seeds:
    """Centers that a function of the caller chooses."""
    state = np.random.RandomState(int(rng.integers(2**31)))  # what scikit-learn passes
    centers = init(problem.structure.n_clusters, random_state=state)
    return Seeds(_centers(centers, problem, space))


def _centers(init: Any, problem: Problem, space: Metric) -> FloatArray:
    shape = (problem.structure.n_clusters, space.n_features(problem.points.shape[1]))
    given = read_centers(init, "init", PARAMETERS["init"].expected, shape)
    return problem.given_centers(space.embedded(given, "init"), "init")


def number_of_starts(n_init: Any, init: Any, problem: Problem) -> int:
    """Read `n_init`; "auto" is more than one start where starts are cheap."""
    if (number := read_setting("n_init", n_init)) != "auto":
        if number > 1 and not isinstance(init, str) and not callable(init):
            warnings.warn(
                f"n_init={number} is ignored: the centers of init are the only start.",
                RuntimeWarning,
                stacklevel=6,  # who called kmeans
            )
        return int(number)
    if callable(init) or (isinstance(init, str) and init == "random"):
        return RANDOM_STARTS
    if missing or problem.sparse:  # no start is cheap
        return 1
    # a sample of weight two counts like two samples: once
    heavy = problem.mass > 0
    if np.count_nonzero(heavy) > SMALL:
        return 1
    points = problem.points[heavy]
    distinct = 1 + int((points[1:] != points[:-1]).any(axis=1).sum())  # equal ones are neighbors
    # steps with sums take longer
    s = problem.structure
    most = SMALL // SLOWER if s.loads.number else SMALL
    fewest = 1
    if s.n_items * s.n_clusters <= LINKED_COSTS:  # many links: many local optima
        linked = s.count > 1
        linked[s.edges.ravel()] = True
        hard = s.edges.size and s.count[linked].sum() >= LINKED * s.count.sum()
        fewest = LINKED_STARTS if hard else 1
    return int(np.clip(most // (distinct * s.n_clusters), fewest, MOST_STARTS))


def spread(
    problem: Problem, rng: np.random.Generator, deadline: Deadline, first: bool = False
) -> Seeds:
    """Choose centers among the items by greedy k-means++.

    Each new center is an item drawn with probability proportional to mass times squared distance to
    the nearest center so far; of a few draws the one that lowers the total most is kept. The first
    of several starts begins with the means of items whose cluster is known (`known_items`), or with
    `anchors`, instead of drawn items. Of very many items a random part is looked at. Where this
    takes too much of the time until the deadline, the remaining centers are drawn at once.

    References
    ----------
    Arthur, Vassilvitskii: k-means++, the advantages of careful seeding (SODA 2007).
    """
    points, mass, k = problem.points, problem.mass, problem.structure.n_clusters
    soon = deadline.share(SHARE)
    part = None
    if mass.size > _enough(k):
        part = rng.choice(mass.size, _enough(k), replace=False)
        mass = mass[part]
    known = _suggested(problem) if first else np.empty((0, points.shape[1]))
    return greedy(points, mass, known, k, rng, soon, part, problem.threads)


def greedy(
    points: PointArray,
    mass: FloatArray,
    known: FloatArray,
    k: int,
    rng: np.random.Generator,
    soon: Deadline,
    part: IntArray | None = None,
    threads: int = 1,
) -> Seeds:
    """Choose centers among points by greedy k-means++, after those that are known; see `spread`.

    Where only a `part` of the rows counts, `mass` is theirs.
    """

    def rows(drawn: IntArray) -> FloatArray:
        return rows_of(points, drawn if part is None else part[drawn])

    trials = 2 + int(np.log(k))
    centers = np.empty((k, points.shape[1]))
    if len(known) == 0:
        known = rows(_draw(mass, 1, rng))
    centers[: len(known)] = known
    near: native.SeedDistances | SeedDistances
    if missing or sp.issparse(points):
        near = SeedDistances(points if part is None else points[part], mass)
    else:
        near = native.SeedDistances(native.Points(points, part), mass, threads)
    near.add(known)
    for c in range(len(known), k):
        weight = mass * near.distance
        if soon.passed:
            centers[c:] = rows(_draw(weight, k - c, rng))
            return Seeds(centers, complete=False)
        candidates = rows(_draw(weight, trials, rng))
        gain = near.gains(candidates)
        # the first of equal ones, however sums are rounded
        best = int(np.argmax(gain >= gain.max() - SAME * float(weight.sum())))
        near.take(best)
        centers[c] = candidates[best]
    return Seeds(centers)


class SeedDistances:
    """How far points are from the centers so far: as `kernels/distance/seeding`, in NumPy."""

    def __init__(self, points: PointArray, mass: FloatArray) -> None:
        self.points, self.mass = points, mass
        self.distance: FloatArray = np.full(mass.size, np.inf)
        self._after: FloatArray = np.empty((0, mass.size))

    def add(self, centers: FloatArray) -> None:
        """Take these centers."""
        self.distance = np.minimum(
            self.distance, squared_distances(centers, self.points).min(axis=0)
        )

    def gains(self, candidates: FloatArray) -> FloatArray:
        """By how much each candidate would lower the sum of mass times distance."""
        self._after = np.minimum(self.distance, squared_distances(candidates, self.points))
        return np.asarray((self.distance - self._after) @ self.mass)

    def take(self, candidate: int) -> None:
        """Take one of the last candidates."""
        self.distance = self._after[candidate]


def _suggested(problem: Problem) -> FloatArray:
    """Centers that rules suggest."""
    known = known_items(problem)
    if known.items.size == 0:
        return rows_of(problem.points, anchors(problem))
    k, clusters = problem.structure.n_clusters, np.unique(known.clusters)
    nowhere = np.zeros((k, problem.points.shape[1]))
    sums = totals(problem.points[known.items], known.weight, known.clusters, nowhere)
    return np.asarray(sums.sums[clusters] / sums.mass[clusters, None])


@dataclass(frozen=True, eq=False)
class KnownItems:
    """Items that belong to a cluster: fixed to it, or there before; with their weight."""

    items: IntArray
    clusters: IntArray
    weight: FloatArray


def known_items(problem: Problem) -> KnownItems:
    """Items whose cluster is known."""
    s, k = problem.structure, problem.structure.n_clusters
    cost = problem.soft.cluster_cost.tocoo()
    before = cost.data < 0
    items, clusters = s.columns.split(s.forbidden)
    item, closed = np.unique(items, return_counts=True)
    fixed = item[closed == k - 1]
    open_to = np.ones((fixed.size, k), bool)
    inside = np.isin(items, fixed)
    open_to[np.searchsorted(fixed, items[inside]), clusters[inside]] = False
    places = [(cost.coords[0][before], cost.coords[1][before]), (fixed, open_to.argmax(axis=1))]
    for rule in problem.rules.others:
        if isinstance(rule, MovedMax):
            held = np.flatnonzero(rule.source.values >= 0)
            places.append((s.item[held], rule.source.values[held]))
    items, clusters = (np.concatenate(part).astype(np.int64) for part in zip(*places, strict=True))
    # one without weight still has a place
    return KnownItems(items, clusters, np.maximum(problem.mass[items], 1e-9 * problem.mass.max()))


def anchors(problem: Problem) -> IntArray:
    """Items of several samples that are pairwise apart: each belongs to another cluster.

    Links say where clusters are before any distance does. Of the cliques of conflicts the one whose
    must-link items hold most samples is taken; without such items there are none.

    References
    ----------
    Basu, Bilenko, Mooney: A probabilistic framework for semi-supervised clustering (KDD 2004);
    groups of linked samples serve as first centers there.
    """
    count, edges = problem.structure.count, problem.structure.edges
    edges = edges[(count[edges] > 1).all(axis=1)]
    return clique_cover((), edges).heaviest(count)


def scatter(
    problem: Problem,
    rng: np.random.Generator,
    deadline: Deadline,  # noqa: ARG001
    first: bool = False,  # noqa: ARG001
) -> Seeds:
    """Choose centers among the items at random, with probability proportional to mass."""
    mass, k = problem.mass, problem.structure.n_clusters
    # fewer items with mass than clusters: take the others too
    weight = np.maximum(mass / mass.sum(), 1e-300)
    k_items = min(k, mass.size)
    chosen = rng.choice(mass.size, k_items, replace=False, p=weight / weight.sum())
    return Seeds(rows_of(problem.points, np.resize(chosen, k)))


SEEDINGS = {"k-means++": spread, "random": scatter}


def _enough(n_clusters: int) -> int:
    return max(ENOUGH, ENOUGH_EACH * n_clusters)


def _draw(weight: FloatArray, number: int, rng: np.random.Generator) -> IntArray:
    total = np.cumsum(weight)
    if total[-1] <= 0:  # every item coincides with a center
        return np.asarray(rng.integers(weight.size, size=number))
    drawn: IntArray = np.searchsorted(total, rng.random(number) * total[-1], side="right")
    return np.minimum(drawn, weight.size - 1)


def match(problem: Problem, centers: FloatArray) -> FloatArray:
    """Order centers so that those with more samples nearby get the larger bounds.

    Where items belong to known clusters, centers near them get these labels instead.

    Labels belong to bounds, but seeds come in any order. Which cluster becomes label i is part of
    the problem; this is a first guess, which the loop improves. Of very many items every so many
    in their order, which is one in space, are counted.
    """
    s = problem.structure
    if s.interchangeable:
        return centers
    known = known_items(problem)
    if known.items.size:
        return _near_known(problem, known, centers)
    some = slice(None, None, max(1, s.n_items // _enough(s.n_clusters)))
    nearby = np.bincount(nearest(problem.points[some], centers)[0], s.count[some], s.n_clusters)
    matched = np.empty_like(centers)
    matched[s.cluster_order] = centers[np.argsort(nearby, kind="stable")]
    return matched


def _near_known(problem: Problem, known: KnownItems, centers: FloatArray) -> FloatArray:
    from scipy.optimize import linear_sum_assignment  # slow to import, not needed by `import bckm`

    k = len(centers)
    away = squared_distances(problem.points[known.items], centers) * known.weight[:, None]
    cost = np.stack([np.bincount(known.clusters, column, k) for column in away.T], axis=1)
    return np.asarray(centers[linear_sum_assignment(cost)[1]])
