"""Labels that obey: placement and repair."""
