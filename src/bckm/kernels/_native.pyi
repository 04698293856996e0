"""Types of the compiled module; written by hand, beside module.cpp."""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Whole = NDArray[np.int64]
_Labels = NDArray[np.int32]
_Short = NDArray[np.float32]

class Settled(TypedDict):
    prices: _Floats
    split_point: _Whole
    split_cluster: _Whole
    split_units: _Whole
    rows: int
    paths: int
    rounds: int
    stopped: bool

class Points:
    n: int
    def __init__(
        self,
        data: _Floats,
        rows: _Whole | None = None,
        pull: _Floats | None = None,
        supply: _Whole | None = None,
        step: int = 1,
    ) -> None: ...

class Stopped(Exception): ...  # noqa: N818 - no error

def isa() -> str: ...
def sweep(
    points: Points,
    centres: _Floats,
    prices: _Floats,
    label: _Labels,
    runner: _Labels,
    detour: _Short,
    slack: _Short,
    radius: _Short | None,
    fixed: _Floats,
    slope: _Floats,
    keep: bool,
    threads: int,
    seconds: float = ...,
) -> tuple[_Whole, int, float, float]: ...
def settle(
    points: Points,
    centres: _Floats,
    prices: _Floats,
    label: _Labels,
    slack: _Short,
    lower: _Whole,
    upper: _Whole,
    budget: int,
    seconds: float,
    threads: int,
) -> Settled: ...
def border_step(
    points: Points,
    prices: _Floats,
    label: _Labels,
    runner: _Labels,
    detour: _Short,
    slope: _Floats,
    active: NDArray[np.bool_],
    threads: int,
) -> _Floats | None: ...
def totals(
    points: Points, label: _Labels, centres: _Floats, radius: _Short | None, threads: int
) -> tuple[_Floats, _Floats, float, _Floats]: ...

class Descent(TypedDict):
    passes: int
    relocated: int
    swapped: int
    chained: int
    flipped: int
    grouped: int
    work: float
    finished: bool
    stopped: bool

class Rules:
    def __init__(
        self,
        count: _Whole,
        lower: _Whole,
        upper: _Whole,
        conflict_start: _Whole,
        conflict_with: _Whole,
        column_start: _Whole,
        column_row: _Whole,
        column_value: _Floats,
        row_lower: _Floats,
        row_upper: _Floats,
        amount: _Floats,
        load_lower: _Floats,
        load_upper: _Floats,
    ) -> None: ...

class Soft:
    def __init__(
        self,
        tie_start: _Whole,
        tie_with: _Whole,
        tie_price: _Floats,
        lean_start: _Whole,
        lean_to: _Whole,
        lean_price: _Floats,
        base: float,
        amount: _Floats,
        lower: _Floats,
        upper: _Floats,
        low: _Floats,
        up: _Floats,
    ) -> None: ...

def descend(
    points: Points,
    rules: Rules,
    soft: Soft,
    label: _Labels,
    centres: _Floats,
    fixed: bool,
    effort: float,
    seconds: float,
    threads: int,
) -> Descent: ...
def gather(
    data: _Floats | _Short,
    rows: _Whole,
    origin: _Floats,
    scale: float,
    out: _Floats,
    threads: int,
) -> None: ...
def sparse(
    start: _Labels | _Whole,
    index: _Labels | _Whole,
    value: _Floats,
    centres: _Floats,
    label: _Whole | None = None,
) -> _Floats: ...

# for tests/kernels
class Judged(TypedDict):
    admits: bool
    change: float
    admits_back: bool
    change_back: float
    size: _Whole
    weight: _Floats
    centres: _Floats
    cost: float

def _sum_of_chunks(n: int, threads: int, nested: bool = False, fail_at: int = -1) -> int: ...
def _judge(
    points: Points,
    rules: Rules,
    soft: Soft,
    label: _Labels,
    centres: _Floats,
    fixed: bool,
    items: _Whole,
    to: _Whole,
) -> Judged: ...
def _meet(threads: int) -> int: ...
