"""Prepare monthly sea surface temperature anomalies over the Pacific, for El Nino forecasts.

Two layouts of raw data lead to the same prepared data, on a grid of 5 degrees:

- cmip: ICAR-ENSO (Tianchi data set 98942), simulations of 32 climate models.
- ersst: NOAA's Extended Reconstructed SST version 5, a short observed period for samples.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
import zarr

from stp.core.errors import RawFileError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, require, whole
from stp.data.raw_files import RawFiles
from stp.data.windows import blocks, starts
from stp.prepare.frames import Piece, write_frames
from stp.prepare.netcdf import load, open_field
from stp.prepare.output import SPLITS, Clip, attributes, write_coordinate, write_index
from stp.prepare.planned_counts import Lists, Planned
from stp.prepare.regrid import box_mean

FILES = {"cmip": "enso/CMIP_train.nc", "ersst": "climate/ersst_sst.mnmean.nc"}
LATITUDES = np.arange(-55.0, 61.0, 5.0)
LONGITUDES = np.arange(95.0, 331.0, 5.0)
# A month as it is read: of the CMIP file, 24 x 72 boxes three times; of ERSST, 89 x 180.
RAW_BYTES = {"cmip": 3 * 24 * 72 * 4, "ersst": 89 * 180 * 4}
CLUSTER_MONTHS = 60  # windows of a series that start in the same block are one cluster
SAME = 1e-4  # degC; overlapping rows of the same simulation agree to rounding


@dataclass(frozen=True)
class EnsoOptions:
    """Options of the reader of sea surface temperatures (El Nino).

    Attributes:
        layout: "cmip" or "ersst".
        models: for cmip, the climate models in the order of the file's rows. Each entry describes
            several models: ``family`` is their name, ``count`` their number, and ``years`` the
            number of rows of each. Models are called CMIP6-01, CMIP6-02, ...
        val: for cmip, names of the climate models for validation; models in neither list are for
            training.
        test: for cmip, names of the climate models for the test.
        months: for ersst, number of months in each split; splits follow one another from the first
            month.
        span: number of months in a window, at least context + horizon. 38 gives the published
            numbers of windows.
        stride: number of months between the starts of windows.
        normalisation: {"method": "fixed", "offset": degC, "scale": degC}, or {"method": "minmax"}:
            lowest anomaly and range of the training months.
    """

    layout: str
    models: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"family": "CMIP6", "count": 15, "years": 151},
            {"family": "CMIP5", "count": 17, "years": 140},
        ]
    )
    val: list[str] = field(default_factory=lambda: ["CMIP5-16"])
    test: list[str] = field(default_factory=lambda: ["CMIP5-17"])
    months: dict[str, int] | None = None
    span: int = 38
    stride: dict[str, int] = field(default_factory=lambda: {"train": 10, "val": 5, "test": 1})
    normalisation: dict[str, Any] = field(
        default_factory=lambda: {
            "method": "fixed",
            "offset": -16.549121856689453,
            "scale": 26.748098611831665,
        }
    )

    def __post_init__(self) -> None:
        require(self.layout in FILES, "layout", self.layout, " or ".join(FILES))
        for model in self.models:
            ok = set(model) == {"family", "count", "years"}
            ok = ok and whole(model["count"], 1) and whole(model["years"], 1)
            require(ok, "models", model, "{family: name, count: >= 1, years: >= 1}")
        if self.layout == "ersst":
            months = self.months or {}
            ok = set(months) == set(SPLITS) and all(whole(n, self.span) for n in months.values())
            require(ok, "months", self.months, f"train, val, test, each >= span = {self.span}")
            require(months["train"] >= 12, "months.train", months["train"], "a year at least")
        ok = set(self.stride) == set(SPLITS) and all(whole(n, 1) for n in self.stride.values())
        require(ok, "stride", self.stride, "train, val, test, each >= 1")
        method = self.normalisation.get("method")
        keys = {"fixed": {"method", "offset", "scale"}, "minmax": {"method"}}.get(str(method))
        ok = keys is not None and set(self.normalisation) == keys
        ok = ok and self.normalisation.get("scale", 1) > 0
        expected = "{method: fixed, offset: number, scale: > 0} or {method: minmax}"
        require(ok, "normalisation", self.normalisation, expected)


class Series(NamedTuple):
    """Consecutive months that belong to one split.

    Attributes:
        name: name of the climate model, e.g. "CMIP5-17", or for observations "ERSST-train".
        split: train, val or test.
        months: number of months.
        phase: calendar month of the first month, 0 = January.
    """

    name: str
    split: str
    months: int
    phase: int


def cut_windows(series: Iterable[Series], options: EnsoOptions) -> list[Clip]:
    """Cut all series into windows.

    Args:
        series: consecutive months of one split each; the store has the frames of one series after
            the other, in this order.
        options: length of windows, and months between their starts.
    """
    clips = []
    base = 0
    for part in series:
        at = starts(0, part.months, options.span, options.stride[part.split])
        for start, block in zip(at.tolist(), blocks(at, CLUSTER_MONTHS), strict=True):
            clips.append(
                Clip(
                    part.split,
                    f"{part.name}/month-{start:04d}",
                    base + start,
                    1,
                    options.span,
                    f"{part.name}/block-{block:03d}",
                    (part.phase + start) % 12,
                )
            )
        base += part.months
    return clips


def run(job: Job) -> Extras:
    """Write the monthly anomalies (``frames.zarr``) and the clips (``index.parquet``).

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong.
    """
    recipe = job.recipe
    options = build(EnsoOptions, recipe["options"], "prepare options")
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    shape = [1, len(LATITUDES), len(LONGITUDES)]
    require(list(recipe["shape"]) == shape, "shape", recipe["shape"], str(shape))
    least = recipe["context"] + recipe["horizon"]
    require(whole(options.span, least), "span", options.span, f">= context + horizon = {least}")

    path = raw.find(FILES[options.layout])
    if options.layout == "cmip":
        series = cmip_series(options)
        rows = np.cumsum([0, *(part.months // 12 - 2 for part in series)]).tolist()
        tasks: list[Any] = [
            (options, part, *at) for part, at in zip(series, pairwise(rows), strict=True)
        ]
        notes = {"grid": "as published", "climatology": "removed by the publisher"}
    else:
        series, anomalies, land = ersst(path, options)
        bounds = np.cumsum([0, *(part.months for part in series)]).tolist()
        tasks = [anomalies[a:b].to_numpy() for a, b in pairwise(bounds)]
        notes = {
            "grid": "mean over each 5 degree box, weighted by area, of the 2 degree boxes at sea",
            "climatology": "mean of each calendar month over the training months",
            "missing": f"{land} boxes without sea hold an anomaly of 0",
        }

    written = write_frames(
        job,
        raw,
        [
            Piece(part.name, part.months, task, RAW_BYTES[options.layout] * part.months)
            for part, task in zip(series, tasks, strict=True)
        ],
        decode_cmip if options.layout == "cmip" else decode_ersst,
        attrs=attributes(
            recipe,
            raw,
            units="degC",
            stored_scale=1.0,
            stored_offset=0.0,
            normalisation={**options.normalisation, "from": "published constants"},
            phases=12,
            variables=["sst"],
            notes=notes,
        ),
        dtype=np.float32,
        unit="series",
    )
    statistics = written.statistics.of(
        [i for i, part in enumerate(series) if part.split == "train"]
    )
    low, high = statistics["min"][0], statistics["max"][0]
    if options.normalisation["method"] == "minmax":
        require(high > low, "normalisation", options.normalisation, "training months that differ")
        written.group.attrs["normalisation"] = {
            "offset": low,
            "scale": high - low,
            "method": "minmax",
            "from": "train split",
        }
    _describe(written.group, series)
    if options.layout == "ersst":
        days = anomalies["time"].to_numpy().astype("datetime64[D]").astype(np.int64)
        names = {"standard_name": "time", "calendar": "proleptic_gregorian"}
        write_coordinate(
            written.group, "time", "frame", days, units="days since 1970-01-01", **names
        )
        written.group["frames"].attrs["coordinates"] = "time month series lat lon"
    extras = {**write_index(job.out, cut_windows(series, options)), **written.extras}
    return {**extras, "months": sum(part.months for part in series), "training range": [low, high]}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from the configured numbers of months alone.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``.
        raw: not used, since no list is read; `count` of every reader has it.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option is wrong.
    """
    options = build(EnsoOptions, recipe["options"], "prepare options")
    if options.layout == "cmip":
        return Planned(cut_windows(cmip_series(options), options))
    assert options.months is not None
    # The calendar month of the first month does not matter for the number of clips.
    return Planned(
        cut_windows([Series(f"ERSST-{s}", s, options.months[s], 0) for s in SPLITS], options)
    )


def _describe(group: zarr.Group, series: Iterable[Series]) -> None:
    """Write coordinates and attributes of the CF conventions; climate models have no dates."""
    lat = {"standard_name": "latitude", "units": "degrees_north"}
    write_coordinate(group, "lat", "y", LATITUDES, **lat)
    lon = {"standard_name": "longitude", "units": "degrees_east"}
    write_coordinate(group, "lon", "x", LONGITUDES, **lon)
    months = [(part.phase + np.arange(part.months)) % 12 + 1 for part in series]
    calendar = {"long_name": "calendar month, 1 = January", "units": "1"}
    write_coordinate(group, "month", "frame", np.concatenate(months).astype(np.int8), **calendar)
    names = np.repeat([part.name for part in series], [part.months for part in series])
    description = "climate model, or split of the observations"
    write_coordinate(group, "series", "frame", names.astype(object), long_name=description)
    group["frames"].attrs.update(
        long_name="sea surface temperature anomaly",
        standard_name="surface_temperature_anomaly",
        units="degC",
        coordinates="month series lat lon",
    )


def cmip_series(options: EnsoOptions) -> list[Series]:
    """List the climate models in the order of the file, each with its number of months.

    A row of the file has 36 months from January of its year, of which the next row repeats the last
    24. A model with n rows therefore has 12 n + 24 different months.

    Raises:
        StpError: a model for validation or test does not exist.
    """
    series = []
    for family in options.models:
        for number in range(1, family["count"] + 1):
            name = f"{family['family']}-{number:02d}"
            split = "val" if name in options.val else "test" if name in options.test else "train"
            series.append(Series(name, split, family["years"] * 12 + 24, 0))
    names = [part.name for part in series]
    chosen = [*options.val, *options.test]
    ok = set(chosen) <= set(names) and len(set(chosen)) == len(chosen)
    require(ok, "val and test", chosen, f"different names out of {names[0]} .. {names[-1]}")
    return series


def decode_cmip(raw: RawFiles, task: tuple[EnsoOptions, Series, int, int]) -> np.ndarray:
    """Read the anomalies of a climate model, float32 (months, 1, 24, 48), degC.

    A row of the file has 36 months from January of its year, of which the next row repeats the last
    24. At most 25 MB are in memory.

    Args:
        raw: the raw files.
        task: options, the climate model, its first row in the file, and the row after its last.

    Raises:
        StpError: the file is damaged; its number of rows is not that of the option
            `EnsoOptions.models`; or two rows differ in a month that both have.
    """
    options, part, start, stop = task
    path = raw.find(FILES["cmip"])
    sst = open_field(path, "sst", ("year", "month", "lat", "lon"))
    rows = sum(family["years"] * family["count"] for family in options.models)
    if sst.sizes["year"] != rows or sst.sizes["month"] != 36:
        raise RawFileError(
            path,
            f"{sst.sizes['year']} rows of {sst.sizes['month']} months",
            expected=f"{rows} rows of 36 months, as in the option `models`",
        )
    try:
        sst = sst.sel(lat=LATITUDES, lon=LONGITUDES)
    # An axis has no values, or has one twice.
    except (KeyError, TypeError, pd.errors.InvalidIndexError) as error:
        raise RawFileError(
            path,
            f"the grid lacks {error}",
            expected="latitudes -55..60 and longitudes 95..330, every 5 degrees, each once",
        ) from error
    months = fold(load(sst[start:stop], path).to_numpy(), f"{path}: {part.name}")
    return months.astype(np.float32, copy=False)[:, None]


def decode_ersst(raw: RawFiles, task: np.ndarray) -> np.ndarray:
    """Return the anomalies of a split in the form that `write_frames` asks of every decoder.

    Args:
        raw: the raw files, which are not read again: the anomalies were already computed.
        task: anomalies of the split, (months, 24, 48), degC.

    Returns:
        the same values, (months, 1, 24, 48).
    """
    return task[:, None]


def fold(rows: np.ndarray, name: str) -> np.ndarray:
    """Join overlapping rows of months to one series of months.

    Args:
        rows: rows of 36 months, (years, 36, ...); each starts 12 months after the previous one.
        name: name of the data, for errors.

    Returns:
        the first 12 months of every row, and the last 24 of the last row, (years * 12 + 24, ...).

    Raises:
        StpError: a value is missing, or two rows differ in a month.
    """
    if np.isnan(rows).any():
        raise RawFileError(name, f"{int(np.isnan(rows).sum())} missing values (NaN)")
    off = np.abs(rows[1:, :24] - rows[:-1, 12:]) > SAME
    differs = off.any(axis=tuple(range(1, rows.ndim)))
    if differs.any():
        row = int(differs.argmax())
        raise RawFileError(
            name,
            f"rows {row} and {row + 1} disagree about the months that they share",
            expected="rows of 36 months, each starting 12 months after the one before",
            remedy="check `models`: a wrong number of rows puts two models into one",
        )
    return np.concatenate([rows[:, :12].reshape(-1, *rows.shape[2:]), rows[-1, 12:]])


def ersst(path: Path, options: EnsoOptions) -> tuple[list[Series], xr.DataArray, int]:
    """Read observed sea surface temperatures, and compute their anomalies on boxes of 5 degrees.

    Args:
        path: path of the file of ERSST, on a grid of 2 degrees.
        options: number of months in each split.

    Returns:
        a series for each split; the anomalies of all months, float32 (time, 24, 48), degC; and the
        number of boxes without sea, whose anomaly is 0.

    Raises:
        StpError: the file is damaged, has gaps in time, too few months, or another grid; or the
            mask of the sea differs between months.
    """
    sst = open_field(path, "sst", ("time", "lat", "lon"))
    assert options.months is not None
    total = sum(options.months.values())
    stamps = sst["time"].dt.year.to_numpy() * 12 + sst["time"].dt.month.to_numpy() - 1
    if len(stamps) < total or (np.diff(stamps) != 1).any():
        gaps = int((np.diff(stamps) != 1).sum())
        raise RawFileError(
            path,
            f"{len(stamps)} months with {gaps} gaps",
            expected=f"{total} months without a gap, as in the option `months`",
        )
    values = load(sst[:total], path)
    grid = values["lat"].to_numpy(), values["lon"].to_numpy()
    for name, axis, centres in zip(("lat", "lon"), grid, (LATITUDES, LONGITUDES), strict=True):
        _require_cover(path, name, axis, centres)
    missing = np.isnan(values.to_numpy())
    odd = missing.any(axis=0) & ~missing.all(axis=0)
    if odd.any():
        month = values["time"].to_numpy()[int((missing & odd).any(axis=(1, 2)).argmax())]
        raise RawFileError(
            path,
            f"{int(odd.sum())} boxes have a temperature in some months only; it is missing first "
            f"in {month.astype('datetime64[M]')}",
            expected="the same sea in all months: missing values would become an anomaly of 0",
        )
    on_grid = box_mean(values.to_numpy(), *grid, LATITUDES, LONGITUDES)
    month = stamps[:total] % 12
    training = np.arange(total) < options.months["train"]
    anomalies = np.empty(on_grid.shape, np.float32)
    for m in range(12):
        anomalies[month == m] = on_grid[month == m] - on_grid[training & (month == m)].mean(0)
    land = np.isnan(anomalies)
    series, first = [], 0
    for split in SPLITS:
        series.append(Series(f"ERSST-{split}", split, options.months[split], int(month[first])))
        first += options.months[split]
    filled = np.where(land, np.float32(0), anomalies)
    at = {"time": values["time"].to_numpy()}
    return series, xr.DataArray(filled, at, ("time", "lat", "lon")), int(land.any(0).sum())


def _require_cover(path: Path, name: str, axis: np.ndarray, centres: np.ndarray) -> None:
    """Check that an axis has equal boxes, which cover the boxes of 5 degrees around the given
    centres.
    """
    steps = np.diff(axis.astype(np.float64))
    step = abs(steps[0]) if len(steps) else 0.0
    is_regular = step > 0 and bool((abs(steps - steps[0]) < 1e-3).all())
    reach = (5 - step) / 2
    if not is_regular or axis.min() > centres[0] - reach or axis.max() < centres[-1] + reach:
        raise RawFileError(
            path,
            f"{name} is {axis[0]:g} to {axis[-1]:g} in {len(axis)} boxes",
            expected=f"equal boxes over {centres[0] - 2.5:g} to {centres[-1] + 2.5:g}, with "
            "longitudes from 0 to 360",
        )
