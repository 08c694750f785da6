"""Options of features (vectors of numbers) that networks compute from clips."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import PositiveInt

from stp.core.options import Options, require


@dataclass(frozen=True)
class FeatureOptions(Options):
    """The network and layer that compute features of clips, and the frames that they get.

    Attributes:
        network: name of the network in config/weights.yaml.
        module: name of the module in stp.features.networks that computes the features.
        layer: name of the layer of the network.
        frames: which frames of the clips are used, a choice of stp.features.frames.
        weights: checksums of the network's weights; empty if they are random.
        seed: seed of random weights; None if they come from a file.
        split: split or subset of the data.
        lead_times: number of frames after the context.
        interval: spacing of the frames of a clip, in frames of the data.
        member: which of several forecasts of a clip is used: the first, or the mean of all.
        threads: number of threads of the network.
    """

    PART = "recipe of features"

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
        is_one = bool(self.weights) != (self.seed is not None)
        require(is_one, "features: weights", self.weights, "checksums, or a seed, not both")
