"""Search measured: how good clusterings are, and how soon, against best-known values and peers.

python -m benchmarks.search known|balanced|table|auto|quick
"""
