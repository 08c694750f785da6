"""What each calendar day is like over many years: its mean, as anomalies are measured against it,
and how far single years lie from that."""

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
"""All calendar days, those of leap years among them."""


class Means(NamedTuple):
    """One climatology.

    Attributes:
        name: of its array.
        years: whose frames are averaged.
        what: for readers of the store.
        deviation: name of a second array with the standard deviation over the same frames (their
            number is the divisor); none unless given.
        by_number: a row is not of a date, but of the n-th day of each year, from 1 January; the
            attribute `by_number` of the array says so. The 60th is that of 29 February in leap
            years and of 1 March in others.
    """

    name: str
    years: tuple[int, ...]
    what: str
    deviation: str = ""
    by_number: bool = False


class Window(NamedTuple):
    """A climatology that is averaged over neighbouring calendar days.

    Attributes:
        name: of its array.
        of: the one whose days are averaged; it has a deviation, and rows are dates.
        days: of the window, odd; each frame in it counts once, so 29 February weighs a quarter.
        deviation: name of the second array: the standard deviation over the frames in the window.
    """

    name: str
    of: Means
    days: int
    deviation: str


def write_climatology(
    out: Path,
    frames: zarr.Array[Any],
    hours: np.ndarray,
    wanted: Sequence[Means],
    attrs: dict[str, Any],
    report: Report,
    workers: int = 1,
    windows: Sequence[Window] = (),
) -> zarr.Group:
    """Write a store with the mean of each calendar day, over some years, of 00, 06, 12 and 18 UTC.

    Every frame of the day at one of these hours counts once, so that years stored every 3 hours
    weigh as much as those stored every 6; 29 February is the mean over leap years. Each worker
    reads one day of one year after the other, so few frames are in memory however long the data
    are.

    Args:
        out: the store, e.g. ``.../climatology.zarr``.
        frames: (T, C, H, W).
        hours: since 1970-01-01 UTC, of each frame.
        wanted: which climatologies. A day on which one has no frame is NaN in it.
        attrs: of the group.
        report: progress.
        workers: days that are averaged at the same time.
        windows: of some of these, averaged over neighbouring days, the year as a ring.

    Returns:
        The group, open for coordinates. Its arrays are float32 (days, C, H, W), "day" their
        coordinate ("01-01", ...): the calendar days that occur, 366 in complete years.
    """
    stamps = hours.astype("datetime64[h]")
    days = stamps.astype("datetime64[D]")
    years = stamps.astype("datetime64[Y]").astype(np.int64) + 1970
    number_of = (days - stamps.astype("datetime64[Y]").astype(days.dtype)).astype(np.int64)
    used = np.isin(hours % 24, HOURS) & np.isin(years, [y for m in wanted for y in m.years])
    # "2016-02-29" -> "02-29"
    names = np.array([str(day)[5:] for day in days])
    calendar = sorted(set(names[used].tolist()))
    group = create_group(out, {**attrs, "years": {m.name: list(m.years) for m in wanted}})
    shape = frames.shape[1:]
    dims = ("day", "channel", "y", "x")

    def writer(name: str, what: str) -> RowWriter:
        array = create_array(group, name, (len(calendar), *shape), np.float32, dims, (1, *shape))
        array.attrs["long_name"] = what
        return RowWriter(array)

    writers = [writer(means.name, means.what) for means in wanted]
    spreads = [
        writer(means.deviation, f"standard deviation of the same: {means.what}")
        if means.deviation
        else None
        for means in wanted
    ]
    # Frames behind each row, for windows.
    behind = np.zeros((len(wanted), len(calendar)), np.int64)

    def average(number: int, means: Sequence[int], rows: np.ndarray) -> None:
        """Average the same frames for the climatologies of these numbers."""
        sums = [np.zeros(shape) for _ in means]
        squares = [np.zeros(shape) if wanted[m].deviation else None for m in means]
        counts = [0 for _ in means]
        cuts = np.flatnonzero(np.diff(years[rows])) + 1
        for block in np.split(rows, cuts) if len(rows) else ():
            first = int(block[0])
            read = np.asarray(frames[first : int(block[-1]) + 1])
            used_here = read[block - first].astype(np.float64)
            total = used_here.sum(axis=0)
            for i, m in enumerate(means):
                if years[first] in wanted[m].years:
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
                # Never negative but for rounding.
                variance = np.maximum(squared / n - mean**2, 0) if n else mean
                spread.write(number, np.sqrt(variance).astype(np.float32)[None])

    by_date, by_number = (
        [i for i, m in enumerate(wanted) if m.by_number is k] for k in (False, True)
    )

    def of_day(number: int) -> None:
        average(number, by_date, np.flatnonzero(used & (names == calendar[number])))
        if by_number:
            average(number, by_number, np.flatnonzero(used & (number_of == number)))

    # Some days at a time, side by side: each is a sum of its own, so their order is no matter.
    for first in range(0, len(calendar), 2 * workers):
        numbers = range(first, min(first + 2 * workers, len(calendar)))
        tasks = [dask.delayed(of_day)(number) for number in numbers]
        dask.compute(*tasks, scheduler="threads", num_workers=workers)
        report("days of the climatology", numbers.stop, len(calendar))
    for finished in filter(None, [*writers, *spreads]):
        finished.close()
    for i in by_number:
        for name in filter(None, (wanted[i].name, wanted[i].deviation)):
            group[name].attrs["by_number"] = True
    for window in windows:
        what = f"{window.of.what}, over {window.days} days around each"
        both = writer(window.name, what), writer(window.deviation, f"standard deviation: {what}")
        counts = behind[wanted.index(window.of)]
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

    Sums over the frames of a window follow from those of each day: n times the mean, and n times
    the sum of variance and squared mean. They run along the year, so each row is read twice. Where
    a day is NaN, the window has the others.
    """
    means, deviations = (group[name] for name in (window.of.name, window.of.deviation))
    assert isinstance(means, zarr.Array) and isinstance(deviations, zarr.Array)
    place = {day: row for row, day in enumerate(calendar) if counts[row]}
    half = window.days // 2
    sums, squares = np.zeros(means.shape[1:]), np.zeros(means.shape[1:])
    totals = np.zeros(means.shape[1:], np.int64)

    def move(day: int, sign: int) -> None:
        """Take a day of the ring into the window, or out of it."""
        row = place.get(_RING[day % len(_RING)])
        if row is not None:
            n = sign * int(counts[row])
            mean = np.asarray(means[row], np.float64)
            spread = np.asarray(deviations[row], np.float64)
            there = np.isfinite(mean)
            np.add(totals, n, out=totals, where=there)
            np.add(sums, n * mean, out=sums, where=there)
            np.add(squares, n * (spread**2 + mean**2), out=squares, where=there)

    def mean_of(numbers: np.ndarray) -> np.ndarray:
        """Their mean over the frames of the window; NaN where it has none."""
        return np.divide(numbers, totals, out=np.full_like(numbers, np.nan), where=totals > 0)

    for day in range(-half, half):
        move(day, 1)
    for middle, name in enumerate(_RING):
        move(middle + half, 1)
        if name in calendar:
            mean = mean_of(sums)
            variance = np.maximum(mean_of(squares) - mean**2, 0)
            for writer, found in zip(writers, (mean, np.sqrt(variance)), strict=True):
                writer.write(calendar.index(name), found.astype(np.float32)[None])
        move(middle - half, -1)
        report("days of the window", middle + 1, len(_RING))
    for writer in writers:
        writer.close()
