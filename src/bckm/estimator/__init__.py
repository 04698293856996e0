"""The door of scikit-learn."""

from bckm.estimator._estimator import ConstrainedKMeans

__all__ = ["ConstrainedKMeans"]
