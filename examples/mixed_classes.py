"""How do I make classes that are alike, each with strong and weak pupils?

150 pupils become six classes of 25 that should be alike: marks in three subjects and the way to
school have nearly the same mean in each class, and there are equally many girls everywhere. Friends
stay together, rivals apart, and each teacher of religion has few enough pupils.

``objective="mixed"`` makes clusters that are *alike*; k-means makes the opposite, a class of the
best and one of the weakest. A random draw is in between: six classes differ by half a standard
deviation and more just by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bckm

PUPILS, CLASSES = 150, 6
FEATURES = ("mathematics", "language", "sports", "km to school")
FRIENDS = [(0, 1), (2, 3), (10, 40), (41, 42), (60, 100)]
RIVALS = [(5, 6), (7, 8, 9), (20, 120)]


@dataclass(frozen=True)
class Facts:
    """What came out.

    Attributes
    ----------
    apart, plain_apart, random_apart : arrays (4,)
        Largest difference between class means of each feature, in standard deviations: of mixed
        classes, of plain k-means under the same rules, and of a random draw.
    girls, plain_girls : arrays (6,)
        Girls in each class.
    broken : int
        Rules that the mixed classes break.
    variances_apart : array (4,)
        Largest difference between the standard deviations in classes, once these count too.
    study : Study
        The classes, for pictures and reports.
    """

    apart: np.ndarray
    plain_apart: np.ndarray
    random_apart: np.ndarray
    girls: np.ndarray
    plain_girls: np.ndarray
    broken: int
    variances_apart: np.ndarray
    study: bckm.Study


def draw(seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Invent marks and ways to school, who is a girl, and who has which religion."""
    rng = np.random.default_rng(seed)
    talent = rng.normal(size=PUPILS)
    marks = 3 - 0.7 * talent[:, None] + rng.normal(scale=0.7, size=(PUPILS, 3))
    way = rng.gamma(2.0, 1.5, PUPILS)
    girls = rng.random(PUPILS) < 0.45
    religion = rng.choice(["a", "b", "none"], PUPILS, p=[0.4, 0.3, 0.3])
    return np.column_stack([marks.clip(1, 6).round(1), way.round(1)]), girls, religion.tolist()


def main() -> Facts:
    """Make the classes in three ways, and compare them."""
    X, girls, religion = draw()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)  # marks and kilometers count alike
    rules = bckm.Constraints(
        size_min=PUPILS // CLASSES,
        size_max=PUPILS // CLASSES,
        must_link=FRIENDS,
        cannot_link=RIVALS,
        quotas=[
            bckm.Quota(np.where(girls, "girl", "boy").tolist(), "±4%", name="gender"),
            bckm.Quota(religion, count_max={"a": 12, "b": 9}, name="religion"),
        ],
    )
    settings = {"random_state": 0, "n_jobs": 1}
    mixed = bckm.kmeans(scaled, CLASSES, rules, objective="mixed", **settings)
    both = bckm.kmeans(scaled, CLASSES, rules, objective="mixed_variances", **settings)
    plain = bckm.kmeans(scaled, CLASSES, rules, **settings)
    random = np.random.default_rng(0).permutation(np.arange(PUPILS) % CLASSES)

    assert mixed.mixed is not None
    facts = Facts(
        apart=mixed.mixed.spread,
        plain_apart=np.ptp(plain.centers, axis=0),
        random_apart=np.ptp([scaled[random == i].mean(axis=0) for i in range(CLASSES)], axis=0),
        girls=_count(mixed, girls),
        plain_girls=_count(plain, girls),
        broken=len(bckm.verify(mixed.labels, CLASSES, rules)),
        variances_apart=np.ptp(
            [scaled[both.labels == i].std(axis=0) for i in range(CLASSES)], axis=0
        ),
        study=bckm.Study.of(
            mixed, scaled, rules, feature_names=FEATURES, title="Classes that are alike"
        ),
    )
    print("Largest difference between the means of two classes, in standard deviations")
    print("                 mixed   random   plain k-means")
    rows = zip(FEATURES, facts.apart, facts.random_apart, facts.plain_apart, strict=True)
    for name, *apart in rows:
        print(f"  {name:12} {apart[0]:8.4f} {apart[1]:8.2f} {apart[2]:15.2f}")
    print(f"\nGirls per class: {facts.girls.tolist()}; broken rules: {facts.broken}")
    most = facts.variances_apart.max()
    print(f"With objective='mixed_variances' standard deviations differ by {most:.3f} at most")
    return facts


def _count(result: bckm.Result, who: np.ndarray) -> np.ndarray:
    return np.bincount(result.labels[who], minlength=CLASSES)


if __name__ == "__main__":
    main()
