"""Contradictions of known minimal size, hidden among rules that a planted labeling obeys."""

from __future__ import annotations

from itertools import combinations

import numpy as np

import bckm


def noise(rng: np.random.Generator, first: int, n: int, k: int, rules: int) -> dict[str, list]:
    """Links among samples first .. n - 1 that planted labels obey."""
    planted = rng.integers(k, size=n)
    together, apart = [], []
    while len(together) + len(apart) < rules:
        a, b = rng.integers(first, n, size=2).tolist()
        if a != b:
            (together if planted[a] == planted[b] else apart).append((a, b))
    return {"must_link": together, "cannot_link": apart}


def chain(length: int) -> dict[str, list]:
    """A cannot-link whose ends `length` must-links join; minimal size length + 1."""
    return {
        "must_link": [(p, p + 1) for p in range(length)],
        "cannot_link": [(0, length)],
    }


def clique(k: int) -> dict[str, list]:
    """k + 1 samples pairwise apart."""
    return {"cannot_link": list(combinations(range(k + 1), 2))}


def glued_clique(k: int) -> dict[str, list]:
    """k + 1 pairs of samples: each cannot-link touches another sample of the pair."""
    pairs = [(2 * a, 2 * a + 1) for a in range(k + 1)]
    apart = [(2 * a + 1, 2 * b) for a, b in combinations(range(k + 1), 2)]
    # the first and the last pair are touched at one sample only: their must-links are not needed
    return {"must_link": pairs, "cannot_link": apart}


def cycle(length: int) -> dict[str, list]:
    """A cycle of conflicts; of odd length it needs three clusters."""
    return {"cannot_link": [(p, (p + 1) % length) for p in range(length)]}


def wheel(rim: int) -> dict[str, list]:
    """A hub apart from every sample of an odd cycle: needs four clusters."""
    return {"cannot_link": cycle(rim)["cannot_link"] + [(p, rim) for p in range(rim)]}


def groetzsch() -> dict[str, list]:
    """Without any triangle, yet not three-colorable: no clique proves it."""
    ring = [(p, (p + 1) % 5) for p in range(5)]
    copies = [(5 + p, q) for p in range(5) for q in ((p + 1) % 5, (p - 1) % 5)]
    return {"cannot_link": ring + copies + [(10, 5 + p) for p in range(5)]}


def hide(planted: dict[str, list], extra: dict[str, list], rng: np.random.Generator, **sizes):
    """Join and shuffle."""
    joined = {}
    for kind in ("must_link", "cannot_link"):
        links = planted.get(kind, []) + extra.get(kind, [])
        joined[kind] = [links[i] for i in rng.permutation(len(links))]
    return bckm.Constraints(**joined, **sizes)
