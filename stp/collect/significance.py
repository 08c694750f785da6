"""Is one value worse than another, or could it be the choice of test clips? A paired test.

Both were scored on the same clusters of clips (videos, trajectories, months), and were made again
without each of them (`stp.collect.left_out`). The differences of these values have a standard error
(`stp.score.jackknife`), and the ratio of the two is compared with Student's t distribution. The
tests of all pairs of the models that are ranked together are corrected for each other (Holm 1979).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stp.collect.direction import LEVEL, Direction
from stp.score.jackknife import degrees_of_freedom, deviations, standard_error

if TYPE_CHECKING:
    from stp.collect.left_out import LeftOut

POWER = 0.8
"""Share of tests that find a difference which is called detectable."""


class Tests(NamedTuple):
    """Paired tests of all pairs of M values, in the order of `itertools.combinations`; each (P,).

    Attributes:
        low, high: 95 % interval of the second minus the first value.
        p: two-sided; of how bad the values are, where anything is better.
        error: the standard error of what p is of.
    """

    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    error: np.ndarray


def tested(ones: "Sequence[LeftOut]", direction: Direction) -> Tests:
    """Compare each pair of values.

    Args:
        ones: the values, of the same clusters.
        direction: which of them are better.
    """
    # Imported late: a store without sums over clusters has no tests.
    from scipy.special import stdtr, stdtrit

    freedom = degrees_of_freedom(np.array(ones[0].clusters.counts))
    whole = np.array([one.value for one in ones])
    each = np.stack([one.values for one in ones], axis=1)  # (G, M)
    difference, error = _differences(whole, each)
    reach = stdtrit(freedom, 0.975) * error
    low, high = difference - reach, difference + reach
    if direction.known:
        difference, error = _differences(direction.losses(whole), direction.losses(each))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(freedom, -np.abs(difference / error))
    return Tests(low, high, np.where(difference == 0, 1.0, p), error)


def effect(counts: Sequence[int], tests: int) -> float:
    """How many standard errors a difference must have to be found by four of five tests.

    Args:
        counts: of samples in each cluster behind both values.
        tests: how many are corrected for each other. The level is that for the smallest of their
            p values, `LEVEL` / tests (Holm's first step), so that what is called detectable is
            found whatever the others are.
    """
    from scipy.special import nctdtrinc, stdtrit

    freedom = degrees_of_freedom(np.array(counts))
    return float(nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, 1 - LEVEL / 2 / tests)))


def _differences(whole: np.ndarray, each: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Differences of all pairs, and their standard errors; 0 where rounding alone differs."""
    one, other = np.triu_indices(len(whole), 1)
    difference = deviations(whole[other], whole[one])
    return difference, standard_error(deviations(each[:, other], each[:, one]), difference)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values of several comparisons (Holm 1979): the chance of any false finding among
    them stays below the level at which a corrected value counts."""
    order = np.argsort(p_values, kind="stable")
    stepped = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(p) for p in corrected]
