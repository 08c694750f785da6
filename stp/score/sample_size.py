"""How a distance between sets depends on their size (Unterthiner et al. 2018, section 4.2).

Of finite sets the Frechet distance is too large, by about b / N: means and covariances are
estimated, and what is estimated twice differs. So two halves of one set have a distance, although
what they were drawn from has none; a difference between two sets that is no larger than that is
hidden by N. The value at infinite N is our addition: the line through values at several N, drawn
over 1 / N (Chong and Forsyth 2020, arXiv 1911.07023), with a standard error by the jackknife.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError

Distance = Callable[[np.ndarray, np.ndarray], float]
TRIES = 50
"""Of the paper's Figure 4."""
SHARES = (32, 16, 8, 4, 2)
"""Sizes of subsets that are shown, as parts of all clips."""
GROUPS = 10
"""Of samples, one of which at a time is left out for the standard error."""
STEPS = 5
"""Sizes that a line is drawn through, from half of all samples on."""
FEWEST = 20
"""Samples of each set that a line needs."""


class AtSize(NamedTuple):
    """Distances between sets of one size.

    Attributes:
        n: samples in each of the two sets.
        mean: over tries.
        standard_error: of the mean, over tries; NaN of a single one.
        deviation: standard deviation of a single try.
        tries: pairs of sets that were drawn.
    """

    n: int
    mean: float
    standard_error: float
    deviation: float
    tries: int


class Extrapolated(NamedTuple):
    """A distance at infinite N.

    Attributes:
        value: it may be negative by chance, where there is no difference.
        standard_error: over samples.
        slope: b of value + b / N, which is the bias at N = 1.
        sizes: that the line goes through.
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


def within(
    features: np.ndarray,
    sizes: Sequence[int],
    distance: Distance,
    *,
    tries: int = TRIES,
    seed: int = 0,
) -> list[AtSize]:
    """Distances between two subsets of one set that share no sample: Figure 4 of the paper.

    What they were drawn from is the same, so all of it is bias and chance.

    Args:
        features: (M, D).
        sizes: of a subset, from 2 to M / 2.
        distance: of two sets of as many samples.
        tries: pairs of subsets of each size.
        seed: of the drawing.

    Raises:
        StpError: a size is out of range.
    """
    found = []
    for n in sizes:
        if not 2 <= n <= len(features) // 2:
            raise StpError(
                f"two subsets of {n} of {len(features)} samples that share none",
                expected=f"2 to {len(features) // 2} samples",
                remedy="take smaller subsets, or more samples",
            )
        values = []
        for number in range(tries):
            order = np.random.default_rng([seed, n, number]).permutation(len(features))
            values.append(distance(features[order[:n]], features[order[n : 2 * n]]))
        found.append(_summary(n, values))
    return found


def between(
    x: np.ndarray,
    y: np.ndarray,
    sizes: Sequence[int],
    distance: Distance,
    *,
    tries: int = TRIES,
    seed: int = 0,
) -> list[AtSize]:
    """Distances between random subsets of two sets, (M, D) each; of all M samples there is one."""
    found = []
    for n in sizes:
        values = []
        for number in range(tries if n < len(x) else 1):
            random = np.random.default_rng([seed, n, number])
            chosen = [np.sort(random.permutation(len(x))[:n]) for _ in range(2)]
            values.append(distance(x[chosen[0]], y[chosen[1]]))
        found.append(_summary(n, values))
    return found


def why_no_line(count: int, dimensions: int) -> str:
    """Why there is no value at infinite N; empty if there is.

    With fewer samples than features covariances are singular, and values do not lie on the line.
    """
    fewest = max(FEWEST, math.ceil(2.5 * dimensions))
    if count >= fewest:
        return ""
    return f"{count} samples of {dimensions} features; a line over 1 / N needs {fewest}"


def extrapolate(
    x: np.ndarray, y: np.ndarray, distance: Distance, *, tries: int = 10, seed: int = 0
) -> Extrapolated:
    """Estimate a distance at infinite N.

    The standard error is that of the jackknife over ten groups of samples: both sets lose one
    group, and everything is done again.

    Args:
        x, y: (M, D) each.
        distance: of two sets of as many samples, whose bias falls as 1 / N.
        tries: subsets of each size.
        seed: of the drawing.

    Raises:
        StpError: there are too few samples, see `why_no_line`.
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
    """Value at infinite N, slope over 1 / N, and the sizes."""
    # Evenly spaced in 1 / N, from 2 / M to 1 / M.
    sizes = tuple(round(len(x) / share) for share in np.linspace(2, 1, STEPS))
    means = [one.mean for one in between(x, y, sizes, distance, tries=tries, seed=seed)]
    slope, value = np.polyfit(1 / np.array(sizes), means, 1)
    return float(value), float(slope), sizes


class Resolution(NamedTuple):
    """Whether two sets can be told apart at their size.

    Attributes:
        n: samples of each half.
        same: between halves of the first set.
        other: between halves of the two sets.
    """

    n: int
    same: AtSize
    other: AtSize

    @property
    def is_hidden(self) -> bool:
        """Is the distance no larger than what chance makes of one set (two deviations)?"""
        return self.other.mean <= self.same.mean + 2 * self.same.deviation


def resolution(
    x: np.ndarray, y: np.ndarray, distance: Distance, *, tries: int = 20, seed: int = 0
) -> Resolution:
    """Compare the distance between two sets with that between halves of the first.

    Args:
        x, y: (M, D) each, M from 4.
    """
    n = len(x) // 2
    (same,) = within(x, [n], distance, tries=tries, seed=seed)
    (other,) = between(x, y, [n], distance, tries=tries, seed=seed)
    return Resolution(n, same, other)
