"""How opinions are predicted from what a measure says of videos; light, since the plan reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import NonNegativeInt, PositiveInt

from stp.core.options import build

Learnt = Literal["linear", "ridge", "nested", "polynomial", "svr_linear", "svr_rbf", "network"]
Fitted = Literal["logistic", "logistic_on_test"]
FITTED = get_args(Fitted)
COMPONENTS = 240
"""Principal components, unless a measure or the setting says otherwise."""


@dataclass(frozen=True)
class QualityOptions:
    """How opinions are predicted.

    Attributes:
        regression: on principal components, one of `Learnt` (``nested``: linear, with a number of
            components that is chosen within the training videos); or, of a single value that learns
            nothing from opinions, a logistic function that is fitted to the training videos
            (``logistic``) or to the test videos themselves (``logistic_on_test``).
        parts: of what a network sees that the measure is made from; see `stp.features.videos`. All
            of what a measure says where it has no network.
        components: most principal components, unless the setting says otherwise.
        seed: of shares of the training videos.
        threads: CPU threads.
    """

    regression: Learnt | Fitted = "linear"
    parts: tuple[str, ...] = ()
    components: PositiveInt = COMPONENTS
    seed: NonNegativeInt = 0
    threads: PositiveInt = 1

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "QualityOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "predict")
