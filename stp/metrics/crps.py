"""Continuous ranked probability score (CRPS) of ensembles.

    CRPS = E|X - y| - E|X - X'| / 2

(Gneiting and Raftery 2007, https://doi.org/10.1198/016214506000001437, equation 21) for observation
y and independent draws X, X' of the forecast. With members sorted, x_1 <= ... <= x_M, the sum of
all |x_i - x_j| is 2 sum of (2 i - M - 1) x_i, so the second term costs a sort and not M^2
differences. This sum is divided by M^2 if the M members are treated as the whole distribution, and
by M (M - 1), "fair", if they are treated as a sample of it: only then are ensembles of different
sizes comparable (Ferro 2014, https://doi.org/10.1002/qj.2270). With one member, both are the mean
absolute error.
"""

from functools import partial

import numpy as np

from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, by_group
from stp.metrics.latitude import of_units, per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data

CHUNK = 1 << 15
"""Points that are scored at a time: their members are sorted in the cache."""


def crps_ensemble(
    members: np.ndarray, observed: np.ndarray, *, axis: int = 0, fair: bool = False
) -> np.ndarray:
    """CRPS of an ensemble at every point.

    Args:
        members: predicted values, with the M members along ``axis``.
        observed: observed values, with the shape of ``members`` without ``axis``.
        axis: axis of the members.
        fair: whether the second term is divided by M (M - 1), not by M^2 (see the module).

    Returns:
        scores, float64, with the shape and units of ``observed``; NaN where a value is NaN.
    """
    count = members.shape[axis]
    rows = np.moveaxis(members, axis, 0).reshape(count, -1)
    truth = observed.reshape(-1)
    pairs = count * (count - 1) if fair and count > 1 else count**2
    ranks = (2.0 * np.arange(1, count + 1) - count - 1) / pairs
    scores = np.empty(truth.shape)
    for start in range(0, len(truth), CHUNK):
        chunk = slice(start, start + CHUNK)
        # Points first: a sort along the last axis stays within a few cache lines.
        values = np.ascontiguousarray(rows[:, chunk].T)
        values.sort(axis=1)
        spread = values @ ranks
        errors = values - truth[chunk, None].astype(np.float64)
        np.abs(errors, out=errors)
        scores[chunk] = errors.mean(axis=1) - spread
    return scores.reshape(observed.shape)


def _pixel_mean(predicted: np.ndarray, observed: np.ndarray, fair: bool) -> np.ndarray:
    each = [
        crps_ensemble(p, o, fair=fair).mean(axis=(2, 3)).T
        for p, o in zip(predicted, observed, strict=True)
    ]
    return np.stack(each)


def weighted_crps(
    predicted: np.ndarray, observed: np.ndarray, weights: np.ndarray, *, fair: bool
) -> np.ndarray:
    """Latitude-weighted mean CRPS over the globe.

    Args:
        predicted: predicted fields of M members, (N, M, T, C, H, W).
        observed: observed fields, (N, T, C, H, W).
        weights: weights of latitudes, (H,).
        fair: whether members are treated as a sample of the forecast's distribution, so that
            ensembles of different sizes are comparable (see the module).

    Returns:
        mean scores, float64 (N, C, T).
    """

    def score(area: Area, members: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray]:
        return (area.mean(area.only(crps_ensemble(members, truth, fair=fair))),)

    return by_group(score, predicted, observed, weights, 1)


def _bind_weights(metric: Metric, compared: Comparison, fair: bool) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    return bound._replace(statistics=lambda p, o: weighted_crps(p, o, weights, fair=fair))


def crps(*, fair: bool, weighted: bool = False) -> Metric:
    """Mean continuous ranked probability score of an ensemble.

    Args:
        fair: whether members are treated as a sample of the forecast's distribution: scores are
            then comparable between ensembles of different sizes, and may be negative at single
            points. If not, members are treated as the whole distribution, as in properscoring and
            xskillscore.
        weighted: whether grid points are weighted by latitude, with one value for each variable
            (ChaosBench, equation S20, with ``fair=False``). If not, the mean is over H and W, and
            over C unless variables have different units.
    """
    if weighted:
        on_data = partial(_bind_weights, fair=fair)
        return Metric(needs_data, finish=every_component, on_data=on_data, ensemble=True)
    statistics = partial(_pixel_mean, fair=fair)
    return Metric(statistics, finish=every_component, on_data=of_units, ensemble=True)
