"""``bckm app``: the page in the browser, and the server behind it.

The server answers this computer alone (`security`), keeps one `session`, and computes in child
processes (`worker`, `jobs`). What the page does is a plan (`cards`), so ``bckm fit`` can repeat it.
"""

from bckm.app.errors import INSTALL
from bckm.app.serving import serve

__all__ = ["INSTALL", "serve"]
