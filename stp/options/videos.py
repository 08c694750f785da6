"""What a recipe of features of single videos may say."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, PositiveInt


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
    weights: Annotated[dict[str, str], Field(min_length=1)]
    context: PositiveInt
    threads: PositiveInt = 1
