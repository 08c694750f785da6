"""Continuous ranked probability skill score of each variable, against the climatology.

    1 - mean CRPS of the forecasts / mean CRPS of the climatology

(ChaosBench, equation S21). Both means are over samples and, weighted by latitude, over the globe.
The climatology is a normal distribution with the mean and the standard deviation of the calendar
day of the valid time at each grid point. A score above 0 means skill, 1 is perfect.
"""

from functools import partial
from typing import Literal

import numpy as np
from scipy.special import ndtr

from stp.metrics.climatology import Climatology
from stp.metrics.comparison import Comparison
from stp.metrics.crps import weighted_crps
from stp.metrics.globe import Area, groups
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Metric, needs_data

KINDS = {
    "training": ("without_validation", "climatology_deviation"),
    "published": ("published", "published_deviation"),
}
"""For each kind of climatology, the names of the arrays of its mean and its standard deviation."""
SCORES = ("forecast", "climatology")


def crps_normal(mean: np.ndarray, deviation: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """CRPS of normal distributions at each point; arguments and result have equal shapes and units.

    It is s (z (2 F(z) - 1) + 2 f(z) - 1 / sqrt(pi)), where y is the observed value, m the mean, s
    the standard deviation, z = (y - m) / s, and F and f are the distribution function and the
    density of the standard normal distribution (Gneiting and Raftery 2007, equation 20). Where the
    standard deviation is 0, it is |y - m|.
    """
    error = observed - mean
    with np.errstate(divide="ignore", invalid="ignore"):
        z = error / deviation
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        score = deviation * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))
    return np.asarray(np.where(deviation == 0, np.abs(error), score))


def skill(means: np.ndarray) -> np.ndarray:
    """Skill score of each variable: 1 - CRPS of the forecast / CRPS of the climatology.

    Args:
        means: mean CRPS of the forecast and of the climatology for the first variable, then for the
            next one, ..., (..., 2 x variables, T).

    Returns:
        skill scores, (..., variables, T).
    """
    *outer, components, leads = means.shape
    scores = means.reshape(*outer, components // 2, 2, leads)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - scores[..., 0, :] / scores[..., 1, :])


def crpss(*, climatology: Literal["training", "published"] = "training", fair: bool) -> Metric:
    """Latitude-weighted CRPS skill score of each variable, against the climatology.

    Args:
        climatology: years of the climatology: "training", the training years; "published",
            ChaosBench's 1994-2023, including the test years. The latter is indexed by the day of
            the year, so days after February are off by one in leap years.
        fair: whether the fair CRPS is used, so that ensembles of different sizes are comparable; if
            not, members are treated as the whole distribution, as in ChaosBench's code (which also
            computes the ratio within batches of 32 samples).
    """
    return Metric(
        needs_data,
        finish=skill,
        leads="pool",
        no_value="the climatology is exact",
        on_data=partial(_bind_to_data, fair=fair, kinds=KINDS[climatology]),
        numbered=True,
        ensemble=True,
    )


def _bind_to_data(
    metric: Metric, compared: Comparison, fair: bool, kinds: tuple[str, str]
) -> Metric:
    bound = per_variable(metric, compared, SCORES)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    if metric.windows:
        return bound._replace(reason="the climatology has no deviation of means over windows")
    means, deviations = (Climatology(compared.data, kind) for kind in kinds)
    missing = means.missing_of(compared.frames) or deviations.missing_of(compared.frames)
    if missing:
        return bound._replace(reason=missing)

    def statistics(
        predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, leads: np.ndarray
    ) -> np.ndarray:
        scores = np.empty((len(observed), observed.shape[2], 2, observed.shape[1]))
        scores[:, :, 0] = weighted_crps(predicted, observed, weights, fair=fair)
        for n, t, channels in groups(observed.shape):
            frame = int(compared.frames[numbers[n], leads[t]])
            area = Area(weights, observed[n, t, channels])
            mean, deviation, truth = (
                area.only(fields[channels])
                for fields in (means.read(frame), deviations.read(frame), observed[n, t])
            )
            scores[n, channels, 1, t] = area.mean(crps_normal(mean, deviation, truth))
        return scores.reshape(len(scores), -1, scores.shape[-1])

    return bound._replace(statistics=statistics)
