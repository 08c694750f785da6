"""Multi-scale structural similarity (MS-SSIM) of fields on the globe, for each variable.

The formula is that of `stp.metrics.ms_ssim`. As in ChaosBench (appendix F.1.4) and its code, an odd
number of rows or columns is padded by one before the first; and at the last scale, the window is
not applied in a direction in which it does not fit, so 121 x 240 grid points have five scales, the
last of 8 x 15. All grid points have equal weight. Points without observations get the mean of the
field over the observed points.
"""

from functools import partial
from typing import Literal

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, by_group
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data
from stp.metrics.ms_ssim import WEIGHTS, WINDOW, check_scales, scale_weights, similarity


def smallest_grid(scales: int) -> int:
    """The smallest number of rows (or columns) of a grid that MS-SSIM with ``scales`` scales needs.

    The window of the SSIM then fits into the field at every scale but the last, where it need not
    fit.
    """
    size = WINDOW
    for _ in range(scales - 2):
        size = 2 * size - 1
    return size


def _halve_fields(frames: np.ndarray, *, zero: bool) -> np.ndarray:
    """Means of 2 x 2 points of fields (F, H, W); an odd first row or column is paired with 0 or
    itself.
    """
    _, height, width = frames.shape
    odd, share = height % 2, 0.5 if zero else 1.0
    rows = np.empty((len(frames), (height + 1) // 2, width), frames.dtype)
    np.add(frames[:, odd::2], frames[:, odd + 1 :: 2], out=rows[:, odd:])
    if odd:
        np.multiply(frames[:, 0], 2 * share, out=rows[:, 0])
    odd = width % 2
    halved = np.empty((*rows.shape[:2], (width + 1) // 2), frames.dtype)
    np.add(rows[:, :, odd::2], rows[:, :, odd + 1 :: 2], out=halved[:, :, odd:])
    if odd:
        np.multiply(rows[:, :, 0], 2 * share, out=halved[:, :, 0])
    halved *= 0.25
    return halved


def _range(fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest value of fields (G, H, W), and the factor that scales their range to 255.

    Both are (G, 1, 1); the factor is NaN for a constant field.
    """
    low = fields.min(axis=(1, 2), keepdims=True)
    size = fields.max(axis=(1, 2), keepdims=True) - low
    return low, 255 / np.where(size == 0, np.nan, size)


def _scale_fields(fields: np.ndarray, low: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Scale fields (G, H, W) to 0..255 with the result of `_range`, float32."""
    return np.asarray((fields - low) * factor, np.float32)


def field_similarity(
    area: Area, predicted: np.ndarray, observed: np.ndarray, *, scales: int, own_range: bool
) -> np.ndarray:
    """Multi-scale structural similarity of G pairs of fields.

    Fields are scaled to 0..255, and halved from each scale to the next. Before a field with an odd
    number of rows (or columns) is halved, a row (or column) is added before its first one.

    Args:
        area: mask of the points where the observed fields have values.
        predicted, observed: fields, (G, H, W), in any unit.
        scales: number of scales, from the finest; if it is below five, the weights of these scales
            are divided by their sum.
        own_range: if true, each field is scaled by its own range, and added rows and columns are 0.
            If false, both fields are scaled by the range of the observed one, and added rows and
            columns repeat their neighbours.

    Returns:
        similarities, float64 (G,), computed in float32; infinite if the field that sets the range
        is constant; NaN if a field has NaN.
    """
    # In float32 the mean of each scale is accurate to 1e-6, and so is the similarity, unless such a
    # mean is nearly 0: its power then magnifies the error (4e-4 in a benchmark).
    x, y = area.fill_unobserved(predicted), area.fill_unobserved(observed)
    of_x, of_y = _range(x), _range(y)
    bad = np.isnan(of_x[0] + of_y[0]).reshape(-1)
    x, y = _scale_fields(x, *(of_x if own_range else of_y)), _scale_fields(y, *of_y)
    halve = partial(_halve_fields, zero=own_range)
    # As published, the weights of all five scales sum to 1.0001.
    weights = np.array(WEIGHTS) if scales == len(WEIGHTS) else scale_weights(scales)
    values = similarity(x, y, 255, weights, halve)
    return np.where(np.isnan(values) & ~bad, np.inf, values)


def _fields_on(metric: Metric, compared: Comparison, scales: int, own_range: bool) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    height, width = compared.data.shape[1:]
    if min(height, width) < (needed := smallest_grid(scales)):
        why = f"a grid of {height} x {width} points; {scales} scales need {needed}"
        return bound._replace(reason=why)

    def of_area(area: Area, predicted: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray]:
        return (field_similarity(area, predicted, observed, scales=scales, own_range=own_range),)

    return bound._replace(statistics=lambda p, o: by_group(of_area, p, o, weights, 1))


def field_ms_ssim(*, scales: int, value_range: Literal["own", "observed"]) -> Metric:
    """Multi-scale structural similarity (MS-SSIM) of each variable on a grid.

    Args:
        scales: number of scales, from the finest, 1 to 5: five need grids of at least 81 points a
            side, three at least 21. Values with different numbers of scales are not comparable.
        value_range: range that is scaled to 0..255: "own", the range of each field (ChaosBench's
            code; the paper does not state it), so that errors of mean or amplitude do not count;
            "observed", the range of the observed field for both fields, so that they count.

    Raises:
        StpError: `scales` is not 1 to 5.
    """
    check_scales(scales)
    return Metric(
        needs_data,
        finish=every_component,
        no_value="a field is constant",
        on_data=partial(_fields_on, scales=scales, own_range=value_range == "own"),
    )
