"""The comparison methods of the paper, all with the same estimator interface.

`METHODS` maps the names used in the paper to the methods; three have two names there.
If a method has an ``init``, it sets the initial centers: those of plain k-means as in the paper
("k-means", the best of ``n_init`` starts), its seeding alone ("k-means++"), or an array.
"""

from bckm.methods._base import Method, MethodFailure
from bckm.methods.bcls import BCLS
from bckm.methods.bkm import BKM
from bckm.methods.ckm import CKM, CKMFailure
from bckm.methods.cksc import CKSC
from bckm.methods.cop import COP, COPFailure
from bckm.methods.hkc import HKC
from bckm.methods.km import KM

METHODS: dict[str, type[Method]] = {
    "KM": KM,
    "HKC": HKC,
    "HKM": HKC,
    "COP": COP,
    "COP-KM": COP,
    "BKM": BKM,
    "CKM": CKM,
    "CKSC": CKSC,
    "BCLS": BCLS,
    "BCLR": BCLS,
}

__all__ = [
    "BCLS",
    "BKM",
    "CKM",
    "CKSC",
    "COP",
    "HKC",
    "KM",
    "METHODS",
    "CKMFailure",
    "COPFailure",
    "Method",
    "MethodFailure",
]
