"""Better optima: local search on items, global search on centers."""
