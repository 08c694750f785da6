"""Multi-scale structural similarity (Wang, Simoncelli and Bovik 2003,
https://doi.org/10.1109/ACSSC.2003.1292216).

At each scale the contrast-structure term (2 cxy + C2) / (vx + vy + C2) is averaged over the frame;
frames are halved by means of 2 x 2 pixels between scales. The value is the product of these
averages raised to the weights of the scales, with the whole SSIM in place of the term at the last
scale. Means, variances and covariance are those of a Gaussian window of 11 x 11 pixels with
standard deviation 1.5, where it lies inside the frame. A negative average, which has no real
power, counts as 0, as in the usual implementations. The value of a frame is the mean over channels.
"""

from functools import partial

import numpy as np
from scipy.ndimage import correlate1d

from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric
from stp.metrics.scale import in_unit_range

WINDOW = 11
SIGMA = 1.5
WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def multi_scale_similarity(
    predicted: np.ndarray, observed: np.ndarray, *, data_range: float, scales: int = 5
) -> np.ndarray:
    """Compare frames.

    Args:
        predicted: (N, T, C, H, W); H and W at least `smallest_side` (scales).
        observed: (N, T, C, H, W).
        data_range: distance between the smallest and the largest possible value.
        scales: how many, from the finest; their weights are divided by their sum.

    Returns:
        float64 (N, T): mean over channels.
    """
    weights = np.array(WEIGHTS[:scales]) / sum(WEIGHTS[:scales])
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    values = np.empty(predicted.shape[:2])
    for n, (p, o) in enumerate(zip(predicted, observed, strict=True)):
        x, y = p.astype(np.float64), o.astype(np.float64)
        product = np.ones(x.shape[:2])
        for scale, weight in enumerate(weights):
            if scale:
                x, y = _halved(x), _halved(y)
            mean_x, mean_y = _blurred(x), _blurred(y)
            squares = mean_x**2 + mean_y**2
            both = mean_x * mean_y
            variances = _blurred(x**2 + y**2) - squares
            term = (2 * (_blurred(x * y) - both) + c2) / (variances + c2)
            if scale == len(weights) - 1:
                term *= (2 * both + c1) / (squares + c1)
            product *= np.maximum(term.mean(axis=(2, 3)), 0) ** weight
        values[n] = product.mean(axis=1)
    return values


def smallest_side(scales: int) -> int:
    """Pixels that a frame needs for the window to fit at the coarsest scale."""
    return WINDOW << (scales - 1)


def _window() -> np.ndarray:
    taps = np.exp(-0.5 * (np.arange(WINDOW) - WINDOW // 2) ** 2 / SIGMA**2)
    return np.asarray(taps / taps.sum())


def _blurred(frames: np.ndarray) -> np.ndarray:
    """Weighted means of windows that lie inside: (T, C, H, W) to (T, C, H - 10, W - 10)."""
    edge = WINDOW // 2
    rows = correlate1d(frames, _window(), axis=2, mode="constant")[:, :, edge:-edge]
    return np.asarray(correlate1d(rows, _window(), axis=3, mode="constant")[..., edge:-edge])


def _halved(frames: np.ndarray) -> np.ndarray:
    """Means of 2 x 2 pixels; an odd last row or column is left out."""
    *outer, height, width = frames.shape
    even = frames[..., : height // 2 * 2, : width // 2 * 2]
    return np.asarray(even.reshape(*outer, height // 2, 2, width // 2, 2).mean(axis=(-3, -1)))


def _statistics(predicted: np.ndarray, observed: np.ndarray, scales: int) -> np.ndarray:
    found = multi_scale_similarity(predicted, observed, data_range=1.0, scales=scales)
    return found[:, None]


def _fitting(metric: Metric, compared: Comparison, scales: int) -> Metric:
    height, width = compared.data.shape[1:]
    if min(height, width) < smallest_side(scales):
        needed = smallest_side(scales)
        why = f"frames of {height} x {width} pixels; {scales} scales need {needed}"
        return metric._replace(reason=why)
    return in_unit_range(metric, compared)


def _convention(scales: int) -> Metric:
    return Metric(partial(_statistics, scales=scales), on_data=partial(_fitting, scales=scales))


five_scales = _convention(5)
"""All five scales: frames of at least 176 x 176 pixels. Data range 1 on frames in [0, 1]."""

three_scales = _convention(3)
"""The three finest scales, their weights divided by their sum: frames from 44 x 44 pixels. Not
comparable with ``five_scales``."""
