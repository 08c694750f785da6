"""How ratings of videos are predicted: the options ``predict`` of a recipe.

A measure of quality gives each video one or several values, from which a regression predicts the
mean rating of people.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import NonNegativeInt, PositiveInt

from stp.core.options import Options

Learnt = Literal["linear", "ridge", "nested", "polynomial", "svr_linear", "svr_rbf", "network"]
"""Regressions on principal components of the values of a measure, learnt from training videos."""
Fitted = Literal["logistic", "logistic_on_test"]
"""Regressions on the only value of a measure."""
FITTED = get_args(Fitted)
COMPONENTS = 240
"""Default number of principal components."""


@dataclass(frozen=True)
class QualityOptions(Options):
    """How the mean rating of a video is predicted from the values of a measure of quality.

    Attributes:
        regression: kind of regression. It is either a regression on principal components of the
            values, such as ``linear``; ``nested`` is linear, with a number of components that is
            selected by cross-validation in the training videos. Or, only for a measure with a
            single value, it is a logistic function fitted to the training videos (``logistic``) or
            to the test videos themselves (``logistic_on_test``).
        parts: kinds of network features that the measure uses, such as ``mse`` (keys of
            `stp.opinions.network_features.PARTS`). Empty for measures without a network, whose
            values are all used.
        components: maximum number of principal components, if the evaluation does not state it.
        seed: seed of the selection of training videos.
        threads: CPU threads.
    """

    PART = "predict"

    regression: Learnt | Fitted = "linear"
    parts: tuple[str, ...] = ()
    components: PositiveInt = COMPONENTS
    seed: NonNegativeInt = 0
    threads: PositiveInt = 1
