"""Kernels of this folder: compiled when they are first used, and run, by CuPy.

They are compiled for the type of the rows and a number of features, and CuPy keeps them in its
cache on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from importlib.resources import files
from typing import Any

import cupy as cp
import numpy as np

from bckm._core.types import FloatArray

THREADS = 256  # of a block
PASSES = ("common", "best", "exact", "pairs", "listing", "sums")  # files, in their order


def source(*names: str) -> str:
    """The text of files with kernels, one after the other."""
    folder = files("bckm.blocks.gpu")
    return "".join(folder.joinpath(f"{name}.cu").read_text(encoding="utf-8") for name in names)


@lru_cache(maxsize=64)
def compiled(real: str, steps: int, chunked: bool, lanes: int, device: int) -> Any:
    """The kernels for a type of rows and a number of features."""
    del device  # modules belong to one
    names = {"REAL": real, "STEPS": steps, "CHUNKED": int(chunked), "LANES": lanes}
    options = ("-std=c++17", *(f"-D{name}={value}" for name, value in names.items()))
    return cp.RawModule(code=source(*PASSES), options=options)


@lru_cache(maxsize=1024)
def _function(kernels: Any, name: str) -> Any:
    return kernels.get_function(name)


def there(method: Callable[..., Any]) -> Callable[..., Any]:
    """On the device of the rows, whatever the current one is."""

    @wraps(method)
    def on_device(self: Launcher, *args: Any, **options: Any) -> Any:
        with self.device:
            return method(self, *args, **options)

    return on_device


class Launcher:
    """Runs kernels on the device of the rows."""

    device: Any
    _kernels: Any

    def _processors(self) -> int:
        return int(self.device.attributes["MultiProcessorCount"])

    def _run(
        self,
        name: str,
        many: int,
        *args: Any,
        each: int = THREADS,
        shared: int = 0,
        kernels: Any = None,
    ) -> None:
        """Run a kernel on so many numbers, of which a block has `each`."""
        kernel = _function(kernels or self._kernels, name)
        if shared > 48 * 1024:
            kernel.max_dynamic_shared_size_bytes = shared
        plain = tuple(
            np.uint64(0) if one is None else np.int32(one) if isinstance(one, int) else one
            for one in args
        )
        kernel((-(-many // each),), (THREADS,), plain, shared_mem=shared)

    def _listed(
        self,
        room: int,
        name: str,
        many: int,
        *args: Any,
        dtype: Any = np.int32,
        each: int = THREADS,
        shared: int = 0,
    ) -> Any:
        """What a kernel lists, in no order."""
        found, number = cp.empty(room, dtype), cp.zeros(1, np.uint32)
        self._run(name, many, *args, found, number, each=each, shared=shared)
        return found[: int(number.get()[0])]


def float32_errors(
    centers: FloatArray, prices: FloatArray, features: int, chunks: int
) -> tuple[np.float32, np.float32]:
    """What |c|^2 - 2 x c - price may be wrong by in float32: slope |x| + fixed.

    Numbers are split into two of 11 bits, the products of which are exact but for the smallest, of
    which 2^-20 are left out, twice; numbers themselves are rounded to float32. The unit that
    multiplies adds 8 products to a sum of 24 bits and may cut off what is below, 9 times and once
    more at the end; it does so three times for 8 features. Sums of chunks are rounded once each.
    And the origin is taken off float32 in two parts, each with a rounding of at most 1.
    """
    cut = 2.0**-23
    unit = 1.25 * cut * (3 * 10 * features / 8 + 4 * 2**3 + 4 + chunks)
    squares = np.square(centers).sum(axis=1)
    longest, bias = float(np.sqrt(squares.max())), float(np.abs(squares - prices).max())
    fixed = unit * bias + 1.25 * cut * 2 * longest * np.sqrt(centers.shape[1])
    return np.float32(1.01 * unit * 2 * longest), np.float32(1.01 * fixed + 1e-30)
