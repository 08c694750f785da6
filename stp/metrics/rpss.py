"""Ranked probability skill score of terciles, against the climatology.

    1 - mean RPS of the forecasts / mean RPS of the climatology

The three categories, below, near and above normal, are separated by the terciles of the calendar
day over training years at each grid point (``lower_tercile``, ``upper_tercile`` of
``climatology.zarr``). RPS is the sum of the squared errors of the cumulative probabilities of the
first two categories (Epstein 1969; Wilks 2019, section 9.5.1). The probability of a category is the
share of the members in it; the climatology gives each 1/3. The fair RPS subtracts what sampling
adds, F (1 - F) / (M - 1) for each cumulative probability F of M members (Ferro 2014,
https://doi.org/10.1002/qj.2270), so that ensembles of different size are comparable; a single
forecast is not corrected. A score above 0 is skill, 1 is perfect.
"""

from functools import partial

import numpy as np

from stp.data.terciles import LOWER, UPPER, name_of
from stp.metrics.climatology import Climatology
from stp.metrics.comparison import Comparison
from stp.metrics.crpss import SCORES, skill
from stp.metrics.globe import Area, groups
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Metric, needs_data
from stp.metrics.weeks import first_of


def rps_terciles(
    members: np.ndarray, observed: np.ndarray, lower: np.ndarray, upper: np.ndarray, *, fair: bool
) -> tuple[np.ndarray, np.ndarray]:
    """RPS of an ensemble and of the climatology at each point.

    Values on a tercile count as near normal.

    Args:
        members: predicted values of M members, (M, ...).
        observed: observed values, (...).
        lower, upper: lower and upper tercile, (...) each.
        fair: whether the RPS of the ensemble is corrected for the number of members, so that
            ensembles of different sizes are comparable.

    Returns:
        RPS of the ensemble, 0 to 2 (fair, from -1 / (2 (M - 1))), and of the climatology, 2/9 or
        5/9; float64 (...) each, NaN where a value is NaN.
    """
    count = len(members)
    bad = np.isnan(members).any(axis=0) | np.isnan(observed) | np.isnan(lower) | np.isnan(upper)
    scores = np.where(bad, np.nan, 0.0), np.where(bad, np.nan, 0.0)
    cumulative = (
        ((members < lower).mean(axis=0), observed < lower, 1 / 3),
        (1 - (members > upper).mean(axis=0), observed <= upper, 2 / 3),
    )
    for share, below, usual in cumulative:
        scores[0][...] += (share - below) ** 2
        scores[1][...] += (usual - below) ** 2
        if fair and count > 1:
            scores[0][...] -= share * (1 - share) / (count - 1)
    return scores


def _bind_to_data(metric: Metric, compared: Comparison, fair: bool) -> Metric:
    bound = per_variable(metric, compared, SCORES)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    spans = {1 + last - first for first, last in metric.windows} or {1}
    terciles = {
        days: [Climatology(compared.data, name_of(which, days)) for which in (LOWER, UPPER)]
        for days in sorted(spans)
    }
    for pair in terciles.values():
        for each in pair:
            if missing := each.missing_of(compared.frames):
                return bound._replace(reason=missing)

    def statistics(
        predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, leads: np.ndarray
    ) -> np.ndarray:
        samples, steps, channels = observed.shape[:3]
        scores = np.empty((samples, channels, 2, steps))
        for n, t, group in groups(observed.shape, predicted.shape[1]):
            lead = int(leads[t])
            days = 1 + lead - first_of(lead, metric.windows) if metric.windows else 1
            frame = int(compared.frames[numbers[n], lead])
            lower, upper = (each.read(frame)[group] for each in terciles[days])
            truth = observed[n, t, group]
            area = Area(weights, truth)
            pair = rps_terciles(predicted[n, :, t, group], truth, lower, upper, fair=fair)
            for k, score in enumerate(pair):
                scores[n, group, k, t] = area.mean(area.only(score))
        return scores.reshape(samples, -1, steps)

    return bound._replace(statistics=statistics)


def rpss(*, fair: bool) -> Metric:
    """Ranked probability skill score of terciles, against the climatology.

    Terciles are those of single days. If the convention also averages over windows of lead times
    (such as weeks, `stp.metrics.weeks`), means over a window are compared to terciles of means over
    equally many days.

    Args:
        fair: whether the score is corrected for the number of members; if not, the shares of
            members are used as the probabilities.
    """
    return Metric(
        needs_data,
        finish=skill,
        leads="pool",
        on_data=partial(_bind_to_data, fair=fair),
        numbered=True,
        ensemble=True,
    )
