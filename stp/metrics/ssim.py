"""Structural similarity (Wang et al. 2004, https://doi.org/10.1109/TIP.2003.819861).

    SSIM = (2 mx my + C1) (2 cxy + C2) / ((mx^2 + my^2 + C1) (vx + vy + C2))

with means m, sample variances v and covariance c (divided by 48) over a flat window of 7 x 7 = 49
pixels, C1 = (0.01 R)^2, C2 = (0.03 R)^2 and the data range R; averaged over the pixels whose
window lies inside the frame, then over channels. This is scikit-image's
``structural_similarity(channel_axis=0, data_range=R)``. The paper's own window is that of
``gaussian``: 11 x 11 pixels, a Gaussian of standard deviation 1.5, biased moments.

For speed: with window sums X, Y of x, y, and P of x^2 + y^2, Q of x y, both factors are
free of divisions by 49 and 48:

    luminance  (2 X Y + c1) / (X^2 + Y^2 + c1)                          c1 = 49^2 C1
    structure  (98 Q - 2 X Y + c2) / (49 P - X^2 - Y^2 + c2)            c2 = 49 * 48 C2

so four fields are summed over windows instead of five, each with four additions per direction:
pairs, pairs of pairs, and 7 = 4 + 2 + 1. Frames lie one after the other in flat buffers, and a
step down is a shift by W: all operations run over contiguous memory. Windows that would cross the
edge of a frame get meaningless values, which are cut away at the end. Buffers hold a group of
frames that stays in the cache. In float64 the difference of second moments is accurate enough.
"""

from functools import partial

import numpy as np
from scipy.ndimage import correlate1d

from stp.core.errors import StpError
from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric
from stp.metrics.scale import in_unit_range

WINDOW = 7
AREA = WINDOW * WINDOW
GROUP_PIXELS = 1 << 16  # 0.5 MB a buffer
GAUSSIAN_WINDOW = 11
GAUSSIAN_WEIGHTS = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
GAUSSIAN_WEIGHTS /= GAUSSIAN_WEIGHTS.sum()


def structural_similarity(
    predicted: np.ndarray, observed: np.ndarray, *, data_range: float
) -> np.ndarray:
    """SSIM of frames, through a flat window of 7 x 7 pixels.

    Args:
        predicted: predicted frames, (N, T, C, H, W); values outside the range are used unchanged.
        observed: observed frames, (N, T, C, H, W).
        data_range: R, distance between the smallest and the largest possible value.

    Returns:
        means over channels, float64 (N, T).

    Raises:
        StpError: frames are smaller than the window.
    """
    *outer, height, width = predicted.shape
    if min(height, width) < WINDOW:
        raise StpError(
            f"SSIM of frames of {height} x {width} pixels",
            expected=f"at least {WINDOW} x {WINDOW}, the size of its window",
            remedy="take the ssim conventions out of the evaluation of this dataset",
        )
    x = predicted.reshape(-1, height, width)
    y = observed.reshape(-1, height, width)
    values = np.empty(len(x))
    group = max(1, min(len(x), GROUP_PIXELS // (height * width)))
    buffers = np.zeros((7, group * height * width))
    for start in range(0, len(x), group):
        stop = min(start + group, len(x))
        values[start:stop] = _group(x[start:stop], y[start:stop], data_range, buffers)
    return np.asarray(values.reshape(outer).mean(axis=-1))


def _group(x: np.ndarray, y: np.ndarray, data_range: float, buffers: np.ndarray) -> np.ndarray:
    """SSIM of frames (M, H, W) each, float64 (M,), computed within ``buffers`` (7, >= M H W)."""
    frames, height, width = x.shape
    sum_x, sum_y, sum_xy, sum_squares, spare, spare2, row = buffers[:, : x.size]
    np.copyto(sum_x, x.reshape(-1))
    np.copyto(sum_y, y.reshape(-1))
    np.multiply(sum_x, sum_y, out=sum_xy)
    np.multiply(sum_x, sum_x, out=sum_squares)
    np.multiply(sum_y, sum_y, out=spare)
    sum_squares += spare
    for field in (sum_x, sum_y, sum_xy, sum_squares):
        _sum_of_seven(field, 1, row, spare, spare2)
        _sum_of_seven(row, width, field, spare, spare2)

    c1 = AREA**2 * (0.01 * data_range) ** 2
    c2 = AREA * (AREA - 1) * (0.03 * data_range) ** 2
    product, squares = spare, spare2
    np.multiply(sum_x, sum_y, out=product)
    product *= 2.0
    np.multiply(sum_x, sum_x, out=sum_x)
    np.multiply(sum_y, sum_y, out=sum_y)
    np.add(sum_x, sum_y, out=squares)
    sum_xy *= 2.0 * AREA
    sum_xy -= product
    sum_xy += c2
    sum_squares *= AREA
    sum_squares -= squares
    sum_squares += c2
    product += c1
    squares += c1
    product *= sum_xy
    squares *= sum_squares
    with np.errstate(divide="ignore", invalid="ignore"):  # beyond the edges
        product /= squares
    inside = product.reshape(frames, height, width)[:, : 1 - WINDOW, : 1 - WINDOW]
    return np.asarray(inside.mean(axis=(1, 2)))


def _sum_of_seven(
    field: np.ndarray, step: int, out: np.ndarray, pairs: np.ndarray, fours: np.ndarray
) -> None:
    """out[i] = sum over j < 7 of field[i + j step]; the last 6 steps of ``out`` are left as is."""
    n = len(field)
    pairs, fours, out = pairs[: n - step], fours[: n - 3 * step], out[: n - 6 * step]
    np.add(field[:-step], field[step:], out=pairs)
    np.add(pairs[: len(fours)], pairs[2 * step :], out=fours)
    np.add(fours[: len(out)], pairs[4 * step : 4 * step + len(out)], out=out)
    out += field[6 * step :]


def gaussian_similarity(
    predicted: np.ndarray, observed: np.ndarray, *, data_range: float
) -> np.ndarray:
    """SSIM of frames with the Gaussian window of the paper.

    Equal to scikit-image's ``structural_similarity(channel_axis=0, data_range=R,
    gaussian_weights=True, sigma=1.5, use_sample_covariance=False)``.

    Args:
        predicted: predicted frames, (N, T, C, H, W); values outside the range are used unchanged.
        observed: observed frames, (N, T, C, H, W).
        data_range: R, distance between the smallest and the largest possible value.

    Returns:
        means over channels and over the pixels whose window lies inside the frame, float64 (N, T);
        NaN if frames are smaller than the window.
    """
    *outer, height, width = predicted.shape
    values = np.full(outer, np.nan)
    if min(height, width) >= GAUSSIAN_WINDOW:
        x, y = (frames.reshape(-1, height, width) for frames in (predicted, observed))
        group = max(1, GROUP_PIXELS // (height * width))
        for start in range(0, len(x), group):
            part = slice(start, start + group)
            similarity = _gaussian_group(x[part].astype(float), y[part].astype(float), data_range)
            values.reshape(-1)[part] = similarity
    return np.asarray(values.mean(axis=-1))


def _gaussian_group(x: np.ndarray, y: np.ndarray, data_range: float) -> np.ndarray:
    """SSIM, with the Gaussian window, of M pairs of frames, (M, H, W) each: float64 (M,)."""
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    mean_x, mean_y = _gaussian(x), _gaussian(y)
    squares, product = mean_x**2 + mean_y**2, mean_x * mean_y
    similarity = (2 * product + c1) * (2 * (_gaussian(x * y) - product) + c2)
    similarity /= (squares + c1) * (_gaussian(x * x + y * y) - squares + c2)
    return np.asarray(similarity.mean(axis=(1, 2)))


def _gaussian(fields: np.ndarray) -> np.ndarray:
    """Weighted means of fields (M, H, W) over windows that lie inside them."""
    inside = slice(GAUSSIAN_WINDOW // 2, -(GAUSSIAN_WINDOW // 2))
    for axis in (1, 2):
        fields = correlate1d(fields, GAUSSIAN_WEIGHTS, axis=axis)
    return fields[:, inside, inside]


def _gaussian_statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return gaussian_similarity(predicted, observed, data_range=1.0)[:, None]


def _fitting(metric: Metric, compared: Comparison) -> Metric:
    height, width = compared.data.shape[1:]
    if min(height, width) < GAUSSIAN_WINDOW:
        why = f"frames of {height} x {width} pixels; the window has {GAUSSIAN_WINDOW}"
        return metric._replace(reason=why)
    return in_unit_range(metric, compared)


def _statistics(predicted: np.ndarray, observed: np.ndarray, data_range: float) -> np.ndarray:
    return structural_similarity(predicted, observed, data_range=data_range)[:, None]


def observed_range(observed: np.ndarray) -> np.ndarray:
    """Largest minus smallest value of each channel of each frame: (..., H, W) to (..., 1, 1)."""
    return np.asarray(np.ptp(observed, axis=(-2, -1), keepdims=True))


def _of_observed_range(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    span = observed_range(observed.astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Less the smallest value: an offset such as 273 K would make all luminances equal.
        low = observed.min(axis=(-2, -1), keepdims=True)
        values = structural_similarity(
            (predicted - low) / span, (observed - low) / span, data_range=1.0
        )
    # A constant frame has no range; infinite, and not NaN as bad data.
    constant = (span == 0).any(axis=(-3, -2, -1)) & np.isfinite(predicted).all(axis=(-3, -2, -1))
    return np.where(constant, np.inf, values)[:, None]


def ssim(*, data_range: float) -> Metric:
    """SSIM of frames in [0, 1], or mapped to that range by a fixed normalisation.

    Args:
        data_range: data range R of the formula: 1 is the actual range of the frames; 2 is
            scikit-image's default for floats until 0.19, which gives the higher values that
            PredBench and OpenSTL report as SSIM.
    """
    return Metric(partial(_statistics, data_range=float(data_range)), on_data=in_unit_range)


def gaussian() -> Metric:
    """SSIM of Wang et al. (2004): with the paper's Gaussian window and data range 1."""
    return Metric(_gaussian_statistics, on_data=_fitting)


def of_frame_range() -> Metric:
    """SSIM of frames scaled by the range of the observed frame, for data in any units.

    For each channel of each frame, the smallest and largest observed value are mapped to 0 and 1;
    the data range is 1. Values are not comparable to those of the other conventions.
    """
    return Metric(_of_observed_range, no_value="an observed frame is constant")
