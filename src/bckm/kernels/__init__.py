"""The compiled kernels: `native` is the module, or None with the reason in `missing`.

All but local search works without them, only slower. The environment variable BCKM_PURE, set to
anything but "" or "0", leaves them out. To ask whether they are there, ask ``if missing``: to mypy
`native` is always the module. Its stub, `_native.pyi`, is written when it is compiled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

__all__ = ["missing", "native"]

missing = ""  # a sentence for a person; empty when the kernels are there

if TYPE_CHECKING:
    import bckm.kernels._native as native
elif os.environ.get("BCKM_PURE", "") in ("", "0"):
    try:
        import bckm.kernels._native as native
    except ModuleNotFoundError:
        native = None
        missing = (
            "this installation of bckm has no compiled kernels (no working C++17 compiler was "
            "found when it was installed); all but search='local' and 'global' works, but slower. "
            "Install a compiler and reinstall bckm: pip install --force-reinstall --no-cache-dir."
        )
    except ImportError as error:  # built for another machine, or a library is gone
        native = None
        missing = f"the compiled kernels of bckm could not be loaded: {error}"
else:
    native = None
    missing = "the compiled kernels of bckm are left out because BCKM_PURE is set."
