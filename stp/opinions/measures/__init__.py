"""Measures of quality: one module for each, what it says of videos.

A module has ``values(database, seen)``, where ``seen`` is what a network has seen of the videos
(`stp.opinions.network_features.Seen`; None of measures without network), and returns float64 (V,
D): a row of numbers for each video, from which opinions are predicted; or `Unavailable`, where
there are none.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unavailable:
    """A measure has no values of these videos.

    Attributes:
        reason: why.
    """

    reason: str
