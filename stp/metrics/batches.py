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
    """Assign samples to batches by the times of their first frames.

    Samples whose first frames lie within the same ``size`` successive frames form a batch. The
    order of the samples does not matter.

    Args:
        frames: index of the observed frame of each sample and lead time, (N, T).
        size: number of frames of the data in which the samples of a batch begin. Frames are counted
            from the first frame of the earliest sample, whether or not a sample begins there.

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

    Samples have weights with which all batches count equally. The weights are part of the
    statistics because intervals are computed from resampled samples, whose weights have another
    mean.

    Args:
        metric: a convention with a value for each sample, whose ``finish`` is the mean.
        size: number of samples in a batch, in the order of the split; the last batch may have
            fewer.

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
