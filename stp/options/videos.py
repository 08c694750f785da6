"""Recipes of network features of single videos."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, PositiveInt


@dataclass(frozen=True)
class VideoOptions:
    """Network of the features of videos.

    Attributes:
        network: name in config/weights.yaml.
        weights: checksums of its weights.
        context: number of observed frames of each video.
        threads: number of threads of the network.
    """

    network: str
    weights: Annotated[dict[str, str], Field(min_length=1)]
    context: PositiveInt
    threads: PositiveInt = 1
