"""How do I put pupils into classes of equal size, fairly, and keep to what was promised?

72 pupils become three classes of 24, such that classmates live near each other. Girls and boys are
mixed as in the whole year, give or take ten percentage points; at most three pupils of a class need
the support teacher; twins and friends stay together; some pupils are kept apart. Pupils are named
by their names, not by row numbers (``by="sample_id"``).

Then somebody asks for one thing too many. First we see what contradicts it; then the friends'
wishes become soft: as many as possible are granted, and we see which are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bckm

CLASSES, SIZE = 3, 24
NAMES = (
    "Ada Alma Amir Anna Anton Arda Asta Aya Ben Bo Carl Cleo Dana David Ea Edda Eik Ella Elif Emil "
    "Emma Enzo Esra Eva Fay Finn Frida Greta Gus Hana Hugo Ida Ines Ivo Jan Jon Juna Kai Karla "
    "Klara Lale Lea Leo Levi Lia Lina Luca Luis Maja Malik Mara Max Mia Mila Mina Nele Nico Nils "
    "Noa Nora Ole Omar Paul Pia Rana Rosa Sami Sara Theo Till Yara Zoe"
).split()
SUPPORT = ["Ben", "Elif", "Gus", "Ida", "Leo", "Mina", "Paul"]
TWINS = {"Emil": "twins E", "Emma": "twins E", "Lia": "twins L", "Lina": "twins L"}
APART = [("Ben", "Gus"), ("Anton", "Max"), ("Ada", "Frida", "Theo")]
FRIENDS = [("Ada", "Zoe"), ("Zoe", "Mila"), ("Hugo", "Omar"), ("Nora", "Pia"), ("Kai", "Till")]
ONE_TOO_MANY = ("Mila", "Theo")


@dataclass(frozen=True)
class Facts:
    """What came out.

    Attributes
    ----------
    sizes, girls, support : arrays (3,)
        Pupils, girls and pupils who need the support teacher in each class.
    broken, plain_broken : int
        Rules that these classes break, and those of plain k-means.
    conflict : tuple of str
        Rules that contradict each other once one more is asked for.
    violated : tuple of str
        Wishes that are not granted when wishes are soft.
    granted : int
        Wishes that are.
    soft_broken : int
        Hard rules that the classes with soft wishes break.
    study : Study
        The classes with soft wishes, homes and rules, for pictures and reports.
    """

    sizes: np.ndarray
    girls: np.ndarray
    support: np.ndarray
    broken: int
    plain_broken: int
    conflict: tuple[str, ...]
    violated: tuple[str, ...]
    granted: int
    soft_broken: int
    study: bckm.Study


def draw(seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Invent where the pupils live, in km from the school, and who is a girl."""
    rng = np.random.default_rng(seed)
    quarters = np.array([[-1.0, 0.5], [0.8, 1.2], [0.6, -0.9]])
    quarter = rng.choice(3, len(NAMES), p=[0.5, 0.3, 0.2])
    homes = quarters[quarter] + rng.normal(scale=0.6, size=(len(NAMES), 2))
    girls = rng.random(len(NAMES)) < np.array([0.35, 0.7, 0.6])[quarter]
    return homes, np.where(girls, "girl", "boy").tolist()


def main() -> Facts:
    """Make the classes, run into a contradiction, and get out of it."""
    homes, gender = draw()
    needs = {name: "yes" if name in SUPPORT else "no" for name in NAMES}
    promised = bckm.Constraints(
        by="sample_id",
        size_min=SIZE,
        size_max=SIZE,
        quotas=[
            bckm.Quota(dict(zip(NAMES, gender, strict=True)), "±10%", name="gender"),
            bckm.Quota(needs, count_max={"yes": 3}, name="support"),
        ],
        groups=TWINS,
        cannot_link=APART,
    )
    wishes = bckm.Constraints(must_link=FRIENDS, by="sample_id")

    rules = promised & wishes
    result = bckm.kmeans(homes, CLASSES, rules, sample_id=NAMES, n_init=3, random_state=0)
    plain = bckm.kmeans(homes, CLASSES, n_init=10, random_state=0)
    broken = len(bckm.verify(result.labels, CLASSES, rules, sample_id=NAMES))
    plain_broken = len(bckm.verify(plain.labels, CLASSES, rules, sample_id=NAMES))
    who = np.array(gender) == "girl", np.isin(NAMES, SUPPORT)
    girls, support = (_count(result, one) for one in who)
    plain_girls, plain_support = (_count(plain, one) for one in who)
    print(f"All {len(FRIENDS)} wishes of friends, and everything else that was promised")
    print("                        three classes   plain k-means")
    print(f"  pupils                {_row(result.sizes)}   {_row(plain.sizes)}")
    print(f"  girls                 {_row(girls)}   {_row(plain_girls)}")
    print(f"  need support          {_row(support)}   {_row(plain_support)}")
    print(f"  broken rules          {broken:13}   {plain_broken:13}")
    print(f"  km to their middle    {_way(result):13.2f}   {_way(plain):13.2f}")

    print(f"\nNow {' and '.join(ONE_TOO_MANY)} want to be together, too:")
    more = wishes & bckm.Constraints(must_link=[ONE_TOO_MANY], by="sample_id")
    try:
        bckm.kmeans(homes, CLASSES, promised & more, sample_id=NAMES)
    except bckm.InfeasibleError as error:
        conflict = tuple(map(str, error.conflict))
    print("  that is impossible, because of")
    print("\n".join(f"  - {rule}" for rule in conflict))

    # 4: a broken wish costs as much as four pupils at their mean squared distance from the middle
    print("\nSo wishes become soft, at a confidence of 4; what was promised stays hard:")
    weighed = promised & more.soft(confidence=4)
    kind = bckm.kmeans(homes, CLASSES, weighed, sample_id=NAMES, n_init=3, random_state=0)
    violated = tuple(one.message for one in kind.violated)
    granted = len(more.must_link) - len(violated)
    print(f"  {granted} of {len(more.must_link)} wishes are granted; not granted:")
    print("\n".join(f"  - {one}" for one in violated))
    return Facts(
        sizes=result.sizes,
        girls=girls,
        support=support,
        broken=broken,
        plain_broken=plain_broken,
        conflict=conflict,
        violated=violated,
        granted=granted,
        soft_broken=len(bckm.verify(kind.labels, CLASSES, weighed, sample_id=NAMES)),
        study=bckm.Study.of(
            kind, homes, weighed, feature_names=["east", "north"], sample_id=NAMES, title="Classes"
        ),
    )


def _count(result: bckm.Result, who: np.ndarray) -> np.ndarray:
    return np.bincount(result.labels[who], minlength=CLASSES)


def _row(numbers: np.ndarray) -> str:
    return " ".join(map(str, numbers)).rjust(13)


def _way(result: bckm.Result) -> float:
    """Root of the mean squared distance to the center of the class."""
    return np.sqrt(result.inertia / len(NAMES))


if __name__ == "__main__":
    main()
