"""Measurements: this library against others, in the same run."""
