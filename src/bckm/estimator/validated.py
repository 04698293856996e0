"""Data at the door of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from bckm._core.sparse_input import check_sparse
from bckm._core.validation import refuse_masked

FLOATS = [np.float64, np.float32]  # what data may stay


def validated(estimator: Any, X: Any, *, reset: bool) -> Any:  # noqa: N803
    """X after what scikit-learn looks at: names and number of features, finite numbers."""
    refuse_masked(X, "X")
    if sp.issparse(X) and X.ndim == 2:
        check_sparse(X, "X")  # scikit-learn trusts the indices
    return validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, reset=reset)
