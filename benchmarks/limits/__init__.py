"""Do time limits hold? A table of problems of every kind, each under several limits."""
