"""Climatology of calendar days, the reference of anomalies and skill scores."""

import numpy as np

from stp.data.zarr_read import array_attributes, read_array
from stp.data.zarr_rows import MappedRows
from stp.metrics.comparison import ComparedData
from stp.metrics.latitude import Box, coordinate


class Climatology:
    """A field for each calendar day: the mean, or the standard deviation, over many years.

    The fields are read from ``climatology.zarr`` of the prepared data.

    Args:
        data: the prepared data.
        kind: name of the array: a mean, "with_validation" (as published by PredBench),
            "without_validation" (training years), "windowed" (training years, over a window of
            days) or "published" (ChaosBench's code); or a standard deviation,
            "climatology_deviation", "windowed_deviation" or "published_deviation". Which arrays
            exist depends on the preparation of the data.

    Attributes:
        missing: reason why the data have no such climatology; empty if they have one.
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
            self._box = data if isinstance(data, Box) else None
            days = read_array(store / "day").tolist()
            self._row = {str(day): i for i, day in enumerate(days)}
            self._stamps = hours.astype("datetime64[h]")
            # Rows are of the n-th day of a year, not of dates (stp.prepare.climatology).
            self._by_number = bool(array_attributes(store / kind).get("by_number"))

    def day(self, frame: int) -> str:
        """Calendar day of a frame (month and day), such as "02-29".

        Args:
            frame: index of the frame in the prepared data, from 0.
        """
        return str(self._stamps[frame].astype("datetime64[D]"))[5:]

    def missing_of(self, frames: np.ndarray) -> str:
        """Reason why some frames have no climatology; empty if all have one.

        Args:
            frames: indices of the frames in the prepared data, from 0, int64 of any shape.
        """
        if self.missing:
            return self.missing
        days = {self._row_of(frame): self.day(frame) for frame in np.unique(frames).tolist()}
        for row, day in sorted(days.items(), key=lambda pair: pair[1]):
            # A variable may be missing everywhere, so a day exists if any variable has values.
            if row is None or all(np.isnan(v).all() for v in self._means.read(row, row + 1)[0]):
                return f"the climatology has no {day} (month-day)"
        return ""

    def _row_of(self, frame: int) -> int | None:
        """Index of the climatology's row for a frame; None without one."""
        if not self._by_number:
            return self._row.get(self.day(frame))
        stamp = self._stamps[frame]
        number = int((stamp - stamp.astype("datetime64[Y]")) // np.timedelta64(1, "D"))
        return number if number < len(self._row) else None

    def read(self, frame: int) -> np.ndarray:
        """Read the field of the climatology for the calendar day of a frame.

        Call `missing_of` first, to know that there is one.

        Args:
            frame: index of the frame in the prepared data, from 0.

        Returns:
            the mean or the standard deviation over years, according to the ``kind`` of this
            climatology, in units of the data, float32 (C, H, W). If the data are a box of the grid,
            the field is cut to the box.
        """
        row = self._row_of(frame)
        assert row is not None, "`missing_of` is called first"
        field = self._means.read(row, row + 1)[0]
        if len(field) != len(self._channels):
            field = np.asarray(field[self._channels])
        return field if self._box is None else self._box.cut(field)
