"""A lower bound on the whole problem."""

from bckm.certificate._certify import BoundStep, Certificate, Ending, certify

__all__ = ["BoundStep", "Certificate", "Ending", "certify"]
