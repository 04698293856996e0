"""From data to points whose Euclidean distances count, and how such a way is learned from links."""
