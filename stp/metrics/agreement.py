"""Base of metrics that compare predicted and observed ratings of videos."""

from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np

from stp.core.errors import ConfigurationError
from stp.metrics.metric import NetworkInputs


class Agreement(NamedTuple):
    """A convention (one exact definition of a metric) that compares predicted and observed ratings.

    The ratings are those of the test videos of one split.

    Attributes:
        value: function of observed and predicted ratings of N videos, float64 (N,) each, that
            returns the value of the convention; NaN if it is undefined.
        weighted: the same function for B resamples: (observed, predicted, counts) to B values,
            where counts (B, N) has the number of times that a resample contains each video.
        signless: whether ``value`` is an absolute value, while ``weighted`` returns the number with
            its sign, which intervals need (`stp.score.opinions.magnitude_ends`).
    """

    value: Callable[[np.ndarray, np.ndarray], float]
    weighted: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    signless: bool = False

    def loaded(self, name: str, _: NetworkInputs) -> NoReturn:
        """Refuse to score frames: the convention scores ratings only.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            f"{name} compares ratings, not frames",
            expected="conventions of frames, such as ssim.range1",
        )
