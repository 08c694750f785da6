"""Which models of a population raters compare (section 4.3 of the paper on FVD)."""

import numpy as np
from scipy.optimize import linear_sum_assignment

QUARTILE = 0.25
"""Share of the models that are better than those of equal values."""
ENDS = (0.1, 0.9)
"""Quantiles between which models are spread."""


def equal(values: np.ndarray, count: int, *, higher_is_better: bool) -> np.ndarray:
    """Choose models of about equal values near the best quartile.

    They are ``count`` neighbours in the order of values, with the quartile in the middle of them.

    Args:
        values: of the metric, finite, (N,).
        count: how many to choose, at most N.
        higher_is_better: the direction of the metric.

    Returns:
        numbers of models, the best first, (count,).
    """
    order = np.argsort(-values if higher_is_better else values, kind="stable")
    middle = QUARTILE * (len(values) - 1)
    first = int(np.clip(np.rint(middle - (count - 1) / 2), 0, len(values) - count))
    return np.asarray(order[first : first + count])


def spread(values: np.ndarray, count: int) -> np.ndarray:
    """Choose models whose values are equidistant between the 10th and the 90th percentile.

    Of all choices it is the one whose values are nearest to the wanted ones, summed up.

    Args:
        values: of the metric, finite, (N,).
        count: how many to choose, at most N.

    Returns:
        numbers of models, in ascending order of wanted values, (count,).
    """
    wanted = np.linspace(*np.quantile(values, ENDS), count)
    _, chosen = linear_sum_assignment(np.abs(wanted[:, None] - values[None, :]))
    return np.asarray(chosen)


def near(
    values: np.ndarray, wanted: float, tolerance: float, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw models at random out of those whose value is near a wanted one.

    Args:
        values: of the metric, finite, (N,).
        wanted: the value.
        tolerance: the largest distance to it.
        count: how many to draw.
        rng: of the draw.

    Returns:
        numbers of models, ascending; fewer than ``count`` where there are fewer.
    """
    there = np.flatnonzero(np.abs(values - wanted) <= tolerance)
    return np.sort(rng.permutation(there)[:count])
