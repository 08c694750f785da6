"""Measures of quality, which predict people's opinions of videos, one module each.

A module has a function ``values(database, features)``. ``features`` are
`stp.opinions.network_features.NetworkFeatures`, or None for measures without a network. The
function returns float64 (V, D), D numbers for each of V videos, from which opinions are predicted;
or `Unavailable`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unavailable:
    """The result of a measure that has no values for some videos.

    Attributes:
        reason: reason for the missing values, as text for tables.
    """

    reason: str
