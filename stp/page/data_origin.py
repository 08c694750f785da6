"""Whose bytes some cells are of, in words: each kind once, and which share of them it is."""

from collections import Counter
from collections.abc import Iterable

PAPERS_FILES = "the very files that the paper's numbers were made from"
"""Of bytes that are comparable with published values, and not official."""


def shares(kinds: Iterable[str], what: str) -> str:
    """Say it: ``72 of 78 cells: synthetic bytes, ...; 6 of 78 cells: ...``, most first.

    Args:
        kinds: of each cell or row. One kind alone is all that is said.
        what: they are, such as ``cells``.
    """
    counted = Counter(kinds)
    if len(counted) < 2:
        return "".join(counted)
    order = sorted(counted.items(), key=lambda found: (-found[1], found[0]))
    return "; ".join(f"{n} of {counted.total()} {what}: {kind}" for kind, n in order)
