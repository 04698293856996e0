"""What is clustered: drawn from seeds, or read from folders outside the repository."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

import bckm
from bckm.datasets import load, random_links
from benchmarks.search.case import Case
from benchmarks.sizes.data import balanced, slack


class MissingError(Exception):
    """What was asked for is not there; the message says how to ask."""


@dataclass(frozen=True)
class Folders:
    """Where data files are; each is named like the option of the command line that says so."""

    instances: Path
    datasets: Path

    def file(self, option: str, name: str) -> Path:
        """The path of a file, or an error that says how to name its folder."""
        path = getattr(self, option) / name
        if not path.is_file():
            raise MissingError(
                f"{path} does not exist; pass the folder that holds {name} with --{option}."
            )
        return path


@dataclass(frozen=True)
class Source:
    """A case that is made when it is needed."""

    name: str
    make: Callable[[], Case]


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """Shown in the tables."""


Thing = TypeVar("Thing", bound=Named)


def select(things: Iterable[Thing], pattern: str | None) -> list[Thing]:
    """Those whose names match a pattern like ``*glass*``, or contain it."""
    if pattern is None:
        return list(things)
    wanted = [one for one in things if fnmatch.fnmatch(one.name, pattern) or pattern in one.name]
    if not wanted:
        raise MissingError(f"no instance is called like {pattern!r} (--only).")
    return wanted


def even(n: int, k: int) -> bckm.Constraints:
    """Sizes as equal as they can be."""
    low, high = balanced(n, k)
    return bckm.Constraints(size_min=low, size_max=high)


def about_even(n: int, k: int) -> bckm.Constraints:
    """Sizes within 20 % of equal."""
    low, high = slack(n, k)
    return bckm.Constraints(size_min=low, size_max=high)


@dataclass(frozen=True)
class Drawn:
    """Overlapping blobs of unequal sizes: samples and the blob that each came from."""

    X: np.ndarray
    y: np.ndarray
    rng: np.random.Generator


def blobs(n: int, k: int, d: int, seed: int, apart: float = 2.5) -> Drawn:
    """Draw blobs that are some standard deviations apart, whatever the dimension."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(k, 5.0))
    y = rng.choice(k, n, p=share)
    y[:k] = np.arange(k)
    middle = rng.random((k, d)) * apart * k ** (1 / d) * (6 / d) ** 0.5
    return Drawn(middle[y] + rng.standard_normal((n, d)), y, rng)


def many_blobs(name: str, n: int, k: int) -> Case:
    """Nothing is asked, and there are many clusters."""
    return Case(name, blobs(n, k, 2, 1, apart=4).X, k, bckm.Constraints())


def noise(name: str, n: int, k: int) -> Case:
    """Nothing is asked, and there are no clusters."""
    return Case(name, np.random.default_rng(2).random((n, 3)), k, bckm.Constraints())


def weighted(name: str, n: int, k: int) -> Case:
    """Nothing is asked, but samples differ in weight."""
    drawn = blobs(n, k, 2, 3)
    return Case(name, drawn.X, k, bckm.Constraints(), drawn.rng.lognormal(0.0, 1.0, n))


def together(name: str, n: int, k: int) -> Case:
    """Must-links within the true clusters."""
    drawn = blobs(n, k, 4, 4)
    links = random_links(drawn.y, n * k // 3, random_state=4).must_link
    return Case(name, drawn.X, k, bckm.Constraints(must_link=links))


def apart(name: str, n: int, k: int) -> Case:
    """Cannot-links between true clusters."""
    drawn = blobs(n, k, 4, 5)
    links = random_links(drawn.y, n, random_state=5).cannot_link
    return Case(name, drawn.X, k, bckm.Constraints(cannot_link=links))


def links_and_sizes(name: str, n: int, k: int) -> Case:
    """Links of both kinds from blobs of equal sizes, and sizes as equal as they can be."""
    drawn = blobs(n, k, 6, 6)
    y = np.arange(n) % k
    middle = drawn.rng.random((k, 6)) * 4
    X = middle[y] + drawn.rng.standard_normal((n, 6))
    return Case(name, X, k, random_links(y, n // 2, random_state=6) & even(n, k))


def capacities(name: str, n: int, k: int) -> Case:
    """Whole amounts, and clusters that hold 3 % more than they must on average."""
    drawn = blobs(n, k, 2, 7)
    amounts = drawn.rng.integers(1, 20, n)
    room = int(np.ceil(1.03 * amounts.sum() / k))
    capacities = {"load": bckm.Capacity(amounts, max=room)}
    return Case(name, drawn.X, k, bckm.Constraints(capacities=capacities))


def uneven(name: str, n: int, k: int) -> Case:
    """Exact sizes that differ; which cluster gets which is free."""
    drawn = blobs(n, k, 9, 8)
    sizes = np.bincount(drawn.rng.integers(k, size=n - 2 * k), minlength=k) + 2
    return Case(name, drawn.X, k, bckm.Constraints(size_min=sizes, size_max=sizes))


def scattered(name: str, n: int, k: int) -> Case:
    """Sizes as equal as they can be, over clusters that overlap much."""
    return Case(name, blobs(n, k, 2, 9).X, k, even(n, k))


def from_file(
    folders: Folders, file: str, name: str, k: int, rules: Callable[[int, int], bckm.Constraints]
) -> Source:
    """A data set under rules on its sizes."""

    def make() -> Case:
        folders.file("datasets", f"{file}.npz")
        X = load(file, folders.datasets).X
        return Case(name, X, k, rules(len(X), k))

    return Source(name, make)


def glass(folders: Folders) -> Source:
    """The sizes of the true classes of glass, which differ much."""
    name = "glass, sizes of its classes"

    def make() -> Case:
        with np.load(folders.file("instances", "glass.npz")) as file:
            X, sizes = file["X"].astype(float), np.bincount(file["y"])
        return Case(name, X, sizes.size, bckm.Constraints(size_min=sizes, size_max=sizes))

    return Source(name, make)


def varied(folders: Folders) -> list[Source]:
    """Instances of different kinds, for the table."""
    return [
        _drawn("blobs, nothing asked, k = 100", many_blobs, 10_000, 100),
        _drawn("uniform noise, nothing asked, k = 50", noise, 5_000, 50),
        _drawn("weighted samples, nothing asked, k = 30", weighted, 3_000, 30),
        from_file(folders, "s4", "S4, balanced", 15, even),
        from_file(folders, "birch1", "Birch1, balanced", 100, even),
        from_file(folders, "orl", "ORL faces, balanced", 40, even),
        from_file(folders, "mnist", "MNIST, sizes within 20 %", 10, about_even),
        glass(folders),
        _drawn("must-links", together, 1_000, 20),
        _drawn("cannot-links", apart, 1_000, 20),
        _drawn("links of both kinds, balanced", links_and_sizes, 600, 10),
        _drawn("capacities, whole amounts", capacities, 500, 20),
    ]


def small() -> list[Source]:
    """The same kinds, so small that a test can cluster them all; no files are needed."""
    return [
        _drawn("blobs", many_blobs, 120, 6),
        _drawn("weighted", weighted, 80, 4),
        _drawn("balanced", scattered, 75, 4),
        _drawn("uneven sizes", uneven, 60, 4),
        _drawn("links and sizes", links_and_sizes, 30, 3),
        _drawn("capacities", capacities, 24, 3),
    ]


def _drawn(name: str, make: Callable[[str, int, int], Case], n: int, k: int) -> Source:
    return Source(name, lambda: make(name, n, k))
