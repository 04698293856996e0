"""The door of scikit-learn."""

from bckm.estimator._estimator import ConstrainedKMeans
from bckm.estimator._learned_metric import LearnedMetric

__all__ = ["ConstrainedKMeans", "LearnedMetric"]
