"""Compute terciles of each calendar day over years.

Terciles are two values that divide the years into three equal parts: below, near and above normal.
"""

from collections.abc import Sequence

import dask
import numpy as np
import zarr

from stp.core.job import Report
from stp.data.terciles import LOWER, UPPER, name_of
from stp.data.zarr_rows import MappedRows
from stp.data.zarr_write import RowWriter, create_array

SHARES = {LOWER: 1 / 3, UPPER: 2 / 3}


def quantile(values: np.ndarray, share: float) -> np.ndarray:
    """Quantile over years, with linear interpolation.

    Args:
        values: values, (years, ...), sorted along the years.
        share: share of the values below the quantile, 0..1.

    Returns:
        quantile, (...).
    """
    position = share * (len(values) - 1)
    below = int(position)
    rest = np.float32(position - below)
    above = values[min(below + 1, len(values) - 1)]
    return np.asarray(values[below] + rest * (above - values[below]))


def write_terciles(
    group: zarr.Group,
    frames: MappedRows,
    days: np.ndarray,
    years: Sequence[int],
    spans: Sequence[int],
    report: Report,
    workers: int = 1,
) -> list[str]:
    """Write terciles of daily frames, and of means over several days up to each calendar day.

    For 29 February, years without this day contribute 28 February. Means that begin before the
    first of the years are left out.

    Args:
        group: a climatology that `stp.prepare.climatology.write_climatology` has written.
        frames: daily frames, (T, C, H, W).
        days: day of each frame, datetime64[D], ascending.
        years: years over which terciles are computed.
        spans: numbers of days that are averaged, such as 1 and 7.
        report: progress callback.
        workers: number of calendar days that are processed at the same time; all years of each are
            in memory.

    Returns:
        names of the arrays, float32 (days, C, H, W). A day without data is NaN.
    """
    array = group["day"]
    assert isinstance(array, zarr.Array)
    calendar = [str(day) for day in np.asarray(array[:]).tolist()]
    row_of = {str(day): i for i, day in enumerate(days)}
    shape = frames.shape[1:]
    dims = ("day", "channel", "y", "x")
    writers: dict[str, RowWriter] = {}
    for span in spans:
        for tercile in SHARES:
            name = name_of(tercile, span)
            array = create_array(
                group, name, (len(calendar), *shape), np.float32, dims, (1, *shape)
            )
            over = "" if span == 1 else f" of the mean over the {span} days that end with it"
            array.attrs["long_name"] = f"{tercile.replace('_', ' ')} of each calendar day{over}"
            writers[name] = RowWriter(array)

    def means(day: str, span: int) -> np.ndarray:
        """Means over the days of each year that has all of them, float32 (years, C, H, W)."""
        of_years = []
        for year in years:
            last = row_of.get(f"{year}-{day}")
            if last is None and day == "02-29":
                last = row_of.get(f"{year}-02-28")
            if last is None or last + 1 < span:
                continue
            first = last + 1 - span
            unbroken = days[last] - days[first] == np.timedelta64(span - 1, "D")
            if unbroken and int(str(days[first])[:4]) >= years[0]:
                of_years.append(frames.read(first, last + 1).mean(axis=0, dtype=np.float32))
        return np.array(of_years, np.float32).reshape(-1, *shape)

    def write(number: int) -> None:
        for span in spans:
            values = means(calendar[number], span)
            values.sort(axis=0)
            for tercile, share in SHARES.items():
                nothing = np.full(shape, np.nan, np.float32)
                boundary = quantile(values, share) if len(values) else nothing
                writers[name_of(tercile, span)].write(number, boundary[None])

    for first in range(0, len(calendar), workers):
        numbers = range(first, min(first + workers, len(calendar)))
        tasks = [dask.delayed(write)(number) for number in numbers]
        dask.compute(*tasks, scheduler="threads", num_workers=workers)
        report("days of the terciles", numbers.stop, len(calendar))
    for writer in writers.values():
        writer.close()
    return list(writers)
