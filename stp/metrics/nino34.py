"""Forecast skill for the Nino3.4 index (PredBench, appendix B, equations 8 and 9).

The index is the mean of sea surface temperature over 5S-5N, 170W-120W, without latitude weights,
smoothed over 3 months. The smoothing uses predicted months only, so T lead times give T - 2 values;
the value of months t, t + 1, t + 2 belongs to lead time t + 2. The grid is that of ICAR-ENSO: 24
latitudes 55S-60N and 48 longitudes 95E-330E, in steps of 5 degrees.
"""

import numpy as np

from stp.core.errors import StpError
from stp.metrics.metric import Metric, first_component

GRID = (1, 24, 48)
ROWS = slice(10, 13)
COLUMNS = slice(19, 30)
MONTHS = 3


def index(sst: np.ndarray) -> np.ndarray:
    """Compute the smoothed Nino3.4 index of each sample.

    It is the mean of sea surface temperature over 5S-5N, 170W-120W and over 3 successive months.

    Args:
        sst: sea surface temperature of T months, (N, T, 1, 24, 48).

    Returns:
        the index, in the units of ``sst``, float64 (N, T - 2).

    Raises:
        StpError: the grid differs, or there are fewer than 3 lead times.
    """
    if sst.shape[2:] != GRID or sst.shape[1] < MONTHS:
        raise StpError(
            f"Nino3.4 index of frames of shape {sst.shape[2:]} at {sst.shape[1]} lead times",
            expected=f"shape {GRID} (the grid of ICAR-ENSO), at least {MONTHS} lead times",
            remedy="take the nino34 conventions out of the evaluation of this dataset",
        )
    monthly = sst[:, :, 0, ROWS, COLUMNS].mean(axis=(2, 3), dtype=np.float64)
    return np.asarray(
        np.lib.stride_tricks.sliding_window_view(monthly, MONTHS, axis=1).mean(axis=-1)
    )


def weights(leads: int) -> np.ndarray:
    """Compute the weights a_k ln(k) of the weighted correlation, for k = 1..leads.

    k counts the values of the smoothed index, so the first value has weight ln(1) = 0. a_k is 1.5
    for the first 4 values, 2 for the next 7, 3 for the next 7, then 4. This is the scoring rule of
    the competition for which ICAR-ENSO was made, as in the code of Earthformer and PredBench.

    Args:
        leads: number of values of the smoothed index.

    Returns:
        weights, float64 (leads,).
    """
    steps = np.array([1.5] * 4 + [2.0] * 7 + [3.0] * 7 + [4.0] * max(0, leads - 18))[:leads]
    return steps * np.log(np.arange(1, leads + 1))


def _moments(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    p, o = index(predicted), index(observed)
    return np.stack([p, o, p * p, o * o, p * o], axis=1)


def _correlation(means: np.ndarray) -> np.ndarray:
    """Pearson correlation over samples, from the means of p, o, p^2, o^2 and p o.

    Shapes: (..., 5, T) to (..., T). NaN where p or o is constant.

    The published code adds 1e-6 to the denominator, which is computed from sums over N samples
    (1e-6 / N for means). This is left out: it changes the value by less than 1e-6 / (N s_p s_o),
    and would turn the undefined correlation of constant values into 0.
    """
    p, o, pp, oo, po = np.moveaxis(means, -2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        vary_p, vary_o = pp - p * p, oo - o * o
        # After the subtraction, only rounding errors of a constant are left.
        varies = (vary_p > 1e-12 * pp) & (vary_o > 1e-12 * oo)
        return np.where(varies, (po - p * o) / np.sqrt(vary_p * vary_o), np.nan)


def _weighted_correlation(means: np.ndarray) -> np.ndarray:
    return np.asarray(weights(means.shape[-1]) * _correlation(means))


def _squared_error(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return np.asarray(np.square(index(predicted) - index(observed))[:, None])


def _root(means: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(first_component(means)))


_MOMENTS = ("p", "o", "pp", "oo", "po")
_CONSTANT = "the predicted or the observed index does not vary"


def correlation(*, weighted: bool = False) -> Metric:
    """Correlation of the smoothed Nino3.4 index over samples (C-Nino3.4-M or C-Nino3.4-WM).

    Let r_k be the correlation, over samples, of the k-th of the n predicted and observed values of
    the smoothed index (`index`).

    Args:
        weighted: whether correlations are weighted. False, for C-Nino3.4-M: the value of a lead
            time is r_k, and the value of all lead times is (r_1 + ... + r_n) / n. True, for
            C-Nino3.4-WM: r_k is replaced by a_k ln(k) r_k (see `weights`), so that a perfect
            forecast with n = 12 has the value 3.41.
    """
    return Metric(
        _moments,
        finish=_weighted_correlation if weighted else _correlation,
        components=_MOMENTS,
        no_value=_CONSTANT,
        independent_leads=False,  # means of three months
    )


def rmse() -> Metric:
    """RMSE of the smoothed Nino3.4 index over samples, averaged over lead times.

    The unit is that of the dataset's sea surface temperature. For the index, see `index`.
    """
    return Metric(_squared_error, finish=_root, independent_leads=False)
