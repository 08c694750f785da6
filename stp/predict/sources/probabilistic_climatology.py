"""Probabilistic climatology: the members are the same calendar day of the training years.

Years without 29 February use 28 February instead.
"""

import numpy as np

from stp.core.errors import StpError
from stp.metrics.latitude import coordinate
from stp.predict.source import Given, Source

OPTIONS = ()


class ProbabilisticClimatology(Source):
    """The same calendar day of each training year, as a member.

    Args:
        given: request for forecasts; ``members`` is the number of training years.

    Raises:
        StpError: the number of training years differs, or a year lacks a day.
    """

    def __init__(self, given: Given) -> None:
        hours = coordinate(given.data, "time")
        if hours is None:
            raise StpError(
                f"{given.data.folder}: no coordinate time",
                expected="hours since 1970-01-01 of each frame",
                remedy="prepare the data with a reader that writes them",
            )
        self._given = given
        self._days = hours.astype("datetime64[h]").astype("datetime64[D]")
        self._frame = {str(day): frame for frame, day in enumerate(self._days)}
        years = given.data.clips("train").index
        first, last = years["start"].min(), (years["start"] + years["length"] - 1).max()
        self.years = sorted({str(day)[:4] for day in self._days[first : last + 1]})
        self.rows = np.arange(len(given.clips))
        self.channels = np.arange(given.data.shape[0])
        if len(self.years) != given.members:
            raise StpError(
                f"{given.data.folder}: {len(self.years)} training years and {given.members} "
                "members",
                expected="a member for each training year",
                remedy=f"set predict: {{samples: {len(self.years)}}} of this model",
            )

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """See `Source.read`."""
        valid = [str(self._days[self._given.valid(row, lead)])[5:] for lead in leads.tolist()]
        frames = [[self._of(year, day) for day in valid] for year in self.years]
        fields = self._given.data.frames
        return np.stack([np.stack([fields.read(f, f + 1)[0] for f in of]) for of in frames])

    def _of(self, year: str, day: str) -> int:
        frame = self._frame.get(f"{year}-{day}")
        if frame is None and day == "02-29":
            frame = self._frame.get(f"{year}-02-28")
        if frame is None:
            raise StpError(
                f"{self._given.data.folder}: the training year {year} has no {day} (month-day)",
                remedy="prepare complete training years",
            )
        return frame


def open_source(given: Given) -> Source:
    """Open the training years."""
    return ProbabilisticClimatology(given)
