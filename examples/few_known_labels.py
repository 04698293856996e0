"""I know the classes of a few samples; how many do I need until clusters are classes?

1200 pictures show three kinds of fruit, taken in three kinds of light. Light changes the pictures a
little more than the kind does, so plain k-means finds the light. `Constraints.from_labels` turns
known labels into links (-1 is unknown): equal labels together, different ones apart. Accuracy is
that on samples whose label was *not* known.

Two ways to use the same links. Among ten starts the smallest inertia wins, and a few links hardly
change which clustering that is: labels must be enough to make the clustering by light the worse
one. With ``n_init=1, search="none"`` the fit starts at the labeled groups and stays in their
optimum, so that very few suffice. Where labels tell which of several clusterings you mean, do that.
Where classes merely overlap, neither helps much: k-means cannot see what no distance shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

import bckm

CLASSES = 3
SHARES = (0.0, 0.01, 0.05, 0.1)


@dataclass(frozen=True)
class Facts:
    """What came out, one value for each share of known labels.

    Attributes
    ----------
    shares : tuple of float
        Shares of samples whose label is known.
    smallest, from_labels : tuple of float
        Accuracy on the others: of the smallest inertia of many starts, and of one start at the
        labeled groups (NaN where there are none).
    classifier : tuple of float
        The same of the nearest mean of the labeled samples alone (NaN where there are none).
    broken : int
        Links that any of the clusterings break.
    study : Study
        The last clustering that started at labels, for pictures and reports.
    """

    shares: tuple[float, ...]
    smallest: tuple[float, ...]
    from_labels: tuple[float, ...]
    classifier: tuple[float, ...]
    broken: int
    study: bckm.Study


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Invent samples (n, 6) and their classes: three features show the kind, three the light."""
    rng = np.random.default_rng(seed)
    kind, light = rng.integers(CLASSES, size=(2, n))
    shown = np.hstack([2.0 * np.eye(CLASSES)[kind], 2.05 * np.eye(CLASSES)[light]])
    return shown + rng.normal(scale=0.7, size=shown.shape), kind


def accuracy(truth: np.ndarray, labels: np.ndarray) -> float:
    """Share of samples in the cluster that stands for their class, clusters matched at best."""
    pairs = np.zeros((CLASSES, CLASSES))
    np.add.at(pairs, (truth, labels), 1)
    return float(pairs[linear_sum_assignment(-pairs)].sum() / truth.size)


def nearest_mean(X: np.ndarray, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Class of each sample if only the labeled ones count: the one with the nearest mean."""
    means = np.array([X[known][y[known] == i].mean(axis=0) for i in range(CLASSES)])
    return ((X[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)


def main(n: int = 1200) -> Facts:
    """Cluster with more and more known labels and print the accuracy on the others."""
    X, y = draw(n)
    order = np.random.default_rng(1).permutation(n)
    found, broken = [], 0
    print(f"{n} samples, {CLASSES} classes; accuracy on samples whose label is not known\n")
    print("known labels   smallest inertia   start at the labels   nearest labeled mean")
    for share in SHARES:
        known, rest = np.split(order, [round(share * n)])
        labels = np.full(n, -1)
        labels[known] = y[known]
        rules = bckm.Constraints.from_labels(labels)
        many = bckm.kmeans(X, CLASSES, rules, n_init=10, random_state=0)
        once = bckm.kmeans(X, CLASSES, rules, n_init=1, search="none", random_state=0)
        broken += sum(len(bckm.verify(one.labels, CLASSES, rules)) for one in (many, once))
        scores = [accuracy(y[rest], one.labels[rest]) for one in (many, once)]
        if known.size:
            scores.append(float((nearest_mean(X, y, known) == y)[rest].mean()))
        else:
            scores[1:] = [np.nan, np.nan]  # nothing to start at, nothing to learn from
        found.append(scores)
        shown = [f"{score:.1%}" if score == score else "-" for score in scores]
        print(
            f"{known.size:4} ({share:4.0%})    {shown[0]:>16}   {shown[1]:>19}   {shown[2]:>21}"
            + ("   (plain k-means)" if not known.size else "")
        )
    study = bckm.Study.of(once, X, rules, title="Started at known labels")
    return Facts(SHARES, *zip(*found, strict=True), broken=broken, study=study)


if __name__ == "__main__":
    main()
