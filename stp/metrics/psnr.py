"""Peak signal-to-noise ratio in dB for frames in [0, 1]: 20 log10(1 / sqrt(mse)).

A frame that is predicted exactly has an infinite PSNR, and so has every mean that includes it: such
a value is NULL with a reason. (PredBench's code replaces the value of a batch with such a frame by
1.0, so that a perfect prediction gets the worst value.)
"""

from typing import Literal

import numpy as np

from stp.metrics.metric import Metric, first_component
from stp.metrics.pixels import frame_size, squared_errors
from stp.metrics.scale import in_unit_range


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


def _of_observed_range(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    span = np.ptp(observed.astype(np.float64), axis=(2, 3, 4))[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = _per_frame(predicted, observed) + 20.0 * np.log10(span)
    # A constant frame that is predicted exactly: infinite, and not NaN as bad data.
    exact = np.isinf(_per_frame(predicted, observed)) & (span == 0)
    return np.where(exact, np.inf, ratios)


def psnr(*, mean_of: Literal["frames", "errors"]) -> Metric:
    """PSNR, in dB, of frames in [0, 1], or mapped to that range by a fixed normalisation.

    Args:
        mean_of: averaged quantity: "frames", the PSNR of each frame (PredBench, appendix B,
            equation 2); "errors", the squared errors, from whose mean one PSNR is computed. By
            Jensen's inequality, the latter is never above the mean over frames; single nearly exact
            frames hardly change it.
    """
    if mean_of == "frames":
        return Metric(_per_frame, no_value="predicted exactly", on_data=in_unit_range)
    return Metric(
        _mean_square,
        finish=_finish_pooled,
        leads="pool",
        no_value="everything is predicted exactly",
        on_data=in_unit_range,
    )


def of_frame_range() -> Metric:
    """Mean PSNR with the range of each observed frame as the peak, for data in any units.

    The PSNR of a frame is 20 log10((largest - smallest observed value) / RMSE), in dB. Values are
    not comparable with those of the other conventions.
    """
    why = "predicted exactly, or a constant frame was observed"
    return Metric(_of_observed_range, no_value=why)
