"""Means of batches, then their unweighted mean: how PredBench's code averages.

The mean over samples and the mean over batches differ where the last batch is short: its samples
weigh more. With 500 clips in batches of 16 (TaxiBJ as released) each of the last 4 counts fourfold.
"""

import numpy as np

from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric


def batch_weights(samples: int, size: int) -> np.ndarray:
    """Weights with mean 1, float64 (samples,), of each sample in the mean of means of batches."""
    batch = np.arange(samples) // size
    in_batch = np.bincount(batch)[batch]
    return np.asarray(samples / ((batch[-1] + 1) * in_batch))


def mean_of_batches(metric: Metric, size: int) -> Metric:
    """A convention whose value is the mean of the means of batches.

    Args:
        metric: its statistics are values already: ``finish`` takes the mean as it is.
        size: samples of a batch, in the order of the split; the last one may be shorter.
    """

    def bind(batched: Metric, compared: Comparison) -> Metric:
        bound = on_data(metric, compared)
        every = batch_weights(len(compared.frames), size)

        def statistics(
            predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, _: np.ndarray
        ) -> np.ndarray:
            return bound.statistics(predicted, observed) * every[numbers, None, None]

        return batched._replace(statistics=statistics, numbered=True, reason=bound.reason)

    return metric._replace(on_data=bind)
