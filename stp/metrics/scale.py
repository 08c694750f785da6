"""Scaling of frames from units of the dataset to [0, 1].

SSIM, PSNR and the thresholds of CSI are defined for frames in [0, 1]. Data are mapped to this range
by the dataset's normalisation, if it is a fixed one (traffic counts / 1250, radar codes / 255,
video unchanged). Standardised data, and unscaled data in physical units or beyond [0, 1], have no
fixed range, so these metrics have no values for them; other conventions use the range of each
observed frame.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric

NO_RANGE = "the data have no fixed range: their normalisation is neither fixed nor minmax"
BEYOND = 0.5
"""Distance from [0, 1] up to which values count as frames in [0, 1]: filters overshoot."""


def unit_range(attrs: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Find the offset and scale with which (value - offset) / scale lies in [0, 1].

    Args:
        attrs: attributes of the prepared data: ``units``; ``normalisation``, without which the data
            are frames in [0, 1]; and ``values``, the lowest and the highest value, if known.

    Returns:
        offset and scale, float32 each: single numbers, or one for each channel, (C, 1, 1). None if
        the data have no fixed range.
    """
    low, high = attrs.get("values", (0.0, 1.0))
    is_unit = attrs.get("units") == "1" and low >= -BEYOND and high <= 1 + BEYOND
    normalisation = attrs.get("normalisation", {"offset": 0.0, "scale": 1.0, "method": "none"})
    method = normalisation.get("method")
    if method in ("z-score", "zscore") or (method == "none" and not is_unit):
        return None
    offset, scale = (np.asarray(normalisation[key], np.float32) for key in ("offset", "scale"))
    return (offset.reshape(-1, 1, 1), scale.reshape(-1, 1, 1)) if offset.ndim else (offset, scale)


def in_unit_range(metric: Metric, compared: Comparison) -> Metric:
    """Adapt a metric for frames in [0, 1] to frames in the dataset's units.

    This function is the value of `Metric.on_data` of metrics such as SSIM.

    Args:
        metric: a metric whose ``statistics`` expects frames in [0, 1].
        compared: forecasts and data, whose attributes state the range.

    Returns:
        a metric that first maps frames to [0, 1]; without values, with a ``reason``, if the data
        have no fixed range.
    """
    range_ = unit_range(compared.data.attrs)
    if range_ is None:
        return metric._replace(reason=NO_RANGE)
    offset, scale = range_
    if not offset.any() and (scale == 1).all():
        return metric
    of_unit_range = metric.statistics

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return of_unit_range((predicted - offset) / scale, (observed - offset) / scale)

    return metric._replace(statistics=statistics)
