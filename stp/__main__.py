"""``python -m stp``: the same as ``stp``."""

from stp.cli import main

if __name__ == "__main__":
    main()
