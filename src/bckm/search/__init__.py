"""Search beyond the alternating loop: moves that no assignment step finds."""
