"""Peak signal-to-noise ratio in dB for frames in [0, 1]: 20 log10(1 / sqrt(mse)).

A frame that is predicted exactly has an infinite PSNR, and so has the mean over frames with it:
such a value is NULL with a reason. (PredBench's code puts 1.0 in the place of a batch with such a
frame, which makes a perfect prediction the worst one.)
"""

import numpy as np

from stp.metrics.metric import Metric, first_component
from stp.metrics.pixels import frame_size, squared_errors


def _mean_square(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return squared_errors(predicted, observed)[:, None] / frame_size(predicted)


def _decibel(mean_square: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        decibel = -10.0 * np.log10(mean_square)
    return np.where(np.isinf(mean_square), np.nan, decibel)  # infinite predictions have none


def _per_frame(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return _decibel(_mean_square(predicted, observed))


def _finish_pooled(means: np.ndarray) -> np.ndarray:
    return _decibel(first_component(means))


per_frame = Metric(_per_frame, no_value="predicted exactly")
"""PSNR of each frame, then the mean over frames (PredBench, appendix B, equation 2)."""

pooled = Metric(
    _mean_square, finish=_finish_pooled, leads="pool", no_value="everything is predicted exactly"
)
"""PSNR of the mean squared error over everything; by Jensen's inequality never above
``per_frame``, and hardly moved by single frames that are nearly exact."""
