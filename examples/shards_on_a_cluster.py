"""The vectors are on many machines; how do I cut them into shards of equal size?

50,000 vectors of 50 topics of very unequal size, in 16 blocks of a dask array, are cut into 20
shards that are equal to within 1 %, on a cluster of two processes. The process that calls gets a
sample of the vectors (130,000 of however many; of these all) and finds first centers. From then on
a pass sends centers and prices to the blocks, and gets counts and sums back and the few vectors
near borders. The labels are a dask array, too: they are made where the vectors are.

Plain k-means gives the largest shard several times its share: who serves it needs a larger machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import bckm

FEATURES, TOPICS, BLOCKS = 16, 50, 16


@dataclass(frozen=True)
class Facts:
    """What came out: sizes of shards in both ways, what equal ones cost, and what was sent."""

    sizes: np.ndarray
    plain_sizes: np.ndarray
    price: float
    passes: int
    received: int
    differ: int


def draw(n: int) -> da.Array:
    """Invent vectors (n, 16), block by block, the same in each pass."""
    rows = -(-n // BLOCKS)
    rng = da.random.default_rng(0)
    topics = np.random.default_rng(0).normal(scale=1.5, size=(TOPICS, FEATURES))
    topic = (TOPICS * rng.random(n, chunks=rows) ** 3).astype(int)  # the first are the largest
    shape = {"new_axis": 1, "chunks": (topic.chunks[0], (FEATURES,)), "dtype": float}
    noise = rng.normal(size=(n, FEATURES), chunks=(rows, -1))
    return (topic.map_blocks(topics.__getitem__, **shape) + noise).astype(np.float32)


def main(n: int = 50_000, k: int = 20) -> Facts:
    """Cut vectors into shards on a cluster, and print how large these are."""
    bounds = {"size_min": 0.99 / k, "size_max": 1.01 / k}
    machines = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with machines as cluster, Client(cluster):  # from here on, dask computes there
        X = draw(n).persist()  # the workers keep them; otherwise each pass makes them anew
        plain = bckm.ConstrainedKMeans(k, max_iter=20, random_state=0).fit(X)
        model = bckm.ConstrainedKMeans(k, **bounds, max_iter=20, random_state=0).fit(X)
        sizes = da.bincount(model.labels_, minlength=k).compute()  # the labels stay there
        differ = int((model.predict(X) != model.labels_).sum().compute())
    facts = Facts(
        sizes=sizes,
        plain_sizes=plain.cluster_sizes_,
        price=model.inertia_ / plain.inertia_ - 1,
        passes=model.result_.counters["passes"],
        received=model.result_.counters["received"],
        differ=differ,
    )
    share = n / k
    print(f"{n:,} vectors in {X.npartitions} blocks, {k} shards of {share:,.0f} on average\n")
    print("shards         smallest   largest   largest / average")
    for way, found in (("plain k-means", plain.cluster_sizes_), ("within 1 %", sizes)):
        print(f"{way:13}  {found.min():8,}  {found.max():8,}   {found.max() / share:17.2f}")
    print(f"\nequal shards cost {facts.price:.1%} more inertia; {facts.passes} passes, in which")
    print(f"{facts.received / 2**20:.1f} MiB came back, of data of {X.nbytes / 2**20:.1f} MiB")
    return facts


if __name__ == "__main__":
    main()
