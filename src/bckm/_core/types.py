"""Short names for the array types of the package."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Sparse = Any  # scipy.sparse arrays carry no useful static type
PointArray = Any  # one point a row: a FloatArray, or a csr_array
