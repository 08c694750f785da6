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


class Means(NamedTuple):
    """One climatology.

    Attributes:
        name: of its array.
        years: whose frames are averaged.
        what: for readers of the store.
        deviation: name of a second array with the standard deviation over the same frames (their
            number is the divisor); none unless given.
    """

    name: str
    years: tuple[int, ...]
    what: str
    deviation: str = ""


def write_climatology(
    out: Path,
    frames: zarr.Array[Any],
    hours: np.ndarray,
    wanted: Sequence[Means],
    attrs: dict[str, Any],
    report: Report,
    workers: int = 1,
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

    Returns:
        The group, open for coordinates. Its arrays are float32 (days, C, H, W), "day" their
        coordinate ("01-01", ...): the calendar days that occur, 366 in complete years.
    """
    stamps = hours.astype("datetime64[h]")
    days = stamps.astype("datetime64[D]")
    years = stamps.astype("datetime64[Y]").astype(np.int64) + 1970
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

    def average(number: int) -> None:
        rows = np.flatnonzero(used & (names == calendar[number]))
        sums = [np.zeros(shape) for _ in wanted]
        squares = [np.zeros(shape) if means.deviation else None for means in wanted]
        counts = [0 for _ in wanted]
        for block in np.split(rows, np.flatnonzero(np.diff(years[rows])) + 1):
            first = int(block[0])
            read = np.asarray(frames[first : int(block[-1]) + 1])
            used_here = read[block - first].astype(np.float64)
            total = used_here.sum(axis=0)
            for i, means in enumerate(wanted):
                if years[first] in means.years:
                    sums[i] += total
                    counts[i] += len(block)
                    if (squared := squares[i]) is not None:
                        squared += np.square(used_here).sum(axis=0)
        for i, n in enumerate(counts):
            mean = sums[i] / n if n else np.full(shape, np.nan)
            writers[i].write(number, mean.astype(np.float32)[None])
            squared, spread = squares[i], spreads[i]
            if squared is not None and spread is not None:
                # Never negative but for rounding.
                variance = np.maximum(squared / n - mean**2, 0) if n else mean
                spread.write(number, np.sqrt(variance).astype(np.float32)[None])

    # Some days at a time, side by side: each is a sum of its own, so their order is no matter.
    for first in range(0, len(calendar), 2 * workers):
        numbers = range(first, min(first + 2 * workers, len(calendar)))
        tasks = [dask.delayed(average)(number) for number in numbers]
        dask.compute(*tasks, scheduler="threads", num_workers=workers)
        report("days of the climatology", numbers.stop, len(calendar))
    for finished in filter(None, [*writers, *spreads]):
        finished.close()
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
