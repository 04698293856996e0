"""From a problem to a result: first centers, the loop, search, checkpoints."""
