"""Multi-scale structural similarity (Wang, Simoncelli and Bovik 2003,
https://doi.org/10.1109/ACSSC.2003.1292216).

At each scale, the contrast-structure term (2 cxy + C2) / (vx + vy + C2) is averaged over the frame.
Between scales, frames are halved by averaging 2 x 2 pixels. The value is the product over scales of
these averages raised to the power of the scale's weight; at the last scale, the whole SSIM takes
the place of the term. Variances v and covariance c are computed in a Gaussian window of 11 x 11
pixels with standard deviation 1.5, wherever it lies inside the frame. A negative average, which has
no real power, counts as 0, as in common implementations.

Values are averaged over channels. An odd last row or column is left out before halving. For fields
on the globe, see `stp.metrics.field_ms_ssim`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stp.core.compiled import compiled
from stp.core.errors import ConfigurationError
from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric
from stp.metrics.scale import in_unit_range

WINDOW = 11
SIGMA = 1.5
WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)

Halve = Callable[[np.ndarray], np.ndarray]
"""Function from frames (F, H, W) to frames of the next scale."""


def multi_scale_similarity(
    predicted: np.ndarray, observed: np.ndarray, *, data_range: float, scales: int = 5
) -> np.ndarray:
    """MS-SSIM of predicted and observed frames.

    Args:
        predicted: predicted frames, (N, T, C, H, W); H and W at least ``smallest_side(scales)``.
        observed: observed frames, (N, T, C, H, W).
        data_range: distance between the smallest and the largest possible value.
        scales: number of scales, from the finest; their weights are divided by their sum.

    Returns:
        means over channels, float64 (N, T).
    """
    values = np.empty(predicted.shape[:3])
    for n, t in np.ndindex(values.shape[:2]):
        p, o = (frames[n, t].astype(np.float64) for frames in (predicted, observed))
        values[n, t] = similarity(p, o, data_range, scale_weights(scales), _halved)
    return np.asarray(values.mean(axis=-1))


def similarity(
    x: np.ndarray, y: np.ndarray, data_range: float, weights: np.ndarray, halve: Halve
) -> np.ndarray:
    """MS-SSIM of F pairs of frames, (F,), computed in the dtype of the frames.

    Args:
        x, y: frames, (F, H, W) each.
        data_range: distance between the smallest and the largest possible value.
        weights: weights of the scales, from the finest.
        halve: function that halves the height and width of frames between scales.
    """
    c1, c2 = (x.dtype.type(2 * (k * data_range) ** 2) for k in (0.01, 0.03))
    product = np.ones(len(x))
    for scale, weight in enumerate(weights):
        is_last = scale == len(weights) - 1
        padded_x, padded_y, down, across = _with_windows(x, y)
        means = _mean_terms(padded_x, padded_y, down, across, c1, c2, is_last)
        product *= np.maximum(means, 0) ** weight
        if not is_last:
            x, y = halve(x), halve(y)
    return product


def scale_weights(scales: int) -> np.ndarray:
    """Weights of the finest scales, divided by their sum, (scales,)."""
    return np.array(WEIGHTS[:scales]) / sum(WEIGHTS[:scales])


def _with_windows(x: np.ndarray, y: np.ndarray) -> tuple[Any, ...]:
    """Padded frames (F, H, W), and half of the symmetric windows in y and x, six taps each.

    In a direction with fewer than 11 pixels, the window is a single pixel, and frames are padded so
    that the same loop can run.
    """
    taps = np.exp(-0.5 * (np.arange(WINDOW) - WINDOW // 2) ** 2 / SIGMA**2)
    windows = []
    for axis in (1, 2):
        fits = x.shape[axis] >= WINDOW
        window = taps / taps.sum() if fits else (np.arange(WINDOW) == WINDOW // 2) * 1.0
        windows.append(tuple(window.astype(x.dtype)[: WINDOW // 2 + 1]))
        if not fits:
            margin = [(WINDOW // 2, WINDOW // 2) if a == axis else (0, 0) for a in range(3)]
            x, y = np.pad(x, margin), np.pad(y, margin)
    return np.ascontiguousarray(x), np.ascontiguousarray(y), *windows


@compiled
def _mean_terms(
    x: np.ndarray,
    y: np.ndarray,
    down: tuple[float, ...],
    across: tuple[float, ...],
    twice_c1: float,
    twice_c2: float,
    whole: bool,
) -> np.ndarray:
    """Mean contrast-structure of pairs of frames, or their mean SSIM, float64 (F,).

    With the variances s and d of the sums and differences of two frames,

        (2 cxy + C2) / (vx + vy + C2) = (s - d + 2 C2) / (s + d + 2 C2)

    and likewise the luminance term is (S - D + 2 C1) / (S + D + 2 C1), where S and D are the
    squared means of the sums and differences.

    Args:
        x, y: frames (F, H, W).
        down, across: first six taps of the window, which is symmetric, in each direction.
        twice_c1, twice_c2: the constants 2 C1 and 2 C2.
        whole: whether the result is the whole SSIM, including the luminance term.
    """
    count, height, width = x.shape
    inside = width - WINDOW + 1
    # Sum, difference and their squares: of one row, of 11 rows blurred across, and blurred both
    # ways. Each of the 11 rows stands in two places, so that they always lie one after another.
    row = np.empty((4, width), x.dtype)
    rows = np.empty((4, 2 * WINDOW, inside), x.dtype)
    window_sums = np.empty((4, inside), x.dtype)
    means = np.empty(count)
    a0, a1, a2, a3, a4, a5 = across
    d0, d1, d2, d3, d4, d5 = down
    for g in range(count):
        sums = np.zeros(inside)
        for h in range(height):
            for w in range(width):
                plus, minus = x[g, h, w] + y[g, h, w], x[g, h, w] - y[g, h, w]
                row[0, w], row[1, w] = plus, minus
                row[2, w], row[3, w] = plus * plus, minus * minus
            slot = h % WINDOW
            for f in range(4):
                r, leaving, leaving_too = row[f], rows[f, slot], rows[f, slot + WINDOW]
                for w in range(inside):
                    near = a5 * r[w + 5] + a4 * (r[w + 4] + r[w + 6]) + a3 * (r[w + 3] + r[w + 7])
                    far = (
                        a2 * (r[w + 2] + r[w + 8])
                        + a1 * (r[w + 1] + r[w + 9])
                        + a0 * (r[w] + r[w + 10])
                    )
                    leaving[w] = near + far
                    leaving_too[w] = near + far
            if h < WINDOW - 1:
                continue
            first = slot + 1
            for f in range(4):
                s, out = rows[f, first : first + WINDOW], window_sums[f]
                for w in range(inside):
                    near = d5 * s[5, w] + d4 * (s[4, w] + s[6, w]) + d3 * (s[3, w] + s[7, w])
                    far = (
                        d2 * (s[2, w] + s[8, w])
                        + d1 * (s[1, w] + s[9, w])
                        + d0 * (s[0, w] + s[10, w])
                    )
                    out[w] = near + far
            for w in range(inside):
                plus, minus = (
                    window_sums[0, w] * window_sums[0, w],
                    window_sums[1, w] * window_sums[1, w],
                )
                of_sum, of_difference = window_sums[2, w] - plus, window_sums[3, w] - minus
                term = (of_sum - of_difference + twice_c2) / (of_sum + of_difference + twice_c2)
                if whole:
                    term *= (plus - minus + twice_c1) / (plus + minus + twice_c1)
                sums[w] += term
        means[g] = sums.sum() / ((height - WINDOW + 1) * inside)
    return means


def smallest_side(scales: int) -> int:
    """Smallest height and width of a frame, pixels, for the window to fit at the coarsest scale."""
    return WINDOW << (scales - 1)


def _halved(frames: np.ndarray) -> np.ndarray:
    """Means of 2 x 2 pixels of frames (F, H, W); an odd last row or column is left out."""
    height, width = frames.shape[1:]
    even = frames[:, : height // 2 * 2, : width // 2 * 2]
    sums = even[:, ::2] + even[:, 1::2]
    halved = sums[:, :, ::2] + sums[:, :, 1::2]
    halved *= 0.25
    return np.asarray(halved)


def _statistics(predicted: np.ndarray, observed: np.ndarray, scales: int) -> np.ndarray:
    similarity = multi_scale_similarity(predicted, observed, data_range=1.0, scales=scales)
    return similarity[:, None]


def _fitting(metric: Metric, compared: Comparison, scales: int) -> Metric:
    height, width = compared.data.shape[1:]
    if min(height, width) < smallest_side(scales):
        needed = smallest_side(scales)
        why = f"frames of {height} x {width} pixels; {scales} scales need {needed}"
        return metric._replace(reason=why)
    return in_unit_range(metric, compared)


def ms_ssim(*, scales: int) -> Metric:
    """MS-SSIM of frames in [0, 1], or mapped to that range by a fixed normalisation.

    The data range is 1.

    Args:
        scales: number of scales, from the finest, 1 to 5; their weights are divided by their sum.
            Five scales need frames of at least 176 x 176 pixels, three of 44 x 44. Values with
            different numbers of scales are not comparable.

    Raises:
        StpError: `scales` is not 1 to 5.
    """
    check_scales(scales)
    return Metric(partial(_statistics, scales=scales), on_data=partial(_fitting, scales=scales))


def check_scales(scales: int) -> None:
    """Refuse a number of scales for which no weights are published.

    Raises:
        StpError: `scales` is not 1 to 5.
    """
    if scales not in range(1, len(WEIGHTS) + 1):
        raise ConfigurationError(
            f"MS-SSIM of {scales!r} scales",
            expected=f"1 to {len(WEIGHTS)}",
        )
