"""Bias correction: subtract the mean error in earlier years from forecasts.

The error of each lead time, variable and grid point is averaged over all starts of a split that
precedes the test.
"""

import json
from contextlib import closing
from pathlib import Path

import numpy as np

from stp.core.errors import StpError
from stp.core.json_files import json_or_none
from stp.predict.source import ForecastRequest, Source

READ_BYTES = 1 << 28  # size of the forecasts in memory while their errors are averaged


class Corrected(Source):
    """Forecasts from which the mean error of earlier years is subtracted.

    Args:
        source: forecasts to correct.
        past: forecasts of the same model for earlier starts, whose errors are averaged.
        request: the request that ``past`` answers, with the clips and data of the earlier starts.

    Raises:
        StpError: the two sources differ in variables or lead times, or observations are missing.
    """

    def __init__(self, source: Source, past: Source, request: ForecastRequest) -> None:
        self._source = source
        self.rows, self.channels, self.leads = source.rows, source.channels, source.leads
        leads = np.arange(request.lead_times) if source.leads is None else source.leads
        of_past = np.arange(request.lead_times) if past.leads is None else past.leads
        if not np.array_equal(past.channels, self.channels) or not np.array_equal(of_past, leads):
            raise StpError(
                f"the {len(past.rows)} earlier forecasts have other variables or lead times than "
                f"those that are corrected: {len(past.channels)} and {len(of_past)} instead of "
                f"{len(self.channels)} and {len(leads)}",
                remedy="remove the correction (corrected_on), or fetch the archive again",
            )
        self._index = {int(lead): i for i, lead in enumerate(leads)}
        with closing(past):
            self._error = _mean_error(past, request, leads)

    def close(self) -> None:
        """Close files and remove temporary ones (see `Source.close`)."""
        self._source.close()

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read the forecasts of one clip, less the mean error of earlier years.

        Args:
            row: index of the clip, from 0.
            leads: indices of lead times, from 0, ascending.

        Returns:
            forecasts in the dataset's units, float32 (members, lead times, C, H, W).
        """
        indices = [self._index[int(lead)] for lead in leads]
        return np.asarray(self._source.read(row, leads) - self._error[indices])


def _mean_error(past: Source, request: ForecastRequest, leads: np.ndarray) -> np.ndarray:
    """Mean of forecasts minus observations, float32 (leads, C_available, H, W); cached on disk."""
    rows = [int(row) for row in past.rows]
    names = request.clips.index["clip"]
    about = {
        "starts": [str(names.iloc[row]) for row in rows],
        "channels": past.channels.tolist(),
        "leads": leads.tolist(),
        "raw": {} if request.archive is None else request.archive.checksums(),
    }
    path, about_path = request.aside / "mean_error.npy", request.aside / "mean_error.json"
    if path.is_file() and json_or_none(about_path) == about:
        return np.asarray(np.load(path, mmap_mode="r"))
    shape = (len(past.channels), *request.data.shape[1:])
    total = np.zeros((len(leads), *shape))
    at_a_time = max(1, READ_BYTES // (4 * request.members * int(np.prod(shape))))
    for done, row in enumerate(rows, 1):
        for first in range(0, len(leads), at_a_time):
            some = leads[first : first + at_a_time]
            forecast = past.read(row, some).mean(axis=0, dtype=np.float64)
            for i, lead in enumerate(some.tolist()):
                frame = request.valid(row, lead)
                truth = request.data.frames.read(frame, frame + 1)[0][past.channels]
                total[first + i] += forecast[i] - truth
        request.report("starts of earlier years read", done, len(rows))
    error = (total / len(rows)).astype(np.float32)
    _write(path, error)
    about_path.with_suffix(".part").write_text(json.dumps(about), encoding="utf-8")
    about_path.with_suffix(".part").replace(about_path)
    return error


def _write(path: Path, values: np.ndarray) -> None:
    """Write an array atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".npy.part")
    with beside.open("wb") as file:
        np.save(file, values)
    beside.replace(path)
