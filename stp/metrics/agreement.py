"""Base of metrics that compare predicted and observed ratings of videos."""

from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np

from stp.core.errors import ConfigurationError
from stp.metrics.metric import NetworkInputs


class Agreement(NamedTuple):
    """A convention (one exact definition of a metric) that compares predicted and observed ratings.

    An example is Spearman's correlation between the ratings that a model predicts for the test
    videos and those that people gave.

    Attributes:
        value: function of observed and predicted ratings of N videos, float64 (N,) each, that
            returns the value of the convention; NaN if it is undefined.
        weighted: function that computes the values of B bootstrap resamples of the N videos at
            once: (observed, predicted, counts) to (B,), where counts (B, N) has the number of times
            that a resample contains each video.
        signless: whether ``value`` is an absolute value. ``weighted`` then still returns numbers
            with their sign, because the interval of an absolute value is computed from these
            (`stp.score.opinions.magnitude_ends`).
    """

    value: Callable[[np.ndarray, np.ndarray], float]
    weighted: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    signless: bool = False

    def with_networks(self, name: str, _: NetworkInputs) -> NoReturn:
        """Refuse to be used for forecasts of frames, because this convention compares ratings.

        Conventions for frames return the metric here (`stp.metrics.metric.Convention`).

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            f"{name} compares ratings, not frames",
            expected="conventions of frames, such as ssim.range1",
        )
