"""Latitude-weighted means over the observed part of the globe.

Prepared data are NaN where a variable does not exist, such as soil moisture at sea. These points
are excluded from means, and the latitude weights of the other points are divided by their sum, so
that a constant error of 1 has the mean 1 under every mask. A forecast that is NaN at an observed
point is bad data, and its mean is NaN. The mean of a variable without any observation is NaN too.
"""

from collections.abc import Callable, Iterator

import numpy as np

from stp.core.compiled import compiled

GROUP_BYTES = 1 << 20
"""Bytes of the float64 fields that are processed at the same time, so that they stay cached."""


class Area:
    """The points at which each of G fields was observed, with weights, for means over them.

    The methods take G fields on the same grid, such as forecasts of the observed fields.

    Args:
        weights: weights of latitudes, in any unit, (H,).
        observed: the G observed fields, (G, H, W), NaN where nothing was observed.

    Attributes:
        is_observed: mask of observed points, bool (G, H, W); None if all points were observed.
    """

    def __init__(self, weights: np.ndarray, observed: np.ndarray) -> None:
        self._weights = weights
        self.is_observed: np.ndarray | None = None
        self._total: np.ndarray | float = float(weights.sum()) * observed.shape[-1]
        flat = observed.reshape(-1)
        with np.errstate(invalid="ignore", over="ignore"):
            whole = np.isfinite(flat @ flat)  # NaN where a value is, and faster than a sum
        if not whole and np.isnan(observed).any():
            self.is_observed = ~np.isnan(observed)
            self._total = self.is_observed.sum(axis=-1) @ weights

    def only(self, fields: np.ndarray) -> np.ndarray:
        """Copy fields, and set the points that were not observed to 0.

        Args:
            fields: G fields, or G fields of each ensemble member, (..., G, H, W).

        Returns:
            the fields, float64 (..., G, H, W); observed points are unchanged.
        """
        values = fields.astype(np.float64)
        if self.is_observed is not None:
            np.copyto(values, 0.0, where=~self.is_observed)
        return values

    def difference(self, fields: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Subtract ``others`` from ``fields``, and set the points that were not observed to 0.

        Args:
            fields, others: G fields each, (G, H, W).

        Returns:
            differences, float64 (G, H, W).
        """
        errors = np.subtract(fields, others, dtype=np.float64)
        if self.is_observed is not None:
            np.copyto(errors, 0.0, where=~self.is_observed)
        return np.asarray(errors)

    def fill_unobserved(self, fields: np.ndarray) -> np.ndarray:
        """Set the points that were not observed to the weighted mean of the observed points.

        Args:
            fields: G fields, (G, H, W).

        Returns:
            the fields, float64 (G, H, W); ``fields`` itself if all points were observed.
        """
        if self.is_observed is None:
            return fields
        values = self.only(fields)
        values += np.where(self.is_observed, 0.0, self.mean(values)[:, None, None])
        return values

    def mean(self, fields: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
        """Compute weighted means over the observed points of ``fields``, or ``fields * others``.

        Args:
            fields: G fields, float64 (G, H, W), which must be 0 at unobserved points (`only`).
            others: factors of the fields, float64 (G, H, W), 0 at unobserved points; None for none.

        Returns:
            the mean of each field, float64 (G,); NaN for a field without observed points.
        """
        rows = np.vecdot(fields, np.ones(fields.shape[-1]) if others is None else others)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(rows @ self._weights / self._total)


def moments(
    predicted: np.ndarray, observed: np.ndarray, centre: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Compute weighted means of p' = predicted - centre, o' = observed - centre, and products.

    Args:
        predicted, observed: fields, (..., H, W) each.
        centre: fields to subtract, such as the climatology, broadcastable to (..., H, W).
        weights: weights of latitudes, in any unit, (H,).

    Returns:
        means of p', o', p'^2, p' o' and o'^2 over the observed points, float64 (5, ...).

    Raises:
        ValueError: predicted and observed fields have different shapes.
    """
    *outer, height, width = observed.shape
    if predicted.shape != observed.shape:
        raise ValueError(f"shapes {predicted.shape} and {observed.shape} of one field each")
    precision = np.result_type(predicted, observed, centre, np.float32)
    p, o, c = (
        np.ascontiguousarray(np.broadcast_to(f, observed.shape), precision)
        for f in (predicted, observed, centre)
    )
    grid = (-1, height, width)
    sums = _sums(p.reshape(grid), o.reshape(grid), c.reshape(grid), weights.astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((sums[1:] / sums[0]).reshape(5, *outer))


@compiled
def _sums(
    predicted: np.ndarray, observed: np.ndarray, centre: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Weighted sums of 1, p', o', p'^2, p' o' and o'^2 of fields (G, H, W), float64 (6, G)."""
    count, height, width = observed.shape
    sums = np.zeros((6, count))
    for g in range(count):
        for h in range(height):
            points = p = o = pp = po = oo = 0.0
            for w in range(width):
                value = np.float64(observed[g, h, w])
                is_observed = value == value  # not NaN
                a = np.float64(predicted[g, h, w]) - centre[g, h, w] if is_observed else 0.0
                b = value - centre[g, h, w] if is_observed else 0.0
                points += 1.0 if is_observed else 0.0
                p += a
                o += b
                pp += a * a
                po += a * b
                oo += b * b
            sums[0, g] += weights[h] * points
            sums[1, g] += weights[h] * p
            sums[2, g] += weights[h] * o
            sums[3, g] += weights[h] * pp
            sums[4, g] += weights[h] * po
            sums[5, g] += weights[h] * oo
    return sums


def groups(shape: tuple[int, ...], fields: int = 1) -> Iterator[tuple[int, int, slice]]:
    """Divide the fields of frames into groups that fit the processor's cache.

    Args:
        shape: shape of the observed frames, (N, T, C, H, W).
        fields: number of predicted fields for each observed field, such as the number of members.

    Yields:
        index of the sample, index of the lead time, and channels of each group.
    """
    samples, leads, channels, height, width = shape
    size = max(1, GROUP_BYTES // (8 * height * width * fields))
    for n, t in np.ndindex(samples, leads):
        for first in range(0, channels, size):
            yield n, t, slice(first, min(first + size, channels))


def by_group(
    statistics: Callable[[Area, np.ndarray, np.ndarray], tuple[np.ndarray, ...]],
    predicted: np.ndarray,
    observed: np.ndarray,
    weights: np.ndarray,
    parts: int,
) -> np.ndarray:
    """Compute statistics of single fields, in groups that fit the processor's cache.

    Args:
        statistics: function that computes the statistics of a group of G fields, as ``parts``
            arrays (G,). Its arguments are the `Area` of the group (the observed points and the
            weights of latitudes), the predicted fields, (G, H, W) or for an ensemble (M, G, H, W),
            and the observed fields, (G, H, W).
        predicted: predicted fields, (N, T, C, H, W) or, of M members, (N, M, T, C, H, W).
        observed: observed fields, (N, T, C, H, W).
        weights: weights of latitudes, in any unit, (H,), for the `Area` of each group.
        parts: number of statistics of each field.

    Returns:
        statistics, float64 (N, C * parts, T): on the middle axis, all ``parts`` statistics of the
        first channel, then those of the second, and so on.
    """
    samples, leads, channels = observed.shape[:3]
    results = np.empty((samples, channels, parts, leads))
    members = predicted.shape[1] if predicted.ndim > observed.ndim else 1
    for n, t, group in groups(observed.shape, members):
        fields = observed[n, t, group]
        values = statistics(Area(weights, fields), predicted[n, ..., t, group, :, :], fields)
        results[n, group, :, t] = np.stack(values, axis=-1)
    return results.reshape(samples, channels * parts, leads)
