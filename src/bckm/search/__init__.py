"""Better optima: local search on items, global search on centres."""
