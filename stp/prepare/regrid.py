"""Average fields over the boxes of a coarser latitude-longitude grid."""

import numpy as np


def box_mean(
    field: np.ndarray,
    lat: np.ndarray,
    lon: np.ndarray,
    new_lat: np.ndarray,
    new_lon: np.ndarray,
) -> np.ndarray:
    """Compute the area-weighted mean over each new box of the old boxes with values.

    The weight of an old box is the area of its intersection with the new box. On the sphere, this
    area is proportional to the common range of longitudes times the common range of sines of
    latitude.

    Args:
        field: fields (T, lat, lon), NaN where there is no value.
        lat: centres of the old boxes, degrees, equally spaced, ascending or descending.
        lon: centres of the old boxes, degrees; new boxes must not extend beyond the first or last
            box.
        new_lat: centres of the new boxes, degrees, equally spaced.
        new_lon: centres of the new boxes, degrees, equally spaced.

    Returns:
        means, float64 (T, new_lat, new_lon), NaN where no old box has a value.
    """
    rows = _overlap_lengths(np.sin(np.deg2rad(_edges(new_lat))), np.sin(np.deg2rad(_edges(lat))))
    columns = _overlap_lengths(_edges(new_lon), _edges(lon)).T
    valid = np.isfinite(field)
    total = rows @ np.where(valid, field, 0.0).astype(np.float64) @ columns
    weight = rows @ valid.astype(np.float64) @ columns
    return np.divide(total, weight, out=np.full_like(total, np.nan), where=weight > 0)


def _edges(centres: np.ndarray) -> np.ndarray:
    """Lower and upper edge of each box, (n, 2)."""
    values = np.asarray(centres, np.float64)
    half = abs(values[1] - values[0]) / 2
    return np.stack([values - half, values + half], axis=1)


def _overlap_lengths(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Length of the intersection of each interval of `a` with each of `b`, (len(a), len(b))."""
    low = np.maximum(a[:, None, 0], b[None, :, 0])
    return np.maximum(np.minimum(a[:, None, 1], b[None, :, 1]) - low, 0)
