"""Test whether two groups have the same mean, from their printed moments (Table 2 of PVQA)."""

from typing import Literal, NamedTuple

from scipy import stats


# Only with divisor n do the deviations of groups in Table 2 of PVQA (e.g. stochastic and
# deterministic predictions) give the printed deviation of all videos in these groups.
class Moments(NamedTuple):
    """Moments of the mean opinion scores (MOS) of a group of videos.

    Attributes:
        mean: mean of the n scores, from 0 to 100.
        deviation: standard deviation of the scores, with divisor n, as in Table 2 of PVQA.
        n: number of videos.
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
    """Compute the p value of a t test, whose null hypothesis is that two groups have equal means.

    Args:
        first, second: the groups.
        alternative: alternative hypothesis: ``two-sided``, the means differ; ``greater``, the first
            group has the larger mean.
        equal_variances: whether to use Student's t test instead of Welch's.
    """
    pair = (
        value
        for group in (first, second)
        for value in (group.mean, group.deviation * (group.n / (group.n - 1)) ** 0.5, group.n)
    )
    test = stats.ttest_ind_from_stats(*pair, equal_var=equal_variances, alternative=alternative)
    return float(test.pvalue)


def pool_moments(*groups: Moments) -> Moments:
    """Compute the moments of the union of several groups."""
    n = sum(group.n for group in groups)
    mean = sum(group.n * group.mean for group in groups) / n
    square = sum(group.n * (group.deviation**2 + (group.mean - mean) ** 2) for group in groups) / n
    return Moments(mean, square**0.5, n)
