"""Mark the direction of better values in column headings."""

from stp.collect.direction import Direction

__all__ = ["Direction", "heading"]


def heading(column: str, direction: Direction) -> str:
    """Append a sign for the direction of better values to the heading of a column."""
    return f"{column} {direction.sign}".rstrip()
