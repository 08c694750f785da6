"""Scores of fields on the globe, against a driver that opens every store and loops over variables.

    python benchmarks/score_globe.py

The data are made up: 60 variables on 121 x 240 points, daily starts with 44 lead times, as
ChaosBench has them. Both sides compute the same scores of each start, lead time and variable: RMSE,
bias, ACC, MS-SSIM, and spectral divergence and residual of the finest wavenumbers.

- ours: what `stp score` runs, from mapped stores to Parquet files with intervals, in one thread;
- the driver: for each start and lead time the store of that day is opened (45 a start), and a
  function of one field is called for each metric and variable, written with NumPy and SciPy as its
  formula reads. It has nothing in common between starts, so it may be given fewer of them.

Compared are rates in CPU time, which a busy machine disturbs less than wall time. Each side runs in
a process of its own, which says its largest memory and, after the files have left the page cache,
what it reads from disk.
"""

import argparse
import datetime
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import xarray as xr
import zarr
from scipy.ndimage import correlate1d, gaussian_filter

from stp.core.job import Job
from stp.data.prepared import Prepared
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.options.score import CELL_KEYS
from stp.prepare.output import write_coordinate

LEVELS = (10, 50, 100, 200, 300, 500, 700, 850, 925, 1000)
NAMES = ("z", "q", "t", "u", "v", "w")
HEIGHT, WIDTH = 121, 240
LATITUDES = np.linspace(90, -90, HEIGHT)
FIRST = datetime.date(2022, 1, 1)
SAME = (
    "wrmse.per_frame",
    "bias.weighted",
    "acc.per_frame_without_validation",
    "ms_ssim.own_range",
    "spectral_divergence.high_wavenumbers",
    "spectral_residual.high_wavenumbers",
)
"""What both compute, in the order of the driver's columns."""


class Cost(NamedTuple):
    """What scoring took.

    Attributes:
        wall, cpu: seconds.
        memory: largest resident set, bytes.
        read: from disk, bytes.
        values: by convention, (starts, variables, leads).
    """

    wall: float
    cpu: float
    memory: int
    read: int
    values: dict[str, np.ndarray]


def main() -> None:
    """Print the machine, a row for each side, and the largest difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--driver-starts", type=int, default=1, help="of them (default: 1)")
    parser.add_argument("--leads", type=int, default=44)
    parser.add_argument("--levels", type=int, default=10, help="of six variables each")
    parser.add_argument("--folder", type=Path, help="for the data (default: a temporary one)")
    options = parser.parse_args()
    starts, leads, channels = options.starts, options.leads, 6 * options.levels
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write(folder, starts, options.driver_starts, leads, options.levels)
        sides: dict[str, tuple[Callable[..., Cost], tuple[Any, ...], int]] = {
            "driver": (driver, (folder, options.driver_starts, leads), options.driver_starts),
            "ours": (ours, (folder,), starts),
        }
        print(
            "| | fields | CPU s | wall s | fields per CPU s | to driver | memory, GB | read, GB |"
        )
        print("|---|---|---|---|---|---|---|---|")
        costs: dict[str, Cost] = {}
        for side, (run, given, of) in sides.items():
            forget(folder)
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                cost = costs[side] = pool.submit(run, *given).result()
            fields = of * leads * channels
            rates = fields / cost.cpu, costs["driver"].cpu / (options.driver_starts * cost.cpu) * of
            print(
                f"| {side} | {fields:,} | {cost.cpu:.1f} | {cost.wall:.1f} | {rates[0]:,.0f} | "
                f"{rates[1]:.1f}x | {cost.memory / 1e9:.2f} | {cost.read / 1e9:.2f} |",
                flush=True,
            )
    for convention in SAME:
        theirs = costs["driver"].values[convention]
        found = costs["ours"].values[convention][: len(theirs)]
        print(f"{convention}: largest difference {np.abs(found - theirs).max():.0e}")
    year = 365 * costs["ours"].cpu / starts
    print(f"a year of daily starts, extrapolated: {year / 60:.0f} minutes of CPU time")


# Data


@cache
def waves() -> list[np.ndarray]:
    """Of three scales, (H, W) each."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3, HEIGHT, WIDTH))
    return [s * gaussian_filter(n, s, mode="wrap") for s, n in zip((0.5, 2, 8), noise, strict=True)]


@cache
def day(number: int, channels: int) -> np.ndarray:
    """A day of made-up weather, float32 (C, H, W): waves that move."""
    fields = np.empty((channels, HEIGHT, WIDTH), np.float32)
    for c in range(channels):
        field = sum(np.roll(w, (7 * c, (k + 2) * number + 11 * c), (0, 1))
                    for k, w in enumerate(waves()))  # fmt: skip
        fields[c] = 100 * (c % 7) + (1 + c % 5) * field
    return fields


def forecast(start: int, lead: int, channels: int) -> np.ndarray:
    """A forecast that loses the weather with lead time."""
    lost = np.float32(1 - np.exp(-lead / 10))
    return (1 - lost) * day(start + lead, channels) + lost * day(999 + start + lead, channels)


def date(number: int) -> str:
    return f"{FIRST + datetime.timedelta(days=number):%Y%m%d}"


def write(folder: Path, starts: int, driver_starts: int, leads: int, levels: int) -> None:
    """Write prepared data and forecasts for ours, and a store for each day for the driver."""
    channels, days = 6 * levels, starts + leads
    names = [f"{name}_{level}" for name in NAMES for level in LEVELS[:levels]]
    shape = (channels, HEIGHT, WIDTH)
    every = [day(number, channels) for number in range(days)]
    attrs = {
        "dataset": "benchmark", "units": "physical", "shape": list(shape), "context": 1,
        "horizon": leads, "phases": 1, "variables": names,
    }  # fmt: skip
    group = create_group(folder / "frames.zarr", attrs)
    stamps = pd.date_range(FIRST, periods=days)
    hours = np.datetime64(FIRST, "h").astype(np.int64) + 24 * np.arange(days)
    write_coordinate(group, "lat", "y", LATITUDES, units="degrees_north")
    write_coordinate(group, "time", "frame", hours, units="hours since 1970-01-01")
    rows(group, "frames", iter(every), (days, *shape), 1)
    group = create_group(folder / "climatology.zarr", {})
    means = [np.full(shape, field.mean(axis=(1, 2), keepdims=True)) for field in every]
    rows(group, "without_validation", iter(means), (days, *shape), 1)
    day_names = group.create_array("day", shape=(days,), dtype="str", dimension_names=("day",))
    day_names[:] = np.array([f"{stamp:%m-%d}" for stamp in stamps], object)
    index = pd.DataFrame({
        "split": "test", "clip": [date(n) for n in range(starts)],
        "start": np.arange(starts), "stride": np.int32(1), "length": np.int32(1 + leads),
        "cluster": [f"start{n}" for n in range(starts)], "phase": np.int32(0),
    })  # fmt: skip
    index.to_parquet(folder / "index.parquet")
    (folder / "predictions").mkdir()
    index.to_parquet(folder / "predictions" / "index.parquet")
    group = create_group(folder / "predictions" / "predictions.zarr", {"units": "physical"})
    made = (
        np.stack([forecast(n, lead, channels) for lead in range(1, leads + 1)])
        for n in range(starts)
    )
    rows(group, "predictions", made, (starts, leads, *shape), 1)
    for number in range(driver_starts + leads):
        store(folder / "days" / f"{date(number)}.zarr", every[number], levels)
    for name, fields in (("climatology", means), ("centre", None)):
        for number in range(driver_starts + leads if fields else driver_starts):
            steps = fields[number] if fields else np.stack(
                [forecast(number, lead, channels) for lead in range(leads + 1)]
            )  # fmt: skip
            store(folder / name / f"{date(number)}.zarr", steps, levels)


def rows(
    group: zarr.Group, name: str, fields: Iterator[np.ndarray], shape: tuple[int, ...], chunk: int
) -> None:
    """Write an array with a row at a time, with its checksums."""
    dims = tuple(f"{name}{axis}" for axis in range(len(shape)))
    with SequentialWriter(
        create_array(group, name, shape, np.float32, dims, (chunk, *shape[1:]), max_files=64)
    ) as writer:
        for field in fields:
            writer.append(field[None])


def store(path: Path, fields: np.ndarray, levels: int) -> None:
    """Write fields ([steps,] C, H, W) as the release has them, by variable and level."""
    dims = ("step", "level", "latitude", "longitude")[-(fields.ndim) :]
    each = np.split(fields, len(NAMES), axis=-3)
    xr.Dataset({name: (dims, part) for name, part in zip(NAMES, each, strict=True)}).to_zarr(path)


def forget(folder: Path) -> None:
    """Have all files of a folder leave the page cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def costed(work: Callable[[], dict[str, np.ndarray]]) -> Cost:
    """Do some work, and say what it took."""
    before, wall, cpu = disk_bytes(), time.perf_counter(), time.process_time()
    values = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Cost(wall, cpu, memory, disk_bytes() - before, values)


def disk_bytes() -> int:
    """What this process has read from disk so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("read_bytes")))


# Ours


def ours(folder: Path) -> Cost:
    """Score by the code of `stp score`, with the memory settings of its runner."""
    from stp.run.runner import keep_freed_memory
    from stp.score.run import run
    from stp.score.tables import read_samples

    recipe: dict[str, Any] = {
        "cell": {name: None if name == "seed" else "benchmark" for name in CELL_KEYS},
        "conventions": list(SAME),
        "split": "test",
        "bootstrap": {"resamples": 1000, "seed": 0},
        "threads": 1,
    }

    keep_freed_memory()
    with tempfile.TemporaryDirectory(dir=folder) as name:
        out = Path(name)
        inputs = {"data": folder, "predictions": folder / "predictions"}

        def work() -> dict[str, np.ndarray]:
            run(Job(recipe, inputs, out, out / "state"))
            return {}

        cost = costed(work)
        names = Prepared(folder).attrs["variables"]
        values = {}
        for convention in SAME:
            each = [read_samples(out, convention, name) for name in names]
            values[convention] = np.stack([found[1] for found in each if found], axis=1)
    return cost._replace(values=values)


# The driver


def driver(folder: Path, starts: int, leads: int) -> Cost:
    """Open a store for each day of each start, and call a function for each metric and variable."""
    weights = np.cos(np.deg2rad(LATITUDES))
    weights = (weights / weights.mean())[:, None]
    functions = (rmse, bias, acc, ms_ssim, spectral_divergence, spectral_residual)

    def work() -> dict[str, np.ndarray]:
        found: list[Any] = []
        for start in range(starts):
            predicted = xr.open_zarr(folder / "centre" / f"{date(start)}.zarr")
            by_lead = []
            for lead in range(leads + 1):
                observed = xr.open_zarr(folder / "days" / f"{date(start + lead)}.zarr").load()
                climate = xr.open_zarr(folder / "climatology" / f"{date(start + lead)}.zarr").load()
                if lead == 0:
                    continue  # it begins here
                step = predicted.isel(step=lead).load()
                by_variable = []
                for name in NAMES:
                    for level in range(observed.sizes["level"]):
                        p, o, c = (
                            part[name].values[level].astype(np.float64)
                            for part in (step, observed, climate)
                        )
                        by_variable.append([f(p, o, c, weights) for f in functions])
                by_lead.append(by_variable)
            found.append(by_lead)
        values = np.array(found).transpose(3, 0, 2, 1)
        return dict(zip(SAME, values, strict=True))

    return costed(work)


def rmse(p: np.ndarray, o: np.ndarray, _: np.ndarray, weights: np.ndarray) -> float:
    return float(np.sqrt((weights * (p - o) ** 2).mean()))


def bias(p: np.ndarray, o: np.ndarray, _: np.ndarray, weights: np.ndarray) -> float:
    return float((weights * (p - o)).mean())


def acc(p: np.ndarray, o: np.ndarray, c: np.ndarray, weights: np.ndarray) -> float:
    a, b = p - c, o - c
    norm = np.sqrt((weights * a**2).sum() * (weights * b**2).sum())
    return float((weights * a * b).sum() / norm)


def ms_ssim(p: np.ndarray, o: np.ndarray, _: np.ndarray, __: np.ndarray) -> float:
    x, y = (255 * (a - a.min()) / (a.max() - a.min()) for a in (p, o))
    c1, c2, product = (0.01 * 255) ** 2, (0.03 * 255) ** 2, 1.0
    for scale, weight in enumerate((0.0448, 0.2856, 0.3001, 0.2363, 0.1333)):
        mx, my = blurred(x), blurred(y)
        vx, vy, cxy = blurred(x * x) - mx**2, blurred(y * y) - my**2, blurred(x * y) - mx * my
        term = (2 * cxy + c2) / (vx + vy + c2)
        if scale == 4:
            term *= (2 * mx * my + c1) / (mx**2 + my**2 + c1)
        product *= max(term.mean(), 0) ** weight
        x, y = halved(x), halved(y)
    return float(product)


def blurred(a: np.ndarray) -> np.ndarray:
    taps = np.exp(-0.5 * (np.arange(11) - 5) ** 2 / 1.5**2)
    taps /= taps.sum()
    for axis in (0, 1):
        if (size := a.shape[axis]) >= 11:
            a = np.take(correlate1d(a, taps, axis=axis), range(5, size - 5), axis=axis)
    return a


def halved(a: np.ndarray) -> np.ndarray:
    a = np.pad(a, [(n % 2, 0) for n in a.shape])
    return np.asarray((a[::2, ::2] + a[1::2, ::2] + a[::2, 1::2] + a[1::2, 1::2]) / 4)


def spectrum(a: np.ndarray) -> np.ndarray:
    power = np.abs(np.fft.fft2(a)) ** 2
    ky, kx = np.fft.fftfreq(HEIGHT, 1 / HEIGHT), np.fft.fftfreq(WIDTH, 1 / WIDTH)
    k = np.hypot(ky[:, None], kx).ravel()
    bins = len(np.arange(0.5, k.max(), 1))
    total, edges = np.histogram(k, bins, (0.5, k.max()), weights=power.ravel())
    kept = (total / np.histogram(k, edges)[0])[int(bins * 0.9) :]
    return np.asarray(kept / kept.sum())


def spectral_divergence(p: np.ndarray, o: np.ndarray, _: np.ndarray, __: np.ndarray) -> float:
    a, b = spectrum(o), spectrum(p)
    return float((a * np.log(a / b)).sum())


def spectral_residual(p: np.ndarray, o: np.ndarray, _: np.ndarray, __: np.ndarray) -> float:
    return float(np.sqrt(np.mean((spectrum(o) - spectrum(p)) ** 2)))


if __name__ == "__main__":
    main()
