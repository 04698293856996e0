"""Data at the door of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from bckm._core.on_device import refuse_on_device
from bckm._core.sparse_input import check_sparse
from bckm._core.validation import read_jobs, refuse_masked
from bckm.blocks.holders import holder_of
from bckm.blocks.sources import fits_memory

FLOATS = [np.float64, np.float32]  # what data may stay


def validated(estimator: Any, X: Any, *, reset: bool) -> Any:  # noqa: N803
    """X after what scikit-learn looks at: names and number of features, finite numbers."""
    refuse_masked(X, "X")
    refuse_on_device(X, "X")
    if sp.issparse(X) and X.ndim == 2:
        check_sparse(X, "X")  # scikit-learn trusts the indices
    return validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, reset=reset)


def validated_in_blocks(estimator: Any, X: Any, *, reset: bool) -> Any:  # noqa: N803
    """X after the same look, or who holds it if it is to be read in blocks.

    A large array stays as it is: it is looked at block by block, once, where it is used.
    """
    holder = holder_of(X, read_jobs(estimator.n_jobs))
    if holder is None:
        return validated(estimator, X, reset=reset)
    if isinstance(X, np.ndarray) or (reset and fits_memory(X)):  # whatever is asked of it
        return validate_data(estimator, X, skip_check_array=True, reset=reset)
    if reset:
        estimator.n_features_in_ = holder.n_features
        if holder.names is not None:
            estimator.feature_names_in_ = np.array(holder.names, object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return holder
    if holder.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {holder.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    before = getattr(estimator, "feature_names_in_", None)
    if before is not None and holder.names is not None and list(before) != list(holder.names):
        raise ValueError(
            f"X has other columns than those of fit, or in another order: {holder.names!r:.60}, "
            f"not {tuple(before)!r:.60}."
        )
    return holder


def is_held(X: Any) -> bool:  # noqa: N803
    """Whether someone holds it, block by block."""
    return hasattr(X, "n_rows") and hasattr(X, "look")


def n_rows(X: Any) -> int:  # noqa: N803
    """Number of rows, whatever X is."""
    return int(X.n_rows if is_held(X) else X.shape[0])


def narrow_labels(labels: Any) -> Any:
    """Labels as scikit-learn has them; what is made when it is asked for stays so."""
    return labels.astype(np.int32) if isinstance(labels, np.ndarray) else labels
