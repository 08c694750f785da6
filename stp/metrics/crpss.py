"""Continuous ranked probability skill score of each variable, against the climatology.

    1 - mean CRPS of the forecasts / mean CRPS of the climatology

(ChaosBench, equation S21); both means are over the globe, weighted by latitude, and over samples,
and the ratio is taken last. The climatology is a normal distribution with the mean and the standard
deviation of the calendar day of the valid time at each grid point, over training years. Above 0 is
skill, 1 is perfect.
"""

from functools import partial

import numpy as np
from scipy.special import ndtr

from stp.metrics.climatology import Climatology
from stp.metrics.comparison import Comparison
from stp.metrics.crps import weighted_crps
from stp.metrics.globe import Area, groups
from stp.metrics.metric import Metric, needs_data
from stp.metrics.regions import within

TRAINING = ("without_validation", "climatology_deviation")
PUBLISHED = ("published", "published_deviation")
"""Mean and deviation of a climatology."""
SCORES = ("forecast", "climatology")


def crps_normal(mean: np.ndarray, deviation: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """CRPS of normal distributions at each point, in the units of all three.

    s (z (2 F(z) - 1) + 2 f(z) - 1 / sqrt(pi)) with z = (y - m) / s (Gneiting and Raftery 2007,
    equation 20); |y - m| where the deviation is 0.
    """
    error = observed - mean
    with np.errstate(divide="ignore", invalid="ignore"):
        z = error / deviation
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        score = deviation * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))
    return np.asarray(np.where(deviation == 0, np.abs(error), score))


def skill(means: np.ndarray) -> np.ndarray:
    """1 less the ratio of the scores of forecast and climatology: (..., 2 S, T) to (..., S, T)."""
    *outer, components, leads = means.shape
    both = means.reshape(*outer, components // 2, 2, leads)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1 - both[..., 0, :] / both[..., 1, :]


def _on(
    metric: Metric, compared: Comparison, fair: bool, kinds: tuple[str, str], region: str
) -> Metric:
    bound, cut = within(metric, compared, region, SCORES)
    if cut is None:
        return bound
    weights = cut.weights
    means, deviations = (Climatology(compared.data, kind) for kind in kinds)
    missing = means.missing_of(compared.frames) or deviations.missing_of(compared.frames)
    if missing:
        return bound._replace(reason=missing)

    def statistics(
        predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, leads: np.ndarray
    ) -> np.ndarray:
        predicted, observed = cut(predicted), cut(observed)
        found = np.empty((len(observed), observed.shape[2], 2, observed.shape[1]))
        found[:, :, 0] = weighted_crps(predicted, observed, weights, fair=fair)
        for n, t, here in groups(observed.shape):
            frame = int(compared.frames[numbers[n], leads[t]])
            area = Area(weights, observed[n, t, here])
            mean, deviation, truth = (
                area.only(fields[here])
                for fields in (cut(means.read(frame)), cut(deviations.read(frame)), observed[n, t])
            )
            found[n, here, 1, t] = area.mean(crps_normal(mean, deviation, truth))
        return found.reshape(len(found), -1, found.shape[-1])

    return bound._replace(statistics=statistics)


def _convention(*, fair: bool, kinds: tuple[str, str] = TRAINING, region: str = "") -> Metric:
    return Metric(
        needs_data,
        finish=skill,
        leads="pool",
        no_value="the climatology is exact",
        on_data=partial(_on, fair=fair, kinds=kinds, region=region),
        numbered=True,
        ensemble=True,
    )


climatology = _convention(fair=True)
"""The fair CRPS, so that ensembles of different size are comparable."""

climatology_biased = _convention(fair=False)
"""The CRPS of the members as a distribution, as ChaosBench's code; it takes the ratio within
batches of 32 samples, and a climatology that includes the test years."""

climatology_published = _convention(fair=False, kinds=PUBLISHED)
"""As ``climatology_biased``, against that climatology: 1994-2023, by the number of the day in its
year, so that days after February are one off in leap years."""
climatology_tropics = _convention(fair=True, region="tropics")
climatology_northern_extratropics = _convention(fair=True, region="northern_extratropics")
climatology_southern_extratropics = _convention(fair=True, region="southern_extratropics")
climatology_europe = _convention(fair=True, region="europe")
climatology_north_america = _convention(fair=True, region="north_america")
"""As ``climatology``, of one of the boxes of `stp.metrics.regions`."""
