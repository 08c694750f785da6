"""Draw random orders and splits of names that depend only on a seed and the names."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice


def number_by_name(name: str, seed: int = 0) -> int:
    """A random 64-bit integer that depends only on name and seed."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8], "big")


def order_by_name(names: Iterable[str], seed: int = 0) -> list[str]:
    """Sort names into a random order that does not depend on their given order."""
    return sorted(names, key=lambda name: (number_by_name(name, seed), name))


def deal_by_name(
    names: Iterable[str], counts: Sequence[tuple[str, int]], seed: int = 0
) -> dict[str, str]:
    """Assign names to splits at random: {name: split}.

    Args:
        names: names, in any order.
        counts: (split, number of names), in the order in which splits take names. Names that are
            left over are not in the result.
        seed: seed of the order.
    """
    order = iter(order_by_name(names, seed))
    return {name: split for split, count in counts for name in islice(order, count)}
