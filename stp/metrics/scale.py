"""Scaling of frames from units of the dataset to [0, 1].

SSIM, PSNR and thresholds of CSI are made for frames in [0, 1]. A dataset's range is mapped to it by
the normalisation of the dataset, if that is a fixed one (traffic counts / 1250, radar codes / 255,
video unchanged). Standardised data, and unscaled data in physical units or beyond [0, 1], have no
fixed range, and so no values of these metrics; other conventions take the range of each observed
frame.
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
    """Offset and scale that map values to [0, 1], float32 (1,) or (C, 1, 1).

    None if the data have no fixed range.

    Args:
        attrs: attributes of the prepared data; without ``normalisation`` they are frames in [0, 1].
            ``values`` are the lowest and the highest value, if these are known.
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
    """Make a metric of frames in [0, 1] one of frames in the dataset's units.

    It is a function for `Metric.on_data`.
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
