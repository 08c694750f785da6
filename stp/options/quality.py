"""How opinions are predicted from what a measure says of videos; light, since the plan reads it."""

from collections.abc import Mapping
from dataclasses import dataclass

from stp.core.options import build, require, whole

LEARNT = ("linear", "ridge", "nested", "polynomial", "svr_linear", "svr_rbf", "network")
FITTED = ("logistic", "logistic_on_test")
COMPONENTS = 240
"""Principal components, unless a measure or the setting says otherwise."""


@dataclass(frozen=True)
class QualityOptions:
    """How opinions are predicted.

    Attributes:
        regression: on principal components, one of ``LEARNT`` (``nested``: linear, with a number of
            components that is chosen within the training videos); or, of a single value that learns
            nothing from opinions, a logistic function that is fitted to the training videos
            (``logistic``) or to the test videos themselves (``logistic_on_test``).
        parts: of what a network sees that the measure is made from; see `stp.features.videos`. All
            of what a measure says where it has no network.
        components: most principal components, unless the setting says otherwise.
        seed: of shares of the training videos.
        threads: CPU threads.
    """

    regression: str = "linear"
    parts: tuple[str, ...] = ()
    components: int = COMPONENTS
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        known = (*LEARNT, *FITTED)
        ok = self.regression in known
        require(ok, "predict.regression", self.regression, " or ".join(known))
        require(whole(self.components, 1), "predict.components", self.components, "from 1")
        require(whole(self.seed, 0), "predict.seed", self.seed, "a whole number from 0")
        require(whole(self.threads, 1), "predict.threads", self.threads, "from 1")

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "QualityOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "predict")
