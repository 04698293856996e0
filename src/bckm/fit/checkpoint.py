"""`kmeans(..., checkpoint=path)`: an interrupted fit resumes where it stopped.

Between two runs (starts and children) the state of a fit is small: the best clustering, those to
breed from, some counts. Each run begins with an engine of its own and draws from a generator of its
own, so a fit that begins with this state ends as if it had never been interrupted.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

import bckm
from bckm._core.arrays import blocks
from bckm._core.terminal import clean
from bckm._core.validation import read_data, read_weight
from bckm._storage.container import read_container, write_container
from bckm._storage.fields import Fields
from bckm._storage.lock import alone
from bckm.blocks.survey import Survey
from bckm.exceptions import DamagedFileError, UnsupportedError
from bckm.fit.search.shared import Search
from bckm.kernels import missing
from bckm.metric.embedding import Metric
from bckm.metric.tree import metric_tree, read_metric_tree
from bckm.problem.problem import Problem

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

KIND = "checkpoint"
EVERY = 5.0  # seconds between two writes, at least,
SHARE = 20  # and so many times as long as a write takes
FORMAT = 4  # of the state in the file
_WORDS = {
    "data": "for other data",
    "weights": "for other sample weights",
    "rules": "under other rules",
    "init": "with another init",
}


class Savable(Protocol):
    """A state of a fit."""

    def to_tree(self) -> dict[str, Any]:
        """The state for a file."""


def alone_with_checkpoint(fit: Callable[P, T]) -> Callable[P, T]:
    """Let a function hold the lock of the file that its `checkpoint` names, until it is done."""

    @wraps(fit)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        path: Any = kwargs.get("checkpoint")
        if path is None:
            return fit(*args, **kwargs)
        with alone(path):
            return fit(*args, **kwargs)

    return guarded


class Checkpoint:
    """The file in which a fit keeps its state.

    Parameters
    ----------
    path : str or path
        What is there, if anything, must be the state of the same fit.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._shown = clean(self.path)
        self._fields: Fields | None = None
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):  # better now than when there is something to lose
            raise FileNotFoundError(errno.ENOENT, "folder of the checkpoint does not exist", folder)
        if os.path.exists(path):
            if not os.path.isfile(path) and not os.path.isdir(path):  # it may have no end
                raise ValueError(f"checkpoint {self._shown} is not a regular file; choose another.")
            content = read_container(path, [KIND]).content
            try:
                self._fields = Fields(content, "its content")
            except ValueError as error:
                raise self._damaged(error) from None
        self._same: Mapping[str, Any] = {}
        self._entropy: int | None = None
        self._latest: Savable | None = None
        self._metric: Metric | None = None
        self._due = time.perf_counter() + EVERY

    def seed(self, random_state: Any) -> Any:
        """What to seed with: a fit without a seed keeps the one it drew."""
        if isinstance(random_state, np.random.Generator | np.random.RandomState):
            raise UnsupportedError(
                "a fit with a checkpoint must be repeatable: random_state must be a whole number "
                f"or None; got a {type(random_state).__name__}."
            )
        if random_state is not None:
            return random_state
        if self._fields is not None and self._fields.tree.get("entropy") is not None:
            self._entropy = self._whole("entropy")
        else:
            self._entropy = int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
        return self._entropy

    def metric(self, n_features: int) -> Metric | None:
        """The metric that the same fit learned before; None where there is none.

        The file of another fit is refused later, see `resume`.
        """
        if self._fields is None or self._fields.tree.get("metric") is None:
            return None
        try:
            found = read_metric_tree(self._fields.of("metric"))
        except ValueError as error:
            raise self._damaged(error) from None
        return found if found.n_features(n_features) == n_features else None

    def keep(self, metric: Metric) -> None:
        """Write the metric that was learned, too; one that time cut short never gets that far."""
        self._metric = metric

    def resume(self, same: Mapping[str, Any], read: Callable[[Fields], S]) -> S | None:
        """Where the same fit was before; None where there is nothing yet.

        Parameters
        ----------
        same : mapping
            What decides the result, see `identity`.
        read : callable
            Reads the state; a `ValueError` says what is wrong with it.

        Raises
        ------
        ValueError
            If the file belongs to another fit.
        """
        self._same = same
        if self._fields is None:
            return None
        try:
            fit = self._fields.of("fit")
            before = {name: fit.scalar(name) for name in fit.tree}
        except ValueError as error:
            raise self._damaged(error) from None
        for name, now in same.items():
            if name not in before or before[name] != now:
                raise ValueError(
                    f"checkpoint {self._shown} belongs to another fit: it was written "
                    f"{_difference(name, before.get(name), now)}; choose another file, or delete "
                    "it to start over."
                )
        try:
            return read(self._fields.of("state"))
        except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
            raise self._damaged(error) from None

    def note(self, state: Savable) -> None:
        """Keep the state between two runs; write it if that was not done for a while."""
        self._latest = state
        if time.perf_counter() >= self._due:
            self.write()

    def write(self) -> None:
        """Write the last state that was noted, if it is not written yet."""
        if self._latest is None:
            return
        began = time.perf_counter()
        tree = {
            "fit": dict(self._same),
            "entropy": self._entropy,
            "metric": None if self._metric is None else metric_tree(self._metric),
            "state": self._latest.to_tree(),
        }
        try:
            write_container(self.path, KIND, tree)
        except OSError as error:  # a full disk is no reason to lose hours of work
            warnings.warn(
                f"checkpoint {self._shown} cannot be written ({error}); the fit continues.",
                RuntimeWarning,
                stacklevel=2,
            )
        self._latest = None
        now = time.perf_counter()
        self._due = now + max(EVERY, SHARE * (now - began))

    def _whole(self, key: str) -> int:
        assert self._fields is not None
        try:
            return self._fields.whole(key, most=2**128)
        except ValueError as error:
            raise self._damaged(error) from None

    def _damaged(self, why: object) -> DamagedFileError:
        return DamagedFileError(
            f"checkpoint {self._shown} is damaged or was edited by hand: {why}; delete it to start "
            "over."
        )


def identity(
    search: Search,
    points: Any,
    sample_weight: Any,
    init: Any,
    random_state: Any,
    **settings: str,
) -> dict[str, Any]:
    """Everything that decides the result of a fit, for comparison.

    Parameters
    ----------
    search : Search
        What all runs share.
    points, sample_weight : array
        The data.
    init, random_state :
        As in `kmeans`.
    **settings : str
        Further parameters.
    """
    problem, engine = search.problem, search.engine
    options = vars(engine).values()
    how = {
        "init": _init_told(init),
        "solver": " ".join([engine.name, *(str(option) for option in options if option)]),
        "starts": search.starts.number,
        "search": search.kind,
        "max_iter": search.limits.max_iter,
        "tol": search.limits.tol,
    }
    return identity_of(problem, points, sample_weight, random_state, settings, how)


def identity_of(
    problem: Problem,
    points: Any,
    sample_weight: Any,
    random_state: Any,
    first: Mapping[str, Any],
    then: Mapping[str, Any],
) -> dict[str, Any]:
    """A problem and what else decides the result, before it and after it, for comparison."""
    n = problem.structure.item.size
    return {
        "format": FORMAT,
        **first,  # another metric makes other points, and other rules of them
        "samples": n,
        "features": int(problem.points.shape[1]),
        "clusters": problem.structure.n_clusters,
        "data": digest(read_data(points)),
        "weights": digest(read_weight(sample_weight, n)),
        "rules": digest((problem.structure, problem.soft)),
        **then,
        "random_state": None if random_state is None else int(random_state),
        "kernels": not missing,
        "library": bckm.__version__,
    }


def identity_in_blocks(
    survey: Survey, sizes: Any, init: Any, random_state: Any, **settings: Any
) -> dict[str, Any]:
    """Everything that decides the result of a fit over data in blocks, for comparison.

    Of the data that is what the first pass tells, with all rows of the sample: a look at all rows
    would take as long as a pass.

    Parameters
    ----------
    survey : Survey
        What the first pass found.
    sizes : pair of arrays (k,)
        Least and most rows of each cluster.
    init, random_state :
        As in `kmeans`.
    **settings :
        Further parameters.
    """
    return {
        "format": FORMAT,
        "samples": survey.n,
        "features": int(survey.low.size),
        "clusters": int(sizes[0].size),
        "data": digest((survey.low, survey.high, survey.index, survey.rows)),
        "rules": digest(sizes),
        "init": _init_told(init),
        **settings,
        "random_state": None if random_state is None else int(random_state),
        "kernels": not missing,
        "library": bckm.__version__,
    }


def _init_told(init: Any) -> str:
    if callable(init):
        raise UnsupportedError(
            "a fit with a checkpoint must be repeatable: init must be a name or centers; got a "
            "callable. Call it and pass the centers."
        )
    return init if isinstance(init, str) else digest(np.asarray(init, float))


def _difference(name: str, before: Any, now: Any) -> str:
    if name in _WORDS:
        return _WORDS[name]
    if name in ("samples", "features", "clusters"):
        return f"for {before!r} {name}, but this fit has {now!r}"
    if name == "format":
        return "by another version of bckm"
    if name == "library":
        return f"by bckm {clean(str(before))}, but this is {now}"
    if name == "kernels":
        return f"{'with' if before else 'without'} compiled kernels, unlike this fit"
    return f"with {name}={before!r}, but this fit has {name}={now!r}"


def digest(thing: Any) -> str:
    """A short text that differs where arrays, and what is made of them, differ."""
    total = hashlib.sha256()
    _add(total, thing)
    return total.hexdigest()


def _add(total: Any, thing: Any) -> None:
    if isinstance(thing, np.ndarray):
        total.update(f"array {thing.dtype.kind} {thing.shape};".encode())
        wide = np.int64 if thing.dtype.kind in "iub" else np.float64
        rows = thing.reshape(1) if thing.ndim == 0 else thing
        for part in blocks(len(rows), max(1, rows[:1].size)):
            # -0 and 0 are one number
            total.update(np.ascontiguousarray(rows[part].astype(wide) + wide(0)).data)
    elif sp.issparse(thing):
        matrix = sp.csr_array(thing)
        _add(total, (matrix.shape, matrix.data, matrix.indices, matrix.indptr))
    elif is_dataclass(thing) and not isinstance(thing, type):
        _add(total, type(thing).__name__)
        for field in fields_of(thing):
            _add(total, getattr(thing, field.name))
    elif isinstance(thing, list | tuple) and thing and not isinstance(thing[0], int | float | str):
        total.update(f"list {len(thing)};".encode())
        for part in thing:
            _add(total, part)
    else:
        total.update(f"{thing!r};".encode("utf-8", "backslashreplace"))
