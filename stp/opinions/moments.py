"""Tests of means from what Table 2 prints: mean, deviation and number of videos of two groups."""

from typing import Literal, NamedTuple

from scipy import stats


class Moments(NamedTuple):
    """Of the MOS of a group of videos.

    Attributes:
        mean: of n values.
        deviation: divided by n, not n - 1: only so do the printed groups fit each other.
        n: videos.
    """

    mean: float
    deviation: float
    n: int


def p_value(
    first: Moments,
    second: Moments,
    *,
    alternative: Literal["two-sided", "greater"],
    equal_variances: bool,
) -> float:
    """Test whether two groups have the same mean.

    Args:
        first, second: the groups.
        alternative: ``two-sided``, or ``greater``: the first has the larger mean.
        equal_variances: Student's t test; else Welch's.
    """
    pair = (
        value
        for one in (first, second)
        for value in (one.mean, one.deviation * (one.n / (one.n - 1)) ** 0.5, one.n)
    )
    found = stats.ttest_ind_from_stats(*pair, equal_var=equal_variances, alternative=alternative)
    return float(found.pvalue)


def joined(*groups: Moments) -> Moments:
    """The moments of all videos of several groups together."""
    n = sum(one.n for one in groups)
    mean = sum(one.n * one.mean for one in groups) / n
    square = sum(one.n * (one.deviation**2 + (one.mean - mean) ** 2) for one in groups) / n
    return Moments(mean, square**0.5, n)
