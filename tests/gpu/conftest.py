"""Without CuPy there is nothing to test here."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("cupy") else ["test_*.py"]
