"""Unweighted mean of batch means, as PredBench's code averages.

It differs from the mean over samples if the last batch is short, because the samples of that batch
have a larger weight. With 500 clips in batches of 16 (TaxiBJ as released) each of the last 4 counts
fourfold.
"""

import numpy as np

from stp.core.errors import ConfigurationError, StpError
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric, batch_weights, first_component


def batches_in_time(frames: np.ndarray, size: int) -> np.ndarray:
    """Assign samples to batches by the times of their first predicted frames.

    The frames of the data are divided into blocks of ``size`` successive frames, from the first
    predicted frame of the earliest sample. Samples whose first predicted frames lie in the same
    block form a batch. The order of the samples does not matter.

    Args:
        frames: index in the data of the observed frame of each sample and lead time, int (N, T).
        size: number of frames in a block, whether or not a sample begins at each of them.

    Returns:
        index of the batch of each sample, from 0, int64 (N,).
    """
    batch = (frames[:, 0] - frames[:, 0].min()) // size
    return np.unique(batch, return_inverse=True)[1]


def _weighted_mean(means: np.ndarray) -> np.ndarray:
    """Ratio of the first to the second component: (..., 2, T) to (..., T)."""
    return np.asarray(means[..., 0, :] / means[..., 1, :])


def compose(metric: Metric, size: int) -> Metric:
    """Make a convention (one exact definition of a metric) whose value is the mean of batch means.

    Samples are weighted so that each batch counts the same: the weight of a sample is proportional
    to 1 / (number of samples in its batch). The value of the new convention is the weighted mean of
    the samples' values: the sum of weight times value, divided by the sum of weights.

    Args:
        metric: a convention that has a value for each sample, and whose value is the mean of these.
        size: number of samples in a batch, in the order of the split; the last batch may have
            fewer.

    Returns:
        the new convention. It has no values for single samples, because the weight of a sample
        depends on the other samples of its batch.

    Raises:
        StpError: the value of the convention is not a mean over samples, or `size` is below 1.
    """
    if not isinstance(size, int) or size < 1:
        raise ConfigurationError(f"batch: {size!r}", expected="a whole number from 1")

    def bind(batched: Metric, compared: Comparison) -> Metric:
        bound = on_data(metric, compared)
        every = batch_weights(np.arange(len(compared.frames)) // size)

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, _: np.ndarray
        ) -> np.ndarray:
            statistics, weights = bound.statistics(predicted, observed), every[numbers, None, None]
            # Intervals are computed from resampled samples, whose weights have another mean than 1.
            return np.concatenate(
                [statistics * weights, np.broadcast_to(weights, statistics.shape)], axis=1
            )

        return batched._replace(statistics=statistics, numbered=True, reason=bound.reason)

    if metric.finish is not first_component or metric.ensemble:
        raise StpError(
            f"a mean of batches of {size} of a convention whose value is no mean over samples",
            expected="a convention with a value for each sample",
            remedy="take `batch` out of the convention",
        )
    return metric._replace(
        finish=_weighted_mean,
        components=("weighted", "weight"),
        best_by=0,  # all members of a sample have its weight
        keep_samples=False,  # the weight of a sample depends on the other samples
        on_data=bind,
    )
