"""Dependence of a distance between sets on the set size (Unterthiner et al. 2018, section 4.2).

The Frechet distance of finite sets is biased upwards by about b / N, since means and covariances
are estimated. Two halves of one set therefore have a positive distance. If the distance between two
sets is not larger than that, it is indistinguishable from chance at this N. The value at infinite N
is our addition: the intercept of a line fitted to values at several N as a function of 1 / N (Chong
and Forsyth 2020, arXiv 1911.07023), with a standard error by the jackknife.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError

Distance = Callable[[np.ndarray, np.ndarray], float]
TRIES = 50
"""Number of pairs of subsets in the paper's Figure 4."""
SHARES = (32, 16, 8, 4, 2)
"""Sizes of subsets: all clips divided by these numbers."""
GROUPS = 10
"""Number of groups of samples for the jackknife."""
STEPS = 5
"""Number of sizes, from half of all samples on, to which a line is fitted."""
FEWEST = 20
"""Minimum number of samples of each set for a line."""


class AtSize(NamedTuple):
    """Distances between random sets of N samples each, such as subsets of two given sets.

    Attributes:
        n: number N of samples in each of the two sets whose distance is computed.
        mean: mean distance over tries.
        standard_error: standard error of ``mean``, from the deviation over tries; NaN for a single
            try.
        deviation: standard deviation of the distance over tries; NaN for a single try.
        tries: number of drawn pairs of sets.
    """

    n: int
    mean: float
    standard_error: float
    deviation: float
    tries: int


class Extrapolated(NamedTuple):
    """A distance extrapolated to infinite N.

    Attributes:
        value: the distance; it may be slightly negative if the sets do not differ.
        standard_error: standard error over samples.
        slope: b in value + b / N, the bias at N = 1.
        sizes: the sizes N to which the line was fitted.
    """

    value: float
    standard_error: float
    slope: float
    sizes: tuple[int, ...]


def _summary(n: int, values: Sequence[float]) -> AtSize:
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return AtSize(
        n, float(np.mean(values)), deviation / math.sqrt(len(values)), deviation, len(values)
    )


def distances_within(
    features: np.ndarray,
    sizes: Sequence[int],
    distance: Distance,
    *,
    tries: int = TRIES,
    seed: int = 0,
) -> list[AtSize]:
    """Compute distances between disjoint random subsets of one set.

    They show which distance is due to chance at each size (Unterthiner et al. 2018, Figure 4).

    Args:
        features: features of the set, (M, D).
        sizes: sizes of a subset, from 2 to M / 2.
        distance: distance between two sets of the same size.
        tries: number of pairs of subsets of each size.
        seed: seed of the draws.

    Returns:
        for each size, mean, standard error and deviation of the distance over the tries.

    Raises:
        StpError: a size is out of range.
    """
    summaries = []
    for n in sizes:
        if not 2 <= n <= len(features) // 2:
            raise StpError(
                f"two disjoint subsets of {n} of {len(features)} samples",
                expected=f"2 to {len(features) // 2} samples",
                remedy="take smaller subsets, or more samples",
            )
        values = []
        for number in range(tries):
            order = np.random.default_rng([seed, n, number]).permutation(len(features))
            values.append(distance(features[order[:n]], features[order[n : 2 * n]]))
        summaries.append(_summary(n, values))
    return summaries


def distances_between(
    x: np.ndarray,
    y: np.ndarray,
    sizes: Sequence[int],
    distance: Distance,
    *,
    tries: int = TRIES,
    seed: int = 0,
) -> list[AtSize]:
    """Compute distances between random subsets of two sets, one subset from each.

    Args:
        x, y: features of the sets, (M, D) each.
        sizes: sizes of a subset, up to M; for M itself, the whole sets are compared once.
        distance: distance between two sets of the same size.
        tries: number of pairs of subsets of each size.
        seed: seed of the draws.

    Returns:
        for each size, mean, standard error and deviation of the distance over the tries.
    """
    summaries = []
    for n in sizes:
        values = []
        for number in range(tries if n < len(x) else 1):
            random = np.random.default_rng([seed, n, number])
            chosen = [np.sort(random.permutation(len(x))[:n]) for _ in range(2)]
            values.append(distance(x[chosen[0]], y[chosen[1]]))
        summaries.append(_summary(n, values))
    return summaries


def why_no_line(count: int, dimensions: int) -> str:
    """Write why a distance cannot be extrapolated to infinitely many samples; empty if it can.

    With fewer samples than features, covariances are singular and values do not lie on a line.

    Args:
        count: number of samples in each set.
        dimensions: number of features of a sample.
    """
    fewest = max(FEWEST, math.ceil(2.5 * dimensions))
    if count >= fewest:
        return ""
    return f"{count} samples of {dimensions} features; a line over 1 / N needs {fewest}"


def extrapolate(
    x: np.ndarray, y: np.ndarray, distance: Distance, *, tries: int = 10, seed: int = 0
) -> Extrapolated:
    """Extrapolate a distance between two sets to an infinite number N of samples.

    The standard error is that of a jackknife that leaves out one tenth of the samples of both sets
    in turn.

    Args:
        x, y: features, (M, D) each.
        distance: distance between two sets of the same size, with a bias proportional to 1 / N.
        tries: number of pairs of subsets of each size.
        seed: seed of the draws.

    Raises:
        StpError: there are too few samples for the number of features (`why_no_line`).
    """
    if reason := why_no_line(len(x), x.shape[1]):
        raise StpError(reason, expected="more samples", remedy="compare at equal N instead")
    value, slope, sizes = _line(x, y, distance, tries, seed)
    group = np.random.default_rng([seed, len(x)]).permutation(len(x)) % GROUPS
    each = [_line(x[group != g], y[group != g], distance, tries, seed)[0] for g in range(GROUPS)]
    error = math.sqrt((GROUPS - 1) * float(np.var(each)))
    return Extrapolated(value, error, slope, sizes)


def _line(
    x: np.ndarray, y: np.ndarray, distance: Distance, tries: int, seed: int
) -> tuple[float, float, tuple[int, ...]]:
    """Fit distance against 1 / N: intercept (value at infinite N), slope, and the sizes N."""
    # Evenly spaced in 1 / N, from 2 / M to 1 / M.
    sizes = tuple(round(len(x) / share) for share in np.linspace(2, 1, STEPS))
    means = [
        of_size.mean for of_size in distances_between(x, y, sizes, distance, tries=tries, seed=seed)
    ]
    slope, value = np.polyfit(1 / np.array(sizes), means, 1)
    return float(value), float(slope), sizes


class Resolution(NamedTuple):
    """Comparison of a distance between two sets with the distance that is due to chance.

    Attributes:
        n: number of samples in each half of a set.
        same: distances between two random halves of the first set, which are due to chance.
        other: distances between a random half of the first set and one of the second.
    """

    n: int
    same: AtSize
    other: AtSize

    @property
    def is_hidden(self) -> bool:
        """Whether the samples are too few to see a difference between the two sets.

        This is so if halves of different sets are hardly farther apart than halves of one set. The
        mean distance in `other` is then at most the mean distance in `same` plus two standard
        deviations of `same` over tries.
        """
        return self.other.mean <= self.same.mean + 2 * self.same.deviation


def resolution(
    x: np.ndarray, y: np.ndarray, distance: Distance, *, tries: int = 20, seed: int = 0
) -> Resolution:
    """Find out whether the distance between two sets is larger than chance would make it.

    Two halves of one set differ by chance only. Because a distance depends on the size of the sets,
    halves are compared with halves: random halves of the first set with each other, and a random
    half of the first set with one of the second.

    Args:
        x, y: features of the two sets, (M, D) each, with M >= 4.
        distance: distance between two sets of the same size.
        tries: number of pairs of halves.
        seed: seed of the draws.

    Returns:
        both distances, each with its mean and deviation over tries; `Resolution.is_hidden` says
        whether they are alike.
    """
    n = len(x) // 2
    (same,) = distances_within(x, [n], distance, tries=tries, seed=seed)
    (other,) = distances_between(x, y, [n], distance, tries=tries, seed=seed)
    return Resolution(n, same, other)
