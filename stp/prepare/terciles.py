"""Terciles of each calendar day over many years: what is below, near and above normal."""

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
    """Quantile over sorted years, (years, ...) to (...), interpolated between two of them."""
    place = share * (len(values) - 1)
    below = int(place)
    rest = np.float32(place - below)
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
    """Write the terciles of daily frames, and of means over the days before a day and itself.

    On 29 February, years that have none take 28 February. A mean that begins before the first of
    the years has no part.

    Args:
        group: a climatology that `stp.prepare.climatology.write_climatology` has written.
        frames: of daily data, (T, C, H, W).
        days: of each frame, datetime64[D], ascending.
        years: that count.
        spans: how many days are averaged: 1, 7.
        report: progress.
        workers: days of the year that are looked at at the same time; of each all years are in
            memory.

    Returns:
        The names of the arrays, float32 (days, C, H, W). A day without any year is NaN.
    """
    found = group["day"]
    assert isinstance(found, zarr.Array)
    calendar = [str(day) for day in np.asarray(found[:]).tolist()]
    place = {str(day): i for i, day in enumerate(days)}
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
        """Of each year with these days, float32 (years, C, H, W)."""
        of_years = []
        for year in years:
            last = place.get(f"{year}-{day}")
            if last is None and day == "02-29":
                last = place.get(f"{year}-02-28")
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
                of = quantile(values, share) if len(values) else np.full(shape, np.nan, np.float32)
                writers[name_of(tercile, span)].write(number, of[None])

    for first in range(0, len(calendar), workers):
        numbers = range(first, min(first + workers, len(calendar)))
        tasks = [dask.delayed(write)(number) for number in numbers]
        dask.compute(*tasks, scheduler="threads", num_workers=workers)
        report("days of the terciles", numbers.stop, len(calendar))
    for writer in writers.values():
        writer.close()
    return list(writers)
