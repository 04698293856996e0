"""Data and rules compiled: items, hard rules, soft rules, points, metric, scaling and back."""
