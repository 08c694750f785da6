"""Probabilistic climatology: each member is the same calendar day of one training year.

Years without 29 February use 28 February instead.
"""

import numpy as np

from stp.core.errors import StpError
from stp.metrics.latitude import coordinate
from stp.predict.source import ForecastRequest, Source

OPTIONS = ()


class ProbabilisticClimatology(Source):
    """Ensemble whose members are the same calendar day of each training year.

    Args:
        request: request for forecasts; ``members`` is the number of training years.

    Raises:
        StpError: the number of training years differs, or a year lacks a day.
    """

    def __init__(self, request: ForecastRequest) -> None:
        hours = coordinate(request.data, "time")
        if hours is None:
            raise StpError(
                f"{request.data.folder}: no coordinate time",
                expected="hours since 1970-01-01 of each frame",
                remedy="prepare the data with a reader that writes them",
            )
        self._request = request
        self._days = hours.astype("datetime64[h]").astype("datetime64[D]")
        self._frame = {str(day): frame for frame, day in enumerate(self._days)}
        years = request.data.clips("train").index
        first, last = years["start"].min(), (years["start"] + years["length"] - 1).max()
        self.years = sorted({str(day)[:4] for day in self._days[first : last + 1]})
        self.rows = np.arange(len(request.clips))
        self.channels = np.arange(request.data.shape[0])
        if len(self.years) != request.members:
            raise StpError(
                f"{request.data.folder}: {len(self.years)} training years and {request.members} "
                "members",
                expected="a member for each training year",
                remedy=f"set predict: {{samples: {len(self.years)}}} of this model",
            )

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read the forecasts of one clip.

        Args:
            row: index of the clip in the split, from 0.
            leads: indices of lead times, from 0, ascending.

        Returns:
            forecasts in the dataset's units, float32 (members, lead times, C, H, W).
        """
        valid = [str(self._days[self._request.valid(row, lead)])[5:] for lead in leads.tolist()]
        frames = [[self._of(year, day) for day in valid] for year in self.years]
        fields = self._request.data.frames
        return np.stack([np.stack([fields.read(f, f + 1)[0] for f in of]) for of in frames])

    def _of(self, year: str, day: str) -> int:
        frame = self._frame.get(f"{year}-{day}")
        if frame is None and day == "02-29":
            frame = self._frame.get(f"{year}-02-28")
        if frame is None:
            raise StpError(
                f"{self._request.data.folder}: the training year {year} has no {day} (month-day)",
                remedy="prepare complete training years",
            )
        return frame


def open_source(request: ForecastRequest) -> Source:
    """Open an ensemble with a member for each training year: the same calendar day of that year."""
    return ProbabilisticClimatology(request)
