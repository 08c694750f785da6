"""Options of predictions of opinions from a measure of videos: ``predict`` of a recipe."""

from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import NonNegativeInt, PositiveInt

from stp.core.options import Options

Learnt = Literal["linear", "ridge", "nested", "polynomial", "svr_linear", "svr_rbf", "network"]
Fitted = Literal["logistic", "logistic_on_test"]
FITTED = get_args(Fitted)
COMPONENTS = 240
"""Default number of principal components."""


@dataclass(frozen=True)
class QualityOptions(Options):
    """How opinions are predicted.

    Attributes:
        regression: how opinions are predicted from values of the measure. One of `Learnt`: a
            regression on principal components (``nested``: linear, with a number of components that
            is selected by cross-validation in the training videos). For a measure with a single
            value: a logistic function fitted to the training videos (``logistic``) or to the test
            videos themselves (``logistic_on_test``).
        parts: parts of the features of a network that the measure uses; see `stp.features.videos`.
            Empty for measures without a network, whose values are all used.
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
