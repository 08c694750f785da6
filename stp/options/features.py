"""What a recipe of features may say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stp.core.options import build, require, whole

MEMBERS = ("first", "mean")
"""Which of several forecasts of a clip is looked at: the first, or the mean of their frames."""


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
        member: of several forecasts of a clip, one of ``MEMBERS``.
        threads: of the network.
    """

    network: str
    module: str
    layer: str
    frames: str
    split: str
    lead_times: int
    weights: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    interval: int = 1
    member: str = "first"
    threads: int = 1

    def __post_init__(self) -> None:
        for key in ("lead_times", "interval", "threads"):
            value = getattr(self, key)
            require(whole(value, 1), f"features: {key}", value, "a whole number from 1")
        known = bool(self.weights) != (self.seed is not None)
        require(known, "features: weights", self.weights, "checksums, or a seed, not both")
        ok = self.member in MEMBERS
        require(ok, "features: member", self.member, " or ".join(MEMBERS))

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, Any]) -> "FeatureOptions":
        """Read a recipe.

        Raises:
            StpError: an unknown key, a missing key or a value out of range.
        """
        return build(cls, recipe, "recipe of features")
