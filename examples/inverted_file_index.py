"""Does an inverted-file index get better when its lists are of equal length?

A search engine for vectors puts each of them into the list of one of k centers. A query looks into
the lists of the few centers nearest to it, so the longest lists decide how long the slowest queries
take. Here each list holds N / k vectors, give or take 10 %, and is compared with the lists of plain
k-means: the longest list; the expected scan of one list, sum n_i^2 / N, when queries are
distributed like the data; what queries find and scan with the same number of lists.

Vectors near a full list live in a neighboring one. `result.prices` say by how much: a query looks
where ``|q - c_i|^2 - price_i`` is least, as the vectors did. The answer: a little less recall for
each list looked into, a little less to scan, and no slow queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bckm

FEATURES, QUERIES, WANTED, TOLERANCE = 16, 200, 10, 0.1


@dataclass(frozen=True)
class Index:
    """What one index is like.

    Attributes
    ----------
    longest : int
        Vectors in the longest list.
    expected : float
        Vectors in the list of a random vector of the data: sum n_i^2 / N.
    recall : float
        Share of the true nearest neighbors that queries find.
    scanned, worst : float
        Vectors that a query looks at, on average and at most.
    seconds : float
        Time to build it.
    """

    longest: int
    expected: float
    recall: float
    scanned: float
    worst: int
    seconds: float


@dataclass(frozen=True)
class Facts:
    """What came out: the balanced index, the plain one, what was asked, and all for a report."""

    balanced: Index
    plain: Index
    size_max: int
    broken: int
    study: bckm.Study


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Invent vectors (n, 16) around 300 topics, few of them popular, and queries near some."""
    rng = np.random.default_rng(seed)
    popular = rng.dirichlet(np.full(300, 0.5))
    topics = rng.normal(size=(300, FEATURES))
    X = topics[rng.choice(300, n, p=popular)] + 0.6 * rng.normal(size=(n, FEATURES))
    asked = X[rng.choice(n, QUERIES, replace=False)]
    return X, asked + 0.1 * rng.normal(size=asked.shape)


def nearest(X: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The true nearest vectors of each query, (queries, 10), by looking at all."""
    score = (X**2).sum(axis=1) - 2 * queries @ X.T
    return np.argpartition(score, WANTED, axis=1)[:, :WANTED]


def measure(result: bckm.Result, queries: np.ndarray, truth: np.ndarray, probed: int) -> Index:
    """Search with an index: each query looks into so many lists."""
    away = ((queries[:, None] - result.centers) ** 2).sum(axis=2)
    if result.prices is not None:
        away -= result.prices
    lists = np.argsort(away, axis=1)[:, :probed]
    found = (result.labels[truth][:, :, None] == lists[:, None, :]).any(axis=2)
    scanned = result.sizes[lists].sum(axis=1)
    return Index(
        longest=int(result.sizes.max()),
        expected=float((result.sizes.astype(float) ** 2).sum() / result.labels.size),
        recall=float(found.mean()),
        scanned=float(scanned.mean()),
        worst=int(scanned.max()),
        seconds=result.seconds,
    )


def main(n: int = 100_000, k: int = 100, probed: int = 5) -> Facts:
    """Build both indexes and print what they are like."""
    X, queries = draw(n)
    low, high = int(np.ceil((1 - TOLERANCE) * n / k)), int((1 + TOLERANCE) * n / k)
    rules = bckm.Constraints(size_min=low, size_max=high)
    balanced = bckm.kmeans(X, k, rules, n_init=1, random_state=0)
    plain = bckm.kmeans(X, k, n_init=1, random_state=0)
    truth = nearest(X, queries)
    facts = Facts(
        balanced=measure(balanced, queries, truth, probed),
        plain=measure(plain, queries, truth, probed),
        size_max=high,
        broken=len(bckm.verify(balanced.labels, k, rules)),
        study=bckm.Study.of(balanced, X, rules, title="Balanced lists"),
    )
    a, b = facts.balanced, facts.plain
    print(f"{n:,} vectors in {k} lists of {low:,} to {high:,}; queries look into {probed} lists\n")
    print("                                  balanced   plain k-means")
    print(f"longest list                    {a.longest:10,}   {b.longest:13,}")
    print(f"expected scan of one list       {a.expected:10,.0f}   {b.expected:13,.0f}")
    print(f"recall of the 10 nearest        {a.recall:10.1%}   {b.recall:13.1%}")
    print(f"vectors scanned, average query  {a.scanned:10,.0f}   {b.scanned:13,.0f}")
    print(f"vectors scanned, slowest query  {a.worst:10,}   {b.worst:13,}")
    print(f"seconds to build                {a.seconds:10.1f}   {b.seconds:13.1f}")
    return facts


if __name__ == "__main__":
    main()
