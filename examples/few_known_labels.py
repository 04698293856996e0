"""I know the classes of a few samples; how many do I need until clusters are classes?

1200 pictures show three kinds of fruit, taken in three kinds of light. Light changes the pictures
more than the kind does, so plain k-means finds the light. `Constraints.from_labels` turns known
labels into links (-1 is unknown): equal labels together, different ones apart. Accuracy is that on
samples whose label was *not* known.

Three ways to use the same links. Among several starts the smallest inertia wins, and a few links
hardly change which clustering that is: labels must be enough to make the clustering by light the
worse one, and where light is strong that takes very many. With ``n_init=1, search="none"`` the fit
starts at the labeled groups and stays in their optimum, if there is one. With ``metric="learned"``
links first teach what distance means: pictures of one kind differ by light, so light counts less,
and the smallest inertia is that of the kinds. That is judged on labels held back, and the plain
metric is kept if it is no better. Where classes merely overlap, none of them helps much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

import bckm

CLASSES = 3
SHARES = (0.0, 0.01, 0.05, 0.1)
LIGHTS = {"hardly more than": 2.05, "twice as much as": 4.0}  # the kind, which is 2


@dataclass(frozen=True)
class Scores:
    """Accuracy on samples without a label, one value for each share of known labels.

    Attributes
    ----------
    smallest, from_labels, learned : tuple of float
        Of the smallest inertia of many starts, of one start at the labeled groups, and of the
        smallest inertia in a space that was learned from the labels (NaN where there are none).
    classifier : tuple of float
        Of the nearest mean of the labeled samples alone (NaN where there are none).
    """

    smallest: tuple[float, ...]
    from_labels: tuple[float, ...]
    learned: tuple[float, ...]
    classifier: tuple[float, ...]


@dataclass(frozen=True)
class Facts:
    """What came out.

    Attributes
    ----------
    shares : tuple of float
        Shares of samples whose label is known.
    scores : dict of str to Scores
        By how much light changes the pictures.
    message : str
        What was learned last.
    broken : int
        Links that any of the clusterings break.
    study : Study
        The last clustering by a learned metric, for pictures and reports.
    """

    shares: tuple[float, ...]
    scores: dict[str, Scores]
    message: str
    broken: int
    study: bckm.Study


def draw(n: int, light: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Invent samples (n, 6) and their classes: three features show the kind, three the light."""
    rng = np.random.default_rng(seed)
    kind, lit = rng.integers(CLASSES, size=(2, n))
    shown = np.hstack([2.0 * np.eye(CLASSES)[kind], light * np.eye(CLASSES)[lit]])
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


def clusterings(X: np.ndarray, rules: bckm.Constraints) -> list[bckm.Result]:
    """Cluster in three ways; in one, if there are no labels to start at or to learn from."""
    many = bckm.kmeans(X, CLASSES, rules, n_init=4, random_state=0)
    if not rules.must_link:
        return [many]
    once = bckm.kmeans(X, CLASSES, rules, n_init=1, search="none", random_state=0)
    learned = bckm.kmeans(X, CLASSES, rules, metric="learned", n_init=4, random_state=0)
    return [many, once, learned]


def main(n: int = 1200) -> Facts:
    """Cluster with more and more known labels and print the accuracy on the others."""
    order = np.random.default_rng(1).permutation(n)
    scores, broken = {}, 0
    print(f"{n} samples, {CLASSES} classes; accuracy on samples whose label is not known")
    for words, light in LIGHTS.items():
        X, y = draw(n, light)
        found = []
        print(f"\nLight changes a picture {words} the kind does:")
        print("known labels   smallest inertia   start at labels   learned metric   nearest mean")
        for share in SHARES:
            known, rest = np.split(order, [round(share * n)])
            labels = np.full(n, -1)
            labels[known] = y[known]
            rules = bckm.Constraints.from_labels(labels)
            fits = clusterings(X, rules)
            broken += sum(len(bckm.verify(one.labels, CLASSES, rules)) for one in fits)
            row = [accuracy(y[rest], one.labels[rest]) for one in fits]
            if known.size:
                row.append(float((nearest_mean(X, y, known) == y)[rest].mean()))
            row += [np.nan] * (4 - len(row))
            found.append(row)
            told = [f"{one:.1%}" if one == one else "-" for one in row]
            print(
                f"{known.size:4} ({share:4.0%})    {told[0]:>16}   {told[1]:>15}   {told[2]:>14}"
                f"   {told[3]:>12}" + ("   (plain k-means)" if not known.size else "")
            )
        scores[words] = Scores(*zip(*found, strict=True))
    message = fits[-1].metric.judgment.message
    print(f"\nThe last metric was {message}.")
    names = [f"{what} {i}" for what in ("kind", "light") for i in range(CLASSES)]
    study = bckm.Study.of(fits[-1], X, rules, feature_names=names, title="Learned from labels")
    return Facts(SHARES, scores, message, broken, study)


if __name__ == "__main__":
    main()
