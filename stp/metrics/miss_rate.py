"""How often no prediction ends near where somebody went."""

import numpy as np

from stp.metrics.displacement import distances
from stp.metrics.metric import Metric

NEAR = 2.0
"""Metres."""


def _two_metres(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    last = distances(predicted[:, :, -1:], observed[:, None, -1:])[:, :, 0]  # (n, M, N)
    there = np.isfinite(last).all(axis=1)
    missed = there & (np.where(there[:, None], last, 0).min(axis=1) > NEAR)
    return np.asarray(missed.sum(axis=1) / there.sum(axis=1))[:, None, None]


two_metres = Metric(_two_metres, ensemble=True, independent_leads=False, share=True)
"""Share of people whose every predicted path ends more than 2 m from the truth."""
