"""What a recipe of features of single videos may say."""

from dataclasses import dataclass

from stp.core.options import require, whole


@dataclass(frozen=True)
class VideoOptions:
    """Which network looks at videos.

    Attributes:
        network: name in config/weights.yaml.
        weights: checksums of its weights.
        context: observed frames of each video.
        threads: of the network.
    """

    network: str
    weights: dict[str, str]
    context: int
    threads: int = 1

    def __post_init__(self) -> None:
        for key in ("context", "threads"):
            value = getattr(self, key)
            require(whole(value, 1), f"features: {key}", value, "a whole number from 1")
        require(bool(self.weights), "features: weights", self.weights, "checksums")
