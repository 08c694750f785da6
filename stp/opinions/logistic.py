"""Map values of a measure to opinion scores by a logistic function of four parameters.

    q(x) = b2 + (b1 - b2) / (1 + exp(-(x - b3) / |b4|))

as in Seshadrinathan et al. (2010), whom Somraj et al. (2022) follow. The values of measures that
are not trained on opinions thus become points, whose error can be computed.
"""

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit


def fit(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Fit the logistic function of the module to opinion scores, by least squares.

    The search starts from b1 and b2 at the extremes of the opinions, and b3 and b4 at mean and
    standard deviation of the values. If opinions fall with the values, the extremes are exchanged.

    Args:
        values: values of the measure, (N,).
        observed: opinion scores, (N,).

    Returns:
        the four parameters b1, b2, b3 and b4 of the formula in the module, (4,). If all values are
        equal, the function is the mean opinion everywhere.
    """
    centre, scale = values.mean(), values.std()
    if not scale > 0:
        return np.array([observed.mean(), observed.mean(), centre, 1.0])
    x = (values - centre) / scale
    ends = [observed.max(), observed.min()]
    falls = np.corrcoef(x, observed)[0, 1] < 0
    start = [*(ends[::-1] if falls else ends), 0.0, 1.0]
    parameters = least_squares(lambda b: _logistic(b, x) - observed, start, method="lm").x
    return np.array(
        [parameters[0], parameters[1], centre + scale * parameters[2], scale * parameters[3]]
    )


def apply(parameters: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Map values of a measure to opinion scores by a fitted logistic function.

    Args:
        parameters: b1, b2, b3 and b4, as returned by `fit`.
        values: values of the measure, (N,).

    Returns:
        opinion scores, (N,).
    """
    return _logistic(parameters, values)


def _logistic(b: np.ndarray, x: np.ndarray) -> np.ndarray:
    width = max(abs(b[3]), 1e-12)  # |b4| may pass zero on the way
    return np.asarray(b[1] + (b[0] - b[1]) * expit((x - b[2]) / width))
