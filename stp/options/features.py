"""What a recipe of features may say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import PositiveInt

from stp.core.options import build, require


@dataclass(frozen=True)
class FeatureOptions:
    """Which clips a network looks at, and how.

    Attributes:
        network: name in config/weights.yaml.
        module: of stp.features.networks.
        layer: of the network.
        frames: of the clips, a choice of stp.features.frames.
        weights: checksums of the network's weights; none where they are random.
        seed: of random weights; None where they come from a file.
        split: split or subset of the data.
        lead_times: frames behind the context.
        interval: every which frame of the clips counts.
        member: of several forecasts of a clip, which is looked at: the first, or the mean of their
            frames.
        threads: of the network.
    """

    network: str
    module: str
    layer: str
    frames: str
    split: str
    lead_times: PositiveInt
    weights: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    interval: PositiveInt = 1
    member: Literal["first", "mean"] = "first"
    threads: PositiveInt = 1

    def __post_init__(self) -> None:
        known = bool(self.weights) != (self.seed is not None)
        require(known, "features: weights", self.weights, "checksums, or a seed, not both")

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, Any]) -> "FeatureOptions":
        """Read a recipe.

        Raises:
            StpError: an unknown key, a missing key or a value out of range.
        """
        return build(cls, recipe, "recipe of features")
