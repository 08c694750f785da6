"""The direction of a column in the headings of tables."""

from stp.collect.direction import Direction

__all__ = ["Direction", "heading"]


def heading(column: str, direction: Direction) -> str:
    """The heading of a column, with a sign for its direction."""
    return f"{column} {direction.sign}".rstrip()
