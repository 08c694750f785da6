"""Climatology as a forecast: the mean of the calendar day over other years."""

import numpy as np

from stp.core.errors import StpError
from stp.metrics.climatology import Climatology
from stp.predict.source import ForecastRequest, Source

OPTIONS = ("kind",)


class DailyClimatology(Source):
    """Forecasts equal to the mean of the calendar day of their valid time.

    Args:
        request: request for forecasts.
        kind: climatology of the prepared data: "without_validation", the mean over the training
            years, or another array of means in ``climatology.zarr``.

    Raises:
        StpError: the climatology is missing or lacks days.
    """

    def __init__(self, request: ForecastRequest, kind: str) -> None:
        self._request, self._means = request, Climatology(request.data, kind)
        self.rows = np.arange(len(request.clips))
        self.channels = np.arange(request.data.shape[0])
        leads = range(request.lead_times)
        valid = [request.valid(row, lead) for row in range(len(self.rows)) for lead in leads]
        if missing := self._means.missing_of(np.unique(valid)):
            raise StpError(
                f"{request.data.folder}: {missing}",
                expected=f"climatology.zarr with {kind} and every day of the year",
                remedy="prepare the data with complete years of training, and with the options of "
                "the reader that make this climatology",
            )

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read the forecasts of one clip in the dataset's units, (members, lead times, C, H, W)."""
        valid = (self._request.valid(row, lead) for lead in leads.tolist())
        return np.stack([self._means.read(frame) for frame in valid])[None]


def open_source(request: ForecastRequest, kind: str = "without_validation") -> Source:
    """Open a climatology of the prepared data, which serves as forecast (`DailyClimatology`).

    Args:
        request: request for forecasts.
        kind: name of the climatology; the default is the mean over the training years only.
    """
    return DailyClimatology(request, kind)
