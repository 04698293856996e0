"""A result with its data and rules, and the views of it that reports and plots share."""

from bckm.study._study import Study

__all__ = ["Study"]
