"""Which van takes which parcel, if vans differ and both weight and volume count?

160 parcels go out with five vans: one large, two middling, two small. Each parcel has a weight and
a volume, and no van takes more of either than it can. The three parts of a machine ride together,
and so do the two boxes of one customer; the cat and the dog do not share a van. Stops of a van are
near each other.

Van i has capacity i, whichever part of the town it gets: `bckm` chooses that, too. The answer comes
with a bound: no way to share the parcels among vans *with these centers* is better by more than the
gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bckm

VANS = ("large", "middle 1", "middle 2", "small 1", "small 2")
CAPACITY = {"kg": [1250, 850, 850, 450, 450], "litre": [5600, 3800, 3800, 2000, 2000]}
TOGETHER = [{7, 50, 61}, {3, 40}]  # a machine in three parts, two boxes
CAT, DOG = 10, 11


@dataclass(frozen=True)
class Facts:
    """What came out.

    Attributes
    ----------
    load, plain_load : dict of arrays (5,)
        What each van carries, in kg and litres; and what it would have to carry of the clusters of
        plain k-means, the heaviest cluster in the largest van.
    gap : float
        How much better labels for the same centers could be at most, as a share.
    price : float
        How much larger the inertia is than that of plain k-means, as a share.
    broken : int
        Rules that the tours break.
    overloaded : int
        Vans that the clusters of plain k-means overload.
    plain_broken : int
        Rules that these clusters break.
    study : Study
        The tours with stops and rules, for pictures and reports.
    """

    load: dict[str, np.ndarray]
    plain_load: dict[str, np.ndarray]
    gap: float
    price: float
    broken: int
    overloaded: int
    plain_broken: int
    study: bckm.Study


def draw(n: int = 160, seed: int = 2) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Invent stops (n, 2) in km, denser in the middle of the town, and what they need."""
    rng = np.random.default_rng(seed)
    stops = np.clip(rng.normal(10, 5, (n, 2)), 0, 20)
    return stops, {
        "kg": np.round(rng.gamma(2, 10, n) + 2),
        "litre": np.round(rng.gamma(2, 45, n) + 10),
    }


def carried(labels: np.ndarray, needs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Sum of what the parcels of each van need."""
    return {what: np.bincount(labels, amount, len(VANS)) for what, amount in needs.items()}


def main() -> Facts:
    """Load the vans and print load against capacity, and the gap."""
    stops, needs = draw()
    rules = bckm.Constraints(
        capacities={what: bckm.Capacity(needs[what], max=most) for what, most in CAPACITY.items()},
        must_link=TOGETHER,
        cannot_link=[(CAT, DOG)],
        cluster_names=VANS,
    )
    k = len(VANS)
    result = bckm.kmeans(stops, k, rules, n_init=2, random_state=0)
    plain = bckm.kmeans(stops, k, n_init=10, random_state=0)

    heaviest_first = np.argsort(np.argsort(-np.bincount(plain.labels, needs["kg"], k)))
    plain_labels = heaviest_first[plain.labels]

    load, plain_load = carried(result.labels, needs), carried(plain_labels, needs)
    over = {what: plain_load[what] > most for what, most in CAPACITY.items()}
    facts = Facts(
        load=load,
        plain_load=plain_load,
        gap=1 - result.lower_bound / result.objective,
        price=result.inertia / plain.inertia - 1,
        broken=len(bckm.verify(result.labels, k, rules)),
        overloaded=int((over["kg"] | over["litre"]).sum()),
        plain_broken=len(bckm.verify(plain_labels, k, rules)),
        study=bckm.Study.of(result, stops, rules, feature_names=["x km", "y km"], title="Tours"),
    )
    print(
        f"{len(stops)} parcels, {needs['kg'].sum():,.0f} kg and {needs['litre'].sum():,.0f} litres;"
    )
    print(f"{k} vans take {sum(CAPACITY['kg']):,} kg and {sum(CAPACITY['litre']):,} litres\n")
    print("van        stops            kg           litres   plain k-means: kg   litres")
    for i, van in enumerate(VANS):
        ours = [f"{load[what][i]:.0f} of {most[i]:4}" for what, most in CAPACITY.items()]
        theirs = [f"{plain_load[what][i]:.0f}{' !'[int(over[what][i])]}" for what in CAPACITY]
        print(f"{van:9} {result.sizes[i]:6}  {ours[0]:>12}  {ours[1]:>15}", end="")
        print(f"  {theirs[0]:>19} {theirs[1]:>8}")
    machine, boxes, cat, dog = (VANS[result.labels[p]] for p in (7, 3, CAT, DOG))
    print(f"\nThe machine rides in {machine!r}, the boxes in {boxes!r}, ", end="")
    print(f"the cat in {cat!r}, the dog in {dog!r}.")
    print(f"With these centers no sharing is better by more than {facts.gap:.2%}: that is proven.")
    print(f"Plain k-means overloads {facts.overloaded} vans (!) and breaks ", end="")
    print(f"{facts.plain_broken} rules; keeping them all costs {facts.price:.0%} more inertia.")
    return facts


if __name__ == "__main__":
    main()
