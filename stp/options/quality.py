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

    Seven regressions on principal components of the values are learnt from the training videos:

    - ``linear``: linear regression;
    - ``ridge``: ridge regression, with the penalty of the smallest leave-one-out error in training;
    - ``nested``: linear regression, with a number of components that is selected by
      cross-validation in the training videos;
    - ``polynomial``: polynomial of degree two;
    - ``svr_linear`` and ``svr_rbf``: support vector regression, linear or with a Gaussian kernel;
    - ``network``: small neural network.

    Two more are for measures with a single value:

    - ``logistic``: logistic function, fitted to the training videos;
    - ``logistic_on_test``: logistic function, fitted to the test videos themselves.

    Attributes:
        regression: kind of regression, one of the names above.
        parts: kinds of network features that the measure uses, such as ``mse`` (keys of
            `stp.opinions.network_features.PARTS`). Empty for measures without a network, whose
            values are all used.
        components: maximum number of principal components, unless the evaluation states another.
        seed: seed of the selection of training videos.
        threads: CPU threads.
    """

    PART = "predict"

    regression: Learnt | Fitted = "linear"
    parts: tuple[str, ...] = ()
    components: PositiveInt = COMPONENTS
    seed: NonNegativeInt = 0
    threads: PositiveInt = 1
