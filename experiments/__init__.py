"""The experiments of the paper: objective, data, methods, and what is drawn from their table."""
