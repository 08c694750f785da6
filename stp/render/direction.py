"""Which values are better, as a table's headings say it."""

from stp.collect.direction import Direction

__all__ = ["Direction", "heading"]


def heading(column: str, direction: Direction) -> str:
    """A column's heading with its direction."""
    return f"{column} {direction.sign}".rstrip()
