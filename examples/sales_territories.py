"""How do I draw sales territories in which equally many people live?

500 places with latitude, longitude and population are shared among 8 sellers. Each territory gets
an eighth of all people, give or take 5 %, and is as compact as that permits. Distances are those on
the globe (``metric="latlon"``); population is the *capacity* that is bounded, so that a town
counts as many times as it has people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bckm

SELLERS = 8
TOLERANCE = 0.05
EARTH = 6371.0088  # km, the radius that metric="latlon" uses


@dataclass(frozen=True)
class Facts:
    """What came out.

    Attributes
    ----------
    people, plain_people : arrays (8,)
        People in each territory, and in each cluster of plain k-means.
    radius : array (8,)
        Distance of each territory's farthest place from its center, in km.
    total : int
        All people.
    price : float
        How much larger the inertia is than that of plain k-means, as a share.
    broken : int
        Rules that the territories break.
    study : Study
        The territories with places and rules, for pictures and reports.
    """

    people: np.ndarray
    plain_people: np.ndarray
    radius: np.ndarray
    total: int
    price: float
    broken: int
    study: bckm.Study


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Invent a country: places (n, 2) in degrees, six in ten of them around cities, and people."""
    rng = np.random.default_rng(seed)
    cities = rng.uniform([46, 2], [50, 9], (12, 2))
    country = rng.uniform([45.5, 1.5], [50.5, 9.5], (n, 2))
    around = cities[rng.integers(12, size=n)] + rng.normal(scale=[0.25, 0.4], size=(n, 2))
    urban = rng.random(n) < 0.6
    places = np.where(urban[:, None], around, country)
    people = 100 * np.round(np.exp(rng.normal(4 + 0.7 * urban, 0.9))).astype(int) + 100
    return places, people


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Great-circle distances in km between rows of latitude and longitude."""
    (lat_a, lon_a), (lat_b, lon_b) = np.radians(a).T, np.radians(b).T
    half = np.sin((lat_b - lat_a) / 2) ** 2
    half += np.cos(lat_a) * np.cos(lat_b) * np.sin((lon_b - lon_a) / 2) ** 2
    return 2 * EARTH * np.arcsin(np.sqrt(half))


def main(n: int = 500) -> Facts:
    """Draw the territories and print people and radius of each."""
    places, people = draw(n)
    share = people.sum() / SELLERS
    equal = bckm.Capacity(people, min=(1 - TOLERANCE) * share, max=(1 + TOLERANCE) * share)
    rules = bckm.Constraints(capacities={"people": equal})
    result = bckm.kmeans(places, SELLERS, rules, metric="latlon", n_init=2, random_state=0)
    plain = bckm.kmeans(places, SELLERS, metric="latlon", n_init=10, random_state=0)

    away = distance(places, result.centers[result.labels])
    facts = Facts(
        people=np.bincount(result.labels, people, SELLERS),
        plain_people=np.bincount(plain.labels, people, SELLERS),
        radius=np.array([away[result.labels == i].max() for i in range(SELLERS)]),
        total=int(people.sum()),
        price=result.inertia / plain.inertia - 1,
        broken=len(bckm.verify(result.labels, SELLERS, rules)),
        study=bckm.Study.of(
            result,
            places,
            rules,
            feature_names=["latitude", "longitude"],
            title="Territories",
        ),
    )
    print(f"{n} places, {facts.total:,} people, {SELLERS} territories of {share:,.0f} ± 5 %\n")
    print("territory   center (lat, lon)   places    people   of its share   radius")
    for i, (latitude, longitude) in enumerate(result.centers):
        print(
            f"{i:9}   {latitude:8.2f} {longitude:8.2f}   {result.sizes[i]:6}  "
            f"{facts.people[i]:8,.0f}   {facts.people[i] / share:10.1%}   {facts.radius[i]:4.0f} km"
        )
    low, high = facts.plain_people.min() / share, facts.plain_people.max() / share
    print(f"\nPlain k-means: from {low:.0%} to {high:.0%} of the share.")
    print(f"What balance costs: the sum of squared distances grows by {facts.price:.1%}.")
    return facts


if __name__ == "__main__":
    main()
