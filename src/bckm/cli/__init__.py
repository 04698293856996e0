"""The `bckm` command."""


def main() -> None:
    """Run the command line."""
