"""Options of features that networks compute from videos whose quality people rated."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, PositiveInt


@dataclass(frozen=True)
class VideoOptions:
    """The network that computes features of videos, and the number of observed frames.

    Attributes:
        network: name of the network in config/weights.yaml.
        weights: checksums that identify the file of the network's weights, in hexadecimal, by kind:
            ``sha256``, ``git_blob_sha1`` or both.
        context: number of observed frames at the beginning of each video.
        threads: number of CPU threads that the network uses.
    """

    network: str
    weights: Annotated[dict[str, str], Field(min_length=1)]
    context: PositiveInt
    threads: PositiveInt = 1
