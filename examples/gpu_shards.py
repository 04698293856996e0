"""My embeddings are on a GPU; how do I cut them into shards of equal size without moving them?

200,000 embeddings of 60 topics of very unequal size are cut into 64 shards that are equal to the
sample. They are an array of CuPy where there is a GPU, of NumPy elsewhere: the calls are the same,
and labels are of the same kind and on the same device as the embeddings. What is done with the
shards, here the radius of each, can go on there, with centers that are brought along.

Plain k-means gives the largest shard several times its share: who serves it needs a larger machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import bckm

FEATURES, TOPICS = 32, 60


@dataclass(frozen=True)
class Facts:
    """What came out: sizes of shards in both ways, what equal ones cost, radii, and where."""

    sizes: np.ndarray
    plain_sizes: np.ndarray
    price: float
    radius: np.ndarray
    where: str


def arrays() -> Any:
    """CuPy, if it is installed and there is a GPU; else NumPy."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception:  # without a driver CuPy raises an error of its own
        return np
    return cupy


def draw(xp: Any, n: int) -> Any:
    """Invent embeddings (n, 32) of length 1."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(TOPICS, FEATURES))
    topic = (TOPICS * rng.random(n) ** 3).astype(int)  # the first are the largest
    X = topics[topic] + 0.5 * rng.normal(size=(n, FEATURES))
    return xp.asarray((X / np.linalg.norm(X, axis=1)[:, None]).astype(np.float32))


def main(n: int = 200_000, k: int = 64) -> Facts:
    """Cut embeddings into shards, and print how large these are."""
    xp = arrays()
    X = draw(xp, n)
    fit = {"max_iter": 20, "n_init": 1, "search": "none", "random_state": 0}
    plain = bckm.kmeans(X, k, **fit)
    equal = bckm.kmeans(X, k, bckm.Constraints(size_min=n // k, size_max=-(-n // k)), **fit)
    there = equal.on_device_of(X)  # centers, too
    assert type(there.centers) is type(there.labels) is type(X)
    apart = xp.sqrt(xp.square(X - there.centers[there.labels]).sum(axis=1))
    radius = xp.zeros(k, xp.float32)
    xp.maximum.at(radius, there.labels, apart)
    facts = Facts(
        sizes=equal.sizes,
        plain_sizes=plain.sizes,
        price=equal.inertia / plain.inertia - 1,
        radius=radius.get() if hasattr(radius, "get") else radius,
        where="a GPU" if xp is not np else "the host",
    )
    share = n / k
    print(f"{n:,} embeddings on {facts.where}, {k} shards of {share:,.0f} on average\n")
    print("shards         smallest   largest   largest / average")
    for way, found in (("plain k-means", facts.plain_sizes), ("equal", facts.sizes)):
        print(f"{way:13}  {found.min():8,}  {found.max():8,}   {found.max() / share:17.2f}")
    radii = f"radii from {facts.radius.min():.2f} to {facts.radius.max():.2f}"
    print(f"\nequal shards cost {facts.price:.1%} more inertia; {radii}")
    return facts


if __name__ == "__main__":
    main()
