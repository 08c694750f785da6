"""The climatology of the calendar day, which anomalies and skill are measured against."""

import numpy as np
import zarr

from stp.data.zarr_rows import MappedRows
from stp.metrics.comparison import ComparedData
from stp.metrics.latitude import coordinate


class Climatology:
    """The mean of each calendar day, or its deviation, in ``climatology.zarr`` of prepared data.

    Args:
        data: the prepared data.
        kind: name of the array: "with_validation" (as PredBench publishes), "without_validation"
            (training years), or the standard deviation of these, "climatology_deviation".

    Attributes:
        missing: why there is no such climatology; empty if there is one.
    """

    def __init__(self, data: ComparedData, kind: str) -> None:
        store = data.folder / "climatology.zarr"
        hours = coordinate(data, "time")
        self.missing = ""
        if not (store / kind / "zarr.json").exists():
            self.missing = f"the prepared data have no daily climatology {kind}"
        elif hours is None:
            self.missing = "the prepared data have no coordinate time (hours since 1970)"
        else:
            self._means = MappedRows(store / kind)
            self._channels = data.channels
            found = zarr.open_array(str(store / "day"), mode="r", zarr_format=3)[:]
            self._row = {str(day): i for i, day in enumerate(np.asarray(found).tolist())}
            self._stamps = hours.astype("datetime64[h]")

    def day(self, frame: int) -> str:
        """Calendar day of a frame of the prepared data: "02-29"."""
        return str(self._stamps[frame].astype("datetime64[D]"))[5:]

    def missing_of(self, frames: np.ndarray) -> str:
        """Why there is no mean for some of these frames; empty if there is one for all."""
        if self.missing:
            return self.missing
        for day in sorted({self.day(frame) for frame in np.unique(frames).tolist()}):
            row = self._row.get(day)
            # A variable may be nowhere, and most are everywhere: the first one tells.
            if row is None or all(np.isnan(v).all() for v in self._means.read(row, row + 1)[0]):
                return f"the climatology has no {day} (month-day)"
        return ""

    def read(self, frame: int) -> np.ndarray:
        """The mean of the day of a frame, float32 (C, H, W)."""
        row = self._row[self.day(frame)]
        whole = self._means.read(row, row + 1)[0]
        return whole if len(whole) == len(self._channels) else np.asarray(whole[self._channels])
