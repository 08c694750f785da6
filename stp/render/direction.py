"""Mark the direction of better values in column headings."""

from stp.collect.direction import Direction

__all__ = ["Direction", "heading"]


def heading(column: str, direction: Direction) -> str:
    """Append a sign for the direction of better values to a column heading, as in ``SSIM ↑``."""
    return f"{column} {direction.sign}".rstrip()
