"""Percentile intervals by the bootstrap over clusters (Davison and Hinkley 1997, section 3.8).

Samples within a cluster depend on each other, so whole clusters are drawn with replacement. All a
resample needs are the sums and numbers of samples of the clusters, weighted by how often each was
drawn; the vector of these numbers is multinomial.
"""

import numpy as np

FEWEST_CLUSTERS = 10
"""With fewer, percentiles say little about the spread."""

TAILS = (0.025, 0.975)
CHUNK = 1 << 22  # drawn clusters at a time, 32 MB


def resampled_means(
    sums: np.ndarray, counts: np.ndarray, *, resamples: int, seed: int
) -> np.ndarray:
    """Means over samples in each resample.

    Args:
        sums: sums over the samples of each cluster, (clusters, F).
        counts: number of samples of each cluster, (clusters,).
        resamples: number of resamples R.
        seed: of the random stream; the result depends on nothing else.

    Returns:
        float64 (R, F).
    """
    rng = np.random.default_rng(seed)
    clusters = len(counts)
    means = np.empty((resamples, sums.shape[1]))
    chunk = max(1, CHUNK // clusters)
    for start in range(0, resamples, chunk):
        n = min(chunk, resamples - start)
        drawn = rng.integers(clusters, size=(n, clusters))
        drawn += clusters * np.arange(n)[:, None]
        times = np.bincount(drawn.reshape(-1), minlength=n * clusters).reshape(n, clusters)
        weights = times.astype(np.float64)
        with np.errstate(invalid="ignore"):  # zero times infinite
            means[start : start + n] = (weights @ sums) / (weights @ counts)[:, None]
    return means
