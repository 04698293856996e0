"""Whose array on a GPU it is: seen as rows for the passes, and answered in kind."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from bckm._core.on_device import CUDA, MANAGED, NAMES, TO_HOST, device_of, in_kind, readable
from bckm.blocks.gpu.holder import GpuHolder
from bckm.blocks.sources import check_kind, working_dtype
from bckm.exceptions import UnsupportedError

LEAST = 80  # compute capability, times ten: matrices of TF32
INSTALL = (
    "X lives on a GPU, which needs CuPy: run pip install 'bckm[gpu]', or 'bckm[gpu-cuda13]' where "
    "the driver is for CUDA 13"
)


def gpu_holder(X: Any) -> GpuHolder:  # noqa: N803
    """Who holds an array that lives on a GPU.

    Raises
    ------
    ImportError
        If CuPy is not installed, or cannot be loaded.
    UnsupportedError
        If the GPU is none of NVIDIA's, or one of the older ones.
    """
    cupy_passes = _cupy(X)
    rows = cupy_passes.seen(readable(X))
    if (capability := cupy_passes.capability(rows)) < LEAST:
        raise UnsupportedError(
            f"X lives on a GPU of compute capability {capability / 10}; those before Ampere "
            f"({LEAST / 10}) cannot do what kernels ask for. Bring X to the host: {TO_HOST}."
        )
    check_kind(rows.dtype, rows.shape)
    dtype = working_dtype(rows.dtype)
    return GpuHolder(rows, dtype, cupy_passes.CupyPasses(rows, dtype), lambda one: in_kind(one, X))


def like(values: Any, X: Any) -> Any:  # noqa: N803
    """An array of the host as the kind of array that X is, on the same device."""
    if device_of(X) is None:
        return in_kind(values, X)
    return in_kind(_cupy(X).beside(values, readable(X)), X)


def _cupy(X: Any) -> ModuleType:  # noqa: N803
    kind = device_of(X)
    if kind not in (CUDA, MANAGED):
        name = NAMES.get(int(kind or 0), f"DLPack's number {kind}")
        raise UnsupportedError(
            f"X lives on a device of {name}; only GPUs of NVIDIA (CUDA) are supported. Bring it "
            f"to the host: {TO_HOST}."
        )
    try:
        from bckm.blocks.gpu import cupy_passes
    except ImportError as error:
        raise ImportError(f"{INSTALL}. ({error})") from error
    return cupy_passes
