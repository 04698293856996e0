"""Arrays that live on a GPU, known by what they tell of themselves: nothing is imported for them.

They say it by DLPack (`__dlpack_device__`), as CuPy, PyTorch and JAX do, or by
`__cuda_array_interface__`. Arrays of the host speak DLPack, too, and are not meant.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

# devices by their numbers in DLPack
CUDA, MANAGED = 2, 13  # memory of an NVIDIA GPU, alone or shared with the host
HOST = (1, 3, 11)  # memory of the host, pinned or not
NAMES = {4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 14: "oneAPI"}
TO_HOST = "X.get() of CuPy, X.cpu().numpy() of PyTorch, numpy.asarray(X) of JAX"


def device_of(value: Any) -> int | None:
    """Return DLPack's number for the kind of device that an array lives on; None: the host.

    Examples
    --------
    >>> import numpy as np
    >>> from bckm._core.on_device import device_of
    >>> device_of(np.eye(2)) is None, device_of([[1.0]]) is None
    (True, True)
    """
    asked = getattr(type(value), "__dlpack_device__", None)
    if asked is not None:
        kind = int(asked(value)[0])
        return None if kind in HOST else kind
    return CUDA if hasattr(type(value), "__cuda_array_interface__") else None


def on_host(value: Any) -> Any:
    """Copy an array to the host, if it is not there; all else stays what it is.

    Examples
    --------
    >>> from bckm._core.on_device import on_host
    >>> on_host([1, 2])
    [1, 2]
    """
    if device_of(value) is None:
        return value
    value = readable(value)
    if hasattr(value, "get"):  # CuPy
        return value.get()
    if hasattr(value, "cpu"):  # PyTorch
        return value.cpu().numpy()
    if hasattr(value, "copy_to_host"):  # Numba
        return value.copy_to_host()
    return np.asarray(value)


def readable(array: Any) -> Any:
    """An array that others can read: it needs no gradient, and bfloat16 becomes float32.

    That is a copy of the whole, since neither NumPy nor all of CuPy knows bfloat16.
    """
    if hasattr(array, "detach"):
        array = array.detach()
    if str(array.dtype).endswith("bfloat16"):
        return array.float() if hasattr(array, "float") else array.astype("float32")
    return array


def refuse_on_device(value: Any, what: str) -> None:
    """Refuse an array that lives on a GPU where it would have to be copied to the host, whole."""
    if device_of(value) is not None:
        raise TypeError(f"{what} lives on a GPU, and this works on the host only: pass {TO_HOST}.")


def in_kind(array: Any, other: Any) -> Any:
    """An array as the kind of array that another is, on the device where it is, without a copy.

    It stays what it is where nobody says how to make one of that kind, as of lists and frames.

    Examples
    --------
    >>> import numpy as np
    >>> from bckm._core.on_device import in_kind
    >>> in_kind(np.arange(2), [[1.0]])
    array([0, 1])
    """
    if isinstance(other, type(array)):
        return array
    if hasattr(other, "__array_namespace__"):
        package = other.__array_namespace__()
    else:
        package = sys.modules.get(type(other).__module__.partition(".")[0])
    make = getattr(package, "from_dlpack", None)
    return array if make is None else make(array)
