"""Rules that say the same in other words, or of the same data in other units."""

import numpy as np
import pytest

import bckm
from bckm import Capacity, Constraints, Quota, Stay
from tests.support.statements import stated

pytestmark = pytest.mark.sampled(1)

SEEDS = range(12)
N, K = 24, 3


class Case:
    """Data, first centers, and labels that rules may be drawn around."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.X = self.rng.normal(size=(N, 2)) + 2 * self.rng.integers(0, 3, (N, 1))
        self.centers = self.X[self.rng.choice(N, K, replace=False)]
        self.labels = self.rng.permutation(np.arange(N) % K)

    def some(self, number):
        return self.rng.choice(N, number, replace=False)

    def links(self):
        """Pairs that the labels obey."""
        pairs = [self.some(2).tolist() for _ in range(12)]
        together = [p for p in pairs if self.labels[p[0]] == self.labels[p[1]]]
        return together, [p for p in pairs if p not in together]


def alike(case, a, b, weight=None):
    """The same question to feasibility, to the exact engine and to the loop."""
    assert bckm.check(N, K, a).verdict == bckm.check(N, K, b).verdict
    found = [
        bckm.assign_to(case.X, case.centers, c, solver="exact", sample_weight=weight)
        for c in (a, b)
    ]
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-9)
    assert found[0].labels.tolist() == found[1].labels.tolist()
    for search in ("none", "auto"):
        fits = [
            bckm.kmeans(
                case.X, K, c, init=case.centers, label_bounds="given", search=search, solver="exact"
            )
            for c in (a, b)
        ]
        assert fits[0].objective == pytest.approx(fits[1].objective, rel=1e-9)
    return found[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_amounts_of_one_count_samples(seed):
    case = Case(seed)
    low = case.rng.integers(3, 8, K)
    bounds = {"size_min": low, "size_max": low + 5}
    together, apart = case.links()
    alike(
        case,
        Constraints(together, apart, **bounds),
        Constraints(together, apart, size_min=0, **stated([Capacity(np.ones(N), low, low + 5)])),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_infinite_confidence_is_hard(seed):
    case = Case(seed)
    together, apart = case.links()
    parts = {
        "links": {"must_link": together, "cannot_link": apart},
        "places": {"fixed": [(0, int(case.labels[0]))], "forbidden": [(1, 2)]},
        "sizes": {"size_min": 6, "size_max": [9, 8, 10]},
        "sums": stated([Capacity(case.rng.integers(1, 9, N) / 10, max=5)]),
        "quota": {"quotas": Quota(case.labels % 2, "25%")},
    }
    for name, asked in parts.items():
        hard, never_empty = Constraints(**asked), Constraints(size_min=1)
        for kind in ("confidence", "price"):
            soft = Constraints(**asked).soft(**{kind: np.inf})
            assert soft.soft_rules(N, K) == []
            found = alike(case, hard & never_empty, soft & never_empty)
            assert found.penalty == 0, name
        large = Constraints(**asked).soft(confidence=1e6) & never_empty
        assert bckm.check(N, K, hard & never_empty)
        best = bckm.assign_to(case.X, case.centers, large, solver="exact")
        assert best.violated == (), name
        assert best.objective == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_are_must_links(seed):
    case = Case(seed)
    groups = np.where(case.rng.random(N) < 0.4, case.rng.integers(0, 5, N), -1)
    named = [None if g < 0 else f"g{g}" for g in groups]
    sets = [np.flatnonzero(groups == g).tolist() for g in range(5)]
    sets = [part for part in sets if len(part) > 1]
    sizes = {"size_min": 4, "size_max": 12}
    alike(case, Constraints(groups=named, **sizes), Constraints(sets, **sizes))


@pytest.mark.parametrize("seed", SEEDS)
def test_partial_labels_are_links(seed):
    case = Case(seed)
    y = np.where(case.rng.random(N) < 0.4, case.labels, -1)
    known = np.flatnonzero(y >= 0)
    pairs = [(int(p), int(q)) for p in known for q in known if p < q]
    together = [p for p in pairs if y[p[0]] == y[p[1]]]
    apart = [p for p in pairs if y[p[0]] != y[p[1]]]
    alike(case, Constraints.from_labels(y), Constraints(together, apart))
    alike(
        case,
        Constraints.from_labels(y, confidence=0.1),
        Constraints(together, apart).soft(confidence=0.1),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_that_bound_nothing(seed):
    case = Case(seed)
    together, apart = case.links()
    base = Constraints(together, apart, size_max=12)
    color = case.rng.integers(0, 3, N)
    nothing = [
        Quota(color, share_min=0, share_max=1),
        Quota(color, count_min=0, count_max=N),
        Quota(color, within="100%"),
        Capacity(case.rng.random(N), 0, N),
    ]
    for rows in nothing:
        alike(case, base, base & Constraints(**stated([rows])))
    for stay in (Stay(case.labels, price=0), Stay(case.labels, at_most=N), Stay([-1] * N, price=9)):
        alike(case, base, base & Constraints(stay=stay))
    alike(case, base, base & Constraints(apart, together, size_max=3).soft(price=0))


@pytest.mark.parametrize("seed", SEEDS)
def test_places_in_other_words(seed):
    case = Case(seed)
    everywhere = dict(enumerate(case.labels.tolist()))
    fixed = bckm.kmeans(case.X, K, Constraints(fixed=everywhere), random_state=0)
    assert fixed.labels.tolist() == case.labels.tolist()
    some = case.some(8).tolist()
    places = Constraints(fixed={p: everywhere[p] for p in some}, size_max=12)
    bans = [(p, i) for p in some for i in range(K) if i != everywhere[p]]
    alike(case, places, Constraints(forbidden=bans, size_max=12))
    kept = np.full(N, -1)
    kept[some] = case.labels[some]
    alike(case, places, Constraints(stay=Stay(kept, at_most=0), size_max=12))
    alike(case, places, Constraints(stay=Stay(kept, price=np.inf), size_max=12))
    wish = Constraints(size_max=12)
    moved = wish & Constraints(stay=Stay(kept, price=0.7))
    alike(case, moved, wish & Constraints(fixed={p: everywhere[p] for p in some}).soft(price=0.7))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_weight_is_a_repetition(seed):
    """A sample of weight w is w must-linked samples that share its amount."""
    case = Case(seed)
    weight = case.rng.integers(1, 4, N)
    amount = case.rng.integers(1, 9, N)
    again = np.repeat(np.arange(N), weight)
    first = np.cumsum(weight) - weight
    copies = [np.flatnonzero(again == p).tolist() for p in range(N) if weight[p] > 1]
    together, apart = case.links()
    goal = amount.sum() / K

    def within(amounts):
        return stated([Capacity(amounts, 0.8 * goal, 1.2 * goal)]) | {"size_min": 0}

    wish = Constraints(apart[:3], together[:3])
    found = bckm.kmeans(
        case.X,
        K,
        Constraints(together[3:], apart[3:], **within(amount)) & wish.soft(price=0.5),
        sample_weight=weight,
        init=case.centers,
        search="none",
        solver="exact",
    )

    def moved(links):
        return [first[list(link)].tolist() for link in links]

    repeated = bckm.kmeans(
        case.X[again],
        K,
        Constraints(
            copies + moved(together[3:]),
            moved(apart[3:]),
            **within((amount / weight)[again]),
        )
        & Constraints(moved(apart[:3]), moved(together[:3])).soft(price=0.5),
        init=case.centers,
        search="none",
        solver="exact",
    )
    assert repeated.labels.tolist() == found.labels[again].tolist()
    assert repeated.objective == pytest.approx(found.objective, rel=1e-9)
    assert repeated.penalty == pytest.approx(found.penalty, rel=1e-9)


def wishes(case):
    """All kinds of soft rules, with confidences, beside hard ones."""
    together, apart = case.links()
    kg = case.rng.integers(1, 9, N) / 10
    soft = [
        Constraints(apart[:4], together[:4]).soft(confidence=0.2),
        Constraints(size_max=7).soft(confidence=0.3),
        Constraints(capacities={"kg": Capacity(kg, max=kg.sum() / K)}).soft(confidence=0.5),
        Constraints(quotas=Quota(case.labels % 2, "5%")).soft(confidence=0.1),
        Constraints(fixed={3: 1}, forbidden=[(5, 0)]).soft(confidence=0.4),
    ]
    stay = Stay(case.labels, confidence=case.rng.random(N) / 4)
    asked = Constraints(together[4:], apart[4:], size_min=4, size_max=12, stay=stay)
    for one in soft:
        asked = asked & one
    return asked


@pytest.mark.parametrize("search", ["none", "auto"])
@pytest.mark.parametrize("seed", SEEDS)
def test_confidences_do_not_depend_on_scale(seed, search):
    case = Case(seed)
    asked = wishes(case)
    options = {"label_bounds": "given", "search": search}
    found = bckm.kmeans(case.X, K, asked, init=case.centers, **options)
    assert found.penalty > 0
    for factor, shift in ((1e6, 0.0), (1e-6, 0.0), (1.0, 1e6)):
        other = bckm.kmeans(
            case.X * factor + shift, K, asked, init=case.centers * factor + shift, **options
        )
        assert other.labels.tolist() == found.labels.tolist()
        assert other.objective == pytest.approx(found.objective * factor**2, rel=1e-6)
        assert other.penalty == pytest.approx(found.penalty * factor**2, rel=1e-6)
    order = case.rng.permutation(N)
    permuted = bckm.kmeans(case.X[order], K, asked.take(order), init=case.centers, **options)
    assert permuted.labels.tolist() == found.labels[order].tolist()
    assert permuted.objective == pytest.approx(found.objective, rel=1e-9)
    weighted = bckm.kmeans(
        case.X, K, asked, init=case.centers, sample_weight=np.full(N, 8.0), **options
    )
    assert weighted.labels.tolist() == found.labels.tolist()
    assert weighted.penalty == pytest.approx(8 * found.penalty, rel=1e-9)
