"""95 % intervals over clusters: the studentised bootstrap (bootstrap-t) and two fallbacks.

Whole clusters are drawn with replacement, and the deviation of each resample from the value is
divided by the resample's own standard error (Davison and Hinkley 1997, sections 5.2 and 3.8; Hall
1988, Annals of Statistics 16, 927-953). Unlike percentiles of resampled values, this accounts for
skewed data and for the uncertainty of a standard error from few clusters; docs/statistics.md shows
the coverage of both methods. Resamples use the jackknife value of each cluster: the mean of the
cluster's samples if the value is a mean, else its linear approximation.

The bootstrap-t fails if a few clusters contain most samples, or if nearly all clusters have the
same value. If the effective number of clusters is below ten, Student's t with the standard error of
the cluster jackknife is used instead (`stp.score.jackknife`). Shares get the exact interval of
Clopper and Pearson (1934, Biometrika 26, 404-413) if each cluster is a success or a failure as a
whole, or if no other interval exists.
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
CHUNK = 1 << 22  # clusters drawn at a time, 32 MB
WHOLE = 1e-9
"""Distance from 0 or 1 up to which a cluster's share counts as failure or success as a whole."""


def intervals(
    value: np.ndarray,
    left_out: np.ndarray,
    counts: np.ndarray,
    *,
    resamples: int,
    seed: int,
    share: bool | np.ndarray = False,
) -> np.ndarray:
    """Compute 95 % intervals over clusters (samples that are not independent).

    Values that are no shares get the interval of the bootstrap-t, or that of Student's t if there
    are fewer than ten effective clusters. They get none if the bootstrap-t has none: if all
    clusters have the same value, or if 2.5 % or more of the resamples consist of clusters with
    equal values, which makes an end infinite. Student's t is not used in place of it then.

    Shares get the interval of the bootstrap-t, or the exact interval of Clopper and Pearson in any
    of three cases: each cluster is a success or a failure as a whole, there are fewer than ten
    effective clusters, or the bootstrap-t has no interval.

    Args:
        value: F values over all samples, each a function of means over samples, (F,).
        left_out: values with each of the G clusters left out in turn, (G, F), computed from
            the means of `left_out_means`.
        counts: number of samples of each cluster, (G,).
        resamples: number of resamples R.
        seed: seed of the random stream.
        share: whether values are means of shares from 0 to 1; one bool for all values, or bool
            (F,).

    Returns:
        Lower and upper ends, float64 (2, F). NaN without an interval; also if the value, or the
        value without some cluster, is not finite.
    """
    # Blocks of columns bound the memory; all use the same resamples.
    block = max(1, CHUNK // max(len(counts), resamples))
    of_blocks = [
        _intervals(value[i : i + block], left_out[:, i : i + block], counts, resamples, seed)
        for i in range(0, len(value), block)
    ]
    ends = np.concatenate([np.empty((2, 0)), *of_blocks], axis=1)
    shares = np.broadcast_to(share, value.shape) & np.isfinite(value)
    shares &= np.isfinite(left_out).all(axis=0)
    if shares.any():
        ends[:, shares] = _of_shares(value[shares], left_out[:, shares], counts, ends[:, shares])
    return ends


def no_spread(clusters: int) -> str:
    """Explain that an interval is missing since (nearly) all clusters have the same value.

    Args:
        clusters: number of clusters.
    """
    return f"all or nearly all of the {clusters} clusters have the same value"


def clopper_pearson(share: np.ndarray, trials: float) -> np.ndarray:
    """95 % Clopper-Pearson interval of a share of successes in independent trials.

    Args:
        share: share of successes, 0 to 1, (F,).
        trials: number of trials, not necessarily an integer.

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
    """Replace intervals of shares by exact intervals where the bootstrap is unreliable.

    A mean of shares varies at most as much as a share of clusters that succeed or fail as a whole,
    so the exact interval with the effective number of clusters as the number of trials is never too
    short.
    """
    weight = (counts / counts.sum())[:, None]
    each = value - deviations(left_out, value) * (1 - weight) / weight
    whole = (np.minimum(np.abs(each), np.abs(1 - each)) < WHOLE).all(axis=0)
    trials = effective_clusters(counts)
    chosen = whole | np.isnan(ends).any(axis=0) | (trials < FEWEST_CLUSTERS)
    return np.where(chosen, clopper_pearson(np.clip(value, 0, 1), trials), ends)


def _intervals(
    value: np.ndarray, left_out: np.ndarray, counts: np.ndarray, resamples: int, seed: int
) -> np.ndarray:
    exists = np.isfinite(value) & np.isfinite(left_out).all(axis=0)
    share = (counts / counts.sum())[:, None]
    with np.errstate(invalid="ignore"):
        influence = np.where(exists, -deviations(left_out, value) * (1 - share) / share, 0.0)
    influence -= (share * influence).sum(axis=0)  # for nonlinear functions they do not add up to 0
    weighted = counts[:, None] * influence
    error = np.sqrt(np.square(weighted).sum(axis=0)) / counts.sum()
    t = _studentised_deviations(weighted, counts.astype(np.float64), resamples, seed)
    with np.errstate(invalid="ignore"):  # 0 times infinity
        high, low = np.quantile(t, TAILS, axis=0, method="inverted_cdf")
        ends = np.stack([value - low * error, value - high * error])
    exists &= np.isfinite(ends).all(axis=0) & (error > 0)
    if effective_clusters(counts) < FEWEST_CLUSTERS:
        from scipy.special import stdtrit

        with np.errstate(invalid="ignore"):
            reach = stdtrit(degrees_of_freedom(counts), TAILS[1]) * standard_error(left_out, value)
        ends = np.stack([value - reach, value + reach])
    return np.where(exists, ends, np.nan)


def _studentised_deviations(
    weighted: np.ndarray, counts: np.ndarray, resamples: int, seed: int
) -> np.ndarray:
    """Deviation of each resample from the value, in standard errors of the resample, (R, F).

    If a resample contains a cluster with n samples and influence u c times, its deviation is d =
    sum(c n u) / sum(c n), and its squared standard error is sum(c n^2 (u - d)^2) / sum(c n)^2, with
    sums over clusters.

    Args:
        weighted: product n u of each cluster, (G, F).
        counts: number n of samples of each cluster, (G,).
        resamples: number of resamples R.
        seed: seed of the random stream.
    """
    clusters, columns = weighted.shape
    terms = np.concatenate(
        [counts[:, None], counts[:, None] ** 2, weighted, counts[:, None] * weighted, weighted**2],
        axis=1,
    )
    rng = np.random.default_rng(seed)
    result = np.empty((resamples, columns))
    chunk = max(1, CHUNK // clusters)
    for start in range(0, resamples, chunk):
        n = min(chunk, resamples - start)
        drawn = rng.integers(clusters, size=(n, clusters))
        drawn += clusters * np.arange(n)[:, None]
        times = np.bincount(drawn.reshape(-1), minlength=n * clusters).reshape(n, clusters)
        sums = times.astype(np.float64) @ terms
        size, square = sums[:, :1], sums[:, 1:2]
        first, second, third = np.split(sums[:, 2:], 3, axis=1)
        off = first / size
        squares = third - 2 * off * second + off**2 * square
        squares[squares <= 1e-12 * third] = 0.0  # rounding
        with np.errstate(divide="ignore", invalid="ignore"):
            t = first / np.sqrt(squares)
        result[start : start + n] = np.where(off == 0, 0.0, t)
    return result
