"""Miss rate: share of people for whom no predicted path ends near the true end."""

from functools import partial

import numpy as np

from stp.metrics.displacement import distances
from stp.metrics.metric import Metric


def _miss_rates(predicted: np.ndarray, observed: np.ndarray, near: float) -> np.ndarray:
    last = distances(predicted[:, :, -1:], observed[:, None, -1:])[:, :, 0]  # (n, M, N)
    present = np.isfinite(last).all(axis=1)
    missed = present & (np.where(present[:, None], last, 0).min(axis=1) > near)
    return np.asarray(missed.sum(axis=1) / present.sum(axis=1))[:, None, None]


def miss_rate(*, near: float) -> Metric:
    """Share of people whose predicted paths all end farther than ``near`` from the true end.

    Args:
        near: largest distance between predicted and true end that is not a miss, metres.
    """
    statistics = partial(_miss_rates, near=near)
    return Metric(statistics, ensemble=True, independent_leads=False, share=True)
