"""95 % intervals over clusters: the studentised bootstrap (bootstrap-t), and two that replace it.

Whole clusters are drawn with replacement, and each resample says how many of its own standard
errors it is away from the value (Davison and Hinkley 1997, sections 5.2 and 3.8; Hall 1988, Annals
of Statistics 16, 927-953). Unlike percentiles of resampled values it knows that a standard error
from few clusters is itself unsure, and that values of skewed data lie lopsided about the truth;
docs/statistics.md has the coverage of both. The value of a cluster is what the jackknife says: the
mean of the samples of the cluster if the value is a mean, else its linear approximation.

The bootstrap-t fails where a few clusters hold most samples, and where nearly all clusters have the
same value. Where clusters weigh as much as fewer than ten of equal size, Student's t with the
standard error of the cluster jackknife is used (`stp.score.jackknife`). Shares have the exact
interval of Clopper and Pearson (1934, Biometrika 26, 404-413) where clusters are successes or
failures as a whole, and where there is no other.
"""

import numpy as np

from stp.score.jackknife import (
    FEWEST_CLUSTERS,
    degrees_of_freedom,
    deviations,
    effective_clusters,
    standard_error,
)

TAILS = (0.025, 0.975)
CHUNK = 1 << 22  # drawn clusters at a time, 32 MB
WHOLE = 1e-9
"""A cluster whose share is so near to 0 or 1 fails or succeeds as a whole; the rest is rounding."""


def intervals(
    value: np.ndarray,
    left_out: np.ndarray,
    counts: np.ndarray,
    *,
    resamples: int,
    seed: int,
    share: bool | np.ndarray = False,
) -> np.ndarray:
    """95 % intervals of values that are made of means over samples.

    Args:
        value: values of all samples, (F,).
        left_out: the same without each of the clusters, (G, F); see `left_out_means`.
        counts: number of samples of each cluster, (G,).
        resamples: number of resamples R.
        seed: of the random stream; the result depends on nothing else.
        share: which values are means of shares, from 0 to 1; one for all, or bool (F,).

    Returns:
        Lower and upper ends, float64 (2, F). NaN where a value is not finite or does not exist
        without one of the clusters, and, unless it is a share, where so few clusters differ that
        one resample in forty consists of equal ones.
    """
    # Blocks of columns bound the memory; each sees the same resamples.
    block = max(1, CHUNK // max(len(counts), resamples))
    made = [
        _intervals(value[i : i + block], left_out[:, i : i + block], counts, resamples, seed)
        for i in range(0, len(value), block)
    ]
    ends = np.concatenate([np.empty((2, 0)), *made], axis=1)
    shares = np.broadcast_to(share, value.shape) & np.isfinite(value)
    shares &= np.isfinite(left_out).all(axis=0)
    if shares.any():
        ends[:, shares] = _of_shares(value[shares], left_out[:, shares], counts, ends[:, shares])
    return ends


def no_spread(clusters: int) -> str:
    """Why a value has no interval although there are enough clusters."""
    return f"all or nearly all of the {clusters} clusters have the same value"


def exact(share: np.ndarray, trials: float) -> np.ndarray:
    """Interval of Clopper and Pearson of a share of independent trials.

    Args:
        share: of successes, 0 to 1, (F,).
        trials: number of trials, which need not be whole.

    Returns:
        Lower and upper ends, float64 (2, F).
    """
    from scipy.special import betaincinv

    hits, misses = share * trials, (1 - share) * trials
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, betaincinv(hits, misses + 1, TAILS[0]), 0.0)
        high = np.where(misses > 0, betaincinv(hits + 1, misses, TAILS[1]), 1.0)
    return np.stack([low, high])


def _of_shares(
    value: np.ndarray, left_out: np.ndarray, counts: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """Intervals of shares: exact ones where the others are not to be trusted.

    A mean of shares varies at most as much as a share of clusters that succeed or fail as a whole,
    so the exact interval of as many trials as there are effective clusters is never too short.
    """
    weight = (counts / counts.sum())[:, None]
    each = value - deviations(left_out, value) * (1 - weight) / weight
    whole = (np.minimum(np.abs(each), np.abs(1 - each)) < WHOLE).all(axis=0)
    trials = effective_clusters(counts)
    chosen = whole | np.isnan(ends).any(axis=0) | (trials < FEWEST_CLUSTERS)
    return np.where(chosen, exact(np.clip(value, 0, 1), trials), ends)


def _intervals(
    value: np.ndarray, left_out: np.ndarray, counts: np.ndarray, resamples: int, seed: int
) -> np.ndarray:
    exists = np.isfinite(value) & np.isfinite(left_out).all(axis=0)
    share = (counts / counts.sum())[:, None]
    with np.errstate(invalid="ignore"):
        influence = np.where(exists, -deviations(left_out, value) * (1 - share) / share, 0.0)
    influence -= (share * influence).sum(axis=0)  # of curved functions they do not add up to 0
    weighted = counts[:, None] * influence
    error = np.sqrt(np.square(weighted).sum(axis=0)) / counts.sum()
    t = _studentised(weighted, counts.astype(np.float64), resamples, seed)
    with np.errstate(invalid="ignore"):  # 0 times infinite
        high, low = np.quantile(t, TAILS, axis=0, method="inverted_cdf")
        ends = np.stack([value - low * error, value - high * error])
    exists &= np.isfinite(ends).all(axis=0) & (error > 0)
    if effective_clusters(counts) < FEWEST_CLUSTERS:
        from scipy.special import stdtrit

        with np.errstate(invalid="ignore"):
            reach = stdtrit(degrees_of_freedom(counts), TAILS[1]) * standard_error(left_out, value)
        ends = np.stack([value - reach, value + reach])
    return np.where(exists, ends, np.nan)


def _studentised(weighted: np.ndarray, counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """How many of its own standard errors each resample is away from the value, (R, F).

    A resample whose clusters were drawn c times is off by d = sum(c n u) / sum(c n), n samples and
    u influence of a cluster; its squared standard error is sum(c n^2 (u - d)^2) / sum(c n)^2.

    Args:
        weighted: n u, (G, F).
        counts: n, (G,).
        resamples: R.
        seed: of the random stream.
    """
    clusters, columns = weighted.shape
    made = np.concatenate(
        [counts[:, None], counts[:, None] ** 2, weighted, counts[:, None] * weighted, weighted**2],
        axis=1,
    )
    rng = np.random.default_rng(seed)
    found = np.empty((resamples, columns))
    chunk = max(1, CHUNK // clusters)
    for start in range(0, resamples, chunk):
        n = min(chunk, resamples - start)
        drawn = rng.integers(clusters, size=(n, clusters))
        drawn += clusters * np.arange(n)[:, None]
        times = np.bincount(drawn.reshape(-1), minlength=n * clusters).reshape(n, clusters)
        sums = times.astype(np.float64) @ made
        size, square = sums[:, :1], sums[:, 1:2]
        first, second, third = np.split(sums[:, 2:], 3, axis=1)
        off = first / size
        squares = third - 2 * off * second + off**2 * square
        squares[squares <= 1e-12 * third] = 0.0  # rounding
        with np.errstate(divide="ignore", invalid="ignore"):
            t = first / np.sqrt(squares)
        found[start : start + n] = np.where(off == 0, 0.0, t)
    return found
