"""Mixed groups against the exchange method and random assignment."""
