"""Compute steps, gaps and phases of the times of frames, in any calendar that xarray supports.

A phase says where in a cycle (a year, or a day) a frame is. A climatology has a mean for each
phase.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cftime
import numpy as np
import xarray as xr

from stp.core.errors import RawFileError, StpError
from stp.core.options import require

DAY = 86400
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
LEAVE_OUT = "fix the file, or leave it out of the raw files"
UNITS = ((DAY, "d"), (3600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True)
class Clock:
    """Times of the frames of a field.

    Attributes:
        names: time of each frame as an ISO date, such as "2020-01-31T06:00:00".
        seconds: seconds of each frame since 1970-01-01, int64 (frames,).
        months: months of each frame since January of the year 0, int64 (frames,).
        calendar: name of the calendar in the CF conventions, such as "noleap".
    """

    names: list[str]
    seconds: np.ndarray
    months: np.ndarray
    calendar: str

    @classmethod
    def concatenate(cls, clocks: Sequence["Clock"]) -> "Clock":
        """Concatenate the times of the frames of several files.

        Raises:
            StpError: the calendars of the files differ.
        """
        calendars = {clock.calendar for clock in clocks}
        if len(calendars) > 1:
            raise StpError(
                f"files with different calendars: {', '.join(sorted(calendars))}",
                remedy="declare a dataset for each",
            )
        return cls(
            [name for clock in clocks for name in clock.names],
            np.concatenate([clock.seconds for clock in clocks]),
            np.concatenate([clock.months for clock in clocks]),
            clocks[0].calendar,
        )

    @property
    def is_monthly(self) -> bool:
        """Whether steps are whole months: at least 28 days, with no month twice."""
        long = np.diff(self.seconds) >= 28 * DAY
        return len(long) > 0 and bool((long & (np.diff(self.months) > 0)).all())

    @property
    def step(self) -> int:
        """Smallest step between frames: months for monthly times, else seconds; 0 for one frame."""
        values = self.months if self.is_monthly else self.seconds
        return int(np.diff(values).min()) if len(values) > 1 else 0

    @property
    def step_name(self) -> str | None:
        """The step as text, such as "6h" or "1mon"; None for a single time."""
        if not self.step:
            return None
        if self.is_monthly:
            return f"{self.step}mon"
        size, unit = next((s, u) for s, u in UNITS if self.step % s == 0)
        return f"{self.step // size}{unit}"

    def gaps(self, where: str, gaps: str) -> list[int]:
        """List the indices of the frames before which times are missing.

        Args:
            where: names of the files, for errors.
            gaps: "error" to refuse missing times, or "cut" to allow them.

        Raises:
            StpError: times go backwards or repeat, or have gaps that are not allowed.
        """
        forward = np.diff(self.seconds)
        if (forward <= 0).any():
            at = int(np.flatnonzero(forward <= 0)[0])
            raise StpError(
                f"{where}: {self.names[at]} is followed by {self.names[at + 1]}",
                remedy="fix the files, or remove those that overlap",
            )
        steps = np.diff(self.months) if self.is_monthly else forward
        cuts = (np.flatnonzero(steps != self.step) + 1).tolist()
        if cuts and gaps == "error":
            at = cuts[0]
            raise StpError(
                f"{where}: a gap in time, {self.names[at - 1]} is followed by {self.names[at]}",
                expected=f"steps of {self.step_name}",
                remedy="add the missing times, or set gaps to cut: no clip reaches across",
            )
        return cuts

    def phases(self, cycle: str | None, frame_step: int) -> int:
        """Count the phases of a cycle: how often the step between frames of a window fits into it.

        For example, 12 for monthly frames in a year, and 4 for frames every 6 hours in a day.

        Args:
            cycle: "year" for a year of monthly times, "day" for a day, "day_of_year" for a year in
                steps that divide a day; None for no cycle.
            frame_step: number of stored frames from one frame of a window to the next.

        Returns:
            number of phases; 1 without a cycle.

        Raises:
            StpError: the step does not divide the cycle.
        """
        if cycle is None:
            return 1
        whole = {"year": 12, "day": DAY, "day_of_year": DAY}[cycle]
        step = self.step * frame_step
        ok = step > 0 and self.is_monthly == (cycle == "year") and whole % step == 0
        fits = "months that divide a year" if cycle == "year" else "hours that divide a day"
        require(ok, f"cycle with steps of {self.step_name} x {frame_step}", cycle, fits)
        return whole // step * (self.days_of_a_year if cycle == "day_of_year" else 1)

    def phase(self, frame: int, cycle: str | None, frame_step: int) -> int:
        """Find the phase of a frame: the number of its step in the cycle, from 0.

        In a cycle of a year, 29 February has the phase of 28 February.

        Args:
            frame: index of the frame.
            cycle: the cycle. "year": monthly times, in which the phase is the month; "day": the
                phase is the time of day; "day_of_year": the phase is the day of the year and the
                time of day. It must not be None, since data without a cycle have no phases; this is
                not checked.
            frame_step: number of stored frames from one frame of a window to the next.

        Returns:
            number from 0, below `phases`. With frames every 6 hours, 06 UTC on 2 January is 1 in
            "day", and 5 in "day_of_year".
        """
        step = self.step * frame_step
        if cycle == "year":
            return int(self.months[frame] % 12 // step)
        seconds = int(self.seconds[frame] % DAY)
        if cycle == "day_of_year":
            month, day = int(self.names[frame][5:7]), int(self.names[frame][8:10])
            if self.days_of_a_year == 360:
                seconds += (30 * (month - 1) + day - 1) * DAY
            else:
                seconds += (sum(DAYS[: month - 1]) + min(day, DAYS[month - 1]) - 1) * DAY
        return seconds // step

    @property
    def days_of_a_year(self) -> int:
        """Number of days in a year of the calendar, without leap days."""
        return 360 if self.calendar == "360_day" else sum(DAYS)


def read_times(time: xr.DataArray, path: Path) -> Clock:
    """Read the times of the frames of a file.

    Args:
        time: coordinate of the times, decoded by xarray.
        path: path of the file, for errors.

    Raises:
        StpError: the times are not dates.
    """
    values: Any = time.values
    calendar = str(time.encoding.get("calendar", "proleptic_gregorian"))
    if len(values) == 0:
        raise RawFileError(path, "holds no times", remedy=LEAVE_OUT)
    if values.dtype.kind == "M":
        # Fractions of days and hours are a little before or after the second that is meant.
        exact = (values + np.timedelta64(500, "ms")).astype("datetime64[s]")
        if np.isnat(exact).any():
            expected = "a date for each frame"
            raise RawFileError(path, "a time is missing", expected=expected, remedy=LEAVE_OUT)
        months = exact.astype("datetime64[M]").astype(np.int64) + 1970 * 12
        return Clock(
            [str(value) for value in exact],
            exact.astype(np.int64),
            months,
            "proleptic_gregorian" if calendar == "gregorian" else calendar,
        )
    if isinstance(values[0], cftime.datetime):
        calendar = values[0].calendar
        seconds = cftime.date2num(values, "seconds since 1970-01-01", calendar)
        return Clock(
            [value.isoformat() for value in values],
            np.rint(seconds).astype(np.int64),
            np.array([value.year * 12 + value.month - 1 for value in values], np.int64),
            calendar,
        )
    raise RawFileError(
        path,
        f"times are {values.dtype}, not dates",
        expected='an attribute such as units = "hours since 1900-01-01"',
        remedy="add it to the time coordinate",
    )
