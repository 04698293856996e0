"""Names of samples: what `sample_id`, or the index of a frame, calls each row of X."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bckm.constraints import Constraints


def index_of(X: Any) -> Any:  # noqa: N803
    """The index of a pandas frame; None for all other data."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None


def read_ids(sample_id: Any, n_samples: int | None, what: str = "sample_id") -> list[Any]:
    """Read ids: one per sample, all different, none missing."""
    shape = getattr(sample_id, "shape", (0,))
    no_list = isinstance(sample_id, str | bytes | Mapping) or not isinstance(sample_id, Iterable)
    if no_list or len(shape) != 1:
        got = f"shape {shape}" if len(shape) > 1 else f"{sample_id!r:.60}"
        raise ValueError(f"{what} must be one id per sample; got {got}.")
    ids = sample_id.tolist() if hasattr(sample_id, "tolist") else list(sample_id)
    if n_samples is not None and len(ids) != n_samples:
        raise ValueError(f"{what} has {len(ids)} ids for {n_samples} samples.")
    try:
        different = set(ids)
    except TypeError as error:
        raise ValueError(f"{what} must be one id per sample: {error}.") from None
    for at, name in enumerate(ids):
        if is_missing(name):
            raise ValueError(f"{what} has no id for row {at} ({name!r}); every sample needs one.")
    if len(different) < len(ids):
        seen: set[Any] = set()
        twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"{what} contains {twice!r} more than once; ids must be unique.")
    return ids


def is_missing(value: Any) -> bool:
    """Whether a value is none: None, NaN, NaT and the like."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True


def ids_of(X: Any, sample_id: Any, n_samples: int | None) -> list[Any]:  # noqa: N803
    """Ids of the rows of X: those given, else the index of a pandas frame."""
    if sample_id is not None:
        return read_ids(sample_id, n_samples)
    index = index_of(X)
    if index is not None:
        return read_ids(index, n_samples, "the index of X")
    if type(X).__module__.startswith("polars"):
        raise ValueError(
            "these rules refer to sample ids, but a polars frame has no index: pass the ids, for "
            "example as sample_id=frame['name']."
        )
    raise ValueError(
        "these rules refer to sample ids, but the samples have none: pass sample_id, or a pandas "
        "frame with the ids as its index."
    )


def located(
    constraints: Constraints,
    X: Any,  # noqa: N803
    sample_id: Any,
    n_samples: int | None = None,
) -> Constraints:
    """Rules about positions of rows of X, whatever they were about; unknown ids are refused."""
    n = _rows(X) if n_samples is None else n_samples
    if sample_id is not None:
        sample_id = read_ids(sample_id, n)  # wrong ids are wrong, whether or not they are needed
    if constraints.by == "position":
        return constraints
    if not constraints._names_samples:  # sizes alone need no ids
        return constraints._with(by="position")
    return constraints.locate(ids_of(X, sample_id, n)).constraints


def _rows(X: Any) -> int | None:  # noqa: N803
    """How many rows there are; None for what is no data, which is refused elsewhere."""
    if hasattr(X, "shape"):
        return int(X.shape[0]) if X.shape else None
    return len(X) if hasattr(X, "__len__") else None
