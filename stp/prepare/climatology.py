"""Compute climatologies: mean and standard deviation of each calendar day over many years."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import dask
import numpy as np
import zarr

from stp.core.job import Report
from stp.data.zarr_write import RowWriter, create_array, create_group

HOURS = (0, 6, 12, 18)
_RING = [str(day)[5:] for day in np.arange("2000-01-01", "2001-01-01", dtype="datetime64[D]")]
"""Calendar days of a leap year."""


class Means(NamedTuple):
    """A climatology: means of each calendar day over some years.

    Attributes:
        name: name of the array with the means.
        years: years whose frames are averaged.
        what: description, the attribute ``long_name`` of the array.
        deviation: name of a second array with the population standard deviation of the same frames;
            empty if it is not computed.
        by_number: False: a row is a calendar day such as 1 March, over all years. True: row n is
            the n-th day of each year, so row 60 (counted from 1) is 29 February in leap years and 1
            March in others; the arrays then have the attribute ``by_number``.
    """

    name: str
    years: tuple[int, ...]
    what: str
    deviation: str = ""
    by_number: bool = False


class Window(NamedTuple):
    """A further climatology, made by averaging another one over neighbouring calendar days.

    Attributes:
        name: name of the array with the means.
        of: climatology to average. Its ``deviation`` must be set, because the deviation in a window
            is computed from it. Its ``by_number`` must be False, because windows are made of
            calendar days.
        days: length of the window in days, odd. All frames have equal weight, so 29 February has a
            quarter of the weight of other days.
        deviation: name of a second array with the standard deviation of the frames in the window.
    """

    name: str
    of: Means
    days: int
    deviation: str


def write_climatology(
    out: Path,
    frames: zarr.Array[Any],
    hours: np.ndarray,
    climatologies: Sequence[Means],
    attrs: dict[str, Any],
    report: Report,
    workers: int = 1,
    windows: Sequence[Window] = (),
) -> zarr.Group:
    """Write the means of each calendar day over the frames at 00, 06, 12 and 18 UTC of some years.

    Other hours are left out, so that years stored every 3 hours have the same weight as years
    stored every 6 hours. The mean of 29 February is over leap years. Each worker reads the frames
    of a day year by year, so memory does not grow with the number of years.

    Args:
        out: path of the store, such as ``.../climatology.zarr``.
        frames: frames to average, (T, C, H, W).
        hours: time of each frame, hours since 1970-01-01 UTC.
        climatologies: climatologies to write. A day without frames is NaN.
        attrs: attributes of the group.
        report: progress callback.
        workers: number of days that are averaged at the same time.
        windows: further climatologies to write. Each is made by averaging an element of
            ``climatologies``, its ``Window.of``, over neighbouring days. The first day of the year
            follows the last.

    Returns:
        the group, open for coordinates. Its arrays are float32 (days, C, H, W); the coordinate
        "day" has the calendar days that occur ("01-01", ...), 366 in complete years.
    """
    stamps = hours.astype("datetime64[h]")
    days = stamps.astype("datetime64[D]")
    years = stamps.astype("datetime64[Y]").astype(np.int64) + 1970
    number_of = (days - stamps.astype("datetime64[Y]").astype(days.dtype)).astype(np.int64)
    used = np.isin(hours % 24, HOURS) & np.isin(years, [y for m in climatologies for y in m.years])
    # "2016-02-29" -> "02-29"
    names = np.array([str(day)[5:] for day in days])
    calendar = sorted(set(names[used].tolist()))
    group = create_group(out, {**attrs, "years": {m.name: list(m.years) for m in climatologies}})
    shape = frames.shape[1:]
    dims = ("day", "channel", "y", "x")

    def writer(name: str, definition: str) -> RowWriter:
        array = create_array(group, name, (len(calendar), *shape), np.float32, dims, (1, *shape))
        array.attrs["long_name"] = definition
        return RowWriter(array)

    writers = [writer(means.name, means.what) for means in climatologies]
    spreads = [
        writer(means.deviation, f"standard deviation of the same: {means.what}")
        if means.deviation
        else None
        for means in climatologies
    ]
    # Number of frames of each row, for windows.
    behind = np.zeros((len(climatologies), len(calendar)), np.int64)

    def average(number: int, means: Sequence[int], rows: np.ndarray) -> None:
        """Average the same frames for the climatologies of these numbers."""
        sums = [np.zeros(shape) for _ in means]
        squares = [np.zeros(shape) if climatologies[m].deviation else None for m in means]
        counts = [0 for _ in means]
        cuts = np.flatnonzero(np.diff(years[rows])) + 1
        for block in np.split(rows, cuts) if len(rows) else ():
            first = int(block[0])
            read = np.asarray(frames[first : int(block[-1]) + 1])
            used_here = read[block - first].astype(np.float64)
            total = used_here.sum(axis=0)
            for i, m in enumerate(means):
                if years[first] in climatologies[m].years:
                    sums[i] += total
                    counts[i] += len(block)
                    if (squared := squares[i]) is not None:
                        squared += np.square(used_here).sum(axis=0)
        for i, m in enumerate(means):
            n, squared, spread = counts[i], squares[i], spreads[m]
            behind[m, number] = n
            mean = sums[i] / n if n else np.full(shape, np.nan)
            writers[m].write(number, mean.astype(np.float32)[None])
            if squared is not None and spread is not None:
                # Rounding may make it negative.
                variance = np.maximum(squared / n - mean**2, 0) if n else mean
                spread.write(number, np.sqrt(variance).astype(np.float32)[None])

    by_date, by_number = (
        [i for i, m in enumerate(climatologies) if m.by_number is k] for k in (False, True)
    )

    def of_day(number: int) -> None:
        average(number, by_date, np.flatnonzero(used & (names == calendar[number])))
        if by_number:
            average(number, by_number, np.flatnonzero(used & (number_of == number)))

    # Days are independent, so their order does not matter.
    for first in range(0, len(calendar), 2 * workers):
        numbers = range(first, min(first + 2 * workers, len(calendar)))
        tasks = [dask.delayed(of_day)(number) for number in numbers]
        dask.compute(*tasks, scheduler="threads", num_workers=workers)
        report("days of the climatology", numbers.stop, len(calendar))
    for finished in filter(None, [*writers, *spreads]):
        finished.close()
    for i in by_number:
        for name in filter(None, (climatologies[i].name, climatologies[i].deviation)):
            group[name].attrs["by_number"] = True
    for window in windows:
        definition = f"{window.of.what}, over {window.days} days around each"
        deviation = writer(window.deviation, f"standard deviation: {definition}")
        both = writer(window.name, definition), deviation
        counts = behind[climatologies.index(window.of)]
        _smooth(group, window, calendar, counts, both, report)
    array = group.create_array(
        "day",
        shape=(len(calendar),),
        dtype="str",
        chunks=(len(calendar),),
        dimension_names=("day",),
    )
    array[:] = np.array(calendar, dtype=object)
    array.attrs["long_name"] = "month and day"
    return group


def _smooth(
    group: zarr.Group,
    window: Window,
    calendar: Sequence[str],
    counts: np.ndarray,
    writers: tuple[RowWriter, RowWriter],
    report: Report,
) -> None:
    """Average the finished rows of a climatology over the days around each.

    Sums over a window are running sums over days. The sums of a day follow from its climatology: n
    times the mean, and n times the sum of variance and squared mean. Each row is read twice. NaN
    values of a day are ignored.
    """
    means, deviations = (group[name] for name in (window.of.name, window.of.deviation))
    assert isinstance(means, zarr.Array) and isinstance(deviations, zarr.Array)
    row_of = {day: row for row, day in enumerate(calendar) if counts[row]}
    half = window.days // 2
    sums, squares = np.zeros(means.shape[1:]), np.zeros(means.shape[1:])
    totals = np.zeros(means.shape[1:], np.int64)

    def move(day: int, sign: int) -> None:
        """Add a day of the ring to the window (sign 1), or remove it (-1)."""
        row = row_of.get(_RING[day % len(_RING)])
        if row is not None:
            n = sign * int(counts[row])
            mean = np.asarray(means[row], np.float64)
            spread = np.asarray(deviations[row], np.float64)
            is_finite = np.isfinite(mean)
            np.add(totals, n, out=totals, where=is_finite)
            np.add(sums, n * mean, out=sums, where=is_finite)
            np.add(squares, n * (spread**2 + mean**2), out=squares, where=is_finite)

    def mean_of(numbers: np.ndarray) -> np.ndarray:
        """Means over the frames of the window; NaN without frames."""
        return np.divide(numbers, totals, out=np.full_like(numbers, np.nan), where=totals > 0)

    for day in range(-half, half):
        move(day, 1)
    for middle, name in enumerate(_RING):
        move(middle + half, 1)
        if name in calendar:
            mean = mean_of(sums)
            variance = np.maximum(mean_of(squares) - mean**2, 0)
            for writer, values in zip(writers, (mean, np.sqrt(variance)), strict=True):
                writer.write(calendar.index(name), values.astype(np.float32)[None])
        move(middle - half, -1)
        report("days of the window", middle + 1, len(_RING))
    for writer in writers:
        writer.close()
