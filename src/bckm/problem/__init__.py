"""Data and rules compiled: items, hard rules, soft rules, points, scaling and back."""
