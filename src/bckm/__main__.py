"""``python -m bckm`` is the command `bckm`."""

from bckm.cli import main

if __name__ == "__main__":
    main()
