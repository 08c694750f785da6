"""Paired tests of differences between values, which account for the choice of test clips.

Both values have to be scored on the same clusters of clips (videos, trajectories, months). The
standard error of their difference is that of the cluster jackknife (`stp.score.jackknife`), from
values with each cluster left out in turn (`stp.collect.leave_one_out`). The ratio of difference and
standard error is compared to Student's t distribution, and p values are corrected for all pairs of
models that are ranked together (Holm 1979). A sign test counts the clusters in which each of the
two models is better.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stp.collect.direction import LEVEL, Direction
from stp.score.jackknife import degrees_of_freedom, standard_error

if TYPE_CHECKING:
    from stp.collect.leave_one_out import LeftOut

POWER = 0.8
"""Power of the t test for a detectable difference."""


RESOLUTION = 1e-6
"""Relative difference up to which values tie. Predictions are stored as float32, with a relative
error of up to 6e-8, which small errors of large numbers magnify."""

SKEWED = 0.2
"""Skewness over the root of the number of clusters from which a t test is unreliable: by the first
term of Edgeworth's expansion, the error rate in the direction of the shorter tail is then 1.7 times
its nominal 2.5 %."""


class Tests(NamedTuple):
    """Paired tests of all P pairs of values, (P,) each, in the order of `itertools.combinations`.

    The t test compares losses (`Direction.losses`), or the values themselves if the direction of
    better values is unknown. The sign test needs the difference in each single cluster. It is
    computed from leave-one-out values (jackknife): from the difference over all clusters, and the
    difference with this cluster left out. This is exact for means over clips, and an approximation
    for other values.

    Attributes:
        low, high: ends of the 95 % interval of the second minus the first value; NaN if all
            clusters have the same difference.
        p: two-sided p value of the t test. 1 for a tie. If all clusters have the same difference,
            the p value of the sign test.
        error: standard error of the difference that the t test compares with 0.
        p_sign: two-sided p value of the exact sign test over clusters.
        won: share of clusters in which the second value is better, from 0 to 1, with ties counted
            half; NaN if the direction is unknown.
        skewed: whether the distribution of differences over clusters is so skewed that the t test
            is unreliable.
    """

    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    error: np.ndarray
    p_sign: np.ndarray
    won: np.ndarray
    skewed: np.ndarray


def compare_all_pairs(left_out_values: "Sequence[LeftOut]", direction: Direction) -> Tests:
    """Test the differences of all pairs of values.

    Args:
        left_out_values: M values, each with its leave-one-out values; all are over the same
            clusters.
        direction: which values are better: higher, lower, or those near a best value.

    Returns:
        tests of the P = M (M - 1) / 2 pairs.
    """
    # Imported here, since a store without sums over clusters has no tests.
    from scipy.special import bdtr, stdtr, stdtrit

    counts = np.array(left_out_values[0].clusters.counts)
    freedom = degrees_of_freedom(counts)
    # Values of all clusters, followed by values without each of them, (1 + G, M).
    values = np.stack([np.append(v.value, v.values) for v in left_out_values], axis=1)
    first, second = np.triu_indices(len(left_out_values), 1)
    size = np.maximum(np.abs(values[:, first]), np.abs(values[:, second]))
    tied = np.abs(values[:, second] - values[:, first]) <= RESOLUTION * size

    def spread(of: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Differences, (1 + G, P); the difference over all clusters, 0 for ties; and its error."""
        differences = of[:, second] - of[:, first]
        resolved = np.where(tied, 0.0, differences)
        return differences, resolved[0], standard_error(resolved[1:], resolved[0])

    differences, difference, error = spread(values)
    reach = np.where(error > 0, stdtrit(freedom, 0.975) * error, np.nan)
    low, high = difference - reach, difference + reach
    if direction.is_known:
        differences, difference, error = spread(direction.losses(values))
    weight = (counts / counts.sum())[:, None]
    each = differences[0] - (differences[1:] - differences[0]) * (1 - weight) / weight
    side = np.where(np.abs(each) <= RESOLUTION * size[0], 0.0, np.sign(each))
    less, more = (side < 0).sum(axis=0), (side > 0).sum(axis=0)
    p_sign = np.minimum(1.0, 2 * bdtr(np.minimum(less, more), less + more, 0.5))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(freedom, -np.abs(difference / error))
    p = np.where(difference == 0, 1.0, np.where(error > 0, p, p_sign))
    won = (1 - side.mean(axis=0)) / 2 if direction.is_known else np.full(len(p), np.nan)
    return Tests(low, high, p, error, p_sign, won, (error > 0) & _are_skewed(each))


def _are_skewed(each: np.ndarray) -> np.ndarray:
    """Whether the differences of each pair, (G, P), are skewed beyond chance, enough to matter."""
    clusters = len(each)
    centred = each - each.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = (centred**3).mean(axis=0) / (centred**2).mean(axis=0) ** 1.5
    chance = np.sqrt(
        6 * (clusters - 2) / ((clusters + 1) * (clusters + 3))
    )  # for a normal distribution
    return np.asarray(np.abs(skewness) > max(2 * chance, SKEWED * np.sqrt(clusters)))


def effect(counts: Sequence[int], tests: int) -> float:
    """Compute the smallest difference that the t test detects with the power `POWER`.

    Args:
        counts: number of samples of each cluster. The two models that are compared have the same
            samples.
        tests: number of tests that are corrected together. The significance level is that of Holm's
            first step, `LEVEL` / tests, so that the detectable difference does not depend on the
            results of other tests.

    Returns:
        the difference as a multiple of its standard error.
    """
    from scipy.special import nctdtrinc, stdtrit

    freedom = degrees_of_freedom(np.array(counts))
    return float(nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, 1 - LEVEL / 2 / tests)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values of several comparisons by the method of Holm (1979).

    The correction controls the probability of one false positive or more.

    Returns:
        corrected p values in the order of the given ones.
    """
    order = np.argsort(p_values, kind="stable")
    stepped = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(p) for p in corrected]
