"""The origin and protocol of the data behind numbers, in words."""

from collections import Counter
from collections.abc import Iterable

FILES_OF_PAPER = "the very files that the paper's numbers were made from"
"""Text about data that are not official, but comparable with published values."""


def origin(source: str, protocol: str) -> str:
    """Origin and protocol of data in words: ``synthetic data, demo protocol``."""
    return f"{source} data, {protocol} protocol"


def count_kinds(kinds: Iterable[str], noun: str) -> str:
    """Counts of kinds, the most frequent first: ``72 of 78 cells: synthetic data, ...; 6 of ...``.

    Args:
        kinds: kind of each cell or row. If all are equal, the text is the kind without a count.
        noun: noun for what is counted, such as ``cells``.
    """
    counted = Counter(kinds)
    if len(counted) < 2:
        return "".join(counted)
    order = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(f"{n} of {counted.total()} {noun}: {kind}" for kind, n in order)
