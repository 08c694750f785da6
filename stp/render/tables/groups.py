"""Repeated runs of one model, in two groups. Planning uses it, so it imports nothing heavy."""

from collections.abc import Iterable, Sequence

from stp.core.errors import StpError

FEWEST_RUNS = 4
"""Two in each group: fewer have no spread within a group."""


def demand_runs(runs: Iterable[tuple[str, int]], where: str) -> None:
    """Refuse a study of too few runs.

    Args:
        runs: what is trained, and with how many seeds.
        where: the file that says so.

    Raises:
        StpError: nothing is trained with seeds, or something has fewer than ``FEWEST_RUNS``.
    """
    runs = list(runs)
    few = [f"{name}: {number}" for name, number in runs if number < FEWEST_RUNS]
    if few or not runs:
        raise StpError(
            f"{where}: too few seeds for a study of repeated runs"
            + (f" ({'; '.join(few)})" if few else " (no model that is trained with a seed)"),
            expected=f"models that are trained, each with at least {FEWEST_RUNS} seeds",
            remedy="name more under `seeds:` in the scale file, as config/reliability.yaml does",
        )


def halves(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Split runs into the first and the second half; the first has one more of an odd number."""
    middle = (len(values) + 1) // 2
    return values[:middle], values[middle:]


def alternating(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Split runs into the first, third, fifth, ... and the second, fourth, sixth, ..."""
    return values[::2], values[1::2]
